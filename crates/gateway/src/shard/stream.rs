//! The way out: what a client is due ten times a second.
//!
//! First what the circuit owes (acks, pings, resends), then arrivals, then avatars: those that are gone are killed,
//! [`replicate::selection`] picks the others for the bytes that are left, their blocks are copied from the replica
//! into datagrams. Full updates, kills and stops are reliable, mid-motion updates are not (DESIGN §2).

mod scenery;
mod settling;

pub(super) use scenery::Scenery;

use super::client::{Client, Stage};
use super::counters::ShardCounters;
use super::greeting::{self, WorldFigures};
use super::outbox::Outbox;
use super::turns::SLOTS;
use super::{ClientIndex, Packing, Shard, dispatch::BULK};
use crate::mail::FromShard;
use crate::places::Place;
use circuit::Reliability;
use ids::{Instant, LocalId};
use replicate::selection::{Allowance, FULL_BLOCK_BYTES, Selection};
use replicate::{Lister, Place as At, Replica, SlotIndex};
use std::sync::Arc;
use std::time::Duration;
use systems::System;
use telemetry::recorder::{Arg, Scope};
use wire::fanout;
use wire::header::{DATAGRAM_MAX, HEADER_LEN};
use wire::object_update::{self, AVATAR_FLAGS_OFFSET};
use wire::terse::{self, AVATAR_BLOCK_LEN};

/// How long RegionHandshakeReply is waited for. It is reliable with all clients but one, whose loss this heals.
const HANDSHAKE_REPLY_PATIENCE: Duration = Duration::from_secs(3);
/// Between two statistics messages (PROTOCOL §8a).
const SIM_STATS_PERIOD: Duration = Duration::from_secs(3);
/// Between two looks at who near plays other animations, and who looks different: a walk through cold memory each.
const ANIMATIONS_PERIOD: Duration = Duration::from_millis(200);
const LOOKS_PERIOD: Duration = Duration::from_millis(400);
/// Between two rounds over what is not urgent.
const SLOW_PERIOD: Duration = Duration::from_secs(1);
/// Between two lists of dots for the small map.
const COARSE_PERIOD: Duration = Duration::from_secs(2);
/// World ticks after which a shown avatar counts as here to stay, and its looks are worth a kilobyte: a second at 20 Hz.
const SETTLED_TICKS: u32 = 20;
/// Appearances in one send: about a kilobyte each.
const APPEARANCES_PER_SEND: usize = 8;
/// Animations of near avatars in one send.
const NEAR_ANIMATIONS_PER_SEND: usize = 24;
/// Animations of others in a second, unreliable.
const FAR_ANIMATIONS_PER_S: usize = 1;
/// Unreliable animations are repeated this often.
const FAR_ANIMATION_REPEATS: u8 = 1;
/// Blocks of a datagram: 6 bytes of header and 12 of prefix leave room for 18 (DESIGN §2).
pub(super) const TERSE_PER_DATAGRAM: usize = terse_blocks(DATAGRAM_MAX);

/// Terse blocks for which a datagram of so many bytes has room.
pub(super) const fn terse_blocks(bytes: usize) -> usize {
    bytes.saturating_sub(HEADER_LEN + terse::PREFIX_LEN) / AVATAR_BLOCK_LEN
}
/// Full updates are held back while this many reliable messages are unacked, so that others are not refused.
const UNACKED_MAX: usize = 256;
/// Full updates in one send at most.
const FULL_PER_SEND: usize = 24;
/// Local ids in one KillObject.
const KILLS_PER_MESSAGE: usize = 200;
/// Share of the bytes that avatars get while terrain and the like still wait.
const SHARE_BESIDE_BULK: f32 = 0.6;
/// And while things around the client are still to be sent. They get what avatars leave, at least so much.
const SHARE_BESIDE_SCENERY: f32 = 0.75;
/// Update flags of the own avatar: owned by its user, who may move it (PROTOCOL §5.1, bits 4, 5, 8).
const OWN_AVATAR_FLAGS: u32 = 1 << 4 | 1 << 5 | 1 << 8;

