//! The loop: one event after the other, each at its virtual time, with the checks in between.
//!
//! A run has four phases. In the storm clients act freely under faults; then the network is calm and each phase has a deadline: all
//! clients come back, each travels and speaks once, and with all avatars at rest every client displays exactly the present ones.

mod phases;
mod shortage;

use crate::addresses::Pair;
use crate::carrier::{Carrier, CarrierEvent};
use crate::checks::{
    BACKLOG_MAX, Census, ChatAudit, Failure, Look, Presences, Rule, Stops, UpdateRates, ghost_prims, ghosts,
};
use crate::client::{Answer, Client, Request, Visit};
use crate::input::Input;
use crate::network::Cuts;
use crate::node::{Node, TURN, VISIBLE_MAX};
use crate::panics::Bouts;
use crate::queue::Lane;
use crate::report::Report;
use crate::sabotage::Sabotage;
use crate::scenario::{MOVE_PERIOD, Scenario};
use crate::setting::Setting;
use crate::strangers::Strangers;
use crate::streams::{Purpose, chance, stream};
use crate::trace::Trace;
use bots::rng::Rng;
use gateway::hub::{EventQueueAnswer, Poll};
use gateway::places::PlaceId;
use ids::{Instant, Tick, Uuid, WorldId};
use link::{Chat, Event as WorldEvent};
use phases::Phase;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Period of view checks, ticks: 200 clients compare 200 avatars each.
const VIEW_TICKS: u64 = 4;

/// Mean time between two reloads of a template.
const RELOAD_PERIOD: Duration = Duration::from_secs(4);

/// A world to be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) world: WorldId,
    /// From this tick on.
    pub(crate) from: Tick,
}

pub(crate) struct Simulation {
    scenario: Scenario,
    node: Node,
    clients: Vec<Client>,
    carrier: Carrier,
    phase: Phase,
    tick: Tick,
    /// Times at which the node is stopped.
    freezes: Cuts,
    /// Waiting event-queue polls, with the login that they belong to.
    polls: BTreeMap<(u32, Uuid), (u16, Option<i32>)>,
    /// Time of each client's next [`CarrierEvent::Wake`].
    wakes: Vec<Option<Instant>>,
    frame_luck: Rng,
    /// By world.
    bouts: [Bouts; 2],
    strangers: Strangers,
    restores: BTreeSet<(Tick, WorldId)>,
    moves: BTreeSet<(Tick, WorldId)>,
    reloads: BTreeSet<Tick>,
    censuses: [Census; 2],
    presences: Presences,
    chat_audit: ChatAudit,
    stops: Stops,
    rates: UpdateRates,
    /// Last time at which the shards lacked a world's state: a frame was missed, or a world was down.
    disturbed_at: Option<Instant>,
    trace: Trace,
    n_restored: u32,
    n_moved: u32,
    n_reloaded: u32,
    record: Option<Record>,
    scratch: Vec<u8>,
}

