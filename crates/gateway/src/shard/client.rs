//! One circuit of a client on this shard, from its ticket to its last datagram.

use super::client_files::ClientFiles;
use super::client_intent::ClientIntent;
use super::client_outfit::ClientOutfit;
use super::client_transfers::ClientTransfers;
use super::client_uploads::ClientUploads;
use super::egress::SentSample;
use super::filter::UpdateFilter;
use super::heard::HeardBudget;
use super::held::HeldMessages;
use super::land_stream::LandStream;
use super::matter::SelectedMatter;
use super::notices::Notices;
use super::object_stream::ObjectStream;
use super::outbox::{CircuitAddress, Outbox};
use super::progress::{ArrivalMessages, Greeting, Stage};
use super::scenery_stream::SceneryStream;
use super::token_bucket::TokenBucket;
use crate::mail::{Look, Spot, Ticket};
use crate::places::Place as Region;
use circuit::Circuit;
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, WorldId};
use link::CircuitKey;
use replicate::{Place, Viewer};
use std::sync::Arc;
use std::time::Duration;

/// Chat lines and instant messages that a client may send per second on average.
const SAID_PER_S: f32 = 4.0;
/// And at once.
const SAID_BURST: f32 = 20.0;

/// Requests that only the hub can answer (names, teleports, parcels), per second on average.
const ASKED_PER_S: f32 = 20.0;
/// Burst of it: a client that enters a crowd requests the names of all its avatars.
const ASKED_BURST: f32 = 200.0;

/// Animations of others near a client that it is sent per second on average, nearest first: a datagram and an ack each. An
/// avatar that walks and rests changes them twice in twenty seconds, so that sixty avatars would need six per second.
const ANIMATIONS_PER_S: f32 = 4.0;
/// Burst of it: a newcomer needs those of all near avatars.
const ANIMATIONS_BURST: f32 = 60.0;
/// The same for appearances, of a quarter to a whole kilobyte each.
const LOOKS_PER_S: f32 = 2.0;
const LOOKS_BURST: f32 = 60.0;

/// Touches that a client may send per second on average, and at once: viewers send ten while a button is held.
const TOUCHES_PER_S: f32 = 20.0;
const TOUCHES_BURST: f32 = 60.0;

/// Effects that a client may send per second on average, and at once. Viewers send one to three.
const EFFECTS_PER_S: f32 = 6.0;
const EFFECTS_BURST: f32 = 20.0;
/// Effects of others that it is sent.
const SEEN_EFFECTS_PER_S: f32 = 20.0;
const SEEN_EFFECTS_BURST: f32 = 40.0;

/// Time after arrival in which a client has received its surroundings: two seconds of avatars, some more of static objects.
const ARRIVAL: Duration = Duration::from_secs(20);

/// Objects that a client may ask for per second on average, and at once, known to it or not. Those that it was sent before are not limited.
const MISSES_PER_S: f32 = 8_000.0;
const MISSES_BURST: f32 = 8_000.0;

/// Draw distance of a viewer that has stated none, metres.
const DRAW_M: f32 = 128.0;
/// The largest draw distance that viewers have.
pub(super) const DRAW_MAX_M: f32 = 512.0;

/// Room that stays after an arrival for full updates, kills and last repetitions of rests that are under way. Without it the lists of 5,000 clients on
/// a plaza grew anew in the busiest minutes, 13 allocations in a tick (`crowd` at b84954a). Rests need room for all shown avatars, as a crowd stops at
/// once: 2,000 bots that turn from a walk to a plaza made 5,400 allocations with room for 32 rests (df06efd, stacks of the allocations).
const KEPT_SHOWN: usize = 32;
const KEPT_KILLS: usize = 64;
const KEPT_RESTS: usize = 256;

