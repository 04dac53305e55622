//! Acks that come after the resend timeout, from a peer short of CPU time.

use super::raw::{datagram, handle, server};
use crate::{Circuit, control};
use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;
use wire::header::Flags;

/// One circuit that sends perishable packets, and the time of each one's ack.
struct Sender {
    circuit: Circuit,
    now: Instant,
    acks: VecDeque<(Instant, u32)>,
    lost: Vec<u32>,
    late: Vec<u32>,
    datagrams_from_peer: u32,
}

impl Sender {
    fn new() -> Self {
        Self {
            circuit: server(),
            now: Instant::ZERO,
            acks: VecDeque::new(),
            lost: Vec::new(),
            late: Vec::new(),
            datagrams_from_peer: 0,
        }
    }

    /// Sends a packet that is acked `ack_after` later, and lets 100 ms pass.
    fn send(&mut self, ack_after: Duration) -> u32 {
        let sequence = self.circuit.begin_perishable(self.now, &mut Vec::new()).expect("room");
        self.acks.push_back((self.now + ack_after, sequence));
        self.pass(10);
        sequence
    }

    /// Lets time pass in steps of 10 ms.
    fn pass(&mut self, steps: u32) {
        for _ in 0..steps {
            self.now += Duration::from_millis(10);
            while let Some((_, sequence)) = self.acks.pop_front_if(|(at, _)| *at <= self.now) {
                let mut ack = Vec::new();
                control::write_packet_ack(&mut ack, &[sequence]);
                self.datagrams_from_peer += 1;
                let bytes = datagram(Flags::NONE, self.datagrams_from_peer, &ack);
                handle(&mut self.circuit, self.now, &bytes).expect("an ack");
            }
            self.circuit.handle_timeout(self.now);
            self.lost.extend(std::iter::from_fn(|| self.circuit.poll_lost(self.now)));
            self.late.extend(std::iter::from_fn(|| self.circuit.poll_late_ack()));
        }
    }
}

#[test]
fn a_peer_that_begins_to_ack_late_loses_few_packets() {
    let mut sender = Sender::new();
    for _ in 0..20 {
        sender.send(Duration::from_millis(10));
    }
    assert_eq!(sender.circuit.resend_timeout(), Duration::from_millis(250));
    let late = Duration::from_millis(600);
    for _ in 0..50 {
        sender.send(late);
    }
    sender.pass(100);
    assert!(!sender.lost.is_empty() && sender.lost.len() <= 8, "{:?}", sender.lost);
    assert_eq!(sender.late, sender.lost, "each has come late");
    let stats = sender.circuit.stats();
    assert_eq!((stats.perished, stats.acks_late), (sender.lost.len() as u64, sender.late.len() as u64));
    assert!(sender.circuit.resend_timeout() > late, "{:?}", sender.circuit.resend_timeout());
    let n_lost = sender.lost.len();
    for _ in 0..50 {
        sender.send(late);
    }
    sender.pass(100);
    assert_eq!(sender.lost.len(), n_lost, "the timeout has followed");
}

#[test]
fn a_packet_acked_before_the_application_asks_for_lost_ones_is_not_lost() {
    let mut sender = Sender::new();
    let sequence = sender.circuit.begin_perishable(sender.now, &mut Vec::new()).expect("room");
    // Expiry by a timer, without a turn of the application's.
    sender.circuit.poll_transmit(Instant::from_millis(1_500), &mut Vec::new());
    assert!(!sender.circuit.is_unacked(sequence));
    sender.now = Instant::from_millis(1_500);
    sender.acks.push_back((sender.now, sequence));
    sender.pass(1);
    assert_eq!((sender.lost, sender.late), (vec![], vec![sequence]));
}
