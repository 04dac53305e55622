//! Latency of datagrams through the server by stage, sampled: all pings, and a share of the others.
//!
//! Beside the shard rather than in it: the driver reads the clocks, and asks here whether it should.

use ids::Instant;
use std::time::Duration;

/// Sampling rate of datagrams other than pings: one of this number. Five looks at clocks and four histograms take 200 to 500 ns: with
/// this, at most eight for each datagram, which costs hundreds in the kernel alone.
const SAMPLE_EVERY: u32 = 64;

/// Datagrams measured at once until their answers have left; more are not measured, so that a flood of pings, a stranger's too, does
/// not become a flood of clock reads.
const MEASURED_MAX: usize = 32;

/// Kinds of measured datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measured {
    /// A StartPingCheck answered at once, independent of the worlds.
    Ping,
    /// Any other; also a StartPingCheck of a stranger, or a duplicate.
    Other,
}

impl Measured {
    /// Every kind, in order.
    pub const ALL: [Self; 2] = [Self::Ping, Self::Other];

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Other => "other",
        }
    }
}

/// A part of a datagram's way. They follow each other without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketStage {
    /// From its arrival in the kernel until the shard has read it.
    Kernel,
    /// Until its handler begins: mail and the datagrams in front of it come first.
    Dispatch,
    /// Until its handler is done.
    Handler,
    /// Until the kernel has its answer: those behind it in the batch come first. Only of datagrams that were answered at once.
    Send,
}

impl PacketStage {
    /// Every stage, in order.
    pub const ALL: [Self; 4] = [Self::Kernel, Self::Dispatch, Self::Handler, Self::Send];

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Dispatch => "dispatch",
            Self::Handler => "handler",
            Self::Send => "send",
        }
    }
}

/// Times of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled {
    /// Time of the read by the shard.
    pub read_at: Instant,
    /// Begin of its handler.
    pub began_at: Instant,
    /// End of its handler.
    pub ended_at: Instant,
    /// Time in the kernel before its handler began, if known.
    pub age: Option<Duration>,
    /// True if its handler produced output.
    pub answered: bool,
}

/// Measured datagrams under way. Results go to `record`, by kind and stage.
#[derive(Debug, Default)]
pub struct Stages {
    /// Others seen since the last measured one.
    unmeasured: u32,
    /// Measured since all answers had left.
    measured: usize,
    /// Ends of the handlers of answers that have not left. Its memory stays.
    unsent: Vec<(Measured, Instant)>,
}

impl Stages {
    /// None under way.
    #[must_use]
    pub fn new() -> Self {
        Self { unmeasured: 0, measured: 0, unsent: Vec::with_capacity(MEASURED_MAX) }
    }

    /// Kind as which the next datagram is measured, if it is.
    pub const fn choose(&mut self, is_ping: bool) -> Option<Measured> {
        if self.measured == MEASURED_MAX {
            return None;
        }
        if !is_ping {
            self.unmeasured += 1;
            if self.unmeasured < SAMPLE_EVERY {
                return None;
            }
            self.unmeasured = 0;
        }
        self.measured += 1;
        Some(if is_ping { Measured::Ping } else { Measured::Other })
    }

    /// A chosen datagram was handled.
    pub fn handled(
        &mut self,
        measured: Measured,
        times: &Handled,
        mut record: impl FnMut(Measured, PacketStage, Duration),
    ) {
        let measured = if times.answered { measured } else { Measured::Other };
        let waited = times.began_at - times.read_at;
        if let Some(age) = times.age {
            // It is older now than when it was read.
            record(measured, PacketStage::Kernel, age.saturating_sub(waited));
        }
        record(measured, PacketStage::Dispatch, waited);
        record(measured, PacketStage::Handler, times.ended_at - times.began_at);
        if times.answered {
            self.unsent.push((measured, times.ended_at));
        }
    }

