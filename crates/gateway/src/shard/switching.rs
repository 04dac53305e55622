//! Another world behind a living circuit: the same place on the grid, and everything in it is different ([ADR
//! 0013](../../../../docs/adr/0013-the-world-behind-a-circuit.md)).
//!
//! The avatar leaves one world and enters the other as at an arrival, and until then the client's view stays. Then, in this order: the
//! region introduces itself by its new name, TeleportLocal places the avatar, all displayed avatars and objects are killed, and those
//! of the new world are sent, with the ground. Its own avatar is killed with the others: it has another local id now, and
//! node-metaverse, which knows objects by these, would show two of it. Viewers always keep their own.

use super::client::Client;
use super::client_intent::IntendedPosture;
use super::filter::UpdateFilter;
use super::progress::{ArrivalMessages, Stage};
use super::{ClientIndex, Shard};
use crate::hub::travel::{self, VIA_LOCATION};
use crate::land::{RegionFacts, region_handshake};
use crate::mail::FromShard;
use crate::places::Place;
use circuit::Reliability;
use glam::Vec3;
use ids::{AgentId, Instant, LocalId, Uuid};
use link::{Action, Enter};
use replicate::{Replica, Viewer};
use std::sync::Arc;
use wire::messages::{TeleportLocal, TeleportLocalInfo};

/// TeleportFlags: to a location, within the region.
pub(super) const WITHIN_REGION: u32 = VIA_LOCATION | travel::WITHIN_REGION;

impl Shard {
    /// Sends a client's avatar into the world of another binding of its place, to a position there and with a direction to face. One
    /// that `returns` comes out at its last position in that world.
    pub(super) fn switch(
        &mut self,
        now: Instant,
        index: ClientIndex,
        place: &Arc<Place>,
        to: (Vec3, Vec3),
        returns: bool,
    ) {
        let client = self.client(index);
        if matches!(client.stage, Stage::Leaving(..)) {
            return;
        }
        let (key, spot, stands) = (client.key(), client.spot(), client.stands());
        let stood = std::mem::replace(&mut client.stood, stands);
        let stood = stood.filter(|(world, ..)| returns && *world == place.world());
        let (position, look_at) = stood.map_or(to, |(_, position, look_at)| (position, look_at));
        if client.has_avatar() {
            self.command(index, Action::Leave);
        }
        self.mail.push(FromShard::Left { circuit: key, spot });

        let client = self.client(index);
        assert_eq!(client.place.id, place.id, "another world comes behind a circuit at the same place only");
        let former = std::mem::replace(&mut client.place, Arc::clone(place));
        client.forget_world(now, &former.scene.feed.current(), position, look_at);
        let has_land = |place: &Place| place.scene.feed.current().land().is_some();
        client.greeting.ground_sent &=
            Arc::ptr_eq(&former.scene.ground, &place.scene.ground) && !has_land(&former) && !has_land(place);
        client.epoch = place.scene.feed.current().epoch;
        client.stage = Stage::Entering;
        let enter = Action::Enter(enter_action(client, position, look_at));
        self.by_world.remove(&(former.world(), key));
        self.by_world.insert((place.world(), key), index);
        self.command(index, enter);
        for action in self.client(index).intent.again(IntendedPosture::Up) {
            self.command(index, action);
        }
    }
}

impl Client {
    /// The avatar has appeared in the world behind the circuit. False if there is no room for both messages: the next attempt sends the
    /// rest. A handshake sent with each would take any room before the other message had some.
    pub(super) fn send_switch(&mut self, place: &Place, position: Vec3) -> bool {
        if self.sent_on_arrival == ArrivalMessages::Nothing {
            let mut handshake = Vec::new();
            let replica = place.scene.feed.current();
            let facts = RegionFacts::new(place, &replica, self.ticket.agent);
            region_handshake(place, &facts).encode(&mut handshake);
            if self.circuit.send(Reliability::Reliable, &handshake, true).is_err() {
                return false;
            }
            self.sent_on_arrival = ArrivalMessages::Region;
            self.land.record_estate(&replica);
        }
        let mut here = Vec::new();
        TeleportLocal {
            info: TeleportLocalInfo {
                agent_id: self.ticket.agent.0,
                location_id: 4,
                position,
                look_at: self.arrival.1,
                teleport_flags: WITHIN_REGION,
            },
        }
        .encode(&mut here);
        let is_told = self.circuit.send(Reliability::Reliable, &here, true).is_ok();
        if is_told {
            self.sent_on_arrival = ArrivalMessages::All;
        }
        is_told
    }

    /// Marks all displayed avatars and objects of a world for kills, its own avatar first, and resets the view.
    fn forget_world(&mut self, now: Instant, replica: &Replica, position: Vec3, look_at: Vec3) {
        let (session, visible_max) = (self.session(), self.viewer.visible_max);
        let former = std::mem::replace(&mut self.viewer, Viewer::new(session, position, visible_max));
        let mut gone: Vec<LocalId> = former.known().collect();
        let scenery = std::mem::take(&mut self.scenery);
        gone.extend(scenery.sent().known(replica.scenery()));
        // Objects still under way may arrive after their kill, and are killed once more after their ack.
        let nil = AgentId(Uuid::nil());
        self.shown.extend(scenery.under_way(replica.scenery()).map(|(sequence, id)| (sequence, id, nil)));
        let objects = std::mem::take(&mut self.objects);
        gone.extend(objects.sent.known());
        self.shown.extend(objects.under_way().map(|(sequence, id)| (sequence, id, nil)));
        self.unkilled.splice(0..0, gone);
        self.rested.clear();
        self.created.clear();
        self.files.clear();
        self.land.forget_world();
        self.matter.clear();
        self.filter = UpdateFilter::default();
        self.animation_cursor = 0;
        self.arrival = (position, look_at);
        self.switched = true;
        self.portal = None;
        self.keep_spare(now);
        // The body faces where the passage leads; keys that are held come again with the next update.
        self.intent.forget_control();
        self.intent.forget_teleport();
    }
}

/// Brings a client's avatar into a world, as it looks.
pub(super) fn enter_action(client: &Client, position: Vec3, look_at: Vec3) -> Box<Enter> {
    let ticket = &client.ticket;
    let appearance = client.look.as_ref().map(|look| Arc::clone(&look.appearance));
    Box::new(Enter {
        agent: ticket.agent,
        first_name: ticket.first_name.to_string(),
        last_name: ticket.last_name.to_string(),
        position,
        look_at,
        flying: client.intent.flies(),
        appearance,
    })
}
