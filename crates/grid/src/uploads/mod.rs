//! Uploads over HTTP in two steps: a capability answers with an address for one upload, the bytes come to that address.
//!
//! [`UploadCall::begin`] judges the request of a capability and yields the [`UploadPurpose`]; [`UploadTickets`] keeps it under a random address. Once the bytes are
//! there, [`UploadPurpose::finish`] checks them and yields the assets to be stored, with the item that names them, in one transaction, and the answer for the client,
//! which leaves behind the commit. For an item in an object there is a [`ContentOrder`] beside them, whose end comes before the answer. [`UploadRoom`] bounds the memory of uploads under way. Nothing here knows a socket or a clock.

mod begin;
mod model;
mod purpose;
mod refusal;
mod room;
mod task;
#[cfg(test)]
mod tests;
mod tickets;

pub use begin::{BegunUpload, UploadCall};
pub use model::{BadModel, MODEL_BODY_BYTES_MAX, MODEL_LIMITS};
pub(crate) use purpose::UPLOAD_ORIGIN;
pub use purpose::{FinishedUpload, UploadPurpose};
pub use refusal::{BeginUploadError, UploadRefusal};
pub use room::UploadRoom;
pub use task::{ContentOrder, FindTaskItem, TaskItem};
pub use tickets::{TICKET_LIFETIME, TICKETS_MAX, TICKETS_PER_AGENT_MAX, UploadTickets, new_ticket_id};
