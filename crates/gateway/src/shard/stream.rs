//! Output: a client's turn, ten times per second.
//!
//! First the circuit's own messages (acks, pings, resends), then arrivals, then avatars: those that left the visible set are killed,
//! [`replicate::selection`] picks others for the remaining bytes, and their blocks are copied from the replica into datagrams. Kills are
//! reliable, full updates and the last repetition of a stop perishable (ADR 0001), all other updates unreliable.
//! Land comes behind the avatars, reliable and one state of each part at a time, and takes half of what they leave while prims move or
//! objects are due.

mod avatars;
mod land;
mod looks;
mod movers;
mod objects;
mod scenery;
mod settling;

use super::client::Client;
use super::counters::ShardCounters;
use super::greeting::{self, WorldFigures};
use super::outbox::Outbox;
use super::pressure::Pressure;
use super::progress::{ArrivalMessages, Stage};
use super::turns::SLOTS;
use super::{ClientIndex, Packing, Shard, TURN_BYTES, dispatch::BULK};
use crate::land::region_flags;
use crate::mail::FromShard;
use crate::places::Place;
use circuit::Reliability;
use ids::{Instant, LocalId, Tick, WorldId};
use replicate::objects::{DueMover, DueObject};
use replicate::selection::{FULL_BLOCK_BYTES, Selection};
use replicate::{Lister, Place as At, Replica, SlotIndex};
use std::sync::Arc;
use std::time::Duration;
use systems::System;
use telemetry::recorder::{Arg, Scope};
use wire::fanout;
use wire::header::{DATAGRAM_MAX, HEADER_LEN};
use wire::terse::{self, AVATAR_BLOCK_LEN, PRIM_BLOCK_LEN};

/// Time to wait for RegionHandshakeReply. All clients but one send it reliably; this covers its loss from that one.
const HANDSHAKE_REPLY_PATIENCE: Duration = Duration::from_secs(3);
/// Period of statistics messages.
const SIM_STATS_PERIOD: Duration = Duration::from_secs(3);
/// Period of the less urgent messages.
const SLOW_PERIOD: Duration = Duration::from_secs(1);
/// Period of CoarseLocationUpdate, the dots on the small map.
const COARSE_PERIOD: Duration = Duration::from_secs(2);
/// Blocks of a datagram: 6 bytes of header and 12 of prefix leave room for 18.
pub(super) const TERSE_PER_DATAGRAM: usize = terse_blocks(DATAGRAM_MAX);

/// Number of terse blocks that fit into a datagram of `bytes` bytes.
pub(super) const fn terse_blocks(bytes: usize) -> usize {
    bytes.saturating_sub(HEADER_LEN + terse::PREFIX_LEN) / AVATAR_BLOCK_LEN
}

/// The same of prims.
pub(super) const fn terse_prim_blocks(bytes: usize) -> usize {
    bytes.saturating_sub(HEADER_LEN + terse::PREFIX_LEN) / PRIM_BLOCK_LEN
}

/// Full updates are held back while this many reliable messages are unacked, so that others are not refused.
const UNACKED_MAX: usize = 256;

/// A client's turn. A thousand clients at ten turns a second leave 100 µs of a core for each turn; a turn of twenty times that delays
/// other clients.
static CLIENT: Scope = Scope::new("shard.client").arg(Arg::Client).limit_us(2_000);

impl Shard {
    /// A client's turn.
    #[inline(never)]
    pub(super) fn visit(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        System::ShardClient.enter();
        self.counters.client_turns += 1;
        let late = self.late;
        let client = self.client(index);
        let _scope = CLIENT.enter(client.session().0);
        client.circuit.handle_lateness(now, late);
        client.circuit.handle_timeout(now);
        client.flush(now, out);
        let lingered = matches!(client.stage, Stage::Leaving(until, _) if until <= now);
        if lingered || client.circuit.is_finished() || client.circuit.closed().is_some() {
            self.ended.push(index);
            return;
        }
        self.send_due_notices(now, index, out);
        self.visit_uploads(now, index, out);
        let place = Arc::clone(&self.client(index).place);
        let replica = place.scene.feed.current();
        self.follow_epoch(index, &replica);
        if self.client(index).stage == Stage::Entering {
            self.notice_arrival(index, &place, &replica);
        }
        if self.client(index).stage != Stage::Present {
            return;
        }
        if self.client(index).sent_on_arrival != ArrivalMessages::All {
            let is_told = self.send_arrival_messages(now, index, &place, &replica);
            self.client(index).flush_messages(now, out);
            // Nothing else is of use to it before. Its next turn tries again, until the circuit has room or is given up.
            if !is_told {
                return;
            }
        }
        if !self.client(index).held.is_empty() && !self.client(index).is_arriving() {
            self.dispatch_held(now, index, out);
            // One of them may have ended it.
            if self.client(index).stage != Stage::Present {
                return;
            }
        }
        self.send_files(now, index);
        self.notice_portal(now, index, &place, &replica);
        self.report_changed_matter(index, &replica);
        self.open_scene(now, index, &place, &replica);
        if self.client(index).greeting.scene_open {
            let avatar_share = self.config.sending.avatar_share();
            let mut turn = self.turn(now, index, &replica, &place, out);
            turn.kills();
            let (is_scenery_due, are_objects_due) = (turn.is_scenery_due(), turn.are_objects_due());
            let is_scene_due = is_scenery_due || are_objects_due;
            let is_land_due = turn.is_land_due();
            let are_objects_waiting = is_scene_due || turn.are_movers_shown();
            let share = if are_objects_waiting { avatar_share } else { 1.0 };
            turn.avatars(if is_land_due { share.min(land::SHARE_BESIDE_LAND) } else { share });
            turn.land(is_land_due, if are_objects_waiting { land::SHARE_BESIDE_OBJECTS } else { 1.0 });
            turn.movers(is_scene_due);
            turn.scenery(is_scenery_due);
            if are_objects_due {
                turn.objects();
            }
            turn.animations();
            turn.appearances();
            turn.each_second(place.scene.hz as f32);
            let (own, asked) = (turn.own_parcel(), turn.asked_parcel());
            let is_near_movers = turn.client.objects.movers.is_near();
            self.mail.extend(own.into_iter().chain(asked));
            self.list_near_movers(index, is_near_movers.then_some((place.world(), replica.tick)));
        }
        self.client(index).flush_messages(now, out);
    }

