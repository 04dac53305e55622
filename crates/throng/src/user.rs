//! `throng user`: accounts, straight on the database.

use crate::cli::{NameArg, UserCommand};
use crate::database::{DatabaseError, open};
use grid::names::Name;
use grid::password::Cost;
use grid::users::{UserError, Users};
use std::io::{self, BufRead, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use store::Store;

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
        UserCommand::List { store } => list(&open(&store)?),
        UserCommand::Ban { name, store } => {
            let (first, last) = parts(&name);
            let store = open(&store)?;
            Users::new(&store, Cost::default()).ban(&first, &last, BAN_REASON)?;
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

fn list(store: &Store) -> Result<String, UserCommandError> {
    let users = Users::new(store, Cost::default());
    let mut text = String::new();
    let mut after: Option<(String, String)> = None;
    loop {
        let from = after.as_ref().map(|(first, last)| (first.as_str(), last.as_str()));
        let page = users.list(from, PAGE)?;
        for account in &page {
            let banned = account.ban_reason.as_ref().map_or(String::new(), |why| format!("  banned: {why}"));
            text.push_str(&format!("{}  {} {}{banned}\n", account.agent.0, account.first, account.last));
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => {
                after = Some((last.first.clone(), last.last.clone()))
            }
            _ => return Ok(text),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a command's one look at the calendar")]
fn unix_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
