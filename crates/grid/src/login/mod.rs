//! The way in: who may enter, and what an entering client is told.
//!
//! [`LoginRequest`] reads what a client sent, [`LoginService`] says who that is or why not ([`Refusal`]), the gateway
//! makes a session and finds a place ([`Start`]), and [`LoginReply`] spells the answer.

mod refusal;
mod reply;
mod request;
mod service;
mod start;

pub use refusal::Refusal;
pub use reply::{AGENT_GROUPS_MAX, Links, LoginReply, StartedAt};
pub use request::LoginRequest;
pub use service::{Authenticated, LoginConfig, LoginService, Now};
pub use start::Start;
