//! One instance in the table: what is known of it, and what it is doing.

use super::ledger::Ledger;
use gateway::places::Scene;
use ids::{AgentId, Instant, Uuid, WorldId};
use std::sync::Arc;
use store::Instance;
use world::Cast;

/// Of an instance that nothing more is written down of.
const BEGUN_EMPTY: &str = "It failed again and again and has begun anew. Nothing of that is kept: when it is parked and woken it goes on \
                           as it was last saved.";
/// Of an instance whose world has given up what its template's files say.
const REVERTED: &str = "It panicked again and again with what its template's files say now, and has gone back to what they said before. Mend \
                        them and have them read again.";

/// One instance.
#[derive(Debug)]
pub(in crate::serve) struct Entry {
    pub(in crate::serve) id: Uuid,
    pub(in crate::serve) world: WorldId,
    /// Which there may be none of any more.
    pub(in crate::serve) template: Arc<str>,
    pub(in crate::serve) name: Arc<str>,
    /// Whose own it is.
    pub(in crate::serve) owner: Option<AgentId>,
    /// Seconds since 1970.
    pub(in crate::serve) created_s: i64,
    /// Why its state is not to be had.
    pub(in crate::serve) trouble: Option<Arc<str>>,
    /// Why no world can be made of its state with what its template is now.
    pub(super) misfit: Option<Arc<str>>,
    /// While its template's files say what its world has given up. Not kept beyond the end of the server.
    pub(super) reverted: Option<Reverted>,
    pub(super) state: State,
    /// Time at which `state` began; [`Instant::ZERO`] of an instance that was there before the server began.
    pub(super) since: Instant,
    /// Of one that is in the pool and that somebody is at work on: it may stay there.
    pub(super) ledger_at_work: Option<Arc<Ledger>>,
}

/// What an instance has gone back to, so that it is woken with that.
#[derive(Clone, Debug)]
pub(super) struct Reverted {
    /// [`Cast::fingerprint`] of what it gave up.
    pub(super) from: u64,
    pub(super) to: Arc<Cast>,
}

/// What an instance is doing.
#[derive(Debug)]
pub(super) enum State {
    /// It is in the store, and nothing of it in memory.
    Parked,
    /// It is in the pool.
    Active(Box<Active>),
    /// Somebody is at work on it.
    Busy(Work),
}

/// What is being done with an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Making,
    Waking,
    Parking,
    Ending,
}

/// An instance in the pool.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) scene: Arc<Scene>,
    /// What its world leaves for the journal.
    pub(super) ledger: Arc<Ledger>,
    /// Admissions that the hub has not answered yet. No other work on the instance begins before.
    pub(super) admissions: u32,
    /// Number of the admission that ended last, as [`Table::end_admission`](super::Table::end_admission) counts them.
    pub(super) last_admission: u64,
    /// Times that somebody went in.
    pub(super) visits: u64,
    /// Of these, how many had been when the state that is saved was taken.
    pub(super) visits_saved: u64,
    /// Likewise, of the state that was asked for and has not come yet.
    pub(super) visits_asked: Option<u64>,
    /// Since when nobody has been in it.
    pub(super) empty_since: Option<Instant>,
    /// It is neither saved nor parked before: somebody is about to go in, or the last attempt failed.
    pub(super) rests_until: Instant,
    /// Memory that its making kept; 0 if nobody counts.
    pub(super) kept_bytes: i64,
    /// What it takes in all: what was expected, until it was weighed.
    pub(super) bytes: u64,
}

impl Active {
    /// An instance that comes into the pool because somebody is about to go in.
    pub(super) const fn new(
        scene: Arc<Scene>,
        ledger: Arc<Ledger>,
        now: Instant,
        rests_until: Instant,
    ) -> Self {
        Self {
            scene,
            ledger,
            admissions: 0,
            last_admission: 0,
            visits: 0,
            visits_saved: 0,
            visits_asked: None,
            empty_since: Some(now),
            rests_until,
            kept_bytes: 0,
            bytes: 0,
        }
    }

    /// Somebody goes in.
    pub(super) const fn is_entered(&mut self) {
        self.visits += 1;
        self.empty_since = None;
        self.rests_until = Instant::ZERO;
    }

    /// Whether there is more to it than what is saved.
    pub(super) fn is_changed(&self) -> bool {
        self.visits != self.visits_saved
    }
}

impl Entry {
    pub(super) fn is_of(&self, owner: AgentId, template: &str) -> bool {
        self.owner == Some(owner) && self.template.eq_ignore_ascii_case(template)
    }

    pub(super) const fn state(&self) -> &State {
        &self.state
    }

    pub(super) const fn active_mut(&mut self) -> Option<&mut Active> {
        match &mut self.state {
            State::Active(active) => Some(active),
            _ => None,
        }
    }

    /// What its world has given up, or is about to be woken without ([`Cast::fingerprint`]).
    pub(super) fn reverted_from(&self) -> Option<u64> {
        match self.ledger() {
            Some(ledger) => ledger.reverted_from(),
            None => self.reverted.as_ref().map(|reverted| reverted.from),
        }
    }

    /// If it is in the pool.
    const fn ledger(&self) -> Option<&Arc<Ledger>> {
        match &self.state {
            State::Active(active) => Some(&active.ledger),
            State::Parked | State::Busy(_) => self.ledger_at_work.as_ref(),
        }
    }

    /// What is wrong with it, if anything is.
    pub(super) fn told_trouble(&self) -> Option<&str> {
        let is_closed = self.ledger().is_some_and(|ledger| ledger.is_closed());
        let of_world = match (is_closed, self.reverted_from().is_some()) {
            (true, _) => Some(BEGUN_EMPTY),
            (false, true) => Some(REVERTED),
            (false, false) => None,
        };
        self.trouble.as_deref().or(self.misfit.as_deref()).or(of_world)
    }

    /// As it is kept.
    pub(super) fn row(&self) -> Instance {
        Instance {
            id: self.id,
            template: self.template.to_string(),
            name: self.name.to_string(),
            owner: self.owner,
            created_s: self.created_s,
        }
    }
}

impl State {
    /// In a word.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Parked => "parked",
            Self::Active(_) => "active",
            Self::Busy(Work::Making) => "making",
            Self::Busy(Work::Waking) => "waking",
            Self::Busy(Work::Parking) => "parking",
            Self::Busy(Work::Ending) => "ending",
        }
    }
}
