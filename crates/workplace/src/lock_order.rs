//! Order of the locks that the workplace's threads share, outer ones first.

use telemetry::LockClass;

/// Reloads of templates, one at a time.
pub(crate) const RELOAD: LockClass = LockClass::outermost("the reload of a template");
/// Templates and stepped instances.
pub(crate) const CATALOG: LockClass = LockClass::inner("the catalog of instances", &[RELOAD]);
/// Casts and reloads that are not needed any more.
pub(crate) const RETIRED: LockClass = LockClass::inner("the list of retired casts", &[RELOAD]);
/// The inboxes of all instances.
pub(crate) const INBOXES: LockClass = LockClass::inner("the list of inboxes", &[RELOAD, CATALOG]);
/// Commands of one inbox.
pub(crate) const INBOX: LockClass = LockClass::inner("an inbox", &[INBOXES]);
/// Cast of one inbox.
pub(crate) const CASTING: LockClass = LockClass::inner("the cast of an inbox", &[RELOAD, CATALOG]);
/// A value of one journal buffer.
pub(crate) const JOURNAL_BUFFER: LockClass = LockClass::inner("a journal buffer", &[CATALOG]);

/// The pool of worlds, until the server stops.
pub(crate) const POOL: LockClass = LockClass::outermost("the pool of worlds");
/// The instances that are stepped.
pub(crate) const RUNNING: LockClass = LockClass::inner("the list of running instances", &[POOL]);
/// Counters, missed ticks or newest edits of one world.
pub(crate) const COUNTERS: LockClass = LockClass::inner("the counters of a world", &[RUNNING]);

/// Worlds under construction.
pub(crate) const STARTS: LockClass = LockClass::outermost("the list of starts");
/// The report of one start, which its first taker ends.
pub(crate) const START_CLAIM: LockClass = LockClass::inner("the claim of a start", &[STARTS]);
