//! Accounts: names, password hashes, bans, and last places.
//!
//! A row has three checksums. An account that does not match its own is not used, and lists leave it out; a damaged place is none.

use crate::engine::{Conflict, EngineError, Parameter, Row, Sql, Value, values};
use crate::inventory::{insert_folder, insert_item};
use crate::seals::{self, Seal};
use crate::{Folder, Item, Store, StoreError};
use glam::Vec3;
use ids::{AgentId, RegionHandle};
use std::fmt;

/// A user of this grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Stable id, also the avatar's.
    pub agent: AgentId,
    /// First name in the capitals it was made with.
    pub first: String,
    /// Last name in the capitals it was made with.
    pub last: String,
    /// Hash of the password.
    pub password_hash: PasswordHash,
    /// Creation time, seconds since 1970.
    pub created_s: i64,
    /// Reason of a ban.
    pub ban_reason: Option<String>,
    /// Last place of its avatar.
    pub last_location: Option<Location>,
    /// Home.
    pub home: Option<Location>,
}

/// A place in a region, as accounts remember it.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// Name of the region.
    pub region: String,
    /// Region's position on the grid; names may move, so the host compares both.
    pub handle: RegionHandle,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Direction faced; only x and y count.
    pub look_at: Vec3,
}

/// An Argon2id hash in the usual `$argon2id$…` text form. Logs never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// An account to be made, with the inventory it begins with.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Stable id, chosen at random by the caller.
    pub agent: AgentId,
    /// First name.
    pub first: String,
    /// Last name.
    pub last: String,
    /// Hash of the password.
    pub password_hash: PasswordHash,
    /// Seconds since 1970.
    pub created_s: i64,
    /// All folders, parents before or after children as it pleases.
    pub folders: Vec<Folder>,
    /// Items in those folders.
    pub items: Vec<Item>,
}

/// In the order of [`read_account`].
macro_rules! select_accounts {
    ($rest:literal) => {
        concat!(
            "SELECT agent, first_name, last_name, password_hash, created_s, ban_reason, \
             last_region, last_handle, last_x, last_y, last_z, last_look_x, last_look_y, last_look_z, \
             home_region, home_handle, home_x, home_y, home_z, home_look_x, home_look_y, home_look_z, \
             checksum, last_checksum, home_checksum \
             FROM accounts ",
            $rest
        )
    };
}

const INSERT: Sql = Sql::same(
    "INSERT INTO accounts (agent, first_name, last_name, password_hash, created_s, checksum, last_checksum, home_checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
);
const BY_ID: Sql = Sql::same(select_accounts!("WHERE agent = $1"));
/// One that is to be changed. In SQLite the transaction itself holds other writers off.
const BY_ID_TO_CHANGE: Sql = Sql {
    sqlite: select_accounts!("WHERE agent = $1"),
    postgres: select_accounts!("WHERE agent = $1 FOR NO KEY UPDATE"),
};
// SQLite compares and orders the columns of names without regard to case; PostgreSQL's index is on their `lower`.
const BY_NAME: Sql = Sql {
    sqlite: select_accounts!("WHERE first_name = $1 AND last_name = $2"),
    postgres: select_accounts!("WHERE lower(first_name) = lower($1) AND lower(last_name) = lower($2)"),
};
const PAGE: Sql = Sql {
    sqlite: select_accounts!(
        "WHERE (first_name, last_name) > ($1, $2) ORDER BY first_name, last_name LIMIT $3"
    ),
    postgres: select_accounts!(
        "WHERE (lower(first_name), lower(last_name)) > (lower($1 COLLATE \"C\"), lower($2 COLLATE \"C\")) \
         ORDER BY lower(first_name), lower(last_name) LIMIT $3"
    ),
};
const SEARCH: Sql = Sql {
    sqlite: select_accounts!(
        "WHERE first_name LIKE $1 ESCAPE '\\' OR last_name LIKE $1 ESCAPE '\\' \
         OR first_name || ' ' || last_name LIKE $1 ESCAPE '\\' ORDER BY first_name, last_name LIMIT $2 OFFSET $3"
    ),
    postgres: select_accounts!(
        "WHERE lower(first_name) LIKE lower($1 COLLATE \"C\") ESCAPE '\\' \
         OR lower(last_name) LIKE lower($1 COLLATE \"C\") ESCAPE '\\' \
         OR lower(first_name || ' ' || last_name) LIKE lower($1 COLLATE \"C\") ESCAPE '\\' \
         ORDER BY lower(first_name), lower(last_name) LIMIT $2 OFFSET $3"
    ),
};
const CHANGE: Sql =
    Sql::same("UPDATE accounts SET password_hash = $1, ban_reason = $2, checksum = $3 WHERE agent = $4");
