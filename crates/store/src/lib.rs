//! Durable rows: accounts and their inventories, the states of instances, and tokens of the operator's API, in an SQLite file or in a
//! PostgreSQL database.
//!
//! This is the only crate that knows SQL. It holds rows and keeps them whole; it does not know what a name may look
//! like, which folders an account needs or how a password is hashed: that is `grid`. Times of rows are arguments.
//!
//! Start with [`Store`]. Every call blocks its thread, so an async caller makes it on a blocking thread. A write has reached the disk when
//! its call returns. With SQLite, callers take turns, and reads cost microseconds. With PostgreSQL, up to four run side by side, each
//! statement takes a journey to the server, and a call waits for a server that restarts, at most as long as the
//! pool (`engine`) says.

mod account;
mod check;
mod copy;
mod counter;
mod damage;
mod database;
mod engine;
mod error;
mod instance;
mod instance_state;
mod inventory;
mod schema;
mod tables;
#[cfg(test)]
mod testing;
mod token;
mod url;

pub use account::{Account, Location, NewAccount, PasswordHash};
pub use check::{CheckReport, check, migrate};
pub use copy::{CopyError, CopyProgress, CopyReport, copy};
pub use damage::{Damage, Part, SET_ASIDE_MAX};
pub use database::Store;
pub use error::{DatabaseFailure, StoreError};
pub use instance::{Instance, InstanceList, InstanceOrigin, Listed};
pub use instance_state::{InstanceState, State};
pub use inventory::{Folder, Item, Permissions, Sale};
pub use tables::TableDigest;
pub use token::{ApiToken, TOKEN_HASH_BYTES};
pub use url::{StoreUrl, StoreUrlError};
