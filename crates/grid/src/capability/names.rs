//! Names: GetDisplayNames, AvatarPickerSearch and the UDP name request.
//!
//! Display names that differ from account names do not exist here, and replies say so.

use crate::library::{LIBRARY_OWNER, LIBRARY_OWNER_NAME};
use crate::names::{canonical, display_name, username};
use ids::AgentId;
use store::{Account, Store, StoreError};
use uuid::Uuid;
use wire::llsd::Llsd;

/// Ids answered in one GetDisplayNames. A URL of 8 KiB holds 190; the others are ignored and asked for again.
pub const IDS_MAX: usize = 200;

/// Longest page of a search.
pub const PAGE_MAX: u32 = 100;

/// First and last name of an account.
pub type AccountName = (String, String);

/// First and last names of accounts, and of the grid's operator, in the order of the ids, for UUIDNameReply. A damaged account has none, and the others keep theirs.
///
/// # Errors
/// [`StoreError::Query`].
pub fn names_of(store: &Store, agents: &[AgentId]) -> Result<Vec<Option<AccountName>>, StoreError> {
    let name = |&agent: &AgentId| {
        if agent.0 == LIBRARY_OWNER {
            let (first, last) = LIBRARY_OWNER_NAME;
            return Ok(Some((first.to_owned(), last.to_owned())));
        }
        match store.account(agent) {
            Err(StoreError::DamagedRow { .. }) => Ok(None),
            found => Ok(found?.map(|account| (account.first, account.last))),
        }
    };
    agents.iter().map(name).collect()
}

/// Ids and names of at most `max` accounts whose names begin with `text`, ordered by name, without the first `skip`. None for an empty
/// text.
///
/// # Errors
/// [`StoreError::Query`].
pub fn people(
    store: &Store,
    typed: &str,
    skip: u32,
    max: u32,
) -> Result<Vec<(AgentId, AccountName)>, StoreError> {
    let found = search(store, typed, skip, max)?;
    Ok(found.into_iter().map(|account| (account.agent, (account.first, account.last))).collect())
}

/// Creation time of an account, seconds since 1970; `None` for an unknown one.
///
/// # Errors
/// [`StoreError::Query`].
pub fn born_s(store: &Store, agent: AgentId) -> Result<Option<i64>, StoreError> {
    Ok(store.account(agent)?.map(|account| account.created_s))
}

fn search(store: &Store, typed: &str, skip: u32, max: u32) -> Result<Vec<Account>, StoreError> {
    let words = typed.split([' ', '.']).filter(|word| !word.is_empty());
    let names = words.map(canonical).collect::<Vec<String>>().join(" ");
    if names.is_empty() { Ok(Vec::new()) } else { store.search_accounts(&names, skip, max) }
}

/// Answers GetDisplayNames; the query is `ids=…&ids=…`. Malformed and unknown ids come back as bad.
///
/// # Errors
/// [`StoreError::Query`].
pub fn display_names(store: &Store, query: &str) -> Result<Llsd, StoreError> {
    let (mut agents, mut bad) = (Vec::new(), Vec::new());
    let asked = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == "ids");
    for (_, id) in asked.take(IDS_MAX) {
        let agent = Uuid::try_parse(&id).ok().map(AgentId);
        let name = agent.map(|agent| names_of(store, &[agent])).transpose()?;
        match (agent, name.and_then(|mut names| names.pop()).flatten()) {
            (Some(agent), Some((first, last))) => agents.push(agent_row(agent, &first, &last)),
            _ => bad.push(Llsd::from(id.into_owned())),
        }
    }
    Ok(Llsd::map([("agents", Llsd::Array(agents)), ("bad_ids", Llsd::Array(bad))]))
}

/// Answers AvatarPickerSearch; the query is `names=…&page_size=…&page=…`, pages count from 1. Names match by their
/// beginnings, in any capitals.
///
/// # Errors
/// [`StoreError::Query`].
pub fn avatar_search(store: &Store, query: &str) -> Result<Llsd, StoreError> {
    let (mut names, mut page_size, mut page) = (String::new(), PAGE_MAX, 1);
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "names" => names = value.into_owned(),
            "page_size" => page_size = value.parse().unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX),
            "page" => page = value.parse().unwrap_or(1).max(1),
            _ => {}
        }
    }
    let found = search(store, &names, (page - 1_u32).saturating_mul(page_size), page_size)?;
    let rows = found.iter().map(|account| agent_row(account.agent, &account.first, &account.last));
    Ok(Llsd::map([("agents", Llsd::array(rows))]))
}

