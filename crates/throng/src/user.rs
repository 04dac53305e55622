//! `throng user`: accounts, straight on the database; and the present users of a running server.

use crate::cli::{NameArg, UserCommand};
use crate::database::{DatabaseError, open};
use crate::operator::OperatorError;
use crate::server_command;
use grid::names::Name;
use grid::password::Cost;
use grid::users::{UserError, Users};
use ids::{AgentId, Uuid};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, BufRead, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Account, Location, Store, StoreError};

/// Accounts read at once for the list.
const PAGE: u32 = 500;
/// Reason shown to a banned user if the operator gave none.
const BAN_REASON: &str = "banned by the operator";

/// Errors of user commands.
#[derive(Debug, thiserror::Error)]
pub enum UserCommandError {
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The account, the name or the password.
    #[error(transparent)]
    User(#[from] UserError),
    /// The running server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// No account has this name or id.
    #[error("there is no account {0}")]
    Unknown(String),
    /// A row of the database.
    #[error("cannot read the account")]
    Store(#[from] StoreError),
    /// Standard input or output.
    #[error("cannot read the password or write the answer")]
    Io(#[from] io::Error),
}

/// Runs a command and returns its output.
///
/// # Errors
/// With a sentence for the operator.
pub fn run(command: UserCommand) -> Result<String, UserCommandError> {
    match command {
        UserCommand::Add { name, store } => {
            let (first, last) = parts(&name);
            let store = open(&store)?;
            let password = read_password()?;
            Users::new(&store, Cost::default()).add(&first, &last, &password, unix_s())?;
            Ok(format!("{first} {last} can log in now.\n"))
        }
        UserCommand::Passwd { name, store } => {
            let (first, last) = parts(&name);
            let store = open(&store)?;
            let password = read_password()?;
            Users::new(&store, Cost::default()).set_password(&first, &last, &password)?;
            Ok(format!("The password of {first} {last} is changed.\n"))
        }
        UserCommand::List { json, store } => list(&open(&store)?, json),
        UserCommand::Show { name, json, store } => {
            let account = find(&open(&store)?, &name)?;
            Ok(if json { format!("{}\n", row(&account)) } else { details(&account) })
        }
        UserCommand::Online { region, circuits, json, data } => {
            Ok(server_command::online(&data.data, region.as_deref(), circuits, json)?)
        }
        UserCommand::Ban { name, reason, store } => {
            let (first, last) = parts(&name);
            let store = open(&store)?;
            let reason = reason.as_deref().unwrap_or(BAN_REASON);
            Users::new(&store, Cost::default()).ban(&first, &last, reason)?;
            Ok(format!("{first} {last} cannot log in any more. To end a running session: throng kick.\n"))
        }
        UserCommand::Unban { name, store } => {
            let (first, last) = parts(&name);
            let store = open(&store)?;
            Users::new(&store, Cost::default()).unban(&first, &last)?;
            Ok(format!("{first} {last} can log in again.\n"))
        }
    }
}

/// First and last name; names of one word get the usual last name.
fn parts(name: &NameArg) -> (String, String) {
    let name = name.name();
    let (first, last) = name.split_once(' ').unwrap_or((&name, Name::SINGLE_LAST));
    (first.to_owned(), last.to_owned())
}

fn read_password() -> io::Result<String> {
    write!(io::stderr(), "Password: ")?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// The account with this name or id.
fn find(store: &Store, name: &NameArg) -> Result<Account, UserCommandError> {
    let text = name.name();
    let account = match text.parse::<Uuid>() {
        Ok(id) => store.account(AgentId(id))?,
        Err(_) => {
            let (first, last) = parts(name);
            let Name { first, last } = Name::parse(&first, &last).map_err(UserError::from)?;
            store.account_by_name(&first, &last)?
        }
    };
    account.ok_or(UserCommandError::Unknown(text))
}

/// An account as JSON.
fn row(account: &Account) -> Value {
    let place = |location: &Option<Location>| {
        location.as_ref().map(|at| json!({ "region": at.region, "position": at.position.to_array() }))
    };
    json!({
        "id": account.agent.0.to_string(),
        "name": format!("{} {}", account.first, account.last),
        "created_s": account.created_s,
        "banned": account.ban_reason,
        "last": place(&account.last_location),
        "home": place(&account.home),
    })
}

fn details(account: &Account) -> String {
    let place = |location: &Option<Location>| {
        let shown = location.as_ref().map(|at| {
            let [x, y, z] = at.position.to_array();
            format!("{} <{x:.0}, {y:.0}, {z:.0}>", at.region)
        });
        shown.unwrap_or_else(|| "none".to_owned())
    };
    format!(
        "name     {} {}\nid       {}\ncreated  {} s after 1970\nbanned   {}\nlast     {}\nhome     {}\n",
        account.first,
        account.last,
        account.agent.0,
        account.created_s,
        account.ban_reason.as_deref().unwrap_or("no"),
        place(&account.last_location),
        place(&account.home)
    )
}

/// A line for each account, or all of them as JSON.
fn list(store: &Store, json: bool) -> Result<String, UserCommandError> {
    let users = Users::new(store, Cost::default());
    let (mut text, mut rows) = (String::new(), Vec::new());
    let mut after: Option<(String, String)> = None;
    loop {
        let from = after.as_ref().map(|(first, last)| (first.as_str(), last.as_str()));
        let page = users.list(from, PAGE)?;
        for account in &page {
            if json {
                rows.push(row(account));
                continue;
            }
            let banned = account.ban_reason.as_ref().map_or(String::new(), |why| format!("  banned: {why}"));
            let _ = writeln!(text, "{}  {} {}{banned}", account.agent.0, account.first, account.last);
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => {
                after = Some((last.first.clone(), last.last.clone()))
            }
            _ => return Ok(if json { format!("{}\n", json!({ "users": rows })) } else { text }),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a command's one look at the calendar")]
fn unix_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::RegionHandle;
    use store::PasswordHash;

    #[test]
    fn an_account_is_told_without_its_password() {
        let at = Location {
            region: "Harbour".into(),
            handle: RegionHandle::from_grid(1_000, 1_000),
            position: [10.4, 20.0, 30.0].into(),
            look_at: [1.0, 0.0, 0.0].into(),
        };
        let account = Account {
            agent: AgentId(Uuid::from_u128(7)),
            first: "Ada".into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash("secret".into()),
            created_s: 5,
            ban_reason: None,
            last_location: Some(at),
            home: None,
        };
        let text = details(&account);
        assert!(text.contains("last     Harbour <10, 20, 30>\nhome     none\n"), "{text}");
        let told = row(&account);
        assert_eq!((&told["name"], &told["home"]), (&json!("Ada Lovelace"), &Value::Null));
        assert!(!text.contains("secret") && !told.to_string().contains("secret"));
    }
}
