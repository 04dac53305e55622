//! Clocks and histograms for the stages of a datagram's way.

use super::Clock;
use gateway::shard::{Handled, Measured, PacketStage, Stages};
use ids::Instant;
use net::ReceivedDatagram;
use std::time::{Duration, SystemTime};
use telemetry::{FineTiming, Metrics};

/// By kind and stage.
pub(super) type Timings = [[FineTiming; PacketStage::ALL.len()]; Measured::ALL.len()];

/// The histograms, the same ones for all shards.
pub(super) fn timings(metrics: &Metrics) -> Timings {
    let help = "Stages of a datagram's way: in the kernel, until its handler begins, in it, until its answer is with the kernel.";
    Measured::ALL.map(|measured| {
        PacketStage::ALL.map(|stage| {
            let labels = [("datagram", measured.as_str()), ("stage", stage.as_str())];
            metrics.fine_timing("throng_packet_stage_seconds", help, &labels)
        })
    })
}

/// Measures datagrams of one shard.
pub(super) struct Stopwatch {
    stages: Stages,
    timings: Timings,
    clock: Clock,
    /// The clock that the kernel's times are of, since 1970.
    wall: fn() -> Duration,
}

/// A datagram whose handler is at work.
pub(super) struct BegunDatagram {
    measured: Measured,
    began_at: Instant,
    age: Option<Duration>,
}

impl Stopwatch {
    pub(super) fn new(timings: Timings, clock: Clock) -> Self {
        Self { stages: Stages::new(), timings, clock, wall: wall_clock }
    }

    /// The next datagram's handler begins. None if it is not measured.
    pub(super) fn begin(&mut self, is_ping: bool, datagram: &ReceivedDatagram<'_>) -> Option<BegunDatagram> {
        let measured = self.stages.choose(is_ping)?;
        Some(BegunDatagram { measured, began_at: (self.clock)(), age: datagram.age((self.wall)()) })
    }

    /// Its handler is done.
    pub(super) fn end(&mut self, begun: &BegunDatagram, read_at: Instant, answered: bool) {
        let &BegunDatagram { measured, began_at, age } = begun;
        let ended_at = (self.clock)();
        let handled = Handled { read_at, began_at, ended_at, age, answered };
        self.stages.handled(measured, &handled, record(&self.timings));
    }

    /// The kernel has taken all answers.
    pub(super) fn sent(&mut self) {
        self.stages.sent(|| (self.clock)(), record(&self.timings));
    }

    /// Answers were thrown away.
    pub(super) fn abandon(&mut self) {
        self.stages.abandon();
    }
}

fn record(timings: &Timings) -> impl FnMut(Measured, PacketStage, Duration) {
    |measured, stage, took| timings[measured as usize][stage as usize].record(took)
}

#[expect(clippy::disallowed_methods, reason = "the kernel's times of arrival are those of this clock")]
fn wall_clock() -> Duration {
    // Before 1970 all ages are zero.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const ARRIVED: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn a_ping_through_a_shard_leaves_its_stages_in_the_metrics() {
        let metrics = Metrics::new();
        // Each look at the clock finds it 5 µs on, from 1 s.
        let looks = AtomicU64::new(0);
        let clock = move || Instant(1_000_000_000 + 5_000 * looks.fetch_add(1, Ordering::Relaxed));
        let mut stopwatch = Stopwatch::new(timings(&metrics), Arc::new(clock));
        stopwatch.wall = || ARRIVED + Duration::from_micros(120);
        let local = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
        let ping = ReceivedDatagram {
            remote: local,
            local: *local.ip(),
            bytes: &[],
            truncated: false,
            arrived_unix: Some(ARRIVED),
        };
        let read_at = (stopwatch.clock)();
        let begun = stopwatch.begin(true, &ping).expect("pings are measured");
        stopwatch.end(&begun, read_at, true);
        stopwatch.sent();
        assert!(stopwatch.begin(false, &ping).is_none(), "not every datagram is");
        let text = metrics.render();
        for (stage, took) in [("kernel", 0.000_115), ("dispatch", 5e-6), ("handler", 5e-6), ("send", 5e-6)] {
            for (datagram, sum, count) in [("ping", took, 1), ("other", 0.0, 0)] {
                let labels = format!("{{datagram=\"{datagram}\",stage=\"{stage}\"}}");
                for (name, value) in [("sum", sum), ("count", f64::from(count))] {
                    let line = format!("throng_packet_stage_seconds_{name}{labels} {value}");
                    assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
                }
            }
        }
    }
}