/// A client on this shard.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) ticket: Arc<Ticket>,
    /// Its place: at first that of the ticket.
    pub(super) place: Arc<Region>,
    pub(super) address: CircuitAddress,
    pub(super) circuit: Circuit,
    pub(super) stage: Stage,
    /// Its arrival waits, or has waited, for CPU time.
    pub(super) waits: bool,
    pub(super) greeting: Greeting,
    /// Arrival of its avatar: position, metres from the region's corner, and direction.
    pub(super) arrival: (Vec3, Vec3),
    /// The portal that its avatar is in, by its number among the world's; none before it was looked.
    pub(super) portal: Option<Option<u8>>,
    /// Its world was put behind the circuit after another one.
    pub(super) switched: bool,
    /// Messages on its avatar's latest arrival sent so far.
    pub(super) sent_on_arrival: ArrivalMessages,
    /// The former world of its avatar, with position and direction there.
    pub(super) stood: Option<(WorldId, Vec3, Vec3)>,
    pub(super) viewer: Viewer,
    pub(super) filter: UpdateFilter,
    /// The world's life that its avatar was sent into, or last seen in.
    pub(super) epoch: Epoch,
    pub(super) intent: ClientIntent,
    /// Sequence number of the newest agent update applied.
    pub(super) newest_update: Option<u32>,
    /// Newest AgentSetAppearance.
    pub(super) appearance_serial: Option<u32>,
    /// Its avatar's look: that message's, or that of before.
    pub(super) look: Option<Look>,
    /// The outfit of objects that it puts on.
    pub(super) outfit: ClientOutfit,
    /// Avatars in full updates under way, with the numbers of their datagrams.
    pub(super) shown: Vec<(u32, LocalId, AgentId)>,
    /// Avatars and objects in kills under way, alike.
    pub(super) killed: Vec<(u32, LocalId)>,
    /// Avatars and objects whose kill was not sent yet: its circuit was full, or they are a whole world.
    pub(super) unkilled: Vec<LocalId>,
    /// Last repetitions of rests under way, alike.
    pub(super) rested: Vec<(u32, LocalId)>,
    /// Static objects sent to it.
    pub(super) scenery: SceneryStream,
    /// Objects that can change, sent to it.
    pub(super) objects: ObjectStream,
    /// Land sent to it, in a world that is built on.
    pub(super) land: LandStream,
    /// Objects that it has made and selects at their next update, the newest last.
    pub(super) created: Vec<LocalId>,
    /// Prims that it has selected, with the matter that it knows.
    pub(super) matter: SelectedMatter,
    /// It pulls an object.
    pub(super) is_pulling: bool,
    /// Draw distance of its viewer, metres: 0 to [`DRAW_MAX_M`].
    pub(super) draw_m: f32,
    /// Position of the round over far animations.
    pub(super) animation_cursor: Place,
    pub(super) next_second: Instant,
    pub(super) next_dots: Instant,
    pub(super) next_animations: Instant,
    pub(super) next_looks: Instant,
    pub(super) next_stats: Instant,
    /// Time at which the memory of its arrival is freed.
    sheds_at: Option<Instant>,
    /// Until when its acks are remembered to be sent.
    pub(super) owes_acks_until: Option<Instant>,
    pub(super) hears: HeardBudget,
    pub(super) says: TokenBucket,
    pub(super) asks: TokenBucket,
    /// Touches that it may send, …
    pub(super) touches: TokenBucket,
    /// … effects that it may send, …
    pub(super) effects: TokenBucket,
    /// … and those of others that it is sent.
    pub(super) seen_effects: TokenBucket,
    /// Objects that it lacks.
    pub(super) misses: TokenBucket,
    /// Notices on messages that were not carried out.
    pub(super) notices: Notices,
    /// Added to the serial numbers of the contents of objects as sent to it: it rises with each refused change, so that the client reads them again.
    pub(super) contents_serial: i16,
    /// Files that it may ask for, and those under way to it.
    pub(super) files: ClientFiles,
    /// Files that it uploads, and requests that wait for them.
    pub(super) uploads: ClientUploads,
    /// Objects that it takes and rezzes.
    pub(super) transfers: ClientTransfers,
    /// Time of its last notice of a teleport above the limit.
    pub(super) teleport_failed_at: Option<Instant>,
    /// Messages that wait for its avatar.
    pub(super) held: HeldMessages,
    pub(super) animations: TokenBucket,
    pub(super) looks: TokenBucket,
    pub(super) slot: u8,
    /// The world in which it is listed for visits after each frame.
    pub(super) near_movers_in: Option<WorldId>,
    /// Bytes and datagrams sent when [`Self::take_sent`] was called last.
    counted: (u64, u64),
    commands: CommandNumbers,
}