const SET_LAST_LOCATION: Sql = Sql::same(
    "UPDATE accounts SET last_region = $1, last_handle = $2, last_x = $3, last_y = $4, last_z = $5, \
     last_look_x = $6, last_look_y = $7, last_look_z = $8, last_checksum = $9 WHERE agent = $10",
);
const SET_HOME: Sql = Sql::same(
    "UPDATE accounts SET home_region = $1, home_handle = $2, home_x = $3, home_y = $4, home_z = $5, \
     home_look_x = $6, home_look_y = $7, home_look_z = $8, home_checksum = $9 WHERE agent = $10",
);

impl Store {
    /// Makes an account together with its inventory: all of it or nothing, on the disk before it returns.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] when the name exists in any capitals, [`StoreError::Query`] otherwise.
    pub fn create_account(&self, new: &NewAccount) -> Result<(), StoreError> {
        let NewAccount { agent, first, last, password_hash, created_s, folders, items } = new;
        let made = self.write(|session| {
            let sum =
                seals::ACCOUNT.of(values![agent.0, first, last, password_hash.0, created_s, None::<String>]);
            let (last_sum, home_sum) = (
                place_checksum(&seals::LAST_PLACE, *agent, None),
                place_checksum(&seals::HOME, *agent, None),
            );
            session.execute(
                INSERT,
                values![agent.0, first, last, password_hash.0, created_s, sum, last_sum, home_sum],
            )?;
            folders.iter().try_for_each(|folder| insert_folder(session, *agent, folder))?;
            items.iter().try_for_each(|item| insert_item(session, *agent, item))
        });
        made.map_err(|source| match source.conflict() {
            Some(Conflict::AccountName) => StoreError::NameTaken { first: first.clone(), last: last.clone() },
            _ => StoreError::query("making the account", format_args!("{first} {last}"))(source),
        })
    }

    /// The account with this id.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`], [`StoreError::Query`].
    pub fn account(&self, agent: AgentId) -> Result<Option<Account>, StoreError> {
        let found =
            self.read(|session| session.query_row(BY_ID, values![agent.0], |row| Ok(read_account(&row))));
        let found = found.map_err(StoreError::query("reading the account", agent.0))?;
        found.map(|account| account.ok_or_else(|| damaged(agent.0))).transpose()
    }

    /// The account with this name, in any capitals.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`], [`StoreError::Query`].
    pub fn account_by_name(&self, first: &str, last: &str) -> Result<Option<Account>, StoreError> {
        let name = || format!("{first} {last}");
        let found = self
            .read(|session| session.query_row(BY_NAME, values![first, last], |row| Ok(read_account(&row))));
        let found = found.map_err(StoreError::query("reading the account", name()))?;
        found.map(|account| account.ok_or_else(|| damaged(name()))).transpose()
    }

