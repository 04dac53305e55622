//! Login: authentication, refusals, and the reply to an entering client.
//!
//! [`LoginRequest`] parses a client's request, [`LoginService`] authenticates it or refuses it ([`LoginDenial`]), the gateway makes a
//! session and finds a place ([`LoginStart`]), and [`LoginReply`] writes the answer.

mod refusal;
mod reply;
mod request;
mod service;
mod start;

pub use refusal::LoginDenial;
pub use reply::{AGENT_GROUPS_MAX, Links, LoginReply, StartedAt};
pub use request::LoginRequest;
pub use service::{Authenticated, LoginConfig, LoginService, Now};
pub use start::LoginStart;