/// Answers MeshUploadFlag: a user's name, and the right to upload models, which all users have.
///
/// # Errors
/// [`StoreError::Query`].
pub fn mesh_upload_flag(store: &Store, agent: AgentId) -> Result<Llsd, StoreError> {
    let Some(account) = store.account(agent)? else { return Ok(Llsd::Undef) };
    let mut answer = agent_row(agent, &account.first, &account.last);
    if let Llsd::Map(entries) = &mut answer {
        entries.insert("mesh_upload_status".into(), "valid".into());
    }
    Ok(answer)
}

fn agent_row(agent: AgentId, first: &str, last: &str) -> Llsd {
    Llsd::map([
        ("id", Llsd::from(agent.0)),
        ("username", username(first, last).into()),
        ("display_name", display_name(first, last).into()),
        ("legacy_first_name", first.into()),
        ("legacy_last_name", last.into()),
        ("is_display_name_default", true.into()),
        // Clients need a date here; the name can never be changed, so any will do.
        ("display_name_next_update", Llsd::Date(0.0)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::{create, store_with_ada};
    use wire::llsd::xml;

    #[test]
    fn every_user_may_upload_models() {
        let (store, ada) = store_with_ada();
        let answer = mesh_upload_flag(&store, ada).unwrap();
        assert_eq!(answer.get("mesh_upload_status").as_str(), Some("valid"));
        assert_eq!(answer.get("id").as_uuid(), Some(ada.0));
        assert_eq!(answer.get("legacy_first_name").as_str(), Some("Ada"));
        assert!(mesh_upload_flag(&store, AgentId(Uuid::from_u128(9))).unwrap().is_undef());
    }

    #[test]
    fn names_are_answered_with_every_field_and_strangers_named() {
        let (store, ada) = store_with_ada();
        let query = format!("ids={}&ids={}&ids=nonsense", ada.0, Uuid::from_u128(9));
        insta::assert_snapshot!(
            xml::encode(&display_names(&store, &query).unwrap()).replace("<key>", "\n<key>")
        );
        let unknown = AgentId(Uuid::from_u128(9));
        let (name, operator) =
            (Some(("Ada".into(), "Lovelace".into())), Some(("Grid".into(), "Operator".into())));
        let asked = [ada, unknown, AgentId(LIBRARY_OWNER)];
        assert_eq!(names_of(&store, &asked).unwrap(), [name, None, operator]);
    }

    #[test]
    fn a_search_finds_people_as_clients_type_them() {
        let (store, ada) = store_with_ada();
        create(&store, AgentId(Uuid::from_u128(0xB)), "Adam", "Resident");
        let ids = |query: &str| {
            let reply = avatar_search(&store, query).unwrap();
            reply
                .get("agents")
                .as_array()
                .iter()
                .map(|row| row.get("id").as_uuid().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids("page_size=100&names=ada%20lovelace"), [ada.0]);
        assert_eq!(ids("names=ada+love"), [ada.0]);
        assert_eq!(ids("names=ada.lovelace"), [ada.0]);
        assert_eq!(ids("names=LOVE"), [ada.0]);
        assert_eq!(ids("names=ada").len(), 2);
        create(&store, AgentId(Uuid::from_u128(0xC)), "Ömer", "Resident");
        assert_eq!(ids("names=%C3%B6m"), [Uuid::from_u128(0xC)]);
        assert_eq!(ids("names=ada&page_size=1&page=2"), [Uuid::from_u128(0xB)]);
        assert_eq!(ids("names=ada&page_size=0&page=0"), [ada.0]);
        assert!(ids("names=ada&page=4294967295").is_empty());
        assert!(ids("names=%25").is_empty());
        assert!(ids("").is_empty());
    }

    #[test]
    fn a_reply_is_bounded_for_any_request() {
        let (store, ada) = store_with_ada();
        let query = format!("ids={}&", ada.0).repeat(IDS_MAX + 50);
        let reply = display_names(&store, &query).unwrap();
        assert_eq!(reply.get("agents").as_array().len(), IDS_MAX);
    }
}
