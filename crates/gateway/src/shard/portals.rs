//! Portals: an avatar that walks into one is reported to the hub, once. Worlds know nothing of them: destinations are no part of a world.

use super::{ClientIndex, Shard};
use crate::mail::{FromShard, Request};
use crate::places::Place;
use ids::Instant;
use replicate::Replica;

impl Shard {
    /// Checks if a client's avatar has entered a portal since the last check. An avatar that arrives within one has to leave it first: a
    /// way back may lead there.
    pub(super) fn notice_portal(
        &mut self,
        now: Instant,
        index: ClientIndex,
        place: &Place,
        replica: &Replica,
    ) {
        let portals = &place.scene.portals;
        if portals.is_empty() {
            return;
        }
        let client = self.client(index);
        let Some(own) = replica.of_session(client.session()) else { return };
        let at = replica.hot()[own as usize].position;
        let inside = portals.iter().position(|portal| portal.holds(at)).map(|number| number as u8);
        let former = client.portal.replace(inside);
        let has_come = former.is_some_and(|former| former != inside);
        if let Some(number) = inside.filter(|_| has_come)
            && client.asks.try_spend(now)
        {
            let (key, world) = (client.key(), place.world());
            self.mail.push(FromShard::Request(key, Request::Portal { world, number }));
        }
    }
}
