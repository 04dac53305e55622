//! Arrivals for the bots: notices of the HTTP thread, datagrams of sockets, of the device and of the simulated network; and those of the control echo.

use super::{Bot, Circuits};
use crate::agent::{Agent, AgentConfig};
use crate::driver::BotsError;
use crate::driver::carrying::CarryNotes;
use crate::driver::control_echo::ControlEcho;
use crate::driver::edits::EditNotes;
use crate::driver::findings::BotStage;
use crate::driver::notices::Notice;
use crate::driver::port::BotSocket;
use crate::driver::rates::Second;
use crate::rng::Rng;
use ids::Instant;
use net::{Interest, RecvBatch};

/// Packets read from a device in one turn: a server may send more in one, and pings wait meanwhile.
const PACKETS_PER_TURN: usize = 4_096;

impl Circuits {
    pub(super) fn read_notices(&mut self) -> Result<(), BotsError> {
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
    pub(super) fn receive_packets(&mut self, now: Instant, buffer: &mut [u8]) -> Result<(), BotsError> {
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
    pub(super) fn ask_echo(&mut self, now: Instant) {
        if let Some(echo) = &mut self.control_echo
            && let Some(datagram) = echo.poll(now)
        {
            let device = self.device.as_ref().map(|(device, _)| device);
            self.wires.send_past(&echo.port, device, echo.remote, &datagram);
        }
    }

    /// Reads answers of the control echo from its socket.
    pub(super) fn hear_echo(&mut self, batch: &mut RecvBatch) -> Result<(), BotsError> {
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
    pub(super) fn receive(
        &mut self,
        now: Instant,
        index: u32,
        batch: &mut RecvBatch,
    ) -> Result<(), BotsError> {
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
    pub(super) fn carry(&mut self, now: Instant) -> Result<(), BotsError> {
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
}
