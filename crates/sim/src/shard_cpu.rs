//! The CPU time of one shard: the cost of its work, and the supply during a shortage.
//!
//! Without a shortage work takes no time, so that runs without one are unchanged. Its cost is counted all the same: the supply during a
//! shortage is a share of the need in the [`WINDOW`] before it. From then on datagrams wait in the kernel's queue, and a shard does as much
//! in each of the node's turns as its credit pays for, in the order of production's loop: datagrams, then one turn of clients.
//!
//! Costs are constants in nanoseconds, of the order of those measured with 5,000 clients on a 2-core machine. Only their ratios matter,
//! since the supply is a share of the need.

use crate::faults::ScarceCpu;
use gateway::shard::{CpuTime, ShardCounters};
use ids::Instant;
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::time::Duration;

/// A datagram read, decoded and handled.
const DATAGRAM_IN_NS: u64 = 4_000;
/// A datagram given to the kernel.
const DATAGRAM_OUT_NS: u64 = 5_000;
/// A client's turn without its datagrams.
const CLIENT_TURN_NS: u64 = 4_000;
/// An avatar of a visible set that a turn looks at.
const AVATAR_LOOKED_AT_NS: u64 = 30;
/// The need is measured for so long before a shortage.
pub(crate) const WINDOW: Duration = Duration::from_secs(3);
/// Datagrams that a shard's sockets hold: 8 MiB of receive buffer, of which the kernel counts 2 KiB for each. Those beyond are dropped.
const QUEUE_MAX: usize = 4_096;
/// Datagrams that a shard reads before clients have their turn again: eight batches.
pub(crate) const DATAGRAMS_PER_LOOP: usize = 512;

/// A datagram in a socket's receive queue.
#[derive(Debug)]
pub(crate) struct QueuedDatagram {
    pub(crate) port: u8,
    pub(crate) remote: SocketAddrV4,
    pub(crate) bytes: Box<[u8]>,
}

/// The CPU time of one shard.
#[derive(Debug, Default)]
pub(crate) struct ShardCpu {
    shortage: Option<ScarceCpu>,
    /// CPU time of all work so far.
    used_ns: u64,
    /// The same at the beginning of the window.
    used_before_ns: Option<u64>,
    /// The same at the last report to the shard.
    used_reported_ns: u64,
    /// Supply per second during the shortage.
    supply_ns_per_s: Option<u64>,
    /// True from the beginning of the shortage on.
    has_begun: bool,
    /// Unspent supply; negative after a piece of work that cost more than the rest.
    credit_ns: i64,
    /// Counters when work was charged last.
    charged: WorkDone,
    queue: VecDeque<QueuedDatagram>,
    /// Datagrams that found the queue full.
    pub(crate) n_dropped: u64,
}

/// Work of a shard.
#[derive(Clone, Copy, Debug, Default)]
struct WorkDone {
    datagrams_in: u64,
    client_turns: u64,
    looked_at: u64,
}

impl ShardCpu {
    pub(crate) fn new(shortage: Option<ScarceCpu>) -> Self {
        Self { shortage, ..Self::default() }
    }

    /// True while work takes time.
    pub(crate) const fn is_short(&self) -> bool {
        self.supply_ns_per_s.is_some()
    }

    /// A turn of the node begins, `passed` after the one before it.
    pub(crate) fn begin_turn(&mut self, now: Instant, passed: Duration) {
        let Some(shortage) = self.shortage else { return };
        let begins_at = Instant::ZERO + shortage.at;
        if self.used_before_ns.is_none() && now + WINDOW >= begins_at {
            self.used_before_ns = Some(self.used_ns);
        }
        let is_over = now >= begins_at + shortage.lasts;
        if is_over {
            self.supply_ns_per_s = None;
        } else if now >= begins_at && self.supply_ns_per_s.is_none() {
            let used_ns = self.used_ns - self.used_before_ns.expect("the window begins before the shortage");
            let needed_ns_per_s = used_ns as f64 / WINDOW.as_secs_f64();
            self.supply_ns_per_s = Some((needed_ns_per_s * shortage.share) as u64);
            self.credit_ns = 0;
            self.has_begun = true;
        }
        if let Some(supply) = self.supply_ns_per_s {
            self.credit_ns += (supply as f64 * passed.as_secs_f64()) as i64;
        }
    }

