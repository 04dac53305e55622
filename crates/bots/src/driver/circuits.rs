//! Thread of the circuits: all bots, their sockets and timers.
//!
//! It works in turns. Between two turns with datagrams it rests for [`REST`], so that the datagrams of a burst are read together: a
//! system call for each would cost more than all the rest. Ping times are too long by up to that. `arrivals` has what reaches the bots in a turn, `commands` a
//! run by command, `closing` the end of a run.

mod arrivals;
mod closing;
mod commands;

use super::calls::{BotCall, Grants};
use super::carrying::CarryNotes;
use super::clock::RunClock;
use super::control::ControlCommand;
use super::control_echo::ControlEcho;
use super::edits::EditNotes;
use super::findings::{BotStage, MeterReading, RunTally};
use super::notices::{Notice, NoticeSender};
use super::port::{self, BotSocket};
use super::rates::{Rates, Second};
use super::session::{HttpThread, NOTICES_MAX};
use super::timers::Timers;
use super::wires::Wires;
use super::{BotsConfig, BotsError};
use crate::agent::Agent;
use crate::cache_file;
use crate::prims::PrimCache;
use crate::report::RunReport;
use crate::views::{self, View, ViewWriter};
use ids::Instant;
use net::device::Device;
use net::network::Network;
use net::{Events, Interest, Poller, RecvBatch};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Pause behind a turn with datagrams, except with few bots: those cause no bursts, and measure exactly.
const REST: Duration = Duration::from_millis(1);
const RESTING_FROM: u32 = 50;

/// Longest turn, so that the end of a phase is noticed.
const TURN_MAX: Duration = Duration::from_millis(20);

/// The device's place among the poller's tokens, which are numbers of bots.
const DEVICE: u64 = u32::MAX as u64 + 1;
/// And the control echo's.
const ECHO: u64 = DEVICE + 1;

/// One bot and its place in the network.
struct Bot {
    agent: Agent,
    port: BotSocket,
    life: BotStage,
    second: Second,
}

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

    fn read_meters(&self) -> MeterReading {
        MeterReading::sample(self.clock.now(), self.config.server_pid, self.wires.traffic().total())
    }

    /// Begins the window, or begins it again.
    fn begin_window(&mut self) -> MeterReading {
        self.rates = Rates::default();
        self.read_meters()
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
