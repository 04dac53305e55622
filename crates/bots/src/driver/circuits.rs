//! Thread of the circuits: all bots, their sockets and timers.
//!
//! It works in turns. Between two turns with datagrams it rests for [`REST`], so that the datagrams of a burst are read together: a
//! system call for each would cost more than all the rest. Ping times are too long by up to that.

use super::calls::{BotCall, Grants};
use super::carrying::{CarryNotes, CarrySums, CarryTally};
use super::clock::RunClock;
use super::control::{BotCapabilities, CommandAnswer, CommandFindings, ControlCommand, EditSums, Probes};
use super::control_echo::ControlEcho;
use super::edits::EditNotes;
use super::findings::{BotStage, EditTally, Harvest, MeterReading, RunTally, report};
use super::notices::{Notice, NoticeSender};
use super::port::{self, BotSocket};
use super::rates::{Rates, Second};
use super::session::{HttpThread, NOTICES_MAX};
use super::timers::Timers;
use super::wires::Wires;
use super::{BotsConfig, BotsError};
use crate::agent::{Agent, AgentConfig, LOGOUT_MAX};
use crate::cache_file;
use crate::prims::PrimCache;
use crate::record_file::RecordWriter;
use crate::report::RunReport;
use crate::rng::Rng;
use crate::scenes::{SCENES_FILE, SceneRecord};
use crate::views::{self, View, ViewWriter};
use ids::Instant;
use net::device::Device;
use net::network::Network;
use net::{Events, Interest, Poller, RecvBatch};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Pause behind a turn with datagrams, except with few bots: those cause no bursts, and measure exactly.
const REST: Duration = Duration::from_millis(1);
const RESTING_FROM: u32 = 50;

/// Longest turn, so that the end of a phase is noticed.
const TURN_MAX: Duration = Duration::from_millis(20);

/// Bots that log out in one turn: all at once would be a burst unlike any crowd's.
const LOGOUTS_PER_TURN: usize = 10;

/// The device's place among the poller's tokens, which are numbers of bots.
const DEVICE: u64 = u32::MAX as u64 + 1;
/// And the control echo's.
const ECHO: u64 = DEVICE + 1;

/// Packets read from a device in one turn: a server may send more in one, and pings wait meanwhile.
const PACKETS_PER_TURN: usize = 4_096;

/// One bot and its place in the network.
struct Bot {
    agent: Agent,
    port: BotSocket,
    life: BotStage,
    second: Second,
}

/// Time for seeds to answer.
const GRANTS_MAX: Duration = Duration::from_secs(10);

/// Memory that every turn uses again.
pub(super) struct Buffers {
    events: Events,
    received: RecvBatch,
    packet: Box<[u8]>,
    due: Vec<u32>,
}

impl Buffers {
    fn new() -> Self {
        Self {
            events: Events::with_capacity(256),
            received: RecvBatch::new(),
            packet: Device::buffer(),
            due: Vec::new(),
        }
    }
}