impl Simulation {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let storm_ends_at = Instant::ZERO + scenario.storm;
        let mut node = Node::of_scenario(&scenario);
        if scenario.moves {
            node.keep_references();
        }
        if scenario.sabotage == Some(Sabotage::StaleSnapshot) {
            node.keep_stale();
        }
        let places = [0, 1].map(|n| node.places().get(PlaceId(n)).handle);
        let cuts = |client| Cuts::draw(scenario.seed, client, &scenario.faults, storm_ends_at);
        let carrier = Carrier::new(&scenario, (0..scenario.clients).map(cuts).collect());
        let freeze =
            scenario.faults.freeze.map(|(at, lasts)| (Instant::ZERO + at, Instant::ZERO + at + lasts));
        Self {
            clients: (0..scenario.clients)
                .map(|index| Client::new(scenario.seed, scenario.setting, index, cuts(index), places))
                .collect(),
            wakes: vec![None; scenario.clients as usize],
            restores: restores(&scenario),
            moves: moves(&scenario),
            reloads: reloads(&scenario),
            frame_luck: stream(scenario.seed, Purpose::Frames, 0),
            bouts: [0, 1].map(|world| Bouts::new(scenario.seed, world)),
            strangers: Strangers::new(scenario.seed),
            phase: Phase::Storm { until: storm_ends_at },
            freezes: Cuts::of(freeze),
            censuses: [0, 1].map(|n| Census::among(node.objects(WorldId(n)))),
            node,
            carrier,
            scenario,
            tick: Tick(0),
            polls: BTreeMap::new(),
            presences: Presences::default(),
            chat_audit: ChatAudit::default(),
            stops: Stops::default(),
            rates: UpdateRates::default(),
            disturbed_at: None,
            trace: Trace::default(),
            n_restored: 0,
            n_moved: 0,
            n_reloaded: 0,
            record: None,
            scratch: Vec::new(),
        }
    }

    /// Records the inputs of one world.
    pub(crate) fn record(self, record: Record) -> Self {
        Self { record: Some(record), ..self }
    }

    /// Plays the storm for `ticks` ticks and returns every call into the node, for repetition without clients, with the marks of those
    /// ticks.
    pub(crate) fn journal(mut self, ticks: u64) -> Result<(Vec<Input>, Trace), Failure> {
        self.node.keep_journal();
        self.begin();
        while self.tick.0 < ticks {
            self.advance()?;
        }
        Ok((self.node.take_journal(), self.trace))
    }

    pub(crate) fn run(mut self) -> Result<Report, Failure> {
        self.begin();
        loop {
            let now = self.advance()?;
            if self.phase == Phase::Over {
                return self.finish(now);
            }
        }
    }

    fn begin(&mut self) {
        self.carrier.queue.push(Instant::ZERO, Lane::Tick, CarrierEvent::Tick);
        self.carrier.queue.push(Instant::ZERO, Lane::Turn, CarrierEvent::Turn);
        if let Some(period) = self.strangers_period() {
            self.carrier.queue.push(Instant::ZERO + period, Lane::Stranger, CarrierEvent::Stranger);
        }
        for client in 0..self.scenario.clients {
            self.follow_up(Instant::ZERO, client);
        }
    }

    /// The next thing that happens.
    fn advance(&mut self) -> Result<Instant, Failure> {
        let (now, lane, event) = self.carrier.queue.pop().expect("ticks go on for ever");
        let concerns_node =
            matches!(lane, Lane::Tick | Lane::Turn | Lane::Stranger | Lane::Up(..) | Lane::Request(_));
        match self.freezes.cut_until(now) {
            Some(thaws_at) if concerns_node => self.carrier.queue.push(thaws_at, lane, event),
            _ => self.handle(now, lane, event)?,
        }
        Ok(now)
    }

    fn handle(&mut self, now: Instant, lane: Lane, event: CarrierEvent) -> Result<(), Failure> {
        match (lane, event) {
            (Lane::Tick, CarrierEvent::Tick) => self.on_tick(now)?,
            (Lane::Turn, CarrierEvent::Turn) => {
                let Self { node, carrier, .. } = self;
                node.run_turn(now, &mut |address, bytes| carrier.send_down(now, address, bytes));
                carrier.queue.push(now + TURN, Lane::Turn, CarrierEvent::Turn);
            }
            (Lane::Stranger, CarrierEvent::Stranger) => self.on_stranger(now)?,
            (Lane::Up(pair), CarrierEvent::Up(bytes)) => {
                let remote = pair.client_socket();
                let Self { node, carrier, .. } = self;
                carrier.note_up(now, pair, &bytes);
                node.datagram(now, pair.port, remote, &bytes, &mut |address, bytes| {
                    carrier.send_down(now, address, bytes);
                });
            }
            (Lane::Down(pair), CarrierEvent::Down(bytes)) => {
                let client = &mut self.clients[pair.client as usize];
                if client.generation() == pair.generation {
                    client.handle_datagram(now, pair.port, &bytes);
                    self.carrier.note_down(now, pair, &bytes);
                    self.follow_up(now, pair.client);
                }
            }
            (Lane::Request(client), CarrierEvent::Request { generation, request }) => {
                self.on_request(now, client, generation, request);
            }
            (Lane::Answer(client), CarrierEvent::Answer { generation, answer }) => {
                if self.clients[client as usize].generation() == generation {
                    self.clients[client as usize].handle_answer(now, answer, &self.carrier.faults);
                    self.follow_up(now, client);
                }
            }
            (Lane::Wake(client), CarrierEvent::Wake) => {
                if self.wakes[client as usize] == Some(now) {
                    self.wakes[client as usize] = None;
                    self.clients[client as usize].handle_timeout(now, &self.carrier.faults);
                    self.follow_up(now, client);
                }
            }
            (lane, event) => unreachable!("{event:?} in {lane:?}"),
        }
        Ok(())
    }

    fn on_tick(&mut self, now: Instant) -> Result<(), Failure> {
        let tick = self.tick;
        self.tick = Tick(tick.0 + 1);
        if self.reloads.remove(&tick) && self.node.reload_cast(tick, WorldId(0)) {
            self.n_reloaded += 1;
        }
        for world in [WorldId(0), WorldId(1)] {
            if self.restores.remove(&(tick, world)) {
                self.node.restore(world);
                self.n_restored += 1;
            }
            if self.moves.remove(&(tick, world))
                && self.node.move_world(now, world, self.scenario.sabotage)?
            {
                self.n_moved += 1;
            }
        }
        if let Some(record) = self.record
            && record.from == tick
        {
            self.node.record(record.world);
        }
        if self.freezes.cut_between(Instant::ZERO, now) > Duration::ZERO
            && self.freezes.cut_until(Instant(now.0 - 1)).is_some()
        {
            self.presences.excuse(now);
        }
        let Self { node, carrier, frame_luck, bouts, .. } = self;
        let faults = carrier.faults;
        let panics = |world: WorldId| bouts[world.0 as usize].strikes(now, faults.panics.as_ref());
        let misses = |_| chance(frame_luck, faults.frame_loss);
        node.tick(now, tick, panics, misses, &mut |address, bytes| carrier.send_down(now, address, bytes));
        self.node.check_moves(now)?;
        if self.node.is_recovering(now) {
            self.presences.excuse(now);
            self.chat_audit.note_recovery(now);
            self.disturbed_at = Some(now);
        }
        self.check_frames(now)?;
        self.trace.mark(tick, self.node.frames(), self.carrier.traffic_hash(), &mut self.scratch);
        if tick.0.is_multiple_of(VIEW_TICKS) {
            self.check_views(now)?;
        }
        self.check_shortage(now)?;
        self.answer_polls(now);
        self.change_phase(now)?;
        self.carrier.queue.push(now + self.scenario.dt(), Lane::Tick, CarrierEvent::Tick);
        Ok(())
    }

    /// Advances the census and compares the frames with each other.
    fn check_frames(&mut self, now: Instant) -> Result<(), Failure> {
        let mut passages = Vec::new();
        for frame in self.node.frames() {
            let census = &mut self.censuses[frame.world.0 as usize];
            passages.clear();
            census.apply(now, frame, &mut passages)?;
            self.presences.apply(now, frame.world, &passages);
            let replica = self.node.replica(frame.world);
            let newest = (replica.epoch, replica.sequence, replica.tick);
            let was_current = newest == (frame.epoch, frame.sequence, frame.tick);
            if !was_current {
                self.disturbed_at = Some(now);
            }
            for event in &frame.events {
                if let WorldEvent::Chat(chat) = event {
                    let chat: &Chat = chat;
                    let handle = self.node.places().get(PlaceId(frame.world.0 as u16)).handle;
                    self.chat_audit.record_sound(now, handle, chat, census, was_current)?;
                }
            }
        }
        self.presences.check(now)
    }

    fn check_views(&mut self, now: Instant) -> Result<(), Failure> {
        let mut stops = std::mem::take(&mut self.stops);
        for client in &self.clients {
            let Some((bot, visit)) = client.present() else { continue };
            let Some(observer) = bot.observer() else { continue };
            let census = self.census_of(visit);
            let about = |mut failure: Failure| {
                failure.found = format!("{}: {}", client.describe(), failure.found);
                failure
            };
            ghosts(now, observer, census, [&client.cuts, &self.freezes]).map_err(about)?;
            ghost_prims(now, observer, census, [&client.cuts, &self.freezes]).map_err(about)?;
            let look = Look {
                now,
                client: client.index,
                own: client.agent,
                observer,
                census,
                visible_max: VISIBLE_MAX,
                calm_since: self.calm_since(now, client, visit),
                lost_at: self.carrier.lost_down_at(client.index),
            };
            if let Some(found) = stops.check_client(&look) {
                return Err(about(Failure::new(now, Rule::StopsAreShown, found)));
            }
        }
        self.stops = stops;
        Ok(())
    }

    /// Time since which nothing but the usual losses of its path has delayed a client's view.
    fn calm_since(&self, now: Instant, client: &Client, visit: &Visit) -> Instant {
        let times = [
            visit.arrived_at,
            self.carrier.faded_at(client.index),
            client.cuts.latest(now).map(|at| at + BACKLOG_MAX),
            self.freezes.latest(now),
            self.disturbed_at,
        ];
        times.into_iter().flatten().max().unwrap_or_default()
    }

    fn census_of(&self, visit: &Visit) -> &Census {
        let place = self.node.places().by_handle(visit.region).expect("clients go where there is something");
        &self.censuses[place.world().0 as usize]
    }

    fn on_stranger(&mut self, now: Instant) -> Result<(), Failure> {
        let (remote, port) = self.strangers.next_datagram(&mut self.scratch);
        let Self { node, carrier, scratch, .. } = self;
        node.datagram(now, port, remote, scratch, &mut |address, bytes| {
            carrier.send_down(now, address, bytes)
        });
        if let Some(period) = self.strangers_period() {
            self.carrier.queue.push(now + period, Lane::Stranger, CarrierEvent::Stranger);
        }
        match self.carrier.answered_stranger {
            None => Ok(()),
            Some(remote) => {
                Err(Failure::new(now, Rule::StrangersGetNoAnswer, format!("{remote} was sent a datagram")))
            }
        }
    }

    fn strangers_period(&self) -> Option<Duration> {
        Duration::from_secs(1).checked_div(self.carrier.faults.strangers_per_s)
    }

    fn on_request(&mut self, now: Instant, client: u32, generation: u16, request: Request) {
        match request {
            Request::Poll { secret, ack } => {
                self.polls.insert((client, secret), (generation, ack));
            }
            Request::LogIn => {
                let user = &self.clients[client as usize];
                let (first, last) = user.name();
                let place = PlaceId(user.first_region());
                let answer = match self.node.log_in(now, user.agent, (&first, &last), place) {
                    Ok(admission) => Answer::LoggedIn(Box::new(admission)),
                    Err(_) => Answer::Refused,
                };
                let delay = self.clients[client as usize].http_delay(&self.carrier.faults);
                self.carrier.answer(now, client, generation, delay, answer);
            }
        }
    }

    /// Asks the hub again for every waiting poll, like a notified handler.
    fn answer_polls(&mut self, now: Instant) {
        let Self { polls, node, clients, carrier, .. } = self;
        polls.retain(|&(client, secret), &mut (generation, ack)| {
            let user = &mut clients[client as usize];
            if user.generation() != generation {
                return false;
            }
            let answer = match node.poll_events(secret, ack) {
                EventQueueAnswer::Poll(Poll::Wait(_)) => return true,
                EventQueueAnswer::Poll(Poll::Ready(_)) if user.http_resets(&carrier.faults) => {
                    Answer::Reset { secret, ack }
                }
                EventQueueAnswer::Poll(Poll::Ready(events)) => {
                    Answer::Events { secret, body: events.to_llsd() }
                }
                EventQueueAnswer::Farewell(_) | EventQueueAnswer::Unknown => Answer::NotFound { secret },
            };
            let delay = user.http_delay(&carrier.faults);
            carrier.answer(now, client, generation, delay, answer);
            false
        });
    }

    /// Handles a client's output, and plans its next wake-up.
    fn follow_up(&mut self, now: Instant, index: u32) {
        let client = &mut self.clients[index as usize];
        for word in client.words.drain(..) {
            self.chat_audit.record_word(now, index, word);
        }
        let generation = client.generation();
        self.scratch.clear();
        while let Some(port) = client.poll_transmit(now, &mut self.scratch) {
            self.carrier.send_up(now, Pair { client: index, generation, port }, &self.scratch);
            self.scratch.clear();
        }
        for (after, request) in std::mem::take(&mut client.requests) {
            self.carrier.request(now, index, generation, after, request);
        }
        // Drained, a client has nothing more to do in this nanosecond.
        let at = client.poll_timeout().max(Instant(now.0 + 1));
        let planned = &mut self.wakes[index as usize];
        if at < Instant(u64::MAX) && planned.is_none_or(|planned| at < planned || planned <= now) {
            *planned = Some(at);
            self.carrier.queue.push(at, Lane::Wake(index), CarrierEvent::Wake);
        }
    }

    fn finish(mut self, now: Instant) -> Result<Report, Failure> {
        let refused: u64 = self.node.counters().map(|counters| counters.messages_refused).sum();
        if refused > 0 {
            return Err(Failure::new(
                now,
                Rule::NothingIsRefused,
                format!("{refused} messages were refused"),
            ));
        }
        let hub = self.node.hub().counters();
        Ok(Report {
            recording: self.record.and_then(|record| self.node.take_recording(record.world)),
            trace: self.trace,
            took: now - Instant::ZERO,
            logins: hub.logins,
            teleports: (hub.teleports, hub.teleports_failed),
            chats_heard: self.chat_audit.n_heard(),
            latest_stop: self.stops.latest(),
            datagrams: (self.carrier.n_sent, self.carrier.n_lost),
            resyncs: self.node.resyncs(),
            circuits_lost: self.node.counters().map(|counters| counters.circuits_lost).sum(),
            queue_drops: self.node.queue_drops(),
            rates_kept: self.rates.shares(),
            restores: self.n_restored,
            moves: self.n_moved,
            reloads: self.n_reloaded,
            restarts: self.node.restarts(),
        })
    }
}

