//! Answers to a client that sends more than its share: what it sent is refused, and it is told so.
//!
//! One alert per [`NOTICE_PERIOD`] for everything refused, and one TeleportFailed for teleports, because a client waits for the end
//! of a teleport. The share itself is [`super::client::Allowance`].

use super::Shard;
use super::dispatch::Incoming;
use crate::mail::{FromShard, Request};
use ids::Instant;
use std::time::Duration;
use wire::messages::*;

/// Least time between two notices of a kind to one client.
const NOTICE_PERIOD: Duration = Duration::from_secs(1);

/// Text of the alert.
const TOO_MUCH: &str = "You are sending too much at once. The last of it was not carried out.";

/// When a client was last told that something of it was refused.
#[derive(Debug, Default)]
pub(super) struct FloodNotices {
    alerted_at: Option<Instant>,
    teleport_failed_at: Option<Instant>,
}

/// Whether a notice is due, and takes it down.
fn is_due(now: Instant, at: &mut Option<Instant>) -> bool {
    let is_due = at.is_none_or(|at| now.since(at) >= NOTICE_PERIOD);
    if is_due {
        *at = Some(now);
    }
    is_due
}

impl Shard {
    /// Tells a client that a message was refused as too many.
    pub(super) fn answer_flood(&mut self, at: &mut Incoming<'_>, number: MessageNumber) {
        let client = self.client(at.index);
        let key = client.key();
        let is_teleport = matches!(
            number,
            TeleportLocationRequest::NUMBER
                | TeleportRequest::NUMBER
                | TeleportLandmarkRequest::NUMBER
                | TeleportLureRequest::NUMBER
        );
        if is_teleport && is_due(at.now, &mut client.floods.teleport_failed_at) {
            self.mail.push(FromShard::Request(key, Request::TeleportRefused));
        }
        if is_due(at.now, &mut self.client(at.index).floods.alerted_at) {
            self.send_alert(at, TOO_MUCH);
        }
    }
}