/// A client's turn. A thousand clients at ten turns a second have 100 µs each of a core; twenty times that is a client
/// that costs others theirs.
static CLIENT: Scope = Scope::new("shard.client").arg(Arg::Client).limit_us(2_000);

impl Shard {
    /// A client's turn.
    #[inline(never)]
    pub(super) fn visit(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        System::ShardClient.enter();
        let client = self.client(index);
        let _scope = CLIENT.enter(client.session().0);
        client.circuit.handle_timeout(now);
        client.flush(now, out);
        let lingered = matches!(client.stage, Stage::Leaving(until, _) if until <= now);
        if lingered || client.circuit.is_finished() || client.circuit.closed().is_some() {
            self.ended.push(index);
            return;
        }
        let place = self.client(index).ticket.place;
        let place = Arc::clone(self.places.get(place));
        let feed = Arc::clone(&self.feeds[place.world.0 as usize]);
        let replica = feed.current();
        self.follow_epoch(index, &replica);
        if self.client(index).stage == Stage::Entering {
            self.notice_arrival(now, index, &place, &replica);
        }
        if self.client(index).stage != Stage::Present {
            return;
        }
        self.open_scene(now, index, &place);
        if self.client(index).greeting.scene_open {
            let rate_hz = self.config.world_rate_hz;
            let spread = self.client(index).session().0 / SLOTS;
            let tells_of_far = self.pressure.tells_of_far(self.turns.round(), spread);
            let mut turn = Turn {
                now,
                client: self.clients[index as usize].as_deref_mut().expect("just visited"),
                replica: &replica,
                place: &place,
                packing: self.config.sending.packing,
                tells_of_far,
                lister: &mut self.lister,
                selection: &mut self.selection,
                by_distance: &mut self.by_distance,
                gone: &mut self.gone,
                counters: &mut self.counters,
                body: &mut self.body,
                out,
            };
            turn.kills();
            let is_scenery_due = turn.is_scenery_due();
            turn.avatars(if is_scenery_due { SHARE_BESIDE_SCENERY } else { 1.0 });
            turn.scenery(is_scenery_due);
            turn.animations();
            turn.appearances();
            turn.each_second(rate_hz);
        }
        self.client(index).flush(now, out);
    }

    /// The avatar has appeared in the world: the client is told where.
    fn notice_arrival(&mut self, now: Instant, index: ClientIndex, place: &Place, replica: &Replica) {
        let unix_s = (self.config.unix_start_s + now.0 / 1_000_000_000) as u32;
        let client = self.client(index);
        let Some(own) = replica.of_session(client.session()) else { return };
        client.stage = Stage::Present;
        let position = replica.hot()[own as usize].position;
        let mut message = Vec::new();
        greeting::movement_complete(&client.ticket, place, position, unix_s).encode(&mut message);
        let sent = client.circuit.send(Reliability::Reliable, &message, true);
        let key = client.key();
        if sent.is_err() {
            self.counters.messages_refused += 1;
        }
        self.mail.push(FromShard::Arrived(key));
    }

