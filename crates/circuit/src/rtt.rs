//! Time until the peer's ack, and from that the time until a resend (RFC 6298, with other limits).

use crate::Config;
use std::time::Duration;

/// A smoothed mean and mean deviation of round trips (RFC 6298 §2, gains 1/8 and 1/4).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Smoothed {
    mean: Option<Duration>,
    deviation: Duration,
}

impl Smoothed {
    pub(crate) fn on_sample(&mut self, sample: Duration) {
        match self.mean {
            None => {
                self.mean = Some(sample);
                self.deviation = sample / 2;
            }
            Some(mean) => {
                self.deviation = (3 * self.deviation + mean.abs_diff(sample)) / 4;
                self.mean = Some((7 * mean + sample) / 8);
            }
        }
    }

    pub(crate) const fn mean(&self) -> Option<Duration> {
        self.mean
    }
}

/// Round trips of a circuit, by kind of measurement: pings are answered at once and measure the path, acks may be collected for up to 2
/// s by a viewer. Resends must wait for acks; statistics report the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    acks: Smoothed,
    pings: Smoothed,
    latest_ping: Option<Duration>,
}

impl Rtt {
    /// An ack came `elapsed` after its packet was first sent. Acks of resent packets are ambiguous and ignored (Karn), unless there is
    /// no better sample: a peer whose acks always come after the first resend would otherwise never raise the timeout.
    pub(crate) fn on_ack(&mut self, elapsed: Duration, was_resent: bool) {
        if !was_resent || self.acks.mean().is_none() {
            self.acks.on_sample(elapsed);
        }
    }

    pub(crate) fn on_ping(&mut self, elapsed: Duration) {
        self.pings.on_sample(elapsed);
        self.latest_ping = Some(elapsed);
    }

    pub(crate) const fn latest_ping(&self) -> Option<Duration> {
        self.latest_ping
    }

    /// The smoothed round trip of pings.
    pub(crate) const fn pings(&self) -> Option<Duration> {
        self.pings.mean()
    }

    /// The smoothed round trip of the path, from pings if there were any.
    pub(crate) fn path(&self) -> Option<Duration> {
        self.pings.mean().or_else(|| self.acks.mean())
    }

    /// Timeout for the ack of a packet sent `transmissions` times: doubles each time, within the limits.
    pub(crate) fn resend_timeout(&self, config: &Config, transmissions: u32) -> Duration {
        let base = match self.acks.mean() {
            Some(mean) => mean + 4 * self.acks.deviation,
            None => config.resend_timeout_initial,
        };
        let base = base.clamp(config.resend_timeout_min, config.resend_timeout_max);
        base.saturating_mul(1 << transmissions.saturating_sub(1).min(8)).min(config.resend_timeout_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: Config = Config::server();

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_first_timeout_is_a_second_and_backs_off_to_three() {
        let rtt = Rtt::default();
        assert_eq!(
            [1, 2, 3, 40].map(|n| rtt.resend_timeout(&CONFIG, n)),
            [ms(1000), ms(2000), ms(3000), ms(3000)]
        );
    }

    #[test]
    fn a_fast_path_resends_at_the_minimum_and_a_slow_one_at_the_maximum() {
        for (sample, expected) in [(ms(10), ms(250)), (ms(5000), ms(3000))] {
            let mut rtt = Rtt::default();
            for _ in 0..50 {
                rtt.on_ack(sample, false);
            }
            assert_eq!(rtt.resend_timeout(&CONFIG, 1), expected);
        }
    }

    #[test]
    fn the_timeout_lies_above_what_steady_acks_take() {
        let mut rtt = Rtt::default();
        for i in 0..100 {
            rtt.on_ack(ms(if i % 2 == 0 { 380 } else { 420 }), false);
        }
        let timeout = rtt.resend_timeout(&CONFIG, 1);
        assert!(timeout > ms(420) && timeout < ms(600), "{timeout:?}");
    }

    #[test]
    fn acks_of_resent_packets_count_only_while_nothing_else_is_known() {
        let mut rtt = Rtt::default();
        rtt.on_ack(ms(2000), true);
        assert_eq!(rtt.path(), Some(ms(2000)));
        rtt.on_ack(ms(9000), true);
        assert_eq!(rtt.path(), Some(ms(2000)));
    }

    #[test]
    fn the_path_is_what_pings_say() {
        let mut rtt = Rtt::default();
        rtt.on_ack(ms(1900), false);
        rtt.on_ping(ms(80));
        assert_eq!(rtt.path(), Some(ms(80)));
        assert!(rtt.resend_timeout(&CONFIG, 1) > ms(1900), "resends still wait for the collected acks");
    }
}