/// All bots of a run.
pub(super) struct Circuits {
    config: BotsConfig,
    clock: RunClock,
    poller: Poller,
    /// Behind which all bots are, if they have no sockets; and its network.
    device: Option<(Device, Network)>,
    mailbox: SyncSender<Notice>,
    notices: Receiver<Notice>,
    /// By number; `None` before its login and after a failed one.
    bots: Vec<Option<Bot>>,
    timers: Timers,
    wires: Wires,
    findings: RunTally,
    /// Bytes that bots received in each second of the window.
    rates: Rates,
    /// Destination of the observers' views.
    views: Option<ViewWriter>,
    /// Edits of bots that build.
    edits: EditNotes,
    /// Record of bots that carry.
    pub(super) carry: CarryNotes,
    /// Calls of bots, for the HTTP thread.
    calls: UnboundedSender<BotCall>,
    grants: Grants,
    /// Caches of observers that have not logged in.
    caches: BTreeMap<u32, PrimCache>,
    control_echo: Option<ControlEcho>,
    /// Commands that were read and not carried out, with their text.
    commands: VecDeque<(String, Result<ControlCommand, &'static str>)>,
}

impl Circuits {
    pub(super) fn new(
        config: &BotsConfig,
        clock: RunClock,
        calls: UnboundedSender<BotCall>,
        grants: Grants,
    ) -> Result<Self, BotsError> {
        let poller =
            Poller::new().map_err(|source| BotsError::System { what: "wait for sockets", source })?;
        let device = match (config.device.map(Network::of), config.server_pid) {
            (Some(network), Some(pid)) => Some((port::open_device(network, pid)?, network)),
            _ => None,
        };
        if let Some((device, _)) = &device {
            poller
                .add(device, DEVICE, Interest::Readable)
                .map_err(|source| BotsError::System { what: "watch the TUN device", source })?;
        }
        let mut control_echo = None;
        if let Some(remote) = config.control_echo {
            // Behind the bots in their network.
            let port = match &device {
                Some((_, network)) => BotSocket::Host(network.host(config.count)),
                None => BotSocket::Socket(BotSocket::open_socket()?),
            };
            if let BotSocket::Socket(socket) = &port {
                poller
                    .add(socket, ECHO, Interest::Readable)
                    .map_err(|source| BotsError::System { what: "watch a socket", source })?;
            }
            control_echo = Some(ControlEcho::new(clock.now(), remote, port));
        }
        let (mailbox, notices) = sync_channel(NOTICES_MAX);
        let views = config.views.as_deref().map(|path| views::create(path, clock.now())).transpose()?;
        let caches = config.cache.as_deref().map(cache_file::read).transpose()?;
        Ok(Self {
            config: config.clone(),
            clock,
            poller,
            device,
            mailbox,
            notices,
            bots: (0..config.count).map(|_| None).collect(),
            timers: Timers::new(clock.now(), config.count),
            wires: Wires::new(config.conditions, config.seed),
            findings: RunTally::default(),
            rates: Rates::default(),
            views,
            edits: EditNotes::new(config, clock.now())?,
            carry: CarryNotes::new(config, clock.now())?,
            calls,
            grants,
            caches: caches.unwrap_or_default(),
            control_echo,
            commands: VecDeque::new(),
        })
    }

    /// Mailbox for notices of the HTTP thread.
    pub(super) fn mailbox(&self) -> NoticeSender {
        NoticeSender { notices: self.mailbox.clone(), waker: self.poller.waker() }
    }

    /// The run: logins, window, logouts.
    pub(super) fn run(mut self, http: HttpThread) -> Result<RunReport, BotsError> {
        let mut buffers = Buffers::new();
        while self.findings.logins_resolved() < self.config.count {
            assert!(!http.is_finished(), "the HTTP thread ended before the logins did");
            self.run_turn(&mut buffers)?;
        }
        let begin = self.begin_window();
        tracing::info!(bots = self.config.count, "the last login is through");
        let ends_at = self.clock.now() + self.config.duration;
        while self.clock.now() < ends_at {
            self.run_turn(&mut buffers)?;
        }
        let end = self.read_meters();
        if self.config.audit.is_some() {
            self.note_all()?;
            // The report has its outcome.
            let _ = self.audit(&mut buffers)?;
        }
        self.finish(http, &mut buffers, &begin, &end)
    }