    /// Up to `max` accounts in order of their names, beginning behind the name `after`: one page of a list, without damaged accounts.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn accounts(&self, after: Option<(&str, &str)>, max: u32) -> Result<Vec<Account>, StoreError> {
        let listed = self.read(|session| {
            let (first, last) = after.unwrap_or_default();
            let mut name = (first.to_owned(), last.to_owned());
            let mut accounts = Vec::new();
            // Others take the places of damaged ones: a short page is the last.
            loop {
                let wanted = max.saturating_sub(accounts.len() as u32);
                let read = |row: Row<'_>| Ok((read_name(&row), read_account(&row)));
                let rows = session.query(PAGE, values![name.0, name.1, wanted], read)?;
                let is_last = rows.len() < wanted as usize || wanted == 0;
                let next = rows.last().and_then(|(name, _)| name.clone());
                accounts.extend(rows.into_iter().filter_map(|(_, account)| account));
                match next {
                    Some(next) if !is_last && accounts.len() < max as usize => name = next,
                    _ => return Ok(accounts),
                }
            }
        });
        listed.map_err(StoreError::query("listing", "accounts"))
    }

    /// Up to `max` accounts whose first, last or full name begins with `words`, ordered by name, without the first `skip`. Damaged ones among these are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn search_accounts(&self, words: &str, skip: u32, max: u32) -> Result<Vec<Account>, StoreError> {
        // No name contains a NUL, which PostgreSQL would refuse as text.
        if words.contains('\0') {
            return Ok(Vec::new());
        }
        let pattern = like_prefix(words);
        let found = self
            .read(|session| session.query(SEARCH, values![pattern, max, skip], |row| Ok(read_account(&row))));
        let found = found.map_err(StoreError::query("searching accounts for", words))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Replaces the hash of the password.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::DamagedRow`], [`StoreError::Query`].
    pub fn set_password_hash(&self, agent: AgentId, hash: &PasswordHash) -> Result<(), StoreError> {
        self.change_account(agent, |account| account.password_hash = hash.clone())
    }

    /// Bans the account for this reason, or lifts the ban with `None`.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::DamagedRow`], [`StoreError::Query`].
    pub fn set_ban(&self, agent: AgentId, reason: Option<&str>) -> Result<(), StoreError> {
        self.change_account(agent, |account| account.ban_reason = reason.map(str::to_owned))
    }

    /// Remembers where accounts are now, all in one transaction: a server that stops writes thousands at once, and
    /// a commit for each would take seconds. Accounts that are gone are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then no location was written.
    pub fn save_last_locations(&self, locations: &[(AgentId, Location)]) -> Result<(), StoreError> {
        self.save_locations(SET_LAST_LOCATION, &seals::LAST_PLACE, locations)
    }

    /// Sets the place that an account returns to.
    ///
    /// # Errors
    /// [`StoreError::Query`]. An unknown account is ignored.
    pub fn save_home(&self, agent: AgentId, home: Location) -> Result<(), StoreError> {
        self.save_locations(SET_HOME, &seals::HOME, &[(agent, home)])
    }

    fn save_locations(
        &self,
        sql: Sql,
        seal: &Seal,
        locations: &[(AgentId, Location)],
    ) -> Result<(), StoreError> {
        let saved = self.write(|session| {
            for (agent, location) in locations {
                let sum = place_checksum(seal, *agent, Some(location));
                let Location { region, handle, position: at, look_at: look } = location;
                // The engines' integers are signed; the handle's bits go through unchanged.
                let handle = handle.0.cast_signed();
                let values = values![region, handle, at.x, at.y, at.z, look.x, look.y, look.z, sum, agent.0];
                session.execute(sql, values)?;
            }
            Ok(())
        });
        saved.map_err(StoreError::query("writing locations of", format_args!("{} accounts", locations.len())))
    }

    /// Changes the hash of the password or the ban. A damaged account is not sealed anew.
    fn change_account(&self, agent: AgentId, change: impl Fn(&mut Account)) -> Result<(), StoreError> {
        let changed = self.write(|session| {
            let found = session.query_row(BY_ID_TO_CHANGE, values![agent.0], |row| Ok(read_account(&row)))?;
            let Some(found) = found else { return Ok(Err(StoreError::UnknownAccount(agent))) };
            let Some(mut account) = found else { return Ok(Err(damaged(agent.0))) };
            change(&mut account);
            let Account { password_hash, ban_reason, .. } = &account;
            session.execute(CHANGE, values![password_hash.0, ban_reason, checksum(&account), agent.0])?;
            Ok(Ok(()))
        });
        changed.map_err(StoreError::query("changing the account", agent.0))?
    }
}

