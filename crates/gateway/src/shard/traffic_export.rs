//! What the traffic consists of: datagrams and bytes by message, and what became of the messages that clients sent.
//!
//! Messages that have occurred are exported. Their names are those of the protocol, of which there are 483, whatever clients send.

use super::export::ShardFigures;
use crate::coverage::MessageOutcomes;
use circuit::Traffic;
use telemetry::MetricTable;

pub(super) fn export_traffic(table: &mut MetricTable, shards: &[&ShardFigures]) {
    let mut all = Traffic::default();
    shards.iter().for_each(|shard| all.add(&shard.traffic));
    for (message, tally) in all.by_name() {
        let directions =
            [("in", [tally.packets_in, tally.bytes_in]), ("out", [tally.packets_out, tally.bytes_out])];
        for (direction, [packets, bytes]) in directions.into_iter().filter(|(_, values)| values[0] > 0) {
            let labels = [("direction", direction), ("message", message)];
            let help = "Datagrams of circuits, by their message.";
            table.count_by("throng_message_datagrams_total", help, &labels, packets);
            let help = "Bytes in datagrams of circuits, by their message.";
            table.count_by("throng_message_bytes_total", help, &labels, bytes);
        }
    }
    let mut all = MessageOutcomes::default();
    shards.iter().for_each(|shard| all.add(&shard.outcomes));
    let help = "Messages from clients, by what became of them.";
    for (message, outcome, n) in all.occurred() {
        table.count_by(
            "throng_messages_total",
            help,
            &[("message", message), ("outcome", outcome.as_str())],
            n,
        );
    }
}
