//! Restarts of regions that managers of estates order from their viewers. The hub counts down; the thread of restarts, which starts behind that of the hub,
//! carries them out.

use ids::{Epoch, WorldId};
use std::sync::{Arc, OnceLock};
use workplace::restarts::{RestartOrders, RestartRefusal};

/// The way of these orders.
#[derive(Clone, Default)]
pub(super) struct EstateRestarts(Arc<OnceLock<RestartOrders>>);

impl EstateRestarts {
    /// Connects the thread of restarts, once.
    pub(super) fn connect(&self, orders: RestartOrders) {
        assert!(self.0.set(orders).is_ok(), "one thread carries out restarts");
    }

    /// Has a world restarted from its present state, without waiting for that.
    pub(super) fn order(&self, WorldId(world): WorldId) {
        let ended = move |outcome: Result<Epoch, RestartRefusal>| match outcome {
            Ok(Epoch(epoch)) => {
                tracing::info!(world, epoch, "a manager of the estate has restarted a region")
            }
            Err(why) => tracing::warn!(world, %why, "a region was not restarted for a manager of its estate"),
        };
        let ordered = match self.0.get() {
            Some(orders) => orders.order(WorldId(world), ended),
            // Clients come later than the thread.
            None => Err(RestartRefusal::Busy),
        };
        if let Err(why) = ordered {
            tracing::warn!(world, %why, "a region was not restarted for a manager of its estate");
        }
    }
}
