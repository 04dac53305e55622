//! One bot: the client end of a session as a state machine without IO.
//!
//! It owns no socket and reads no clock; [`crate::driver`] runs a thousand of them on sockets, the simulator runs them on virtual time.
//! Received messages are handled in `dispatch`, the way in is in `arrival`, requests of scripts in `requests`; `attack` and `slow` are
//! hostile and slow clients. HTTP (login, seed, event queue) is the caller's: credentials come in with [`Agent::new`], events with
//! [`Agent::handle_event`].

mod arrival;
mod attack;
mod building;
mod carrying;
mod dispatch;
mod requests;
mod slow;
#[cfg(test)]
mod tests;

pub use arrival::{ARRIVAL_MAX, LOGOUT_MAX, VISUAL_PARAMS};
pub use requests::Loudness;
pub use slow::SLOW_LINE;

use crate::behavior::{Behavior, BodyPose, BotPosition, FINISH_ANIM, RunningBehavior};
use crate::builder::Builder;
use crate::carry::Carrier;
use crate::echo::Echo;
use crate::hostile::Hostile;
use crate::identity::Identity;
use crate::login::Credentials;
use crate::names::NameCache;
use crate::observer::Observer;
use crate::prims::PrimCache;
use crate::profile::{Profile, THROTTLE_BITS_PER_S};
use crate::rng::Rng;
use crate::sender::{Sender, Steadiness};
use crate::views::ViewChange;
use crate::whereabouts::Whereabouts;
use arrival::{ArrivalStage, Left, RegionCircuit};
use carrying::{CarryBasis, Inspection};
use circuit::{CloseReason, Reliability};
use glam::Vec3;
use ids::{Instant, LocalId, RegionHandle};
use slow::Line;
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::time::Duration;

/// Events that wait for [`Agent::poll_event`]. Beyond it ping times are left out; the others are few in a bot's life.
pub const EVENTS_MAX: usize = 32;

/// Time between requests for names.
const NAMES_PERIOD: Duration = Duration::from_secs(1);

/// Agent updates a second of a bot that builds or carries.
pub const BUILDERS_UPDATES_HZ: u32 = 10;

/// Line of mingling bots; node-metaverse says the same in `tests/clients/fidelity.mjs`.
const MINGLE_WORDS: &str = "Did you see how many we are today?";

/// Properties of a bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// Behaviour.
    pub behavior: Behavior,
    /// Number of the bot in its run: bots of a flock follow each other, and attackers are of each kind in turn.
    pub number: u32,
    /// Steadiness of its agent updates.
    pub steadiness: Steadiness,
    /// Client that it resembles.
    pub profile: Profile,
    /// Agent updates a second, 1 to 125; for [`Profile::Viewer`] only. Of a bot that builds edits a second instead, of one that carries requests, beside
    /// [`BUILDERS_UPDATES_HZ`] agent updates.
    pub rate_hz: u32,
    /// Edge of the plot of a bot that builds or carries, metres.
    pub plot_m: u32,
    /// True if it keeps its edits for [`Agent::take_build_events`].
    pub records_edits: bool,
    /// Requested bandwidth (AgentThrottle), bits per second.
    pub throttle_bits_per_s: u32,
    /// True if it decodes and keeps the whole scene.
    pub observes: bool,
    /// True if it keeps the scene without being an observer, for [`Agent::begin_inspection`].
    pub keeps_scene: bool,
    /// Period of its pings, instead of its profile's. A ping answered later than that is lost.
    pub ping_period: Option<Duration>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            behavior: Behavior::Stand,
            number: 0,
            steadiness: Steadiness::Stable,
            profile: Profile::Viewer,
            rate_hz: 10,
            plot_m: 16,
            records_edits: false,
            throttle_bits_per_s: THROTTLE_BITS_PER_S,
            observes: false,
            keeps_scene: false,
            ping_period: None,
        }
    }
}

/// Event for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// The server has placed the avatar: the login or a teleport is complete.
    Arrived(RegionHandle),
    /// A ping was answered after this time.
    Ping(Duration),
    /// Round trip of its own words; [`Behavior::Probe`] only.
    Echo(Duration),
    /// A teleport that this bot asked for will not happen; the avatar stays.
    TeleportFailed(String),
    /// The session ended at the bot's request; `answered` is true if the server confirmed it.
    LoggedOut {
        /// LogoutReply came.
        answered: bool,
    },
    /// The session is over otherwise.
    Lost(LossReason),
}

/// Cause of a lost circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossReason {
    /// The circuit closed itself.
    Circuit(CloseReason),
    /// The server ended the circuit.
    ServerClosed,
    /// KickUser.
    Kicked,
    /// AgentMovementComplete did not come in time.
    NeverArrived,
}

