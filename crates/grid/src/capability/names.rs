//! Who is called what: GetDisplayNames, AvatarPickerSearch (PROTOCOL §7.4) and the UDP name request.
//!
//! Display names that differ from account names do not exist here, and replies say so.

use crate::names::{canonical, display_name, username};
use ids::AgentId;
use store::{Account, Store, StoreError};
use uuid::Uuid;
use wire::llsd::Llsd;

/// Ids answered in one GetDisplayNames. A URL of 8 KiB holds 190; the others are ignored and asked for again.
pub const IDS_MAX: usize = 200;

/// Longest page of a search.
pub const PAGE_MAX: u32 = 100;

/// First and last names of accounts in the order of the ids, for UUIDNameReply.
///
/// # Errors
/// [`StoreError::Query`].
pub fn names_of(store: &Store, agents: &[AgentId]) -> Result<Vec<Option<(String, String)>>, StoreError> {
    let name = |&agent| Ok(store.account(agent)?.map(|account| (account.first, account.last)));
    agents.iter().map(name).collect()
}

/// Answers GetDisplayNames; the query is `ids=…&ids=…`. What is no id, or nobody's, comes back as bad.
///
/// # Errors
/// [`StoreError::Query`].
pub fn display_names(store: &Store, query: &str) -> Result<Llsd, StoreError> {
    let (mut agents, mut bad) = (Vec::new(), Vec::new());
    let asked = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == "ids");
    for (_, id) in asked.take(IDS_MAX) {
        let account = match Uuid::try_parse(&id) {
            Ok(id) => store.account(AgentId(id))?,
            Err(_) => None,
        };
        match account {
            Some(account) => agents.push(agent_row(&account)),
            None => bad.push(Llsd::from(id.into_owned())),
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
            "names" => {
                let words = value.split([' ', '.']).filter(|word| !word.is_empty());
                names = words.map(canonical).collect::<Vec<String>>().join(" ");
            }
            "page_size" => page_size = value.parse().unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX),
            "page" => page = value.parse().unwrap_or(1).max(1),
            _ => {}
        }
    }
    let found = if names.is_empty() {
        Vec::new()
    } else {
        store.search_accounts(&names, (page - 1_u32).saturating_mul(page_size), page_size)?
    };
    Ok(Llsd::map([("agents", Llsd::array(found.iter().map(agent_row)))]))
}

fn agent_row(account: &Account) -> Llsd {
    let (first, last) = (account.first.as_str(), account.last.as_str());
    Llsd::map([
        ("id", Llsd::from(account.agent.0)),
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
    fn names_are_answered_with_every_field_and_strangers_named() {
        let (store, ada) = store_with_ada();
        let query = format!("ids={}&ids={}&ids=nonsense", ada.0, Uuid::from_u128(9));
        insta::assert_snapshot!(
            xml::encode(&display_names(&store, &query).unwrap()).replace("<key>", "\n<key>")
        );
        let unknown = AgentId(Uuid::from_u128(9));
        let name = Some(("Ada".into(), "Lovelace".into()));
        assert_eq!(names_of(&store, &[ada, unknown]).unwrap(), [name, None]);
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
    fn a_reply_is_bounded_whatever_is_asked() {
        let (store, ada) = store_with_ada();
        let query = format!("ids={}&", ada.0).repeat(IDS_MAX + 50);
        let reply = display_names(&store, &query).unwrap();
        assert_eq!(reply.get("agents").as_array().len(), IDS_MAX);
    }
}
