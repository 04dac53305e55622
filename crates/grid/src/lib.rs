//! Services of the grid: accounts, login, inventory, names, tokens of the API, and the answers behind most capabilities.
//!
//! This crate decides; `store` keeps, `wire` spells and `gateway` carries. It knows no socket, no session and no circuit: the caller
//! passes the session's agent, never a request's claim, and the time.
//!
//! Start with [`login::LoginService`] for logins, [`inventory`] and [`capability`] for clients' next requests, [`users::Users`] for the
//! operator's commands, [`pending_places::PendingPlaces`] for places that wait for the database, and [`tokens::Tokens`] for programs that use the operator's API.

pub mod asset_sources;
pub mod attempts;
pub mod capability;
pub mod contents;
pub mod inventory;
mod kinds;
mod library;
pub mod login;
pub mod names;
pub mod password;
pub mod pending_places;
pub mod tokens;
pub mod uploads;
pub mod users;

use uuid::Uuid;

/// A random id.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn random_id() -> Result<Uuid, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}
