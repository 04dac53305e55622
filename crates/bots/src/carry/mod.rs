//! Carrying bots: they make things, move them between inventories and the world, and keep a record by which the server's state is audited, also behind a crash.
//!
//! ```text
//! Carrier ── request ─► server ── answer ─► Carrier
//!    │ CarryEvent: asked          CarryEvent: done, refused │
//!    └────────────────► record (a file) ◄───────────────────┘
//!                           │
//!                     CarryLedger: places that answers have named ──┐
//! Inspector ─► Belongings ─► CarryCensus: places of the things now ─┴─► audit: lost, doubled, vanished
//! ```
//!
//! | part | module |
//! |---|---|
//! | things by their names, and their places | `cargo` |
//! | requests and answers, as a file | `record` |
//! | a bot at work | [`Carrier`], with its messages in [`requests`], its HTTP in [`calls`], the bytes of its uploads in [`content`] |
//! | a bot that reads all it has | [`Inspector`] |
//! | expected state, state, and their differences | [`CarryLedger`], [`CarryCensus`], [`AuditFindings`] |

mod audit;
pub mod calls;
mod cargo;
mod carrier;
mod census;
pub mod content;
mod inspector;
pub mod item_row;
mod ledger;
#[cfg(test)]
mod model;
mod plan;
mod record;
pub mod requests;

pub use audit::AuditFindings;
pub use cargo::{CHEST_SERIAL, CargoKey, CargoPlace, CargoTag, ContentHash};
pub use carrier::{ANSWER_MAX, Carrier, CarrierSetup, CarryCounters};
pub use census::{Belongings, CargoFind, CarryCensus, ContentRow, FolderRow, ObjectRow};
pub use content::{Content, content_hash, hash_of};
pub use inspector::{INSPECTION_CALL, Inspector};
pub use item_row::{ItemMasks, ItemRow};
pub use ledger::{CarryLedger, LedgerCounters};
pub use plan::CarryPlan;
pub use record::{CARRY_FILE, CarryCrew, CarryEvent, CarryRecord, Deed, DeedKind, Expectation};
