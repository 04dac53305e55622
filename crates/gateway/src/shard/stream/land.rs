//! Land of a world that is built on: its ground patch by patch, nearest first, its overlay, its settings, and the parcel of the avatar.

use super::{Turn, UNACKED_MAX};
use crate::land::{
    EstateReader, ParcelProperties, RegionFacts, Selection, overlay_part, region_handshake, region_info,
    telehub_info,
};
use crate::mail::{FromShard, Request};
use crate::places::layer_message;
use crate::shard::answers::receiver_of_info;
use crate::shard::land::OF_SELECTION;
use glam::Vec3;
use ids::Uuid;
use link::PATCH_M;
use replicate::land::LandReplica;
use std::time::Duration;
use wire::header::DATAGRAM_MAX;
use wire::messages::{ParcelOverlay, ParcelOverlayParcelData};

/// Datagrams of one send: the ground of a region of 256 m after about a second.
const DATAGRAMS_PER_SEND: usize = 8;
/// Unacked reliable messages beyond which land waits: avatars come first.
const UNACKED_SHARE: usize = UNACKED_MAX / 2;
/// Time between two descriptions of the avatar's parcel. An avatar that flies across small parcels would fill the queue of events.
const PARCEL_PERIOD: Duration = Duration::from_millis(500);
/// Share of the bytes that avatars get while land waits: that of other bulk.
pub(super) const SHARE_BESIDE_LAND: f32 = 0.6;
/// Share of the bytes behind those of avatars that land takes while prims move or objects are due. It takes a whole datagram at least, so that it
/// completes on slow lines, too.
pub(super) const SHARE_BESIDE_OBJECTS: f32 = 0.5;

