//! Losses of the network.

use wire::header::{Datagram, Flags};
use wire::messages::MessageNumber;
use wire::zero_code;

/// Direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferDirection {
    /// To the server.
    Up,
    /// To a client.
    Down,
}

/// Loses the first datagrams of a message, and a share of all.
#[derive(Debug)]
pub(crate) struct SimulatedLoss {
    rules: Vec<(TransferDirection, MessageNumber, usize)>,
    /// Loss in percent.
    pub(crate) percent: u64,
    random: u64,
}

impl Default for SimulatedLoss {
    fn default() -> Self {
        Self { rules: Vec::new(), percent: 0, random: 1 }
    }
}

impl SimulatedLoss {
    /// The next `n` datagrams that hold this message get lost.
    pub(crate) fn lose(&mut self, way: TransferDirection, message: MessageNumber, n: usize) {
        self.rules.push((way, message, n));
    }

    /// No more datagrams of certain messages get lost.
    pub(crate) fn stop_losses(&mut self) {
        self.rules.clear();
    }

    /// Number of losses left of [`Self::lose`].
    pub(crate) fn left(&self) -> usize {
        self.rules.iter().map(|(_, _, left)| left).sum()
    }

    pub(crate) fn takes(&mut self, way: TransferDirection, bytes: &[u8]) -> bool {
        if let Some(number) = number_of(bytes)
            && let Some((_, _, left)) = self
                .rules
                .iter_mut()
                .find(|(of, message, left)| *of == way && *message == number && *left > 0)
        {
            *left -= 1;
            return true;
        }
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % 100 < self.percent
    }
}

/// The message in a datagram.
pub(crate) fn number_of(bytes: &[u8]) -> Option<MessageNumber> {
    let datagram = Datagram::parse(bytes).ok()?;
    let mut expanded = Vec::new();
    let body = if datagram.flags.contains(Flags::ZERO_CODED) {
        zero_code::expand(datagram.body, &mut expanded).ok()?;
        &expanded
    } else {
        datagram.body
    };
    Some(MessageNumber::split(body).ok()?.0)
}