    /// Run by command, until `leave`.
    pub(super) fn run_controlled(
        mut self,
        http: HttpThread,
        output: &mut dyn Write,
    ) -> Result<RunReport, BotsError> {
        let mut buffers = Buffers::new();
        let mut begin = self.begin_window();
        loop {
            let Some((text, command)) = self.commands.pop_front() else {
                self.run_turn(&mut buffers)?;
                continue;
            };
            let n_observers = self.config.observers;
            let mut found = CommandFindings::default();
            let answer = match command {
                Ok(ControlCommand::Leave) => break,
                Ok(ControlCommand::Enter(count)) if count > self.config.count => Err("more than --count"),
                Ok(ControlCommand::Enter(count)) => {
                    http.want(count);
                    while self.findings.logins_resolved() < count {
                        assert!(!http.is_finished(), "the HTTP thread ended before the logins did");
                        self.run_turn(&mut buffers)?;
                    }
                    begin = self.begin_window();
                    Ok(())
                }
                Ok(ControlCommand::Mark) => {
                    begin = self.begin_window();
                    Ok(())
                }
                Ok(ControlCommand::Behave(behavior)) => {
                    self.note_all()?;
                    self.config.agent.behavior = behavior;
                    http.behave(behavior);
                    if CarryNotes::introduces(behavior) {
                        (0..self.config.count).for_each(|bot| self.introduce(bot));
                    }
                    let watches = EditNotes::watches_prims(&self.config);
                    for (bot, agent) in self.agents() {
                        agent.behave(EditNotes::behavior_of(bot < n_observers, behavior));
                        if watches && bot < n_observers {
                            agent.watch_prims();
                        }
                    }
                    Ok(())
                }
                Ok(ControlCommand::Steady(steadiness)) => {
                    self.config.agent.steadiness = steadiness;
                    self.agents().for_each(|(_, agent)| agent.steady(steadiness));
                    Ok(())
                }
                Ok(ControlCommand::Rate(rate_hz)) => {
                    self.config.agent.rate_hz = rate_hz;
                    self.agents().for_each(|(_, agent)| agent.set_rate_hz(rate_hz));
                    Ok(())
                }
                Ok(ControlCommand::Gap) => {
                    let now = self.clock.now();
                    let gaps = self.agents().filter_map(|(_, agent)| agent.take_gap(now));
                    found.gap_s = gaps.max().map(|gap| gap.as_secs_f64());
                    found.gap_s.map(drop).ok_or("there are no observers (--observers)")
                }
                Ok(ControlCommand::Pings) => {
                    found.pings = Some(self.findings.take_pings());
                    Ok(())
                }
                Ok(ControlCommand::Probes) => {
                    found.probes = Some(Box::new(self.probes()));
                    Ok(())
                }
                Ok(ControlCommand::Edits) => {
                    self.note_all()?;
                    self.edits.flush()?;
                    found.edits = Some(Box::new(EditSums::of(&self.sum_edits())));
                    Ok(())
                }
                Ok(ControlCommand::Prims) => {
                    found.prims = self.prims_min();
                    found.prims.map(drop).ok_or("there are no observers (--observers)")
                }
                Ok(ControlCommand::Carry) => {
                    self.note_all()?;
                    self.carry.flush()?;
                    found.carry = Some(Box::new(self.sum_requests()));
                    Ok(())
                }
                Ok(ControlCommand::Audit) if self.config.audit.is_none() => {
                    Err("there is no record (--audit)")
                }
                Ok(ControlCommand::Audit) => {
                    self.note_all()?;
                    match self.audit(&mut buffers)? {
                        Ok(findings) => found.audit = Some(Box::new(findings)),
                        Err(why) => found.trouble = Some(why),
                    }
                    Ok(())
                }
                Ok(ControlCommand::Capabilities) => {
                    found.capabilities = Some(self.capabilities(&mut buffers)?);
                    Ok(())
                }
                Err(reason) => Err(reason),
            };
            let (logins_ok, logins_failed) = self.findings.logins();
            let answer = match answer {
                Ok(()) => CommandAnswer::Done { done: &text, logins_ok, logins_failed, found },
                Err(reason) => CommandAnswer::Refused { refused: &text, reason },
            };
            if answer.write(output).is_err() {
                // The source of commands has ended.
                break;
            }
        }
        let end = self.read_meters();
        self.finish(http, &mut buffers, &begin, &end)
    }

    /// Requests of all carrying bots.
    fn sum_requests(&mut self) -> CarrySums {
        let mut recent = Vec::new();
        for (_, agent) in self.agents() {
            recent.extend(
                agent.carrier_mut().map(|carrier| carrier.take_recent_transfers()).unwrap_or_default(),
            );
        }
        let mut tally = CarryTally::default();
        self.bots.iter().flatten().for_each(|bot| tally.add(&bot.agent));
        CarrySums::of(&tally, self.carry.ledger().n_pending(), recent.into_iter())
    }