    /// Lists a client for visits after each frame of its world; it has the movers as of this tick. `None` takes it off the list.
    fn list_near_movers(&mut self, index: ClientIndex, near: Option<(WorldId, Tick)>) {
        let client = self.client(index);
        let before = std::mem::replace(&mut client.near_movers_in, near.map(|(world, _)| world));
        if before == near.map(|(world, _)| world) {
            return;
        }
        if let Some(world) = before {
            self.mover_visits.remove(world, index);
        }
        if let Some((world, tick)) = near {
            self.mover_visits.add(world, tick, index);
        }
    }

    /// Visits clients near movers if their world has a new frame. While the shard is short of CPU time they have their turns only.
    pub(super) fn visit_after_frames(&mut self, now: Instant, out: &mut Outbox) {
        let clients = &self.clients;
        self.mover_visits.look(now, self.pressure.is_short(), |index| {
            let client = clients[index as usize].as_deref().expect("a listed client is there");
            client.place.scene.feed.current().tick
        });
        while out.bytes.len() < TURN_BYTES
            && let Some(index) = self.mover_visits.pop()
        {
            self.visit_for_movers(now, index, out);
        }
    }

    /// The client is sent the movers that it displays wrongly.
    fn visit_for_movers(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        System::ShardClient.enter();
        let client = self.client(index);
        let _scope = CLIENT.enter(client.session().0);
        let place = Arc::clone(&client.place);
        let replica = place.scene.feed.current();
        let is_shown = client.stage == Stage::Present
            && client.near_movers_in == Some(place.world())
            && client.epoch == replica.epoch
            && !client.circuit.is_finished()
            && client.circuit.closed().is_none();
        if is_shown {
            self.turn(now, index, &replica, &place, out).urgent_movers();
        }
    }

    /// A client with everything that its turn needs.
    fn turn<'a>(
        &'a mut self,
        now: Instant,
        index: ClientIndex,
        replica: &'a Replica,
        place: &'a Place,
        out: &'a mut Outbox,
    ) -> Turn<'a> {
        let client = self.clients[index as usize].as_deref_mut().expect("just visited");
        Turn {
            now,
            includes_far: self.pressure.includes_far(self.turns.round(), client.session().0 / SLOTS),
            client,
            replica,
            place,
            packing: self.config.sending.packing,
            cache_after: self.config.cache_after,
            pressure: self.pressure,
            lister: &mut self.lister,
            selection: &mut self.selection,
            by_distance: &mut self.by_distance,
            due_objects: &mut self.due_objects,
            due_by_form: &mut self.due_by_form,
            due_movers: &mut self.due_movers,
            gone: &mut self.gone,
            counters: &mut self.counters,
            body: &mut self.body,
            out,
        }
    }

    /// The avatar has appeared in the world.
    fn notice_arrival(&mut self, index: ClientIndex, place: &Place, replica: &Replica) {
        let client = self.client(index);
        if replica.of_session(client.session()).is_none() {
            return;
        }
        client.stage = Stage::Present;
        client.sent_on_arrival = ArrivalMessages::Nothing;
        let key = client.key();
        self.mail.push(FromShard::Arrived(key, place.world()));
    }

    /// Sends a client its avatar's position after an arrival; false if its circuit has no room, or the avatar is absent just now.
    fn send_arrival_messages(
        &mut self,
        now: Instant,
        index: ClientIndex,
        place: &Place,
        replica: &Replica,
    ) -> bool {
        let unix_s = (self.config.unix_start_s + now.0 / 1_000_000_000) as u32;
        let client = self.client(index);
        let Some(own) = replica.of_session(client.session()) else { return false };
        let position = replica.hot()[own as usize].position;
        if client.switched {
            return client.send_switch(place, position);
        }
        let mut message = Vec::new();
        greeting::movement_complete(&client.ticket, place, position, unix_s).encode(&mut message);
        let is_told = client.circuit.send(Reliability::Reliable, &message, true).is_ok();
        if is_told {
            client.sent_on_arrival = ArrivalMessages::All;
        }
        is_told
    }

    /// Terrain and overlay, once the client has understood the handshake, or has had time to.
    fn open_scene(&mut self, now: Instant, index: ClientIndex, place: &Place, replica: &Replica) {
        let client = self.client(index);
        let greeting = &mut client.greeting;
        if !greeting.scene_open {
            let asked_at = greeting.handshake_at.unwrap_or(now);
            greeting.scene_open = now.since(asked_at) >= HANDSHAKE_REPLY_PATIENCE;
        }
        if !greeting.scene_open || greeting.ground_sent {
            return;
        }
        greeting.ground_sent = true;
        if replica.land().is_some() {
            client.land.begin(replica);
            return;
        }
        let mut refused = 0;
        for message in place.ground().overlay.iter().chain(place.ground().layers.iter()) {
            // Overlays are mostly zeros; terrain is already packed.
            refused += u64::from(client.circuit.queue(BULK, Reliability::Reliable, message, true).is_err());
        }
        self.counters.messages_refused += refused;
    }
}

