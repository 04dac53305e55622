//! Scopes: named pieces of work, declared as statics beside their code.

use super::capture::{Arg, ScopeKind};
use super::layout::{self, SCOPE_NAME_MAX, SCOPES_MAX};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::time::Duration;

/// Value for "no limit".
pub(super) const NO_LIMIT: u64 = u64::MAX;

/// A piece of work that is recorded each time it is done.
///
/// ```
/// use telemetry::recorder::{Arg, Scope};
///
/// static SEND: Scope = Scope::new("shard.send").arg(Arg::Count).limit_us(2_000);
///
/// fn send(datagrams: &[&[u8]]) {
///     let _scope = SEND.enter(datagrams.len() as u64);
///     // …
/// }
/// # send(&[]);
/// ```
///
/// On a thread without a recorder, as in tests and in the simulator, entering reads a thread-local and does nothing more; in
/// particular it reads no clock. On other threads the times never return to the caller, so a scope may be used in code that
/// must be deterministic.
#[derive(Debug)]
pub struct Scope {
    name: &'static str,
    arg: Arg,
    kind: ScopeKind,
    limit_ns: AtomicU64,
    /// Its number in the process, or one of the constants below.
    id: AtomicU32,
}

/// Not entered yet.
const UNKNOWN: u32 = u32::MAX;
/// A thread is assigning its number.
const IN_WORK: u32 = u32::MAX - 1;
/// The table was full.
const REFUSED: u32 = u32::MAX - 2;

impl Scope {
    /// A scope without argument and limit. The name is the part of the server and its work: `shard.send`.
    ///
    /// # Panics
    /// When the name is empty or longer than 48 bytes; in a `static` that is a compile error.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        assert!(!name.is_empty() && name.len() <= SCOPE_NAME_MAX, "a scope's name has 1 to 48 bytes");
        Self {
            name,
            arg: Arg::None,
            kind: ScopeKind::Scope,
            limit_ns: AtomicU64::new(NO_LIMIT),
            id: AtomicU32::new(UNKNOWN),
        }
    }

    /// Sets the meaning of the number passed to [`Scope::enter`].
    #[must_use]
    pub const fn arg(mut self, arg: Arg) -> Self {
        self.arg = arg;
        self
    }

    /// Sets its role in the tick.
    #[must_use]
    pub const fn kind(mut self, kind: ScopeKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets its limit in microseconds; a longer slice is an overrun.
    #[must_use]
    pub const fn limit_us(mut self, limit_us: u64) -> Self {
        self.limit_ns = AtomicU64::new(limit_us * 1_000);
        self
    }

    /// Changes the limit for the whole process, from the next exit on; `None` removes it.
    pub fn set_limit(&self, limit: Option<Duration>) {
        let limit_ns = limit.map_or(NO_LIMIT, |limit| u64::try_from(limit.as_nanos()).unwrap_or(NO_LIMIT));
        self.limit_ns.store(limit_ns, Relaxed);
    }

    /// The declared name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) const fn arg_kind(&self) -> Arg {
        self.arg
    }

    pub(super) const fn kind_of(&self) -> ScopeKind {
        self.kind
    }

    #[inline]
    pub(super) fn limit_ns(&self) -> u64 {
        self.limit_ns.load(Relaxed)
    }

    /// Its number; without one, a value above all numbers.
    #[inline]
    pub(super) fn id(&self) -> u32 {
        self.id.load(Relaxed)
    }

    /// Its number, assigned on the first call. `None` when the table is full, and briefly while another thread assigns it:
    /// one event is not worth waiting for that.
    pub(super) fn register(&'static self) -> Option<u16> {
        if self.id.compare_exchange(UNKNOWN, IN_WORK, Acquire, Acquire).is_ok() {
            let n = REGISTRY.claimed.fetch_add(1, Relaxed);
            let id = match REGISTRY.scopes.get(n) {
                Some(place) => {
                    place.set(self).expect("each place is claimed once");
                    n as u32
                }
                None => REFUSED,
            };
            self.id.store(id, Release);
        }
        let id = self.id.load(Acquire);
        (id < SCOPES_MAX as u32).then_some(id as u16)
    }
}

/// The scopes entered in this process, by number.
struct ScopeRegistry {
    scopes: [OnceLock<&'static Scope>; SCOPES_MAX],
    /// Numbers assigned; beyond the table's size, scopes refused.
    claimed: AtomicUsize,
}

static REGISTRY: ScopeRegistry =
    ScopeRegistry { scopes: [const { OnceLock::new() }; SCOPES_MAX], claimed: AtomicUsize::new(0) };

/// The scope with this number, if it is assigned.
pub(super) fn registered(id: usize) -> Option<&'static Scope> {
    REGISTRY.scopes.get(id)?.get().copied()
}

/// All scopes with a number.
pub(super) fn all_registered() -> impl Iterator<Item = (usize, &'static Scope)> {
    (0..SCOPES_MAX).filter_map(|id| Some((id, registered(id)?)))
}

/// Scopes refused because the table was full.
pub(super) fn n_refused() -> u64 {
    REGISTRY.claimed.load(Relaxed).saturating_sub(SCOPES_MAX) as u64
}

/// Begin of a scope as far as its end needs it; the rest is in the thread's memory. A single word: smaller fields would be
/// stored one by one and loaded together, and that store-forwarding stall takes as long as the rest of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    /// The last word of its event.
    pub(super) meta: u64,
}

impl Entered {
    /// A scope that is not recorded.
    pub(super) const NOT: Self = Self { meta: u64::MAX };

    #[inline]
    pub(super) const fn new(scope: u16, depth: u8) -> Self {
        Self { meta: layout::slice_meta(scope, depth as u64) }
    }

    #[inline]
    pub(super) const fn is_recorded(self) -> bool {
        self.meta != Self::NOT.meta
    }

    /// Number of scopes open around it.
    #[inline]
    pub(super) const fn depth(self) -> usize {
        (self.meta >> layout::DEPTH_SHIFT) as usize
    }

    /// The scope's number.
    pub(super) const fn scope(self) -> u16 {
        self.meta as u16
    }
}