    /// The kernel has taken all answers. Looks at the clock only if one of a measured datagram was among them.
    pub fn sent(
        &mut self,
        now: impl FnOnce() -> Instant,
        mut record: impl FnMut(Measured, PacketStage, Duration),
    ) {
        self.measured = 0;
        if self.unsent.is_empty() {
            return;
        }
        let now = now();
        for (measured, ended_at) in self.unsent.drain(..) {
            record(measured, PacketStage::Send, now - ended_at);
        }
    }

    /// Answers were thrown away that the kernel did not take: there is nothing to measure.
    pub fn abandon(&mut self) {
        self.unsent.clear();
        self.measured = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn at(after: u64) -> Instant {
        Instant::from_millis(1_000) + us(after)
    }

    /// Recorded measurements.
    type Recorded = Vec<(Measured, PacketStage, Duration)>;

    fn handle(stages: &mut Stages, measured: Measured, times: &Handled) -> Recorded {
        let mut recorded = Recorded::new();
        stages.handled(measured, times, |kind, stage, took| recorded.push((kind, stage, took)));
        recorded
    }

    fn send(stages: &mut Stages, now: Instant) -> Recorded {
        let mut recorded = Recorded::new();
        stages.sent(|| now, |kind, stage, took| recorded.push((kind, stage, took)));
        recorded
    }

    const ANSWERED: Handled = Handled {
        read_at: Instant(1_000_000_000),
        began_at: Instant(1_000_070_000),
        ended_at: Instant(1_000_071_000),
        age: Some(Duration::from_micros(470)),
        answered: true,
    };

    #[test]
    fn the_stages_of_a_ping_follow_each_other() {
        let mut stages = Stages::new();
        let measured = stages.choose(true).expect("every ping is measured");
        let handled = handle(&mut stages, measured, &ANSWERED);
        let ping = |stage, took| (Measured::Ping, stage, us(took));
        let until_handled =
            [ping(PacketStage::Kernel, 400), ping(PacketStage::Dispatch, 70), ping(PacketStage::Handler, 1)];
        assert_eq!(handled, until_handled);
        assert_eq!(send(&mut stages, at(80)), [ping(PacketStage::Send, 9)]);
        stages.sent(|| unreachable!("nothing waits"), |_, _, _| unreachable!("and nothing was measured"));
    }

    #[test]
    fn unknown_and_absent_stages_are_not_recorded() {
        let mut stages = Stages::new();
        let ignored = Handled { age: None, answered: false, ..ANSWERED };
        let recorded = handle(&mut stages, Measured::Ping, &ignored);
        let other = |stage, took| (Measured::Other, stage, us(took));
        assert_eq!(recorded, [other(PacketStage::Dispatch, 70), other(PacketStage::Handler, 1)]);
        assert_eq!(send(&mut stages, at(90)), []);
        handle(&mut stages, Measured::Ping, &ANSWERED);
        stages.abandon();
        assert_eq!(send(&mut stages, at(90)), []);
    }

    #[test]
    fn a_wall_clock_that_was_set_back_takes_no_time_off() {
        let times = Handled { age: Some(Duration::ZERO), ..ANSWERED };
        let recorded = handle(&mut Stages::new(), Measured::Ping, &times);
        assert_eq!(recorded[0], (Measured::Ping, PacketStage::Kernel, Duration::ZERO));
        assert_eq!(recorded[1].2, us(70));
    }

    #[test]
    fn others_are_measured_now_and_then_and_none_when_too_many_were() {
        let mut stages = Stages::new();
        let chosen = (0..640).filter_map(|_| stages.choose(false)).count();
        assert_eq!(chosen, 10);
        assert_eq!(send(&mut stages, at(90)), []);
        for n in 0..MEASURED_MAX {
            assert_eq!(stages.choose(true), Some(Measured::Ping));
            handle(&mut stages, Measured::Ping, &Handled { answered: n > 0, ..ANSWERED });
        }
        assert_eq!((stages.choose(true), stages.choose(false)), (None, None));
        assert_eq!(send(&mut stages, at(100)).len(), MEASURED_MAX - 1);
        assert_eq!(stages.choose(true), Some(Measured::Ping));
    }
}
