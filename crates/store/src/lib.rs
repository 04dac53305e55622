//! What outlives the process: accounts and their inventories, the states of instances, and tokens of the API, in one embedded
//! SQLite database.
//!
//! This is the only crate that knows SQL. It holds rows and keeps them whole; it does not know what a name may look
//! like, which folders an account needs or how a password is hashed: that is `grid`. It reads no clock: whoever
//! writes a row says when.
//!
//! Start with [`Store`]. Every call is synchronous and takes one lock; reads cost microseconds, writes wait for the
//! disk (`synchronous = FULL`), so an async caller runs writes on a blocking thread.

mod account;
mod database;
mod error;
mod instance;
mod instance_state;
mod inventory;
mod schema;
mod token;

pub use account::{Account, Location, NewAccount, PasswordHash};
pub use database::Store;
pub use error::StoreError;
pub use instance::{Damage, Instance, InstanceList, Listed};
pub use instance_state::{InstanceState, Part, SET_ASIDE_MAX, State};
pub use inventory::{Folder, Item, Permissions, Sale};
pub use token::{ApiToken, TOKEN_HASH_BYTES};