impl LossReason {
    /// Label in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Circuit(reason) => reason.as_str(),
            Self::ServerClosed => "server_closed",
            Self::Kicked => "kicked",
            Self::NeverArrived => "never_arrived",
        }
    }
}

/// Counters of one bot; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentStats {
    /// Pings without an answer before the next one, without those of [`Agent::forgive_ping`].
    pub pings_unanswered: u64,
    /// Pings lost on a link of the caller.
    pub pings_forgiven: u64,
    /// Agent updates sent.
    pub updates_sent: u64,
    /// Messages that the circuit did not take, and garbage that the caller did not.
    pub unsent: u64,
    /// Datagrams that were dropped: malformed, duplicate, or of a message that cannot be read.
    pub dropped: u64,
    /// Datagrams from addresses that this bot has nothing to do with.
    pub strangers: u64,
    /// Datagrams that came behind later ones of the circuit, resends not counted, and words that did.
    pub reordered: u64,
    /// Words that it never heard itself say.
    pub words_lost: u64,
    /// Datagrams that the line of a slow reader had no room for.
    pub overflowed: u64,
}

/// One bot.
///
/// The caller's loop is that of a circuit: hand in inputs ([`Self::handle_datagram`], [`Self::handle_event`],
/// [`Self::handle_timeout`]), then drain [`Self::poll_transmit`] and [`Self::poll_event`], and sleep until [`Self::poll_timeout`].
/// Draining after each datagram makes a node-metaverse bot ack each alone. Equal seeds, credentials and inputs give equal bytes.
#[derive(Clone, Debug)]
pub struct Agent {
    config: AgentConfig,
    identity: Identity,
    rng: Rng,
    /// The circuit to the region where the avatar is, or is on its way to.
    here: RegionCircuit,
    /// The circuit to the region that it left last, until the server ends it.
    left: Option<Left>,
    stage: ArrivalStage,
    /// Deadline of the current stage.
    deadline: Option<Instant>,
    /// True once AgentMovementComplete came on this circuit.
    arrived: bool,
    /// Time of the latest AgentMovementComplete or TeleportLocal on it.
    placed_at: Option<Instant>,
    /// True once AgentSetAppearance was sent on this circuit.
    dressed: bool,
    /// True while a requested teleport has neither happened nor failed.
    teleporting: bool,
    appearance_serial: u32,
    actor: RunningBehavior,
    sender: Sender,
    whereabouts: Whereabouts,
    next_update_at: Option<Instant>,
    names: NameCache,
    next_names_at: Option<Instant>,
    observer: Option<Box<Observer>>,
    /// Its own lines under way.
    echo: Option<Box<Echo>>,
    /// Its edits.
    builder: Option<Box<Builder>>,
    /// Its things.
    carrier: Option<Box<Carrier>>,
    carry_basis: CarryBasis,
    /// A reading of its things.
    inspection: Option<Box<Inspection>>,
    /// The line of a slow reader.
    line: Option<Box<Line>>,
    /// State of its attack.
    hostile: Option<Hostile>,
    /// Datagrams of an attack that are no circuit's: [`crate::hostile::BURST_MAX`] at most.
    garbage: VecDeque<Vec<u8>>,
    /// The latest datagram of the circuit.
    newest: Option<u32>,
    events: VecDeque<AgentEvent>,
    stats: AgentStats,
    /// True if the caller's link lost the latest ping or its answer.
    ping_is_forgiven: bool,
    /// Expanded body of the datagram at hand.
    scratch: Vec<u8>,
    /// The message that is being sent.
    message: Vec<u8>,
}