    /// Addresses of all bots' capabilities, once their seeds have answered.
    fn capabilities(&mut self, buffers: &mut Buffers) -> Result<Vec<BotCapabilities>, BotsError> {
        let ends_at = self.clock.now() + GRANTS_MAX;
        loop {
            let grants = self.grants.clone();
            let of = |(bot, agent): (u32, &mut Agent)| {
                let addresses = grants.addresses(bot)?;
                Some(BotCapabilities {
                    bot,
                    agent: agent.identity().agent.0,
                    root: agent.inventory_root(),
                    addresses,
                })
            };
            let n_bots = self.bots.iter().flatten().count();
            let known: Vec<BotCapabilities> = self.agents().filter_map(of).collect();
            if known.len() == n_bots || self.clock.now() >= ends_at {
                return Ok(known);
            }
            self.run_turn(buffers)?;
        }
    }

    fn probes(&mut self) -> Probes {
        let mut probes = Probes {
            pings: self.findings.take_pings(),
            echoes: self.findings.take_echoes(),
            control: self.control_echo.as_mut().map(ControlEcho::summary).unwrap_or_default(),
            ..Probes::default()
        };
        for bot in self.bots.iter().flatten() {
            let stats = bot.agent.stats();
            probes.reordered += stats.reordered;
            probes.words_lost += stats.words_lost;
            probes.pings_unanswered += stats.pings_unanswered;
        }
        probes
    }

    /// Bots that have logged in, with their numbers.
    pub(super) fn agents(&mut self) -> impl Iterator<Item = (u32, &mut Agent)> {
        (0..).zip(&mut self.bots).filter_map(|(bot, slot)| Some((bot, &mut slot.as_mut()?.agent)))
    }

    /// A bot, if it has logged in.
    pub(super) fn agent_mut(&mut self, bot: u32) -> Option<&mut Agent> {
        Some(&mut self.bots.get_mut(bot as usize)?.as_mut()?.agent)
    }