impl Turn<'_> {
    /// Catches up with the land; true if any of it is to be sent.
    pub(super) fn is_land_due(&mut self) -> bool {
        let circuit = &self.client.circuit;
        self.client.land.follow(self.replica, |sequence| circuit.is_unacked(sequence));
        self.client.land.is_due()
    }

    /// Sends land as far as this share of the bytes goes.
    pub(super) fn land(&mut self, is_due: bool, share: f32) {
        let Some(land) = self.replica.land() else { return };
        if self.client.land.is_estate_due(self.replica) {
            self.region_settings();
        }
        if is_due {
            let room = UNACKED_SHARE.saturating_sub(self.client.circuit.unacked());
            let bytes = self.client.circuit.budget_bytes(self.now);
            let datagrams = datagrams_of(bytes, share).min(room).min(DATAGRAMS_PER_SEND);
            let left = self.overlay(land, datagrams);
            self.ground(land, left);
        }
    }

    /// Sends parts of the overlay; the datagrams that are left.
    fn overlay(&mut self, land: &LandReplica, mut datagrams: usize) -> usize {
        let receiver = self.client.ticket.agent;
        while datagrams > 0 {
            let next = self.client.land.overlay.due().next();
            let Some(part) = next else { break };
            let data = overlay_part(land, receiver, part);
            let parcel_data = ParcelOverlayParcelData { sequence_id: i32::from(part), data };
            self.body.clear();
            ParcelOverlay { parcel_data }.encode(self.body);
            let Some(sequence) = self.write_body() else { return 0 };
            self.client.land.overlay.record(part, sequence);
            datagrams -= 1;
        }
        datagrams
    }

    /// Sends patches, the nearest first.
    fn ground(&mut self, land: &LandReplica, datagrams: usize) {
        if datagrams == 0 {
            return;
        }
        let side = land.size_m() / PATCH_M;
        let eye = self.client.viewer.eye.truncate();
        let distance = |patch: u16| {
            let (x, y) = (u32::from(patch) % side, u32::from(patch) / side);
            let middle = Vec3::new(x as f32 + 0.5, y as f32 + 0.5, 0.0) * PATCH_M as f32;
            middle.truncate().distance_squared(eye)
        };
        let mut nearest = std::mem::take(self.by_distance);
        nearest.clear();
        nearest.extend(self.client.land.ground.due().map(|patch| (distance(patch), u32::from(patch))));
        nearest.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut rest = nearest.as_slice();
        for _ in 0..datagrams {
            if rest.is_empty() {
                break;
            }
            let bits = |patch: u32| match land.patch(patch as u16) {
                Some(edited) => &*edited.bits,
                None => &self.place.ground().patches[patch as usize],
            };
            let (message, n) = layer_message(land.size_m(), rest.iter().map(|&(_, patch)| bits(patch)));
            self.body.clear();
            self.body.extend_from_slice(&message);
            let Some(sequence) = self.write_body() else { break };
            for &(_, patch) in &rest[..n] {
                self.client.land.ground.record(patch as u16, sequence);
            }
            self.counters.patches_sent += n as u64;
            rest = &rest[n..];
        }
        *self.by_distance = nearest;
    }

    /// The estate has changed the region: its client shows other water, textures and rules.
    fn region_settings(&mut self) {
        let facts = RegionFacts::new(self.place, self.replica, self.client.ticket.agent);
        self.body.clear();
        region_handshake(self.place, &facts).encode(self.body);
        let Some(sequence) = self.write_body() else { return };
        self.client.land.record_estate(self.replica);
        self.client.land.record_estate_datagram(sequence);
        self.client.land.expect_reply();
        self.body.clear();
        region_info(self.place, &facts, receiver_of_info(&self.client.ticket)).encode(self.body);
        // Without room for it the client asks when its user opens the window.
        if let Some(sequence) = self.write_body() {
            self.client.land.record_estate_datagram(sequence);
        }
        if let Some(invoice) = self.client.land.invoice() {
            self.estate_window(&facts, invoice);
        }
        if self.client.land.shows_telehub()
            && let Some((estate, _)) = self.replica.land().and_then(LandReplica::estate)
        {
            self.body.clear();
            telehub_info(estate).encode(self.body);
            if let Some(sequence) = self.write_body() {
                self.client.land.record_estate_datagram(sequence);
            }
        }
    }

    /// The content of the client's window of the estate. Lists are for those who manage it.
    fn estate_window(&mut self, facts: &RegionFacts, invoice: Uuid) {
        let Some((estate, _)) = self.replica.land().and_then(LandReplica::estate) else { return };
        let ticket = &self.client.ticket;
        let reader = EstateReader {
            agent: ticket.agent,
            session_id: ticket.session_id.0,
            transaction: Uuid::nil(),
            invoice,
        };
        let info = reader.info(&estate.name, Some(estate), facts);
        let lists = if facts.is_manager { reader.lists(estate) } else { Vec::new() };
        for message in std::iter::once(info).chain(lists) {
            self.body.clear();
            message.encode(self.body);
            if let Some(sequence) = self.write_body() {
                self.client.land.record_estate_datagram(sequence);
            }
        }
    }

    /// Writes the message in [`Turn::body`] as a reliable datagram; its number, unless the circuit takes no more.
    fn write_body(&mut self) -> Option<u32> {
        let written = self.client.circuit.write_reliable(self.now, self.body, true, &mut self.out.bytes);
        self.counters.messages_refused += u64::from(written.is_err());
        let sequence = written.ok()?;
        self.out.seal(self.client.address);
        Some(sequence)
    }

    /// The description of the parcel that the avatar is on, if the client does not know it.
    pub(super) fn own_parcel(&mut self) -> Option<FromShard> {
        let land = self.replica.land()?;
        if self.now < self.client.land.next_parcel {
            return None;
        }
        let own = self.client.viewer.own_in(self.replica)?;
        let at = self.replica.hot()[own as usize].position.truncate();
        let known = land.parcel_at(at)?;
        let newest = (known.parcel.number, known.changed);
        if self.client.land.parcel == Some(newest) {
            return None;
        }
        self.client.land.parcel = Some(newest);
        self.client.land.next_parcel = self.now + PARCEL_PERIOD;
        let selection = Selection::default();
        let properties = ParcelProperties::new(self.place, self.replica, &known.parcel, selection);
        Some(self.properties_event(&properties))
    }

    /// The description of a parcel that has changed since the client sent a command on it.
    pub(super) fn asked_parcel(&mut self) -> Option<FromShard> {
        let land = self.replica.land()?;
        let number = self.client.land.take_changed(land)?;
        let known = land.parcel(number)?;
        let selection = Selection { sequence_id: OF_SELECTION, ..Selection::default() };
        let properties = ParcelProperties::new(self.place, self.replica, &known.parcel, selection);
        Some(self.properties_event(&properties))
    }

    fn properties_event(&self, properties: &ParcelProperties<'_>) -> FromShard {
        let event = Request::Event { name: "ParcelProperties", body: properties.to_llsd() };
        FromShard::Request(self.client.key(), event)
    }
}

/// Whole datagrams in a share of the bytes, one at least if there are bytes for it.
fn datagrams_of(bytes: usize, share: f32) -> usize {
    let shared = (bytes as f32 * share) as usize / DATAGRAM_MAX;
    shared.max(1).min(bytes / DATAGRAM_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn land_leaves_half_of_the_bytes_to_objects_and_takes_a_datagram_at_least() {
        let most = |datagrams: f32, share| datagrams_of((datagrams * DATAGRAM_MAX as f32) as usize, share);
        assert_eq!(most(8.5, SHARE_BESIDE_OBJECTS), 4);
        assert_eq!(most(8.5, 1.0), 8);
        assert_eq!(most(1.5, SHARE_BESIDE_OBJECTS), 1);
        assert_eq!(most(0.5, SHARE_BESIDE_OBJECTS), 0);
    }
}