/// Random ticks of the storm, taking turns between the worlds.
fn restores(scenario: &Scenario) -> BTreeSet<(Tick, WorldId)> {
    let mut rng = stream(scenario.seed, Purpose::Restores, 0);
    let ticks = scenario.steps_in(scenario.storm);
    let mut restores = BTreeSet::new();
    while restores.len() < (scenario.restores as usize).min(ticks as usize) {
        restores.insert((Tick(rng.next() % ticks), WorldId(restores.len() as u32 % 2)));
    }
    restores
}

/// Random ticks of the storm at which the behaviours of NPCs are reloaded.
fn reloads(scenario: &Scenario) -> BTreeSet<Tick> {
    if scenario.setting != Setting::Village {
        return BTreeSet::new();
    }
    let mut rng = stream(scenario.seed, Purpose::Reloads, 0);
    let ticks = scenario.steps_in(scenario.storm);
    let period = scenario.steps_in(RELOAD_PERIOD);
    (0..ticks).filter(|_| rng.next().is_multiple_of(period)).map(Tick).collect()
}

/// Random ticks of the storm at which each world moves to the next host.
fn moves(scenario: &Scenario) -> BTreeSet<(Tick, WorldId)> {
    if !scenario.moves || scenario.hosts < 2 {
        return BTreeSet::new();
    }
    let mut rng = stream(scenario.seed, Purpose::Moves, 0);
    let ticks = scenario.steps_in(scenario.storm);
    let period = scenario.steps_in(MOVE_PERIOD);
    let all = (0..ticks).flat_map(|tick| [(Tick(tick), WorldId(0)), (Tick(tick), WorldId(1))]);
    all.filter(|_| rng.next().is_multiple_of(period)).collect()
}