/// Numbers of the commands of one circuit.
#[derive(Debug)]
struct CommandNumbers {
    ticket: u32,
    next: u32,
}

impl CommandNumbers {
    const fn peek(&self) -> u64 {
        (self.ticket as u64) << 32 | self.next as u64
    }

    /// The next one: those of a circuit come before those of the session's later circuits.
    fn take_next(&mut self) -> u64 {
        let number = self.peek();
        self.next = self.next.checked_add(1).expect("a circuit gives fewer than 2^32 commands");
        number
    }
}

impl Client {
    pub(super) fn new(
        now: Instant,
        ticket: Arc<Ticket>,
        place: Arc<Region>,
        address: CircuitAddress,
        circuit: Circuit,
        slot: u8,
        visible_max: usize,
    ) -> Self {
        Self {
            viewer: Viewer::new(ticket.circuit.session, ticket.position, visible_max),
            place,
            address,
            circuit,
            stage: Stage::Opened,
            waits: false,
            greeting: Greeting::default(),
            arrival: (ticket.position, ticket.look_at),
            portal: None,
            switched: false,
            sent_on_arrival: ArrivalMessages::default(),
            stood: None,
            filter: UpdateFilter::default(),
            epoch: Epoch(0),
            intent: ClientIntent::default(),
            newest_update: None,
            appearance_serial: None,
            look: ticket.look.clone(),
            outfit: ClientOutfit::default(),
            shown: Vec::new(),
            killed: Vec::new(),
            unkilled: Vec::new(),
            rested: Vec::new(),
            scenery: SceneryStream::default(),
            objects: ObjectStream::default(),
            land: LandStream::new(now),
            created: Vec::new(),
            matter: SelectedMatter::default(),
            is_pulling: false,
            draw_m: DRAW_M,
            animation_cursor: 0,
            next_second: now,
            next_dots: now,
            next_animations: now,
            next_looks: now,
            next_stats: now,
            sheds_at: Some(now + ARRIVAL),
            owes_acks_until: None,
            hears: HeardBudget::new(now),
            says: TokenBucket::new(now, SAID_PER_S, SAID_BURST),
            asks: TokenBucket::new(now, ASKED_PER_S, ASKED_BURST),
            touches: TokenBucket::new(now, TOUCHES_PER_S, TOUCHES_BURST),
            effects: TokenBucket::new(now, EFFECTS_PER_S, EFFECTS_BURST),
            seen_effects: TokenBucket::new(now, SEEN_EFFECTS_PER_S, SEEN_EFFECTS_BURST),
            misses: TokenBucket::new(now, MISSES_PER_S, MISSES_BURST),
            notices: Notices::default(),
            contents_serial: 0,
            files: ClientFiles::default(),
            uploads: ClientUploads::new(ticket.agent),
            transfers: ClientTransfers::default(),
            teleport_failed_at: None,
            held: HeldMessages::default(),
            animations: TokenBucket::new(now, ANIMATIONS_PER_S, ANIMATIONS_BURST),
            looks: TokenBucket::new(now, LOOKS_PER_S, LOOKS_BURST),
            slot,
            near_movers_in: None,
            counted: (0, 0),
            commands: CommandNumbers { ticket: ticket.circuit.ticket, next: 0 },
            ticket,
        }
    }

    /// Frees the memory of its arrival, once. Memory still needed stays.
    pub(super) fn free_spare(&mut self, now: Instant) {
        if self.sheds_at.take_if(|at| *at <= now).is_some() {
            keep_room(&mut self.shown, KEPT_SHOWN);
            keep_room(&mut self.killed, KEPT_KILLS);
            keep_room(&mut self.rested, KEPT_RESTS);
            self.unkilled.shrink_to_fit();
            self.scenery.free_spare();
            self.objects.free_spare();
        }
    }

