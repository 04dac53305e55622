//! `throng token`: tokens of the operator's API, straight on the database.

use crate::cli::{TokenArgs, TokenCommand};
use crate::database::{DatabaseError, open};
use grid::tokens::{NewToken, TokenError, Tokens, has_expired};
use std::time::{SystemTime, UNIX_EPOCH};
use store::ApiToken;

/// Errors of token commands.
#[derive(Debug, thiserror::Error)]
pub enum TokenCommandError {
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// It would end in the moment of its making, or in the next century.
    #[error("a token lasts for 1 s to {LIFETIME_DAYS_MAX} days")]
    Lifetime,
}

/// Longest life of a token that has one: a hundred years.
const LIFETIME_DAYS_MAX: u32 = 36_500;

/// Runs a command and returns its output. A new token stands alone, for scripts.
///
/// # Errors
/// With a sentence for the operator.
pub fn run(command: TokenCommand) -> Result<String, TokenCommandError> {
    match command {
        TokenCommand::Create(TokenArgs { name, scopes, expires, max_worlds, store }) => {
            let whole_s = |life: std::time::Duration| u32::try_from(life.as_secs()).ok();
            let is_life = |life_s: &u32| (1..=LIFETIME_DAYS_MAX * 86_400).contains(life_s);
            let lifetime_s = match expires {
                None => None,
                Some(life) => Some(whole_s(life).filter(is_life).ok_or(TokenCommandError::Lifetime)?),
            };
            let scopes = scopes.into_iter().collect();
            let new = NewToken { name, scopes, lifetime_s, worlds_max: max_worlds };
            let store = open(&store)?;
            Ok(Tokens::new(&store).create(&new, unix_s())? + "\n")
        }
        TokenCommand::List { store } => {
            let (store, now_s) = (open(&store)?, unix_s());
            Ok(Tokens::new(&store).list()?.iter().map(|token| line(token, now_s)).collect())
        }
        TokenCommand::Revoke { name, store } => {
            Tokens::new(&open(&store)?).revoke(&name)?;
            Ok(format!("The token {name} opens nothing any more.\n"))
        }
    }
}

fn line(token: &ApiToken, now_s: i64) -> String {
    let ApiToken { name, scopes, expires_s, worlds_max, .. } = token;
    let end = match expires_s {
        None => "until it is revoked".to_owned(),
        Some(at_s) => {
            let verb = if has_expired(token, now_s) { "expired at" } else { "until" };
            format!("{verb} {}", date(*at_s))
        }
    };
    let worlds = worlds_max.map_or(String::new(), |n| format!(", {n} instances at once"));
    format!("{name}  {}  {end}{worlds}\n", scopes.replace(' ', ","))
}

/// `2026-12-24T18:00:00Z`; the number itself when no calendar has it.
fn date(unix_s: i64) -> String {
    jiff::Timestamp::from_second(unix_s).map_or_else(|_| unix_s.to_string(), |at| at.to_string())
}

#[expect(clippy::disallowed_methods, reason = "a command's one look at the calendar")]
fn unix_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::StoreArgs;
    use grid::tokens::TokenScope;
    use std::path::Path;
    use std::time::Duration;

    fn at(data: &Path) -> StoreArgs {
        StoreArgs { data: Some(data.into()), ..StoreArgs::default() }
    }

    fn create(data: &Path, name: &str, expires: Option<Duration>) -> Result<String, TokenCommandError> {
        run(TokenCommand::Create(TokenArgs {
            name: name.into(),
            scopes: vec![TokenScope::WorldsWrite, TokenScope::Operate, TokenScope::WorldsWrite],
            expires,
            max_worlds: Some(7),
            store: at(data),
        }))
    }

    #[test]
    fn tokens_are_made_listed_and_revoked() {
        let data = tempfile::tempdir().unwrap();
        let list = || run(TokenCommand::List { store: at(data.path()) }).unwrap();
        let shown = create(data.path(), "backend", None).unwrap();
        assert!(
            shown.starts_with("throng_backend_") && shown.len() == "throng_backend_".len() + 65,
            "{shown}"
        );
        create(data.path(), "tomorrow", Some(Duration::from_secs(86_400))).unwrap();
        let listed = list();
        let lines: Vec<&str> = listed.lines().collect();
        let first = "backend  worlds:write,operate  until it is revoked, 7 instances at once";
        assert_eq!((lines.len(), lines[0]), (2, first));
        assert!(lines[1].contains("  until 2") && lines[1].contains("Z, 7"), "{listed}");
        let name = "backend".to_owned();
        run(TokenCommand::Revoke { name, store: at(data.path()) }).unwrap();
        assert!(!list().contains("backend"));
    }

    #[test]
    fn a_life_of_nothing_or_for_ever_is_refused() {
        let data = tempfile::tempdir().unwrap();
        for seconds in [0.0, 0.9, 36_501.0 * 86_400.0, 1e12] {
            let refused = create(data.path(), "a", Some(Duration::from_secs_f64(seconds)));
            assert!(matches!(refused, Err(TokenCommandError::Lifetime)), "{seconds}");
        }
    }
}