fn damaged(subject: impl fmt::Display) -> StoreError {
    StoreError::damaged_row("accounts", subject)
}

/// An account; none if it is damaged.
fn read_account(row: &Row<'_>) -> Option<Account> {
    let agent = AgentId(row.get(0).ok()?);
    let account = Account {
        agent,
        first: row.get(1).ok()?,
        last: row.get(2).ok()?,
        password_hash: PasswordHash(row.get(3).ok()?),
        created_s: row.get(4).ok()?,
        ban_reason: row.get(5).ok()?,
        last_location: read_place(row, agent, &seals::LAST_PLACE, [6, 23]),
        home: read_place(row, agent, &seals::HOME, [14, 24]),
    };
    (row.get(22).ok() == Some(checksum(&account))).then_some(account)
}

/// First and last name, of a damaged account as well.
fn read_name(row: &Row<'_>) -> Option<(String, String)> {
    Some((row.get(1).ok()?, row.get(2).ok()?))
}

/// The place in eight columns from `at` on, with the checksum in another one; none if it is damaged.
fn read_place(row: &Row<'_>, agent: AgentId, seal: &Seal, [at, sum_at]: [usize; 2]) -> Option<Location> {
    let place = read_location(row, at).ok()?;
    let sum = place_checksum(seal, agent, place.as_ref());
    place.filter(|_| row.get(sum_at).ok() == Some(sum))
}

/// Eight columns from `at` on; NULL in the first means that there is no place.
fn read_location(row: &Row<'_>, at: usize) -> Result<Option<Location>, EngineError> {
    let Some(region) = row.get::<Option<String>>(at)? else { return Ok(None) };
    let vector =
        |from: usize| Ok::<_, EngineError>(Vec3::new(row.get(from)?, row.get(from + 1)?, row.get(from + 2)?));
    Ok(Some(Location {
        region,
        handle: RegionHandle(row.get::<i64>(at + 1)?.cast_unsigned()),
        position: vector(at + 2)?,
        look_at: vector(at + 5)?,
    }))
}

/// Of an account without its places.
fn checksum(account: &Account) -> i64 {
    let Account { agent, first, last, password_hash, created_s, ban_reason, .. } = account;
    seals::ACCOUNT.of(values![agent.0, first, last, password_hash.0, created_s, ban_reason])
}

/// Of a place of an account, or of none.
fn place_checksum(seal: &Seal, agent: AgentId, place: Option<&Location>) -> i64 {
    let Some(Location { region, handle, position: at, look_at: look }) = place else {
        let mut cells = [Value::Null; 9];
        cells[0] = agent.0.as_value();
        return seal.of(&cells);
    };
    seal.of(values![agent.0, region, handle.0.cast_signed(), at.x, at.y, at.z, look.x, look.y, look.z])
}