    /// Terrain and overlay, once the client has understood the handshake, or has had time to.
    fn open_scene(&mut self, now: Instant, index: ClientIndex, place: &Place) {
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
        let mut refused = 0;
        for message in place.overlay.iter().chain(&place.layers) {
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
    /// Whether those who are not near have a part in it.
    tells_of_far: bool,
    lister: &'a mut Lister,
    selection: &'a mut Selection,
    /// For lists by distance.
    by_distance: &'a mut Vec<(f32, u32)>,
    /// Local ids that the client has to forget.
    gone: &'a mut Vec<LocalId>,
    counters: &'a mut ShardCounters,
    body: &'a mut Vec<u8>,
    out: &'a mut Outbox,
}

impl Turn<'_> {
    /// Where in the replica somebody of the visible set stands.
    fn slot(&self, at: At) -> SlotIndex {
        self.client.viewer.shown()[at as usize].slot
    }

    fn kills(&mut self) {
        self.gone.clear();
        self.settle_sent();
        let departed = self.client.viewer.look(self.replica, self.lister);
        // Who is in both is killed once.
        self.gone.retain(|id| !departed.contains(id));
        self.gone.extend_from_slice(departed);
        // What follows is written past the circuit's queue: AgentMovementComplete has to come before it.
        self.client.flush(self.now, self.out);
        for ids in self.gone.chunks(KILLS_PER_MESSAGE) {
            self.body.clear();
            fanout::write_kills(ids, self.body);
            match self.client.circuit.write_reliable(self.now, self.body, true, &mut self.out.bytes) {
                Ok(sequence) => {
                    self.client.killed.extend(ids.iter().map(|&id| (sequence, id)));
                    self.counters.kills_sent += ids.len() as u64;
                    self.out.seal(self.client.address);
                }
                Err(_) => self.counters.messages_refused += 1,
            }
        }
    }

    fn avatars(&mut self, share: f32) {
        let circuit = &mut self.client.circuit;
        let share = if circuit.queued_messages() > 0 { share.min(SHARE_BESIDE_BULK) } else { share };
        let bytes = (circuit.budget_bytes(self.now) as f32 * share) as usize;
        let full = UNACKED_MAX.saturating_sub(circuit.unacked()).min(FULL_PER_SEND);
        let near_only = !self.tells_of_far;
        self.counters.far_left_out += u64::from(near_only);
        let allowance =
            Allowance { bytes, full, blocks_per_datagram: self.packing.terse_blocks(), near_only };
        self.selection.choose(&mut self.client.viewer, self.replica, allowance);
        self.write_full();
        self.write_terse();
    }

    /// Several avatars in a datagram, with the receiver's own flags.
    fn write_full(&mut self) {
        let own = self.replica.of_session(self.client.session());
        let selection = std::mem::take(&mut self.selection.full);
        let mut rest = selection.as_slice();
        while !rest.is_empty() {
            let Some(sequence) = self.begin_full() else { break };
            let mut n = 0;
            for &at in rest {
                let index = self.slot(at);
                let slot = self.replica.slot(index).expect("selected from this replica");
                if n == self.packing.full
                    || n > 0 && self.out.open_len() + slot.full.len() > self.packing.bytes
                {
                    break;
                }
                let start = self.out.bytes.len();
                self.out.bytes.extend_from_slice(&slot.full);
                let flags = if Some(index) == own { OWN_AVATAR_FLAGS } else { 0 };
                let flags_at = start + AVATAR_FLAGS_OFFSET;
                self.out.bytes[flags_at..flags_at + 4].copy_from_slice(&flags.to_le_bytes());
                n += 1;
            }
            self.end_full(n);
            self.counters.full_sent += n as u64;
            self.note_shown(sequence, &rest[..n]);
            rest = &rest[n..];
        }
        self.selection.full = selection;
    }

    /// Begins a datagram of full blocks, to be acked; its number, unless the circuit takes no more.
    fn begin_full(&mut self) -> Option<u32> {
        let begun = self.client.circuit.begin_perishable(self.now, &mut self.out.bytes);
        self.counters.messages_refused += u64::from(begun.is_err());
        let sequence = begun.ok()?;
        object_update::write_prefix(&mut self.out.bytes, self.replica.handle, self.replica.dilation, 0);
        Some(sequence)
    }

    /// Sends it with its `n` blocks.
    fn end_full(&mut self, n: usize) {
        let start = self.out.bytes.len() - self.out.open_len();
        self.out.bytes[start + HEADER_LEN + object_update::PREFIX_LEN - 1] = n as u8;
        self.end_datagram();
    }

    /// Sends the datagram that was begun last.
    fn end_datagram(&mut self) {
        self.client.circuit.note_sent(self.now, self.out.open_len());
        self.out.seal(self.client.address);
    }

    fn note_shown(&mut self, sequence: u32, shown: &[At]) {
        let tick = self.replica.tick.0 as u32;
        for &at in shown {
            let index = self.slot(at);
            let hot = &self.replica.hot()[index as usize];
            let slot = self.replica.slot(index).expect("selected from this replica");
            self.client.shown.push((sequence, LocalId(hot.id), slot.agent));
            self.client.viewer.showed(at, hot, tick);
        }
    }

    /// Encoded blocks are copied. Last repetitions of rests go first, in datagrams that others fill.
    fn write_terse(&mut self) {
        let mut chosen = std::mem::take(&mut self.selection.terse);
        let mut n_rests = self.last_rests_first(&mut chosen);
        for chunk in chosen.chunks(self.packing.terse_blocks()) {
            let (rests, others) = chunk.split_at(n_rests.min(chunk.len()));
            n_rests -= rests.len();
            if rests.is_empty() {
                self.client.circuit.begin_unreliable(&mut self.out.bytes);
                self.end_terse(others);
            } else if let Some(sequence) = self.begin_last_rests() {
                for &at in rests {
                    let id = self.client.viewer.told()[at as usize].id;
                    self.client.rested.push((sequence, LocalId(id)));
                }
                self.end_terse(chunk);
            } else if !others.is_empty() {
                // Those rests stay due.
                self.client.circuit.begin_unreliable(&mut self.out.bytes);
                self.end_terse(others);
            }
        }
        self.selection.terse = chosen;
    }

    /// Begins a datagram that has to be acked, unless too many are.
    fn begin_last_rests(&mut self) -> Option<u32> {
        let circuit = &mut self.client.circuit;
        if circuit.unacked() >= UNACKED_MAX {
            return None;
        }
        circuit.begin_perishable(self.now, &mut self.out.bytes).ok()
    }

    /// Sends the datagram that was begun, with these blocks.
    fn end_terse(&mut self, chunk: &[At]) {
        let tick = self.replica.tick.0 as u32;
        let bytes = &mut self.out.bytes;
        terse::write_prefix(bytes, self.replica.handle, self.replica.dilation, chunk.len() as u8);
        for &at in chunk {
            let index = self.client.viewer.shown()[at as usize].slot;
            bytes.extend_from_slice(self.replica.terse(index));
            self.client.viewer.updated(at, &self.replica.hot()[index as usize], tick);
        }
        self.end_datagram();
        self.counters.terse_sent += chunk.len() as u64;
        self.counters.terse_datagrams += 1;
    }

    /// Of the own avatar and the nearest, reliable (DESIGN §2), within a budget.
    fn animations(&mut self) {
        if self.now < self.client.next_animations {
            return;
        }
        self.client.next_animations = self.now + ANIMATIONS_PERIOD;
        let near = self.near();
        for at in 0..near.start as At {
            if self.is_due_animation(at) {
                self.send_animation(at, Reliability::Reliable);
            }
        }
        let mut due = std::mem::take(self.by_distance);
        due.clear();
        let due_at = (near.start as At..near.end as At).filter(|&at| self.is_due_animation(at));
        due.extend(due_at.map(|at| (self.client.viewer.shown()[at as usize].distance, at)));
        due.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for &(_, at) in due.iter().take(NEAR_ANIMATIONS_PER_SEND) {
            // What it does when its turn comes is sent; what it did before is not made up for.
            if !self.client.animations.take(self.now) {
                break;
            }
            self.send_animation(at, Reliability::Reliable);
        }
        *self.by_distance = due;
    }

    /// Of the others a few each second, in turn: at two in every send, animations were a third of all datagrams that
    /// 1,000 walking bots received (1.73 of 5.3 million, 2-core VM).
    fn far_animations(&mut self) {
        let (first, behind) = (self.near().end, self.client.viewer.shown().len());
        let mut left = FAR_ANIMATIONS_PER_S;
        for _ in first..behind {
            let at = self.client.animation_cursor;
            let at = if (first..behind).contains(&(at as usize)) { at } else { first as At };
            if self.is_due_animation(at) {
                if left == 0 {
                    return;
                }
                left -= 1;
                self.send_animation(at, Reliability::Unreliable);
            }
            self.client.animation_cursor = at + 1;
        }
    }

    /// The places of the nearest.
    fn near(&self) -> std::ops::Range<usize> {
        self.client.viewer.near(self.replica)
    }

    fn is_due_animation(&self, at: At) -> bool {
        let viewer = &self.client.viewer;
        let (shown, told) = (&viewer.shown()[at as usize], &viewer.told()[at as usize]);
        let hot = &self.replica.hot()[shown.slot as usize];
        shown.is_sent() && (told.animation_serial != hot.animation_serial || told.animation_repeats > 0)
    }

    fn send_animation(&mut self, at: At, reliability: Reliability) {
        let index = self.slot(at);
        let serial = self.replica.hot()[index as usize].animation_serial;
        let Some(slot) = self.replica.slot(index) else { return };
        if self.client.circuit.send(reliability, &slot.animation, false).is_err() {
            self.counters.messages_refused += 1;
            return;
        }
        self.counters.animations_sent += 1;
        let told = self.client.viewer.told_mut(at);
        told.animation_repeats = match reliability {
            Reliability::Reliable => 0,
            Reliability::Unreliable if told.animation_serial != serial => FAR_ANIMATION_REPEATS,
            Reliability::Unreliable => told.animation_repeats.saturating_sub(1),
        };
        told.animation_serial = serial;
    }

    /// The looks of the nearest. The own one is the client's.
    fn appearances(&mut self) {
        if self.now < self.client.next_looks {
            return;
        }
        self.client.next_looks = self.now + LOOKS_PERIOD;
        let tick = self.replica.tick.0 as u32;
        let mut left = APPEARANCES_PER_SEND;
        for at in self.near() {
            if left == 0 || self.client.circuit.budget_bytes(self.now) == 0 {
                return;
            }
            let (shown, told) = (self.client.viewer.shown()[at], self.client.viewer.told()[at]);
            let hot = &self.replica.hot()[shown.slot as usize];
            let settled = tick.wrapping_sub(told.since) >= SETTLED_TICKS;
            if !shown.is_sent() || !settled || told.appearance_serial == hot.appearance_serial {
                continue;
            }
            let Some(message) = self.replica.slot(shown.slot).and_then(|slot| slot.appearance.as_ref())
            else {
                continue;
            };
            if !self.client.looks.take(self.now) {
                return;
            }
            if self.client.circuit.send(Reliability::Reliable, message, true).is_err() {
                self.counters.messages_refused += 1;
                return;
            }
            left -= 1;
            self.counters.appearances_sent += 1;
            self.client.viewer.told_mut(at as At).appearance_serial = hot.appearance_serial;
        }
    }

    /// Who is near, the dots on the small map, and the region's figures.
    fn each_second(&mut self, rate_hz: f32) {
        if self.now < self.client.next_second {
            return;
        }
        self.client.next_second = self.now + SLOW_PERIOD;
        self.far_animations();
        self.figures(rate_hz);
        self.client.shed(self.now);
        if self.now < self.client.next_dots {
            return;
        }
        self.client.next_dots = self.now + COARSE_PERIOD;
        // Everybody in the set counts at once, sent or not: node-metaverse takes an avatar off its list, and warns at its next
        // movement, when the dots do not name it (measured with 0.8.16).
        let near = self.near();
        let you = (near.start > 0).then_some(0);
        let dots = self.client.viewer.shown()[..near.end].iter().map(|shown| {
            let slot = self.replica.slot(shown.slot).expect("looked up in this turn");
            let at = self.replica.hot()[shown.slot as usize].position;
            (slot.agent.0, greeting::dot(at))
        });
        if dots.len() > 0 {
            // Straight into what leaves: it is long, and hardly any of it are zeros.
            self.client.circuit.begin_unreliable(&mut self.out.bytes);
            fanout::write_coarse_locations(dots, you, &mut self.out.bytes);
            self.end_datagram();
        }
    }

    /// The region's.
    fn figures(&mut self, rate_hz: f32) {
        if self.now >= self.client.next_stats {
            self.client.next_stats = self.now + SIM_STATS_PERIOD;
            let figures = WorldFigures {
                dilation: self.replica.dilation,
                rate_hz: rate_hz * self.replica.dilation,
                n_avatars: self.replica.n_entities() as u32,
            };
            self.client.circuit.begin_unreliable(&mut self.out.bytes);
            greeting::write_sim_stats(self.place, figures, &mut self.out.bytes);
            self.end_datagram();
        }
    }
}

const _: () = assert!(TERSE_PER_DATAGRAM == 18 && FULL_BLOCK_BYTES < DATAGRAM_MAX);
