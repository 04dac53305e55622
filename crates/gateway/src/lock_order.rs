//! Order of the locks that the gateway's threads share.

use telemetry::LockClass;

/// The hub, see [`Sessions::with`](crate::sessions::Sessions::with).
pub(crate) const HUB: LockClass = LockClass::outermost("the hub");
/// The inbox of a shard, for whose room a sender waits: a wait like that for a lock.
pub(crate) const MAILBOX: LockClass = LockClass::inner("a shard's mailbox", &[HUB]);
/// The instances of [`Places`](crate::places::Places).
pub(crate) const PLACES: LockClass = LockClass::inner("the directory of instances", &[HUB]);
