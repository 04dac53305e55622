//! Counters of shards as metrics: datagrams, updates, sent and dropped messages.

use super::ShardCounters;
use crate::coverage::MessageOutcomes;
use circuit::Traffic;
use std::collections::BTreeMap;
use telemetry::MetricTable;

/// Counters of one shard.
#[derive(Clone, Debug, Default)]
pub struct ShardFigures {
    /// Its own counters.
    pub shard: ShardCounters,
    /// Traffic by message.
    pub traffic: Traffic,
    /// Outcomes of the clients' messages.
    pub outcomes: MessageOutcomes,
    /// Circuits that are open.
    pub n_clients: u64,
}

/// Exports the figures of all shards of a node.
pub fn export(table: &mut MetricTable, shards: &[&ShardFigures]) {
    type Count = fn(&ShardFigures) -> u64;
    let sum = |of: Count| shards.iter().map(|one| of(one)).sum::<u64>();
    let updates = ("throng_agent_updates_total", "Agent updates from clients, by what became of them.");
    table.count(updates.0, updates.1, "accepted", sum(|c| c.shard.updates_control + c.shard.updates_view));
    table.count(updates.0, updates.1, "dropped", sum(|c| c.shard.updates_dropped));
    let datagrams = ("throng_datagrams_total", "UDP datagrams of circuits.");
    table.count(datagrams.0, datagrams.1, "received", sum(|c| c.shard.datagrams_in));
    let bytes = ("throng_datagram_bytes_total", "Bytes in UDP datagrams of circuits.");
    table.count(bytes.0, bytes.1, "received", sum(|c| c.shard.bytes_in));
    let objects =
        ("throng_object_updates_sent_total", "Updates of objects sent, by the message that they were in.");
    for (form, n) in [("plain", 0), ("compressed", 1), ("cached", 2)] {
        let n = shards.iter().map(|one| one.shard.objects_sent[n]).sum();
        table.count_by(objects.0, objects.1, &[("form", form)], n);
    }
    table.count_by(objects.0, objects.1, &[("form", "terse")], sum(|c| c.shard.movers_sent));
    let cache = (
        "throng_object_cache_total",
        "Objects that viewers were offered from their cache, by what became of them.",
    );
    table.count_by(cache.0, cache.1, &[("outcome", "offered")], sum(|c| c.shard.objects_sent[2]));
    table.count_by(cache.0, cache.1, &[("outcome", "missed")], sum(|c| c.shard.cache_misses));
    let blocks: [(&str, &str, Count); 11] = [
        ("throng_terse_sent_total", "Blocks of ImprovedTerseObjectUpdate sent to clients.", |c| {
            c.shard.terse_sent
        }),
        ("throng_terse_datagrams_total", "Datagrams of ImprovedTerseObjectUpdate sent to clients.", |c| {
            c.shard.terse_datagrams
        }),
        ("throng_objects_sent_total", "Blocks of ObjectUpdate sent of what stands in a world.", |c| {
            c.shard.static_objects_sent
        }),
        ("throng_patches_sent_total", "Patches of the ground sent of worlds that are built on.", |c| {
            c.shard.patches_sent
        }),
        (
            "throng_sceneries_filled_total",
            "Circuits that have been sent everything that stood near them, for the first time.",
            |c| c.shard.sceneries_filled,
        ),
        ("throng_client_turns_total", "Turns that clients had.", |c| c.shard.client_turns),
        (
            "throng_far_left_out_total",
            "Turns of clients that looked at the nearest avatars only, because their shard was short of CPU time.",
            |c| c.shard.far_left_out,
        ),
        ("throng_full_sent_total", "Blocks of ObjectUpdate sent of avatars.", |c| c.shard.full_sent),
        ("throng_kills_sent_total", "Entities that clients were told to forget.", |c| c.shard.kills_sent),
        ("throng_animations_sent_total", "AvatarAnimation messages sent.", |c| c.shard.animations_sent),
        ("throng_appearances_sent_total", "AvatarAppearance messages sent.", |c| c.shard.appearances_sent),
    ];
    for (name, help, of) in blocks {
        table.count(name, help, "", sum(of));
    }
    let chat = ("throng_chat_total", "Chat messages, once per hearer.");
    table.count(chat.0, chat.1, "sent", sum(|c| c.shard.chat_sent));
    table.count(chat.0, chat.1, "dropped", sum(|c| c.shard.chat_dropped));
    let circuits = ("throng_circuits_total", "Circuits by what became of them.");
    table.count(circuits.0, circuits.1, "opened", sum(|c| c.shard.circuits_opened));
    table.count(circuits.0, circuits.1, "lost", sum(|c| c.shard.circuits_lost));
    let (lost, unresponsive) = (sum(|c| c.shard.circuits_lost), sum(|c| c.shard.circuits_unresponsive));
    for (reason, n) in [("timed_out", lost - unresponsive), ("unresponsive", unresponsive)] {
        table.count_by("throng_circuits_lost_total", "Circuits lost, by reason.", &[("reason", reason)], n);
    }
    table.count(
        "throng_messages_refused_total",
        "Reliable messages that a client's full circuit did not take.",
        "",
        sum(|c| c.shard.messages_refused),
    );
    let perished =
        ("throng_perished_total", "Perishable datagrams whose ack was overdue, by what became of them.");
    let (overdue, late) = (sum(|c| c.shard.perished), sum(|c| c.shard.acked_late));
    table.count_by(perished.0, perished.1, &[("outcome", "acked_late")], late);
    table.count_by(perished.0, perished.1, &[("outcome", "unacked")], overdue.saturating_sub(late));
    let files = ("throng_file_uploads_total", "Files that clients have uploaded in messages, by outcome.");
    let outcomes: [(&str, Count); 3] = [
        ("stored", |c| c.shard.files_stored),
        ("refused", |c| c.shard.files_refused),
        ("broken_off", |c| c.shard.files_broken_off),
    ];
    for (outcome, of) in outcomes {
        table.count_by(files.0, files.1, &[("outcome", outcome)], sum(of));
    }
    table.count(
        "throng_avatars_reentered_total",
        "Avatars that came in again after their world began again without them.",
        "",
        sum(|c| c.shard.reentered),
    );
    let mut drops: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (reason, n) in shards.iter().flat_map(|one| one.shard.drops()) {
        *drops.entry(reason).or_default() += n;
    }
    let help = "Datagrams and messages from clients that were dropped, by reason.";
    for (reason, n) in drops {
        table.count_by("throng_dropped_total", help, &[("reason", reason)], n);
    }
    export_traffic(table, shards);
    for (n, one) in shards.iter().enumerate() {
        let n = n.to_string();
        let label = ("shard", n.as_str());
        table.gauge("throng_circuits", "Circuits open now.", label, one.n_clients as f64);
        let help = "How short of CPU time a shard is: 1 not at all, up to 16; updates get rarer with it, by distance.";
        table.gauge("throng_shard_pressure", help, label, one.shard.pressure.into());
        let help = "Spans of half a second that ended with a shortage of CPU time.";
        table.count_by("throng_shard_pressed_spans_total", help, &[label], one.shard.pressed_spans);
        let help = "CPU time that a shard needs over what it gets.";
        table.gauge("throng_shard_cpu_need_ratio", help, label, one.shard.cpu_need_ratio.into());
        let help = "Clients whose arrival waits for CPU time.";
        table.gauge("throng_arrivals_waiting", help, label, one.shard.arrivals_waiting as f64);
        let help = "What each client may be sent a second at most.";
        table.gauge("throng_client_share_bytes_per_s", help, label, one.shard.client_bytes_per_s.into());
    }
}

/// Traffic: datagrams and bytes by message, and the outcomes of clients' messages. Labels are the 483 names of the protocol,
/// independent of clients' input.
fn export_traffic(table: &mut MetricTable, shards: &[&ShardFigures]) {
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
    for (message, outcome, n) in all.nonzero_counts() {
        table.count_by(
            "throng_messages_total",
            help,
            &[("message", message), ("outcome", outcome.as_str())],
            n,
        );
    }
}
