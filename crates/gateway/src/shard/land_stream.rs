//! Land that a client has been sent: patches of the ground, parts of the overlay, the region's settings, the parcel of its avatar.
//!
//! Each part is in at most one datagram under way. A newer state waits for the ack of the older one, which a resend would put back otherwise.

use ids::{Instant, Uuid};
use link::{GroundTextures, ParcelNumber};
use replicate::Replica;
use replicate::land::{ChangeLog, LandReplica};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Requests about parcels that are remembered until the world has judged them; the oldest are forgotten first.
const ASKED_MAX: usize = 16;

/// Numbered parts of one kind.
#[derive(Debug, Default)]
pub(super) struct SentParts {
    /// Changes that it was told of, or that are due.
    cursor: u64,
    due: BTreeSet<u16>,
    /// Number of the datagram of each part that was not acked yet.
    under_way: BTreeMap<u16, u32>,
}

impl SentParts {
    /// Makes all parts due. Those under way stay so: they may be of another world.
    fn begin(&mut self, n_parts: u16, log: &ChangeLog) {
        self.due = (0..n_parts).collect();
        self.cursor = log.n_changes();
    }

    /// Makes parts due that have changed since the last call.
    fn follow(&mut self, log: &ChangeLog) {
        self.due.extend(log.since(self.cursor));
        self.cursor = log.n_changes();
    }

    /// Forgets datagrams that were acked.
    fn settle(&mut self, is_unacked: impl Fn(u32) -> bool) {
        self.under_way.retain(|_, sequence| is_unacked(*sequence));
    }

    /// Parts to be sent now.
    pub(super) fn due(&self) -> impl Iterator<Item = u16> {
        self.due.iter().copied().filter(|part| !self.under_way.contains_key(part))
    }

    /// Notes a part in a datagram.
    pub(super) fn record(&mut self, part: u16, sequence: u32) {
        self.due.remove(&part);
        self.under_way.insert(part, sequence);
    }
}

/// A command on a parcel that the world has not judged, as far as is known.
#[derive(Clone, Copy, Debug)]
struct AskedChange {
    /// Number of the command.
    sequence: u64,
    parcel: ParcelNumber,
    /// Number of the parcel's last change when it was given.
    changed: u64,
}

/// Land sent to a client.
#[derive(Debug)]
pub(super) struct LandStream {
    /// It gets the land of its world.
    has_begun: bool,
    pub(super) ground: SentParts,
    pub(super) overlay: SentParts,
    /// Change of the estate that it was told of last.
    estate: Option<u64>,
    /// Datagrams with the region's settings that were not acked yet.
    estate_under_way: Vec<u32>,
    /// Answers to RegionHandshakes that came for these: they tell nothing new of the viewer.
    replies_due: u32,
    /// Parcel of its avatar as it was told of it, with the number of the parcel's change.
    pub(super) parcel: Option<(ParcelNumber, u64)>,
    /// The next one not before then.
    pub(super) next_parcel: Instant,
    /// Commands that the world has not judged, as far as is known, oldest first.
    asked: VecDeque<AskedChange>,
    /// Invoice of the last message of its window of the estate, which is sent its content again when that changes; null without one.
    invoice: Uuid,
    /// Its window of the telehub is open, and gets each change.
    shows_telehub: bool,
    /// Textures of the ground that it has sent and not yet set.
    textures: Option<GroundTextures>,
}