    /// Keeps the memory of an arrival for another one.
    pub(super) fn keep_spare(&mut self, now: Instant) {
        self.sheds_at = Some(now + ARRIVAL);
    }

    /// Bytes and datagrams sent to it since the last call.
    pub(super) fn take_sent(&mut self) -> SentSample {
        let stats = self.circuit.stats();
        let now = (stats.bytes_out, stats.datagrams_out);
        let before = std::mem::replace(&mut self.counted, now);
        SentSample { bytes: now.0 - before.0, datagrams: now.1 - before.1 }
    }

    pub(super) fn key(&self) -> CircuitKey {
        self.ticket.circuit
    }

    pub(super) fn session(&self) -> SessionKey {
        self.ticket.circuit.session
    }

    /// Position of its avatar, if it is in a shared world.
    pub(super) fn spot(&self) -> Option<Spot> {
        if !self.place.scene.is_shared {
            return None;
        }
        let (_, position, look_at) = self.stands()?;
        Some(Spot { place: self.place.id, position, look_at })
    }

    /// The world of its avatar, with position and direction.
    pub(super) fn stands(&self) -> Option<(WorldId, Vec3, Vec3)> {
        if self.stage != Stage::Present {
            return None;
        }
        let replica = self.place.scene.feed.current();
        let own = replica.slot(replica.of_session(self.session())?)?;
        Some((self.place.world(), own.motion.position, own.motion.rotation * Vec3::X))
    }

    /// True if its avatar is in a world, or entering one.
    pub(super) const fn has_avatar(&self) -> bool {
        matches!(self.stage, Stage::Entering | Stage::Present)
    }

    /// True if its avatar is not in the world, or the client has not got the messages on its arrival. A restarted world lacks the avatar
    /// until it has entered again.
    pub(super) fn is_arriving(&self) -> bool {
        let is_there = self.sent_on_arrival == ArrivalMessages::All && self.stands().is_some();
        !is_there && !matches!(self.stage, Stage::Leaving(..))
    }

    /// Sequence of its next command, which is not taken.
    pub(super) const fn next_command_sequence(&self) -> u64 {
        self.commands.peek()
    }

    /// Takes the sequence of its next command.
    pub(super) fn command_sequence(&mut self) -> u64 {
        self.commands.take_next()
    }

    /// As [`Self::flush`], later in a turn that began with it: acks, pings and resends have left.
    pub(super) fn flush_messages(&mut self, now: Instant, out: &mut Outbox) {
        if self.circuit.has_waiting_messages() {
            self.flush(now, out);
        }
    }

    /// Moves everything that the circuit wants sent into the outbox.
    pub(super) fn flush(&mut self, now: Instant, out: &mut Outbox) {
        while self.circuit.poll_transmit(now, &mut out.bytes).is_some() {
            out.seal(self.address);
        }
    }
}

/// Frees the memory of a list beyond room for `kept` elements.
fn keep_room<T>(list: &mut Vec<T>, kept: usize) {
    list.shrink_to(kept);
    list.reserve_exact(kept.saturating_sub(list.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_kept_room_whatever_room_it_had() {
        for (len, room) in [(0, 0), (0, 500), (10, 10), (10, 500)] {
            let mut list: Vec<u64> = Vec::with_capacity(room);
            list.resize(len, 7);
            keep_room(&mut list, KEPT_KILLS);
            assert_eq!((list.len(), list.capacity()), (len, KEPT_KILLS));
        }
        let mut longer = vec![7; 100];
        keep_room(&mut longer, KEPT_KILLS);
        assert_eq!(longer.len(), 100);
    }

    #[test]
    #[should_panic(expected = "a circuit gives fewer than 2^32 commands")]
    fn a_circuit_gives_no_command_the_number_of_its_successors_first() {
        CommandNumbers { ticket: 1, next: u32::MAX }.take_next();
    }
}
