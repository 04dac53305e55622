//! Looks of avatars. The wardrobe gets reports of arrivals and of the ends of sessions ([`WearRequest`]), and brings along what the avatar wears. The
//! appearance that a client has sent is kept with the account, at most once in [`LOOK_PERIOD`], so that a slider that moves costs no write for each position.

use super::inventory::{INVENTORY_HELD_MAX, InventoryOrder};
use super::{Hub, Record, Session};
use crate::mail::Look;
use grid::inventory::{InventoryTask, WearRequest};
use ids::{Instant, SessionKey};
use link::CircuitKey;
use std::time::Duration;

/// Least time between two facts about the appearance of one user.
const LOOK_PERIOD: Duration = Duration::from_secs(5);
/// Reports of ended sessions that wait for room; the oldest are forgotten first, and the state that they would have freed stays in memory.
const GONE_MAX: usize = 16_384;

/// The look of a session's avatar.
#[derive(Debug, Default)]
pub(crate) struct SessionLook {
    /// The newest look that the client has sent, or the look of the account.
    pub(crate) look: Option<Look>,
    /// The account has an earlier look.
    is_due: bool,
    kept_at: Option<Instant>,
    dressing: Dressing,
}

/// The report of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Dressing {
    /// No report.
    #[default]
    Idle,
    /// A report to be ordered.
    Due,
    /// An ordered report.
    Ordered,
}

impl SessionLook {
    /// Look of an account.
    pub(crate) fn of_account(look: Option<Look>) -> Self {
        Self { look, ..Self::default() }
    }

    /// The look, if the account is to get it now.
    fn take_due(&mut self, now: Instant) -> Option<Look> {
        let is_early = self.kept_at.is_some_and(|kept_at| now.since(kept_at) < LOOK_PERIOD);
        if !self.is_due || is_early {
            return None;
        }
        self.is_due = false;
        self.kept_at = Some(now);
        self.look.clone()
    }
}

impl Session {
    const fn is_dressing_due(&self) -> bool {
        self.root.is_some() && matches!(self.look.dressing, Dressing::Due)
    }
}

impl Hub {
    /// An avatar has arrived in a world.
    pub(super) fn note_arrival(&mut self, key: SessionKey) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.look.dressing = Dressing::Due;
        }
    }

    /// Reports the place of an avatar, if the report is due. Without room for the order it stays due.
    pub(super) fn dress(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get(&key).filter(|session| session.is_dressing_due()) else {
            return;
        };
        let Some(root) = session.root_binding() else { return };
        let region = root.place.scene.is_shared.then(|| root.place.world());
        if self.order_for_user(key, WearRequest::Arrived { session: key, region })
            && let Some(session) = self.sessions.get_mut(&key)
        {
            session.look.dressing = Dressing::Ordered;
        }
    }

    /// The report of an arrival was carried out, or could not be; then it is due again.
    pub(super) fn end_dressing(&mut self, order: &InventoryOrder, is_done: bool) {
        if !matches!(order.task, InventoryTask::Wear(WearRequest::Arrived { .. })) {
            return;
        }
        if let Some(session) = self.sessions.get_mut(&order.circuit.session)
            && session.look.dressing == Dressing::Ordered
        {
            session.look.dressing = if is_done { Dressing::Idle } else { Dressing::Due };
        }
    }

    /// Reports that a session ends, and keeps its look.
    pub(super) fn report_end(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if std::mem::take(&mut session.look.is_due)
            && let Some(look) = session.look.look.clone()
        {
            self.records.push_back(Record::Appearance(session.agent, look));
        }
        let order = InventoryOrder {
            circuit: CircuitKey { session: key, ticket: 0 },
            agent: session.agent,
            secure_session: session.secure_session_id,
            task: WearRequest::Gone(key).into(),
            standing: None,
        };
        if self.gone.len() == GONE_MAX {
            self.gone.pop_front();
        }
        self.gone.push_back(order);
        self.report_gone();
    }

    /// Gives the reports of ended sessions that there is room for.
    fn report_gone(&mut self) {
        while self.inventory.len() < INVENTORY_HELD_MAX
            && let Some(order) = self.gone.pop_front()
        {
            self.inventory.push_back(order);
        }
    }

    /// A client has sent another appearance of its avatar.
    pub(super) fn on_appeared(&mut self, circuit: CircuitKey, look: Look) {
        if let Some(session) = self.sessions.get_mut(&circuit.session)
            && session.look.look.as_ref() != Some(&look)
        {
            (session.look.look, session.look.is_due) = (Some(look), true);
        }
    }

    /// Gives reports that are due, and has appearances kept that have changed.
    pub(super) fn keep_looks(&mut self, now: Instant) {
        self.report_gone();
        let due = self.sessions.values().filter(|session| session.is_dressing_due());
        let due: Vec<SessionKey> = due.map(|session| session.key).collect();
        due.into_iter().for_each(|key| self.dress(key));
        for session in self.sessions.values_mut() {
            if let Some(look) = session.look.take_due(now) {
                self.records.push_back(Record::Appearance(session.agent, look));
            }
        }
    }
}
