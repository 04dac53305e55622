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
//! A request starts or deletes a suspended instance and suspends or deletes an active one; the registry suspends an active one by itself.
//!
//! *Settled* phases are `Suspended` and `Active`. In every other phase exactly one job is under way, and requests for the instance wait
//! in its queue until it settles.

use super::JobId;
use ids::{Instant, WorldId};
use link::AdmissionNumber;
use std::ops::Range;

/// Phase of an instance; see the module for the transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstancePhase {
    /// Its row is being written; if the node crashes before that, the instance does not exist. The number is the memory reserved for its
    /// first start, in bytes.
    Recording(Option<u64>),
    /// In the store only.
    Suspended,
    /// Its world is under construction, from the template or from the saved state.
    Starting(StartingInstance),
    /// Its world is stepped.
    Active(ActiveInstance),
    /// Its world has stopped and its state is being saved. It continues if that fails.
    Suspending(ActiveInstance),
    /// Its row is being deleted. A world that was stepped is stepped until the row is gone.
    Deleting(Option<ActiveInstance>),
}

/// Resources of an instance under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartingInstance {
    /// Local ids of the world.
    pub(super) local_ids: Range<u32>,
    /// Reserved memory; the reservation ends with the job.
    pub(super) reserved_bytes: u64,
    /// First start after its creation; the instance is deleted if it fails.
    pub(super) is_first: bool,
    /// Number of template changes before the start: a state that did not fit may fit a later template.
    pub(super) revision: u64,
}

/// An instance whose world is in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActiveInstance {
    /// Local ids of the world.
    pub(super) local_ids: Range<u32>,
    /// Measured or expected memory, credited when the world is removed.
    pub(super) bytes: u64,
    /// Sessions in the world, or whose circuit is entering or leaving it, as the gateway counts them.
    pub(super) occupants: u32,
    /// Admissions that were ordered from the gateway and are not answered yet.
    pub(super) admissions: u32,
    /// Admissions since the start. The size of a visited world is representative of use.
    pub(super) visits: u32,
    /// Admissions that the saved state contains.
    pub(super) visits_saved: u32,
    /// Save under way, with the admissions that its state will contain.
    pub(super) saving: Option<(JobId, u32)>,
    /// The last admission into the world. An earlier count of the occupants lacks its visitor.
    pub(super) last_admission: AdmissionNumber,
    /// Start of the time without occupants and admissions.
    pub(super) empty_since: Option<Instant>,
    /// Before this time it is neither saved nor suspended: a visitor is expected, or the last attempt failed.
    pub(super) spared_until: Instant,
    /// Its suspension makes room for another world.
    pub(super) is_evicted: bool,
}

impl ActiveInstance {
    /// True without occupants and without visitors on their way in.
    pub(super) const fn is_empty(&self) -> bool {
        self.occupants == 0 && self.admissions == 0
    }

    /// True if it has had visitors that the saved state does not contain.
    pub(super) const fn is_changed(&self) -> bool {
        self.visits != self.visits_saved
    }

    /// True if it may be suspended now.
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

    /// True if no job of the instance is under way.
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

    /// True while its world is stepped and no job of it is under way.
    pub(super) const fn is_active(&self) -> bool {
        matches!(self, Self::Active(_))
    }

    /// Asserts that the diagram has this transition.
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
