//! Lifecycle of one instance.
//!
//! | phase | job under way | after success | after failure |
//! |---|---|---|---|
//! | `Recording` | write the row | `Suspended` | gone |
//! | `Suspended` | none | | |
//! | `Starting` | build the world | `Active` | `Suspended`; after the first start `Deleting` |
//! | `Active` | none | | |
//! | `Suspending` | save the state | `Suspended` | `Active` |
//! | `Deleting` | delete the row | gone | the phase before |
//!
//! Requests start or delete a suspended instance, and suspend or delete an active one. The registry also suspends active instances on its own.
//!
//! *Settled* phases are `Suspended` and `Active`. In every other phase exactly one job of the instance is unfinished, and requests for the instance
//! wait in its queue until it settles.

use super::JobId;
use ids::{Instant, WorldId};
use link::AdmissionNumber;
use std::ops::Range;

/// Phase of an instance; the table of the module lists the transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstancePhase {
    /// The row is being written; the instance does not exist if the node crashes before the write. The number is the memory reserved for the first
    /// start, in bytes.
    Recording(Option<u64>),
    /// The instance is in the store only.
    Suspended,
    /// The world is under construction, from the template or from the saved state.
    Starting(StartingInstance),
    /// The world is being stepped.
    Active(ActiveInstance),
    /// The world has stopped and its state is being saved. The world continues if the save fails.
    Suspending(ActiveInstance),
    /// The row is being deleted. The world of a formerly active instance is stepped until the row is gone.
    Deleting(Option<ActiveInstance>),
}

/// Resources of an instance under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartingInstance {
    /// Local ids of the world.
    pub(super) local_ids: Range<u32>,
    /// Reserved memory; the reservation ends with the job.
    pub(super) reserved_bytes: u64,
    /// True for the first start after the creation; the instance is deleted if this start fails.
    pub(super) is_first: bool,
    /// Number of template changes before the start: a state that does not fit this template may fit a later one.
    pub(super) revision: u64,
}

/// Instance with its world in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActiveInstance {
    /// Local ids of the world.
    pub(super) local_ids: Range<u32>,
    /// Measured or expected memory, released when the world is removed.
    pub(super) bytes: u64,
    /// Sessions in the world, including those that are entering or leaving it, as counted by the gateway.
    pub(super) occupants: u32,
    /// Orders to admit a visitor that the gateway has not answered.
    pub(super) admissions: u32,
    /// Admissions since the start. The size of a visited world is representative of typical use.
    pub(super) visits: u32,
    /// Value of `visits` in the saved state.
    pub(super) visits_saved: u32,
    /// Unfinished save, with the value of `visits` in its state.
    pub(super) saving: Option<(JobId, u32)>,
    /// The last admission into the world. A count of occupants from before it does not include its visitor.
    pub(super) last_admission: AdmissionNumber,
    /// Start of the time without occupants and admissions.
    pub(super) empty_since: Option<Instant>,
    /// The instance is neither saved nor suspended before this time: a visitor is expected, or the last attempt failed.
    pub(super) spared_until: Instant,
    /// True if the suspension makes room for another world.
    pub(super) is_evicted: bool,
}

impl ActiveInstance {
    /// True without occupants and without pending admissions.
    pub(super) const fn is_empty(&self) -> bool {
        self.occupants == 0 && self.admissions == 0
    }

    /// True if visitors have entered since the saved state.
    pub(super) const fn is_changed(&self) -> bool {
        self.visits != self.visits_saved
    }

    /// True if the instance may be suspended now.
    pub(super) fn is_evictable(&self, now: Instant) -> bool {
        self.is_empty() && self.spared_until <= now
    }
}

impl InstancePhase {
    /// Word for the API and the log.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Recording(_) => "making",
            Self::Suspended => "suspended",
            Self::Starting(_) => "resuming",
            Self::Active(_) => "active",
            Self::Suspending(_) => "suspending",
            Self::Deleting(_) => "ending",
        }
    }

    /// True if no job determines the phase.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self, Self::Suspended | Self::Active(_))
    }

    /// Local ids in use.
    pub(super) const fn local_ids(&self) -> Option<&Range<u32>> {
        match self {
            Self::Recording(_) | Self::Suspended | Self::Deleting(None) => None,
            Self::Starting(starting) => Some(&starting.local_ids),
            Self::Active(active) | Self::Suspending(active) | Self::Deleting(Some(active)) => {
                Some(&active.local_ids)
            }
        }
    }

    /// The instance's world, if it is in memory and complete.
    pub(super) const fn active_mut(&mut self) -> Option<&mut ActiveInstance> {
        match self {
            Self::Active(active) | Self::Suspending(active) | Self::Deleting(Some(active)) => Some(active),
            Self::Recording(_) | Self::Suspended | Self::Starting(_) | Self::Deleting(None) => None,
        }
    }

    /// True while the world is stepped and no job determines the phase.
    pub(super) const fn is_active(&self) -> bool {
        matches!(self, Self::Active(_))
    }

    /// Asserts that the table of the module has this transition.
    pub(super) fn assert_transition(&self, world: WorldId, next: &Self) {
        let is_allowed = matches!(
            (self, next),
            (Self::Recording(_) | Self::Starting(_) | Self::Suspending(_), Self::Suspended)
                | (Self::Suspended, Self::Starting(_) | Self::Deleting(None))
                | (Self::Starting(_) | Self::Suspending(_) | Self::Deleting(Some(_)), Self::Active(_))
                | (Self::Active(_), Self::Suspending(_) | Self::Deleting(Some(_)))
                | (Self::Deleting(None), Self::Suspended)
        );
        assert!(is_allowed, "world {}: {} cannot become {}", world.0, self.as_str(), next.as_str());
    }
}