    /// Bots of the run, logged in or not.
    pub(super) fn n_bots(&self) -> usize {
        self.bots.len()
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Has a bot that has logged in and all others that may carry know each other. Observers stand, and take nothing.
    fn introduce(&mut self, newcomer: u32) {
        if newcomer < self.config.observers {
            return;
        }
        let Some(own) = self.agent_mut(newcomer).map(|agent| agent.identity().agent.0) else { return };
        let n_observers = self.config.observers;
        let mut others = Vec::new();
        for (other, agent) in self.agents().filter(|(other, _)| *other >= n_observers) {
            agent.meet(newcomer, own);
            others.push((other, agent.identity().agent.0));
        }
        if let Some(agent) = self.agent_mut(newcomer) {
            others.into_iter().for_each(|(other, id)| agent.meet(other, id));
        }
    }

    /// End of a window: all bots log out.
    fn finish(
        mut self,
        http: HttpThread,
        buffers: &mut Buffers,
        begin: &MeterReading,
        end: &MeterReading,
    ) -> Result<RunReport, BotsError> {
        self.note_all()?;
        let harvest = self.harvest();
        if let Some(mut views) = self.views.take() {
            views.flush()?;
        }
        self.edits.flush()?;
        self.carry.flush()?;
        self.write_scenes()?;
        http.leave();
        self.log_out_all(buffers)?;
        http.finish();
        // The last of its notices.
        self.read_notices()?;
        Ok(report(self.findings, harvest, begin, end))
    }

    fn read_meters(&self) -> MeterReading {
        MeterReading::sample(self.clock.now(), self.config.server_pid, self.wires.traffic().total())
    }

    /// Begins the window, or begins it again.
    fn begin_window(&mut self) -> MeterReading {
        self.rates = Rates::default();
        self.read_meters()
    }

    fn log_out_all(&mut self, buffers: &mut Buffers) -> Result<(), BotsError> {
        let mut staying = 0..self.bots.len();
        // A bot gives up waiting by itself, so this ends; the margin covers the turns that it takes.
        let mut give_up_at = None;
        loop {
            let now = self.clock.now();
            for index in staying.by_ref().take(LOGOUTS_PER_TURN) {
                if let Some(bot) = &mut self.bots[index]
                    && bot.life != BotStage::Over
                {
                    bot.life = BotStage::Leaving;
                    bot.agent.log_out(now);
                    self.advance_bot(now, index as u32);
                }
            }
            if staying.is_empty() && give_up_at.is_none() {
                give_up_at = Some(now + 2 * LOGOUT_MAX);
            }
            let done = staying.is_empty() && self.bots.iter().flatten().all(|bot| bot.agent.is_gone());
            if done || give_up_at.is_some_and(|at| at <= now) {
                return Ok(());
            }
            self.run_turn(buffers)?;
        }
    }

    fn harvest(&self) -> Harvest {
        let mut harvest = Harvest {
            messages: self
                .wires
                .traffic()
                .by_name()
                .into_iter()
                .map(|(name, tally)| (name.to_owned(), tally))
                .collect(),
            datagrams_lost_locally: self.wires.unsent(),
            ..Harvest::default()
        };
        harvest.second_bytes_p99 = self.rates.percentile(0.99);
        harvest.edits = self.sum_edits();
        harvest.carry = CarryTally::of(&self.carry);
        for bot in self.bots.iter().flatten() {
            harvest.add(bot.agent.stats());
            harvest.carry.add(&bot.agent);
            harvest.datagrams_lost_locally += bot.port.receive_drops();
            if let Some(observer) = bot.agent.observer() {
                let others = observer.others(bot.agent.identity().agent);
                harvest.avatars_seen_min =
                    Some(harvest.avatars_seen_min.map_or(others, |min| min.min(others)));
                harvest.updates_received += observer.seen().updates();
            }
        }
        harvest
    }

    /// Edits of all bots, on their own screens and on those of observers.
    fn sum_edits(&self) -> EditTally {
        let mut tally = EditTally::of(self.edits.watch());
        let builders = self.bots.iter().flatten().filter_map(|bot| bot.agent.builder());
        builders.for_each(|builder| tally.add(builder));
        tally
    }

    /// The fewest prims that any observer displays.
    fn prims_min(&self) -> Option<usize> {
        let observers = self.bots.iter().take(self.config.observers as usize).flatten();
        observers.filter_map(|bot| bot.agent.observer()).map(|observer| observer.prims().len()).min()
    }

    /// Writes the scenes and caches of observers.
    fn write_scenes(&self) -> Result<(), BotsError> {
        let now = self.clock.now();
        // Bots that build look at prims too, but for themselves.
        let observers = || (0..self.config.observers).zip(&self.bots);
        let agents = || observers().filter_map(|(bot, slot)| Some((bot, &slot.as_ref()?.agent)));
        if let Some(path) = &self.config.scenes {
            let mut writer = RecordWriter::create(path, SCENES_FILE, now)?;
            for scene in agents().filter_map(|(bot, agent)| SceneRecord::of(now, bot, agent)) {
                writer.write(&scene)?;
            }
            writer.flush()?;
        }
        if let Some(path) = &self.config.cache {
            let kept = agents().filter_map(|(bot, agent)| Some((bot, agent.observer()?.prims().cache()?)));
            cache_file::write(path, now, kept)?;
        }
        Ok(())
    }

    /// Waits for something to do and does it.
    pub(super) fn run_turn(&mut self, buffers: &mut Buffers) -> Result<(), BotsError> {
        let wait = self.next_deadline() - self.clock.now();
        self.poller
            .wait(&mut buffers.events, Some(wait.min(TURN_MAX)))
            .map_err(|source| BotsError::System { what: "wait for sockets", source })?;
        self.read_notices()?;
        let now = self.clock.now();
        let mut is_busy = false;
        for event in buffers.events.iter() {
            is_busy = true;
            if event.token == DEVICE {
                self.receive_packets(now, &mut buffers.packet)?;
                continue;
            }
            if event.token == ECHO {
                self.hear_echo(&mut buffers.received)?;
                continue;
            }
            let index = u32::try_from(event.token).expect("sockets are named by their bots' numbers");
            self.receive(now, index, &mut buffers.received)?;
        }
        self.carry(now)?;
        self.ask_echo(now);
        self.timers.expire(now, &mut buffers.due);
        for &index in &buffers.due {
            self.advance_bot(now, index);
            // A slow reader's line may have carried something to it.
            self.note_changes(now, index)?;
        }
        if is_busy && self.config.count >= RESTING_FROM {
            std::thread::park_timeout(REST);
        }
        Ok(())
    }

    fn next_deadline(&self) -> Instant {
        let links = self.wires.poll_timeout();
        let echo = self.control_echo.as_ref().map(ControlEcho::next_at);
        links.into_iter().chain(echo).fold(self.timers.next(), Instant::min)
    }

    fn read_notices(&mut self) -> Result<(), BotsError> {
        while let Ok(notice) = self.notices.try_recv() {
            match notice {
                Notice::LoggedIn { bot, credentials, began_at } => {
                    let now = self.clock.now();
                    let observes = bot < self.config.observers;
                    let behavior = EditNotes::behavior_of(observes, self.config.agent.behavior);
                    let records_edits = EditNotes::are_wanted(&self.config);
                    let keeps_scene = CarryNotes::keeps_scene(&self.config);
                    let config = AgentConfig {
                        behavior,
                        observes,
                        keeps_scene,
                        records_edits,
                        number: bot,
                        ..self.config.agent
                    };
                    let seed = Rng::new(self.config.seed, u64::from(bot)).next();
                    let mut agent = Agent::new(now, &config, &credentials, seed);
                    if self.views.is_some() {
                        agent.keep_sights();
                    }
                    if observes && self.config.cache.is_some() {
                        agent.keep_prims(self.caches.remove(&bot).unwrap_or_default());
                    }
                    if EditNotes::watches_prims(&self.config) {
                        agent.watch_prims();
                    }
                    agent.set_carry_numbers(self.carry.ledger().numbers_of(bot));
                    let port = self.open_port(bot)?;
                    self.bots[bot as usize] = Some(Bot {
                        agent,
                        port,
                        life: BotStage::Entering(began_at),
                        second: Second::default(),
                    });
                    if CarryNotes::introduces(self.config.agent.behavior) {
                        self.introduce(bot);
                    }
                    self.advance_bot(now, bot);
                }
                Notice::LoginFailed { bot, reason } => {
                    tracing::debug!(bot, reason, "login failed");
                    self.findings.on_login_failed(reason);
                }
                Notice::AgentEvent { bot, message, body } => {
                    let now = self.clock.now();
                    if let Some(sleeper) = &mut self.bots[bot as usize] {
                        sleeper.agent.handle_event(now, &message, &body);
                        self.advance_bot(now, bot);
                    }
                }
                Notice::Answer { bot, id, answer } => {
                    let now = self.clock.now();
                    if let Some(sleeper) = &mut self.bots[bot as usize] {
                        sleeper.agent.handle_answer(now, id, &answer);
                        self.advance_bot(now, bot);
                    }
                }
                Notice::Command { text, command } => self.commands.push_back((text, command)),
                Notice::Trouble { bot, reason } => {
                    tracing::debug!(bot, reason, "request failed");
                    self.findings.on_trouble(reason);
                }
            }
        }
        Ok(())
    }

    fn open_port(&self, bot: u32) -> Result<BotSocket, BotsError> {
        if let Some((_, network)) = self.device {
            return Ok(BotSocket::Host(network.host(bot)));
        }
        let socket = BotSocket::open_socket()?;
        self.poller
            .add(&socket, u64::from(bot), Interest::Readable)
            .map_err(|source| BotsError::System { what: "watch a socket", source })?;
        Ok(BotSocket::Socket(socket))
    }

    /// Reads waiting packets of the device.
    fn receive_packets(&mut self, now: Instant, buffer: &mut [u8]) -> Result<(), BotsError> {
        for _ in 0..PACKETS_PER_TURN {
            let Some((device, network)) = &self.device else { return Ok(()) };
            let arrived = device
                .recv(buffer)
                .map_err(|source| BotsError::System { what: "read the TUN device", source })?;
            let Some(arrived) = arrived else { break };
            if let Some(echo) = self.control_echo.as_mut().filter(|echo| echo.remote == arrived.remote) {
                let now = self.clock.now();
                arrived.datagrams().for_each(|datagram| echo.handle_reply(now, datagram));
                continue;
            }
            // Others are strangers' or of bots that never came in.
            let Some(index) = network.host_at(*arrived.local.ip()) else { continue };
            let Some(Some(bot)) = self.bots.get_mut(index as usize) else { continue };
            for datagram in arrived.datagrams() {
                self.rates.count_datagram(&mut bot.second, now, datagram.len());
                self.wires.receive(now, index, &mut bot.agent, arrived.remote, datagram);
            }
            self.flush_bot(now, index);
            self.note_changes(now, index)?;
        }
        Ok(())
    }

    /// Sends due datagrams to the control echo.
    fn ask_echo(&mut self, now: Instant) {
        if let Some(echo) = &mut self.control_echo
            && let Some(datagram) = echo.poll(now)
        {
            let device = self.device.as_ref().map(|(device, _)| device);
            self.wires.send_past(&echo.port, device, echo.remote, &datagram);
        }
    }

    /// Reads answers of the control echo from its socket.
    fn hear_echo(&mut self, batch: &mut RecvBatch) -> Result<(), BotsError> {
        if let Some(ControlEcho { port: BotSocket::Socket(socket), .. }) = &mut self.control_echo {
            socket
                .recv_batch(batch)
                .map_err(|source| BotsError::System { what: "receive datagrams", source })?;
        }
        let now = self.clock.now();
        if let Some(echo) = &mut self.control_echo {
            batch.iter().for_each(|datagram| echo.handle_reply(now, datagram.bytes));
        }
        Ok(())
    }

    /// Reads waiting datagrams of a bot's socket.
    fn receive(&mut self, now: Instant, index: u32, batch: &mut RecvBatch) -> Result<(), BotsError> {
        let Some(bot) = &mut self.bots[index as usize] else { return Ok(()) };
        let BotSocket::Socket(socket) = &mut bot.port else { return Ok(()) };
        socket.recv_batch(batch).map_err(|source| BotsError::System { what: "receive datagrams", source })?;
        for datagram in batch.iter() {
            self.rates.count_datagram(&mut bot.second, now, datagram.bytes.len());
            self.wires.receive(now, index, &mut bot.agent, datagram.remote, datagram.bytes);
        }
        self.flush_bot(now, index);
        self.note_changes(now, index)
    }

    /// Delivers datagrams that the links have carried by now.
    fn carry(&mut self, now: Instant) -> Result<(), BotsError> {
        while let Some((index, remote, bytes)) = self.wires.poll_arrival(now) {
            if let Some(bot) = &mut self.bots[index as usize] {
                self.wires.deliver(now, index, &mut bot.agent, remote, &bytes);
                self.flush_bot(now, index);
                self.note_changes(now, index)?;
            }
        }
        while let Some(index) = self.wires.poll_departure(now) {
            self.flush_bot(now, index);
        }
        Ok(())
    }

    /// Records edits and changes of all bots: those of a bot that changes its behaviour would be lost.
    fn note_all(&mut self) -> Result<(), BotsError> {
        let now = self.clock.now();
        (0..self.config.count).try_for_each(|index| self.note_changes(now, index))
    }

    /// Records edits of a bot, and changes of an observer's view.
    fn note_changes(&mut self, now: Instant, index: u32) -> Result<(), BotsError> {
        let Some(bot) = &mut self.bots[index as usize] else { return Ok(()) };
        self.carry.note(now, index, &mut bot.agent)?;
        self.edits.note(now, index, &mut bot.agent)?;
        let Some(writer) = &mut self.views else { return Ok(()) };
        for what in bot.agent.take_sights() {
            writer.write(&View { at: now, observer: index, what })?;
        }
        Ok(())
    }

    /// Advances a bot's time and carries out its requests.
    pub(super) fn advance_bot(&mut self, now: Instant, index: u32) {
        let Some(bot) = &mut self.bots[index as usize] else { return };
        bot.agent.handle_timeout(now);
        self.wires.drain(now, index, &mut bot.agent);
        self.flush_bot(now, index);
    }

    /// Sends a bot's datagrams, notes its events, sets its timer.
    fn flush_bot(&mut self, now: Instant, index: u32) {
        let Some(bot) = &mut self.bots[index as usize] else { return };
        self.wires.flush(&bot.port, self.device.as_ref().map(|(device, _)| device));
        while let Some(event) = bot.agent.poll_event() {
            self.findings.on_event(now, &mut bot.life, event);
        }
        while let Some(call) = bot.agent.poll_call() {
            // The receiver is there for as long as the HTTP thread.
            let _ = self.calls.send(BotCall { bot: index, call });
        }
        if let Some(at) = bot.agent.poll_timeout() {
            self.timers.set(index, at);
        }
    }
}