/// One client's turn with everything that it needs.
struct Turn<'a> {
    now: Instant,
    client: &'a mut Client,
    replica: &'a Replica,
    place: &'a Place,
    packing: Packing,
    /// Time without a change after which viewers may keep an object.
    cache_after: Duration,
    pressure: Pressure,
    /// True if far avatars take part.
    includes_far: bool,
    lister: &'a mut Lister,
    selection: &'a mut Selection,
    /// For lists by distance.
    by_distance: &'a mut Vec<(f32, u32)>,
    /// For lists of objects.
    due_objects: &'a mut Vec<DueObject>,
    /// The same by the message that they are sent in.
    due_by_form: &'a mut [Vec<DueObject>; 3],
    /// For lists of prims in motion.
    due_movers: &'a mut Vec<DueMover>,
    /// Local ids that the client has to forget.
    gone: &'a mut Vec<LocalId>,
    counters: &'a mut ShardCounters,
    body: &'a mut Vec<u8>,
    out: &'a mut Outbox,
}

impl Turn<'_> {
    /// Slot in the replica of a member of the visible set.
    fn slot(&self, at: At) -> SlotIndex {
        self.client.viewer.shown()[at as usize].slot
    }

    /// The places of the nearest.
    fn near(&self) -> std::ops::Range<usize> {
        self.client.viewer.near()
    }

    /// Sends the datagram that was begun last.
    fn end_datagram(&mut self) {
        self.client.circuit.note_sent(self.now, self.out.open_len());
        self.out.seal(self.client.address);
    }

    /// Work of each second: an animation of a far avatar, a check of what near avatars wear, statistics (every 3 s), minimap dots (every 2 s).
    fn each_second(&mut self, rate_hz: f32) {
        if self.now < self.client.next_second {
            return;
        }
        self.client.next_second = self.now + SLOW_PERIOD;
        self.far_animations();
        self.near_wearers();
        self.figures(rate_hz);
        self.client.free_spare(self.now);
        if self.now < self.client.next_dots {
            return;
        }
        self.client.next_dots = self.now + COARSE_PERIOD;
        // All near avatars have a dot at once, sent or not: node-metaverse drops an avatar without a dot from its list, and warns at the
        // avatar's next movement (measured with 0.8.16).
        let near = self.near();
        let you = (near.start > 0).then_some(0);
        let dots = self.client.viewer.shown()[..near.end].iter().map(|shown| {
            let slot = self.replica.slot(shown.slot).expect("looked up in this turn");
            let at = self.replica.hot()[shown.slot as usize].position;
            (slot.agent.0, greeting::dot(at))
        });
        if dots.len() > 0 {
            // Written directly to the output: it is long, with hardly any zeros.
            self.client.circuit.begin_unreliable(&mut self.out.bytes);
            fanout::write_coarse_locations(dots, you, &mut self.out.bytes);
            self.end_datagram();
        }
    }

    /// Sends the region's statistics, every [`SIM_STATS_PERIOD`].
    fn figures(&mut self, rate_hz: f32) {
        if self.now >= self.client.next_stats {
            self.client.next_stats = self.now + SIM_STATS_PERIOD;
            let figures = WorldFigures {
                dilation: self.replica.dilation,
                rate_hz: rate_hz * self.replica.dilation,
                n_avatars: self.replica.n_entities() as u32,
                n_prims: self.place.ground().n_objects() + self.replica.objects().len() as u32,
            };
            self.client.circuit.begin_unreliable(&mut self.out.bytes);
            let flags = region_flags(self.place, self.replica);
            greeting::write_sim_stats(self.place, flags, figures, &mut self.out.bytes);
            self.end_datagram();
        }
    }
}

const _: () = assert!(TERSE_PER_DATAGRAM == 18 && FULL_BLOCK_BYTES < DATAGRAM_MAX);
