//! Between the bots and their sockets: counts what passes, and sends it through a bad network if one was asked for.

use super::port::Port;
use crate::agent::Agent;
use crate::link::{Conditions, Link, Passage};
use crate::rng::Rng;
use circuit::{Traffic, message_number};
use ids::Instant;
use net::device::Device;
use net::{FlushStatus, SendBatch, SendDrop};
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::messages::{CompletePingCheck, StartPingCheck};

/// A datagram on its way through a link: whose, from or to whom, what.
pub(super) type UnderWay = (u32, SocketAddrV4, Vec<u8>);

/// Both directions of a bad network.
struct Links {
    up: Link<UnderWay>,
    down: Link<UnderWay>,
}

/// All that lies between bots and sockets. Traffic is counted where the server sees it: what the links lose was
/// received but not sent.
pub(super) struct Wires {
    traffic: Traffic,
    links: Option<Links>,
    outgoing: SendBatch,
    /// The datagram at hand.
    datagram: Vec<u8>,
}

impl Wires {
    pub(super) fn new(conditions: Conditions, seed: u64) -> Self {
        // The streams of the bots count up from 0, these two count down from the end.
        let link = |stream| Link::new(conditions, Rng::new(seed, u64::MAX - stream));
        Self {
            traffic: Traffic::default(),
            links: (!conditions.is_clear()).then(|| Links { up: link(0), down: link(1) }),
            outgoing: SendBatch::new(),
            datagram: Vec::new(),
        }
    }

    /// Takes what a bot's socket received; without links the bot gets it at once.
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
        if passage == Passage::Lost && message_number(bytes) == Some(CompletePingCheck::NUMBER) {
            agent.forgive_ping();
        }
    }

    /// Gives a datagram to its bot and takes what that answers: at once, so that a bot that acks each packet alone can.
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
                    if passage == Passage::Lost
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

    /// Moves the next datagram of a link to the batch that leaves with [`Self::flush`]; gives whose socket that is for.
    pub(super) fn poll_departure(&mut self, now: Instant) -> Option<u32> {
        let (index, remote, bytes) = self.links.as_mut()?.up.poll(now)?;
        self.traffic.count_out(&bytes);
        self.outgoing.push(remote, Ipv4Addr::UNSPECIFIED, &bytes);
        Some(index)
    }

    /// When a link has something next.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let links = self.links.as_ref()?;
        [links.up.poll_timeout(), links.down.poll_timeout()].into_iter().flatten().min()
    }

    /// Sends what was taken from one bot.
    pub(super) fn flush(&mut self, port: &Port, device: Option<&Device>) {
        if !self.outgoing.is_empty() && port.flush(&mut self.outgoing, device) == FlushStatus::Blocked {
            // The kernel holds a second's worth already; the circuit sends what matters again.
            self.outgoing.abandon();
        }
    }

    /// Sends a datagram that is no bot's: it is not counted.
    pub(super) fn send_past(
        &mut self,
        port: &Port,
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