impl Agent {
    /// A bot that has just logged in and opens its circuit now. `seed` makes it differ from other bots.
    #[must_use]
    pub fn new(now: Instant, config: &AgentConfig, credentials: &Credentials, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0);
        let size_m = credentials.region_size_m as f32;
        let whereabouts = Whereabouts::new(now, credentials.identity.agent, size_m);
        let here = RegionCircuit::new(now, config, credentials.simulator, credentials.region, None);
        let mut agent = Self {
            config: *config,
            identity: credentials.identity,
            here,
            left: None,
            stage: ArrivalStage::Opening,
            deadline: None,
            arrived: false,
            placed_at: None,
            dressed: false,
            teleporting: false,
            appearance_serial: 0,
            actor: RunningBehavior::new(config.behavior, config.number, &mut rng),
            sender: Sender::new(config.profile, config.steadiness, whereabouts.position(now)),
            whereabouts,
            next_update_at: None,
            names: NameCache::new(config.observes),
            next_names_at: None,
            observer: (config.observes || config.keeps_scene).then(Box::default),
            echo: (config.behavior == Behavior::Probe).then(Box::default),
            builder: None,
            carrier: None,
            carry_basis: CarryBasis::new(
                credentials.inventory_root,
                credentials.trash_folder,
                credentials.secure_session,
            ),
            inspection: None,
            line: None,
            hostile: None,
            garbage: VecDeque::new(),
            newest: None,
            events: VecDeque::new(),
            stats: AgentStats::default(),
            ping_is_forgiven: false,
            scratch: Vec::new(),
            message: Vec::new(),
            rng,
        };
        agent.arm();
        agent.narrow();
        agent.open(now);
        agent
    }

    /// Handles the passage of time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.stage == ArrivalStage::Gone {
            return;
        }
        self.read_line(now);
        if self.stage == ArrivalStage::Gone {
            return;
        }
        self.here.circuit.handle_timeout(now);
        if let Some(left) = &mut self.left {
            left.visit.circuit.handle_timeout(now);
            if left.until <= now || left.visit.circuit.closed().is_some() {
                self.left = None;
            }
        }
        if let Some(reason) = self.here.circuit.closed() {
            self.lose(LossReason::Circuit(reason));
            return;
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.on_deadline(now);
        }
        self.advance();
        if self.next_names_at.is_some_and(|at| at <= now) {
            self.ask_for_names(now);
        }
        if let Some(at) = self.next_update_at.filter(|&at| at <= now) {
            self.send_update(now);
            let next = at + self.update_period();
            // Updates that could not be sent in time are not made up for: a viewer that stuttered sends no burst.
            self.next_update_at = Some(if next > now { next } else { now + self.update_period() });
        }
        self.attack(now);
        self.build(now);
        self.carry(now);
    }

    /// Latest time for [`Self::handle_timeout`]; `None` once the session is over.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.stage == ArrivalStage::Gone {
            return None;
        }
        let left = self
            .left
            .as_ref()
            .map(|left| left.visit.circuit.poll_timeout().map_or(left.until, |at| at.min(left.until)));
        let line = self.line.as_ref().and_then(|line| line.poll_timeout());
        let own = [
            self.deadline,
            self.next_update_at,
            self.next_names_at,
            self.next_attack_at(),
            self.next_edit_at(),
            self.next_carry_at(),
        ];
        own.into_iter().chain([self.here.circuit.poll_timeout(), left, line]).flatten().min()
    }

    /// Appends the next datagram that should leave now to `out` and says where to, or gives `None`.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddrV4> {
        if self.stage == ArrivalStage::Gone {
            return None;
        }
        if let Some(datagram) = self.garbage.pop_front() {
            out.extend_from_slice(&datagram);
            return Some(self.here.remote);
        }
        let unanswered = self.here.circuit.stats().pings_unanswered;
        if self.here.circuit.poll_transmit(now, out).is_some() {
            if self.here.circuit.stats().pings_unanswered > unanswered {
                self.on_ping_unanswered();
            }
            return Some(self.here.remote);
        }
        let left = &mut self.left.as_mut()?.visit;
        left.circuit.poll_transmit(now, out).map(|_| left.remote)
    }

    /// The next thing that the caller should know.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    /// Does not count the latest ping if it stays unanswered: it or its answer was lost on purpose.
    pub const fn forgive_ping(&mut self) {
        self.ping_is_forgiven = true;
    }

    /// Identity.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The region where it is, or is on its way to.
    #[must_use]
    pub const fn region(&self) -> RegionHandle {
        self.here.region
    }

    /// Position as known to it, metres from the region's corner. Standing and sitting bots that do not observe know only their point of
    /// arrival.
    #[must_use]
    pub fn position(&self, now: Instant) -> Vec3 {
        self.whereabouts.position(now)
    }

    /// True once the avatar is in the region and all requests of a client's arrival were sent.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.arrived && self.stage == ArrivalStage::Present
    }

    /// Time at which the server placed the avatar in the region last; `None` before.
    #[must_use]
    pub const fn placed_at(&self) -> Option<Instant> {
        self.placed_at
    }

    /// True once the session is over.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.stage == ArrivalStage::Gone
    }

    /// Its view, if it observes.
    #[must_use]
    pub fn observer(&self) -> Option<&Observer> {
        self.observer.as_deref()
    }

    /// Keeps objects as viewers do from now on, and displays those of a former visit. Before the region's handshake only.
    pub fn keep_prims(&mut self, cache: PrimCache) {
        self.observer.get_or_insert_default().keep_prims(cache);
    }

    /// Records arrivals and changes of objects from now on, if it observes.
    pub fn watch_prims(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.prims_mut().keep_arrivals();
            observer.prims_mut().keep_changes();
        }
    }

    /// Prims that were shown or killed since the last call, in that order. Those of a bot that builds go to its builder.
    pub fn take_prim_changes(&mut self) -> Vec<LocalId> {
        self.observer.as_mut().map(|observer| observer.prims_mut().take_changes()).unwrap_or_default()
    }

    /// For how long at most it was shown nothing new since this was asked last, if it observes.
    pub(crate) fn take_gap(&mut self, now: Instant) -> Option<Duration> {
        self.observer.as_mut().map(|observer| observer.take_gap(now))
    }

    /// Records changes of its view for [`Self::take_sights`] from now on, if it observes.
    pub fn keep_sights(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.keep_sights();
        }
    }

    /// Drains the changes of its view since the last call.
    pub fn take_sights(&mut self) -> impl Iterator<Item = ViewChange> {
        self.observer.iter_mut().flat_map(|observer| observer.take_sights())
    }

    /// The names that it asked for.
    #[must_use]
    pub const fn names(&self) -> &NameCache {
        &self.names
    }

    /// Counters of this bot.
    #[must_use]
    pub const fn stats(&self) -> &AgentStats {
        &self.stats
    }

    /// Counters of the circuit to the region where it is.
    #[must_use]
    pub const fn circuit_stats(&self) -> &circuit::Stats {
        self.here.circuit.stats()
    }

    fn update_period(&self) -> Duration {
        let behavior = self.config.behavior;
        let works = behavior.build_plan().is_some() || behavior.carry_plan().is_some();
        let rate_hz = if works { BUILDERS_UPDATES_HZ } else { self.config.rate_hz };
        self.config.profile.update_period(rate_hz)
    }

    fn send_update(&mut self, now: Instant) {
        let position = self.whereabouts.position(now);
        let region_size_m = self.whereabouts.region_size_m();
        let spot = BotPosition { position: position.truncate(), region_size_m };
        let pose = self.actor.act(now, spot, &mut self.rng);
        self.say_pose(&pose, position);
        if self.actor.take_words() {
            match &mut self.echo {
                Some(echo) => {
                    let words = echo.next_line(now);
                    self.stats.words_lost = echo.lost;
                    self.send_chat(Loudness::Say, &words);
                }
                None => self.send_chat(Loudness::Say, MINGLE_WORDS),
            }
        }
        if self.actor.take_strike() {
            self.strike();
        }
    }

    fn say_pose(&mut self, pose: &BodyPose, position: Vec3) {
        let update = self.sender.update(&self.identity, pose, position, &mut self.rng);
        self.send(Reliability::Unreliable, true, |out| update.encode(out));
        self.stats.updates_sent += 1;
    }

    /// node-metaverse releases all keys when the server shows its avatar beginning to walk, land or get up; its user presses them
    /// again.
    fn finish_animations(&mut self, now: Instant, count: usize) {
        let position = self.whereabouts.position(now);
        let region_size_m = self.whereabouts.region_size_m();
        let spot = BotPosition { position: position.truncate(), region_size_m };
        let pose = self.actor.act(now, spot, &mut self.rng);
        for _ in 0..count {
            self.say_pose(&BodyPose { control_flags: FINISH_ANIM, ..pose }, position);
        }
        if pose.control_flags != 0 {
            self.say_pose(&pose, position);
        }
    }

    fn ask_for_names(&mut self, now: Instant) {
        let may_ask = self.stage == ArrivalStage::Present;
        if may_ask && let Some(request) = self.names.request() {
            self.send(Reliability::Reliable, false, |out| request.encode(out));
        }
        self.next_names_at = self.names.is_wanting().then(|| now + NAMES_PERIOD);
    }

    /// Sends a message on the circuit to the region where the bot is.
    fn send(&mut self, reliability: Reliability, zero_code: bool, encode: impl FnOnce(&mut Vec<u8>)) {
        self.message.clear();
        encode(&mut self.message);
        let sent = self.here.circuit.send(reliability, &self.message, zero_code);
        self.stats.unsent += u64::from(sent.is_err());
    }

    const fn on_ping_unanswered(&mut self) {
        if self.ping_is_forgiven {
            self.stats.pings_forgiven += 1;
        } else {
            self.stats.pings_unanswered += 1;
        }
        self.ping_is_forgiven = false;
    }

    fn emit(&mut self, event: AgentEvent) {
        if self.events.len() < EVENTS_MAX || !matches!(event, AgentEvent::Ping(_) | AgentEvent::Echo(_)) {
            self.events.push_back(event);
        }
    }

    fn lose(&mut self, reason: LossReason) {
        self.end();
        self.emit(AgentEvent::Lost(reason));
    }

    /// Ends everything at once.
    fn end(&mut self) {
        self.stage = ArrivalStage::Gone;
        self.here.circuit.close(CloseReason::Local);
        self.left = None;
    }
}
