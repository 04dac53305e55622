//! Links between the bots and their sockets: counts the traffic, and passes it through a bad network on request.

use super::port::BotSocket;
use crate::agent::Agent;
use crate::link::{Conditions, ImpairedLink, LinkFate};
use crate::rng::Rng;
use circuit::{Traffic, message_number};
use ids::Instant;
use net::device::Device;
use net::{FlushStatus, SendBatch, SendDrop};
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::messages::{CompletePingCheck, StartPingCheck};

/// Datagram under way on a link: bot, remote address, bytes.
pub(super) type UnderWay = (u32, SocketAddrV4, Vec<u8>);

/// Both directions of a bad network.
struct ImpairedLinks {
    up: ImpairedLink<UnderWay>,
    down: ImpairedLink<UnderWay>,
}

/// All links between bots and sockets. Traffic is counted at the server's side: datagrams lost on the links were received but not sent.
pub(super) struct Wires {
    traffic: Traffic,
    links: Option<ImpairedLinks>,
    outgoing: SendBatch,
    /// The datagram at hand.
    datagram: Vec<u8>,
}

impl Wires {
    pub(super) fn new(conditions: Conditions, seed: u64) -> Self {
        // The streams of the bots count up from 0, these two count down from the end.
        let link = |stream| ImpairedLink::new(conditions, Rng::new(seed, u64::MAX - stream));
        Self {
            traffic: Traffic::default(),
            links: (!conditions.is_clear()).then(|| ImpairedLinks { up: link(0), down: link(1) }),
            outgoing: SendBatch::new(),
            datagram: Vec::new(),
        }
    }

    /// Takes a datagram of a bot's socket; without links the bot gets it at once.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        index: u32,
        agent: &mut Agent,
        remote: SocketAddrV4,
        bytes: &[u8],
    ) {
        self.traffic.count_in(bytes);
        let Some(links) = &mut self.links else {
            return self.deliver(now, index, agent, remote, bytes);
        };
        let passage = links.down.push(now, (index, remote, bytes.to_vec()));
        if passage == LinkFate::Lost && message_number(bytes) == Some(CompletePingCheck::NUMBER) {
            agent.forgive_ping();
        }
    }

    /// Delivers a datagram to its bot and takes the answers: at once, so that a bot that acks each packet alone can.
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        index: u32,
        agent: &mut Agent,
        remote: SocketAddrV4,
        bytes: &[u8],
    ) {
        agent.handle_datagram(now, remote, bytes);
        self.drain(now, index, agent);
    }

    /// Takes all that a bot wants to send.
    pub(super) fn drain(&mut self, now: Instant, index: u32, agent: &mut Agent) {
        self.datagram.clear();
        while let Some(remote) = agent.poll_transmit(now, &mut self.datagram) {
            match &mut self.links {
                None => {
                    self.traffic.count_out(&self.datagram);
                    self.outgoing.push(remote, Ipv4Addr::UNSPECIFIED, &self.datagram);
                }
                Some(links) => {
                    let passage = links.up.push(now, (index, remote, self.datagram.clone()));
                    if passage == LinkFate::Lost
                        && message_number(&self.datagram) == Some(StartPingCheck::NUMBER)
                    {
                        agent.forgive_ping();
                    }
                }
            }
            self.datagram.clear();
        }
    }

    /// The next datagram from a link to its bot.
    pub(super) fn poll_arrival(&mut self, now: Instant) -> Option<UnderWay> {
        self.links.as_mut()?.down.poll(now)
    }

    /// Moves the next datagram of a link to the batch of [`Self::flush`]; returns the bot of its socket.
    pub(super) fn poll_departure(&mut self, now: Instant) -> Option<u32> {
        let (index, remote, bytes) = self.links.as_mut()?.up.poll(now)?;
        self.traffic.count_out(&bytes);
        self.outgoing.push(remote, Ipv4Addr::UNSPECIFIED, &bytes);
        Some(index)
    }

    /// Time of the next arrival on a link.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let links = self.links.as_ref()?;
        [links.up.poll_timeout(), links.down.poll_timeout()].into_iter().flatten().min()
    }

    /// Sends the batched datagrams of one bot.
    pub(super) fn flush(&mut self, port: &BotSocket, device: Option<&Device>) {
        if !self.outgoing.is_empty() && port.flush(&mut self.outgoing, device) == FlushStatus::Blocked {
            // The kernel holds a second's worth already; the circuit resends reliable messages.
            self.outgoing.abandon();
        }
    }

    /// Sends a datagram that is no bot's: it is not counted.
    pub(super) fn send_past(
        &mut self,
        port: &BotSocket,
        device: Option<&Device>,
        remote: SocketAddrV4,
        datagram: &[u8],
    ) {
        self.outgoing.push(remote, Ipv4Addr::UNSPECIFIED, datagram);
        self.flush(port, device);
    }

    pub(super) const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Datagrams that the kernel did not take.
    pub(super) fn unsent(&self) -> u64 {
        let counters = self.outgoing.counters();
        SendDrop::ALL.iter().map(|&reason| counters.dropped(reason)).sum()
    }
}