/// LIKE pattern of texts that begin with `words`, with a client's wildcards escaped.
fn like_prefix(words: &str) -> String {
    let mut pattern = String::with_capacity(words.len() + 1);
    for letter in words.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::inventory::tests::{folder, item};
    use crate::testing::{TestDatabase, on_both_engines, tamper};
    use uuid::Uuid;

    on_both_engines! {
        names_are_found_and_taken_in_any_capitals,
        an_account_whose_inventory_cannot_be_written_is_not_made_at_all,
        an_id_that_exists_is_not_reported_as_a_taken_name,
        places_return_as_they_were_saved,
        changes_reach_the_account_or_say_that_there_is_none,
        a_list_is_read_page_by_page_in_order_of_names,
        a_search_matches_beginnings_and_takes_wildcards_literally,
        a_damaged_account_is_refused_and_left_out_of_lists,
        a_damaged_place_is_none,
    }

    pub(crate) fn new_account(id: u128, first: &str, last: &str) -> NewAccount {
        let root = folder(id + 0x100, Uuid::nil());
        let item = item(id + 0x200, root.id);
        NewAccount {
            agent: AgentId(Uuid::from_u128(id)),
            first: first.into(),
            last: last.into(),
            password_hash: PasswordHash("$argon2id$…".into()),
            created_s: 1_700_000_000,
            folders: vec![root],
            items: vec![item],
        }
    }

    pub(crate) fn create(store: &Store, id: u128, first: &str, last: &str) -> AgentId {
        let new = new_account(id, first, last);
        store.create_account(&new).unwrap();
        new.agent
    }

    fn place(region: &str, x: f32) -> Location {
        Location {
            region: region.into(),
            handle: RegionHandle::from_grid(40_000, 1001),
            position: Vec3::new(x, 20.5, 30.25),
            look_at: Vec3::X,
        }
    }

    fn names_are_found_and_taken_in_any_capitals(database: &TestDatabase) {
        let store = database.open();
        let agent = create(&store, 1, "Ada", "Lovelace");
        let found = store.account_by_name("aDA", "LOVELACE").unwrap().unwrap();
        assert_eq!((found.agent, found.first.as_str()), (agent, "Ada"));
        let error = store.create_account(&new_account(2, "ada", "lovelace")).unwrap_err();
        assert!(matches!(error, StoreError::NameTaken { .. }), "{error}");
        assert!(store.account_by_name("Ada", "Byron").unwrap().is_none());
    }

    fn an_account_whose_inventory_cannot_be_written_is_not_made_at_all(database: &TestDatabase) {
        let store = database.open();
        let mut new = new_account(1, "Ada", "Lovelace");
        new.items.push(item(9, Uuid::from_u128(0xBAD)));
        let error = store.create_account(&new).unwrap_err();
        assert!(
            matches!(error, StoreError::Query { .. }),
            "an item without its folder is no name conflict: {error}"
        );
        assert!(store.account(new.agent).unwrap().is_none());
        assert!(store.folders(new.agent).unwrap().is_empty());
    }

    fn an_id_that_exists_is_not_reported_as_a_taken_name(database: &TestDatabase) {
        let store = database.open();
        create(&store, 1, "Ada", "Lovelace");
        let error = store.create_account(&new_account(1, "Grace", "Hopper")).unwrap_err();
        assert!(matches!(error, StoreError::Query { .. }), "{error}");
    }

    fn places_return_as_they_were_saved(database: &TestDatabase) {
        let store = database.open();
        let agent = create(&store, 1, "Ada", "Lovelace");
        assert_eq!(store.account(agent).unwrap().unwrap().last_location, None);
        let gone = AgentId(Uuid::from_u128(77));
        store.save_last_locations(&[(agent, place("Plaza", 12.5)), (gone, place("Plaza", 1.0))]).unwrap();
        store.save_home(agent, place("Hills", 99.0)).unwrap();
        let account = store.account(agent).unwrap().unwrap();
        assert_eq!(account.last_location, Some(place("Plaza", 12.5)));
        assert_eq!(account.home, Some(place("Hills", 99.0)));
    }

    fn changes_reach_the_account_or_say_that_there_is_none(database: &TestDatabase) {
        let store = database.open();
        let agent = create(&store, 1, "Ada", "Lovelace");
        store.set_ban(agent, Some("spam")).unwrap();
        store.set_password_hash(agent, &PasswordHash("other".into())).unwrap();
        let account = store.account(agent).unwrap().unwrap();
        assert_eq!(
            (account.ban_reason.as_deref(), account.password_hash.0.as_str()),
            (Some("spam"), "other")
        );
        store.set_ban(agent, None).unwrap();
        assert_eq!(store.account(agent).unwrap().unwrap().ban_reason, None);
        let gone = AgentId(Uuid::from_u128(77));
        assert!(matches!(store.set_ban(gone, None), Err(StoreError::UnknownAccount(agent)) if agent == gone));
    }

    fn a_list_is_read_page_by_page_in_order_of_names(database: &TestDatabase) {
        let store = database.open();
        for (id, first) in [(1, "bob"), (2, "Ada"), (3, "Cleo")] {
            create(&store, id, first, "Resident");
        }
        let names = |after, max| {
            store.accounts(after, max).unwrap().into_iter().map(|account| account.first).collect::<Vec<_>>()
        };
        assert_eq!(names(None, 2), ["Ada", "bob"]);
        assert_eq!(names(Some(("BOB", "resident")), 2), ["Cleo"]);
    }

    fn a_search_matches_beginnings_and_takes_wildcards_literally(database: &TestDatabase) {
        let store = database.open();
        create(&store, 1, "Ada", "Lovelace");
        create(&store, 2, "Grace", "Hopper");
        let found = |words: &str, skip| {
            store.search_accounts(words, skip, 10).unwrap().into_iter().map(|a| a.first).collect::<Vec<_>>()
        };
        assert_eq!(found("love", 0), ["Ada"]);
        assert_eq!(found("grace hop", 0), ["Grace"]);
        assert_eq!(found("", 1), ["Grace"]);
        assert_eq!(found("%", 0), Vec::<String>::new());
        assert_eq!(found("_da", 0), Vec::<String>::new());
        assert_eq!(found("A\0", 0), Vec::<String>::new());
    }

    #[test]
    fn hashes_stay_out_of_logs() {
        assert_eq!(format!("{:?}", PasswordHash("$argon2id$secret".into())), "PasswordHash(…)");
    }

    fn a_damaged_account_is_refused_and_left_out_of_lists(database: &TestDatabase) {
        let store = database.open();
        let agents = ["Ada", "Bob", "Cyd"].map(|first| {
            let id = u128::from(first.as_bytes()[0]) << 16;
            create(&store, id, first, "Lovelace")
        });
        tamper(&store, Sql::same("UPDATE accounts SET ban_reason = 'spam' WHERE first_name = 'Bob'"), &[]);
        let errors = [
            store.account(agents[1]).unwrap_err(),
            store.account_by_name("bob", "lovelace").unwrap_err(),
            store.set_ban(agents[1], None).unwrap_err(),
            store.set_password_hash(agents[1], &PasswordHash("other".into())).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::DamagedRow { table: "accounts", .. }), "{error}");
        }
        let listed = |found: Vec<Account>| found.into_iter().map(|account| account.first).collect::<Vec<_>>();
        assert_eq!(listed(store.accounts(None, 9).unwrap()), ["Ada", "Cyd"]);
        // A page is as long as it can be: a short one is the last.
        assert_eq!(listed(store.accounts(None, 2).unwrap()), ["Ada", "Cyd"]);
        assert_eq!(listed(store.accounts(Some(("Ada", "Lovelace")), 1).unwrap()), ["Cyd"]);
        assert_eq!(listed(store.search_accounts("", 0, 9).unwrap()), ["Ada", "Cyd"]);
        store.set_ban(agents[0], Some("spam")).unwrap();
        assert_eq!(store.account(agents[0]).unwrap().unwrap().ban_reason.as_deref(), Some("spam"));
    }

    fn a_damaged_place_is_none(database: &TestDatabase) {
        let store = database.open();
        let agent = create(&store, 1, "Ada", "Lovelace");
        store.save_last_locations(&[(agent, place("Plaza", 12.5))]).unwrap();
        store.save_home(agent, place("Hills", 1.0)).unwrap();
        tamper(&store, Sql::same("UPDATE accounts SET last_x = 13.5"), &[]);
        let account = store.account(agent).unwrap().unwrap();
        assert_eq!((account.last_location, account.home), (None, Some(place("Hills", 1.0))));
        store.save_last_locations(&[(agent, place("Plaza", 14.5))]).unwrap();
        assert_eq!(store.account(agent).unwrap().unwrap().last_location, Some(place("Plaza", 14.5)));
    }
}
