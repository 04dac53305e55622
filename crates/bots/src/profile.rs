//! Client that a bot resembles on the wire.

use circuit::{AppendAcks, Config};
use std::time::Duration;
use wire::throttle::{Category, Throttles};

/// All that bots want to receive, in bits per second: 192,000 bytes, more than servers give.
pub const THROTTLE_BITS_PER_S: u32 = 1_536_000;

/// A kind of client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// A viewer with a window: collects its acks, pings unreliably, asks for everything at once, sends agent updates
    /// from the hand-shake on.
    #[default]
    Viewer,
    /// The node-metaverse library (0.8.16): a PacketAck of its own for each reliable packet at once, reliable pings, one
    /// step of the arrival after the other, one agent update a second.
    NodeMetaverse,
}

impl Profile {
    /// The circuit of such a client.
    #[must_use]
    pub const fn circuit_config(self) -> Config {
        let config = Config::client();
        match self {
            // Viewers collect acks for a tenth of a second, and append waiting ones to any packet.
            Self::Viewer => {
                Config { ack_delay: Duration::from_millis(100), append_acks: AppendAcks::ToAll, ..config }
            }
            Self::NodeMetaverse => Config { ack_delay: Duration::ZERO, reliable_pings: true, ..config },
        }
    }

    /// The number of its first packet.
    #[must_use]
    pub const fn first_sequence(self) -> u32 {
        match self {
            Self::Viewer => 1,
            Self::NodeMetaverse => 0,
        }
    }

    /// Time between agent updates. `rate_hz` holds for viewers only.
    #[must_use]
    pub fn update_period(self, rate_hz: u32) -> Duration {
        match self {
            Self::Viewer => Duration::from_secs(1) / rate_hz.max(1),
            Self::NodeMetaverse => Duration::from_secs(1),
        }
    }

    /// Shares of `bits_per_s`: as in viewers at 1,000 kbit/s (10, 10, 2, 2, 31, 31 and 14 %), or as in node-metaverse (10, 17.2, 5, 5,
    /// 23.4, 23.4 and 16 %).
    #[must_use]
    pub fn throttles(self, bits_per_s: u32) -> Throttles {
        let per_mille: [u32; Category::COUNT] = match self {
            Self::Viewer => [100, 100, 20, 20, 310, 310, 140],
            Self::NodeMetaverse => [100, 172, 50, 50, 234, 234, 160],
        };
        Throttles::from_bits_per_s(per_mille.map(|share| bits_per_s / 1000 * share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_make_the_whole() {
        for profile in [Profile::Viewer, Profile::NodeMetaverse] {
            assert_eq!(
                profile.throttles(THROTTLE_BITS_PER_S).total_bytes_per_s(),
                THROTTLE_BITS_PER_S / 8,
                "{profile:?}"
            );
        }
    }
}
