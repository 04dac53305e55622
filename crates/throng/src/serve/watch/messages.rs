//! What the traffic consists of: datagrams and bytes by message, and what became of the messages that clients sent.

use super::super::shards::Counted;
use circuit::Traffic;
use gateway::coverage::MessageOutcomes;
use std::collections::BTreeMap;
use telemetry::{Counter, Metrics};

/// Counters of the messages that have occurred. Their names are those of the protocol, of which there are 483, whatever clients
/// send.
#[derive(Default)]
pub(super) struct Messages {
    /// Packets and bytes, by direction and message.
    counters: BTreeMap<(&'static str, &'static str), [Counter; 2]>,
    /// By message and outcome.
    outcomes: BTreeMap<(&'static str, &'static str), Counter>,
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
                        metrics.counter("throng_message_datagrams_total", packets, &labels),
                        metrics.counter("throng_message_bytes_total", bytes, &labels),
                    ]
                });
                for (counter, value) in counters.iter().zip(values) {
                    counter.absolute(value);
                }
            }
        }
        let mut all = MessageOutcomes::default();
        shards.iter().for_each(|shard| all.add(&shard.outcomes));
        for (message, outcome, n) in all.occurred() {
            let outcome = outcome.as_str();
            let counter = self.outcomes.entry((message, outcome)).or_insert_with(|| {
                let labels = [("message", message), ("outcome", outcome)];
                metrics.counter(
                    "throng_messages_total",
                    "Messages from clients, by what became of them.",
                    &labels,
                )
            });
            counter.absolute(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway::coverage::{MESSAGES, Outcome};

    #[test]
    fn what_became_of_messages_is_exported_by_name_and_outcome() {
        let metrics = Metrics::new();
        let name = |name| MESSAGES.iter().map(|row| row.name).find(|row| row.as_str() == name);
        let (mut one, mut other) = (Counted::default(), Counted::default());
        one.outcomes.count(name("ChatFromViewer"), Outcome::Done);
        other.outcomes.count(name("ChatFromViewer"), Outcome::Done);
        other.outcomes.count(name("CreateGroupRequest"), Outcome::Refused);
        other.outcomes.count(None, Outcome::Dropped);
        let mut messages = Messages::default();
        messages.export(&metrics, &[one, other]);
        let text = metrics.render();
        for line in [
            r#"throng_messages_total{message="ChatFromViewer",outcome="done"} 2"#,
            r#"throng_messages_total{message="CreateGroupRequest",outcome="refused"} 1"#,
            r#"throng_messages_total{message="unknown",outcome="dropped"} 1"#,
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