impl LandStream {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            has_begun: false,
            ground: SentParts::default(),
            overlay: SentParts::default(),
            estate: None,
            estate_under_way: Vec::new(),
            replies_due: 0,
            parcel: None,
            next_parcel: now,
            asked: VecDeque::new(),
            invoice: Uuid::nil(),
            shows_telehub: false,
            textures: None,
        }
    }

    /// The client is shown another world.
    pub(super) fn forget_world(&mut self) {
        (self.has_begun, self.estate, self.parcel) = (false, None, None);
        (self.ground.due, self.overlay.due) = (BTreeSet::new(), BTreeSet::new());
        self.asked.clear();
        (self.invoice, self.shows_telehub, self.textures) = (Uuid::nil(), false, None);
    }

    /// The client is sent all of the world's land from now on.
    pub(super) fn begin(&mut self, replica: &Replica) {
        let Some(land) = replica.land() else { return };
        self.has_begun = true;
        self.ground.begin(land.n_patches(), land.ground());
        self.overlay.begin(land.n_overlay_parts(), land.overlay());
    }

    /// Catches up with the changes of the land, and with acks.
    pub(super) fn follow(&mut self, replica: &Replica, is_unacked: impl Fn(u32) -> bool) {
        self.ground.settle(&is_unacked);
        self.overlay.settle(&is_unacked);
        self.estate_under_way.retain(|&sequence| is_unacked(sequence));
        if let Some(land) = replica.land().filter(|_| self.has_begun) {
            self.ground.follow(land.ground());
            self.overlay.follow(land.overlay());
        }
    }

    /// True if patches or parts of the overlay are to be sent.
    pub(super) fn is_due(&self) -> bool {
        self.ground.due().next().is_some() || self.overlay.due().next().is_some()
    }

    /// True if the region has other settings than the client knows.
    pub(super) fn is_estate_due(&self, replica: &Replica) -> bool {
        let newest = replica.land().and_then(|land| land.estate()).map(|(_, changed)| changed);
        self.has_begun && newest != self.estate && self.estate_under_way.is_empty()
    }

    /// The client is sent the region's settings as they are in the replica.
    pub(super) fn record_estate(&mut self, replica: &Replica) {
        self.estate = replica.land().and_then(|land| land.estate()).map(|(_, changed)| changed);
    }

    /// Notes a datagram with them.
    pub(super) fn record_estate_datagram(&mut self, sequence: u32) {
        self.estate_under_way.push(sequence);
    }

    /// Its window of the estate is open.
    pub(super) const fn note_invoice(&mut self, invoice: Uuid) {
        self.invoice = invoice;
    }

    /// Invoice of its window of the estate; `None` if it has not opened one.
    pub(super) fn invoice(&self) -> Option<Uuid> {
        Some(self.invoice).filter(|invoice| !invoice.is_nil())
    }

    /// Its window of the telehub is open.
    pub(super) const fn show_telehub(&mut self) {
        self.shows_telehub = true;
    }

    /// True if that was opened in this world.
    pub(super) const fn shows_telehub(&self) -> bool {
        self.shows_telehub
    }

    /// Keeps textures until they are set.
    pub(super) const fn collect_textures(&mut self, textures: GroundTextures) {
        self.textures = Some(textures);
    }

    /// The textures that were kept.
    pub(super) const fn take_textures(&mut self) -> Option<GroundTextures> {
        self.textures.take()
    }

    /// A RegionHandshake was sent for the region's settings.
    pub(super) const fn expect_reply(&mut self) {
        self.replies_due = self.replies_due.saturating_add(1);
    }

    /// True if an answer to a RegionHandshake is one of those that tell nothing new.
    pub(super) const fn take_reply(&mut self) -> bool {
        let is_due = self.replies_due > 0;
        self.replies_due = self.replies_due.saturating_sub(1);
        is_due
    }

    /// Notes a command on a parcel, of which the client is told in the end. `changed` is the number of its last change.
    pub(super) fn record_request(&mut self, sequence: u64, parcel: ParcelNumber, changed: u64) {
        if self.asked.len() == ASKED_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(AskedChange { sequence, parcel, changed });
    }

    /// The parcel of a command that was refused.
    pub(super) fn take_request(&mut self, sequence: u64) -> Option<ParcelNumber> {
        let at = self.asked.iter().position(|asked| asked.sequence == sequence)?;
        self.asked.remove(at).map(|asked| asked.parcel)
    }

    /// A parcel that has changed since the client asked for it.
    pub(super) fn take_changed(&mut self, land: &LandReplica) -> Option<ParcelNumber> {
        let has_changed = |asked: &AskedChange| {
            land.parcel(asked.parcel).is_some_and(|known| known.changed > asked.changed)
        };
        let at = self.asked.iter().position(has_changed)?;
        self.asked.remove(at).map(|asked| asked.parcel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_state_waits_for_the_ack_of_the_older_one() {
        let mut parts = SentParts::default();
        parts.begin(3, &ChangeLog::default());
        assert_eq!(parts.due().collect::<Vec<_>>(), [0, 1, 2]);
        parts.record(1, 70);
        parts.due.insert(1);
        parts.settle(|sequence| sequence == 70);
        assert_eq!(parts.due().collect::<Vec<_>>(), [0, 2]);
        parts.settle(|_| false);
        assert_eq!(parts.due().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn requests_are_remembered_up_to_a_bound() {
        let mut stream = LandStream::new(Instant::ZERO);
        (0..20).for_each(|sequence| stream.record_request(sequence, ParcelNumber(sequence as u16 + 1), 0));
        assert_eq!(stream.take_request(3), None);
        assert_eq!(stream.take_request(4), Some(ParcelNumber(5)));
        assert_eq!(stream.take_request(4), None);
    }
}
