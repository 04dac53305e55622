//! Packets and bytes by message: what the traffic consists of.

use super::super::shards::Counted;
use circuit::Traffic;
use std::collections::BTreeMap;
use telemetry::{Counter, Metrics};

/// Counters of the messages that have occurred. Their names are those of the message set, so there are a few hundred at
/// most, whatever clients send.
#[derive(Default)]
pub(super) struct Messages {
    /// Packets and bytes, by direction and message.
    counters: BTreeMap<(&'static str, &'static str), [Counter; 2]>,
}

impl Messages {
    pub(super) fn export(&mut self, metrics: &Metrics, shards: &[Counted]) {
        let mut all = Traffic::default();
        shards.iter().for_each(|shard| all.add(&shard.traffic));
        for (message, tally) in all.by_name() {
            let directions =
                [("in", [tally.packets_in, tally.bytes_in]), ("out", [tally.packets_out, tally.bytes_out])];
            for (direction, values) in directions.into_iter().filter(|(_, values)| values[0] > 0) {
                let counters = self.counters.entry((direction, message)).or_insert_with(|| {
                    let labels = [("direction", direction), ("message", message)];
                    let (packets, bytes) = (
                        "Datagrams of circuits, by their message.",
                        "Bytes in datagrams of circuits, by their message.",
                    );
                    [
                        metrics.counter("throng_messages_total", packets, &labels),
                        metrics.counter("throng_message_bytes_total", bytes, &labels),
                    ]
                });
                for (counter, value) in counters.iter().zip(values) {
                    counter.absolute(value);
                }
            }
        }
    }
}
