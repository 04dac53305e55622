//! Share of our reliable packets that go missing, judged by resends: a smoothed mean over transmissions.
//!
//! A lost ack counts as a lost packet, and a peer that acks very late as lossy, so it is an upper bound, sufficient for adapting a
//! budget. Unreliable packets are never acked and carry no information.

/// A transmission moves the estimate by one part in this many.
const MEMORY: f32 = 32.0;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loss {
    share: f32,
}

impl Loss {
    pub(crate) fn on_acked(&mut self) {
        self.share -= self.share / MEMORY;
    }

    pub(crate) fn on_timeout(&mut self) {
        self.share += (1.0 - self.share) / MEMORY;
    }

    /// From 0 to 1.
    pub(crate) const fn share(&self) -> f32 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_comes_near_the_real_share_and_forgets() {
        let mut loss = Loss::default();
        for i in 0..400 {
            if i % 5 == 0 { loss.on_timeout() } else { loss.on_acked() }
        }
        assert!((loss.share() - 0.2).abs() < 0.05, "{}", loss.share());
        for _ in 0..200 {
            loss.on_acked();
        }
        assert!(loss.share() < 0.01, "{}", loss.share());
    }
}
