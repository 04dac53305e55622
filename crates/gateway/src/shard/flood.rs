//! Answers to a client above its share: its messages are refused with a notice.
//!
//! Each refused message is in a notice (`notices.rs`), and one TeleportFailed per [`PERIOD`] stands for teleports, because a client
//! waits for the end of a teleport. The share itself is [`super::token_bucket::TokenBucket`].

use super::Shard;
use super::incoming::Incoming;
use super::notices::{NOTICE_PERIOD as PERIOD, NoticeKind};
use crate::mail::{FromShard, Request};
use wire::messages::*;

impl Shard {
    /// Informs a client that a message exceeds its limits.
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
        let failed_at = &mut client.teleport_failed_at;
        if is_teleport && failed_at.is_none_or(|failed_at| at.now.since(failed_at) >= PERIOD) {
            *failed_at = Some(at.now);
            self.mail.push(FromShard::Request(key, Request::TeleportRefused));
        }
        self.notify(at.now, at.index, NoticeKind::Flood, at.out);
    }
}