    /// True if more work may begin.
    pub(crate) const fn has_credit(&self) -> bool {
        !self.is_short() || self.credit_ns > 0
    }

    /// A turn of the node ends, with nothing left to do if `is_idle`: CPU time cannot be saved up. Returns the shard's CPU time since the
    /// last call, from the beginning of the shortage on.
    pub(crate) fn end_turn(&mut self, is_idle: bool, passed: Duration) -> Option<CpuTime> {
        let used_ns = self.used_ns - std::mem::replace(&mut self.used_reported_ns, self.used_ns);
        let mut idle = passed;
        if self.is_short() {
            idle = Duration::from_nanos(if is_idle { self.credit_ns.max(0) as u64 } else { 0 });
            if is_idle {
                self.credit_ns = self.credit_ns.min(0);
            }
        }
        self.has_begun.then_some(CpuTime { used: Duration::from_nanos(used_ns), idle })
    }

    /// Charges the shard's work since the last call, and the datagrams that it sends now.
    pub(crate) fn charge(&mut self, counters: &ShardCounters, datagrams_out: usize) {
        let done = WorkDone {
            datagrams_in: counters.datagrams_in,
            client_turns: counters.client_turns,
            looked_at: counters.avatars_looked_at,
        };
        let before = std::mem::replace(&mut self.charged, done);
        let cost_ns = (done.datagrams_in - before.datagrams_in) * DATAGRAM_IN_NS
            + (done.client_turns - before.client_turns) * CLIENT_TURN_NS
            + (done.looked_at - before.looked_at) * AVATAR_LOOKED_AT_NS
            + datagrams_out as u64 * DATAGRAM_OUT_NS;
        self.used_ns += cost_ns;
        if self.is_short() {
            self.credit_ns -= cost_ns as i64;
        }
    }

    /// A datagram arrives that has to wait.
    pub(crate) fn queue(&mut self, datagram: QueuedDatagram) {
        if self.queue.len() < QUEUE_MAX {
            self.queue.push_back(datagram);
        } else {
            self.n_dropped += 1;
        }
    }

    /// The datagram that has waited the longest.
    pub(crate) fn pop_queued(&mut self) -> Option<QueuedDatagram> {
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const TURN: Duration = Duration::from_millis(5);
    const SHORTAGE: ScarceCpu =
        ScarceCpu { at: Duration::from_secs(10), lasts: Duration::from_secs(5), share: 0.5 };

    /// Turns in which a shard does all that it may, up to `want` datagrams in each; how many it did in the last second.
    fn run(cpu: &mut ShardCpu, seconds: std::ops::Range<u64>, want: u64) -> u64 {
        let mut counters = ShardCounters::default();
        counters.datagrams_in = cpu.charged.datagrams_in;
        let mut n = 0;
        for turn in seconds.start * 200..seconds.end * 200 {
            cpu.begin_turn(Instant::ZERO + TURN * turn as u32, TURN);
            for _ in 0..want {
                if cpu.has_credit() {
                    counters.datagrams_in += 1;
                    cpu.charge(&counters, 0);
                    n += u64::from(turn >= (seconds.end - 1) * 200);
                }
            }
        }
        n
    }

    #[test]
    fn a_shortage_gives_a_share_of_the_former_need() {
        let mut cpu = ShardCpu::new(Some(SHORTAGE));
        assert_eq!(run(&mut cpu, 0..10, 10), 2_000);
        let served = run(&mut cpu, 10..15, 10);
        assert!((995..=1_005).contains(&served), "{served}");
        assert_eq!(run(&mut cpu, 15..16, 10), 2_000, "it is over");
    }

    #[test]
    fn time_that_is_not_used_is_not_saved_and_a_full_queue_drops() {
        let mut cpu = ShardCpu::new(Some(SHORTAGE));
        run(&mut cpu, 0..11, 10);
        cpu.begin_turn(Instant::from_millis(11_000), TURN);
        let report = cpu.end_turn(true, TURN).expect("it has begun");
        assert!(report.used > Duration::ZERO && report.idle > Duration::ZERO, "{report:?}");
        assert_eq!(cpu.end_turn(true, TURN), Some(CpuTime::default()));
        let remote = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        for _ in 0..=QUEUE_MAX {
            cpu.queue(QueuedDatagram { port: 0, remote, bytes: Box::new([]) });
        }
        assert_eq!((cpu.queue.len(), cpu.n_dropped), (QUEUE_MAX, 1));
    }
}
