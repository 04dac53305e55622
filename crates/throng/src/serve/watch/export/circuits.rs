//! What shards have counted: datagrams, updates, what clients were sent and what was dropped.

use super::Export;
use crate::serve::shards::{self, Watched};
use net::{SendCounters, SendDrop};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Export {
    pub(in crate::serve::watch) fn shards(&mut self, counted: &[shards::Counted], watched: &[Arc<Watched>]) {
        type Count = fn(&shards::Counted) -> u64;
        let sum = |of: Count| counted.iter().map(of).sum::<u64>();
        let sent: SendCounters = counted.iter().map(|c| c.sent).sum();
        let updates = ("throng_agent_updates_total", "Agent updates from clients, by what became of them.");
        self.count(updates.0, updates.1, "accepted", sum(|c| c.shard.updates_control + c.shard.updates_view));
        self.count(updates.0, updates.1, "dropped", sum(|c| c.shard.updates_dropped));
        let datagrams = ("throng_datagrams_total", "UDP datagrams of circuits.");
        self.count(datagrams.0, datagrams.1, "received", sum(|c| c.shard.datagrams_in));
        self.count(datagrams.0, datagrams.1, "sent", sent.sent);
        let bytes = ("throng_datagram_bytes_total", "Bytes in UDP datagrams of circuits.");
        self.count(bytes.0, bytes.1, "received", sum(|c| c.shard.bytes_in));
        self.count(bytes.0, bytes.1, "sent", sent.sent_bytes);
        let blocks: [(&str, &str, Count); 9] = [
            ("throng_terse_sent_total", "Blocks of ImprovedTerseObjectUpdate sent to clients.", |c| {
                c.shard.terse_sent
            }),
            (
                "throng_terse_datagrams_total",
                "Datagrams of ImprovedTerseObjectUpdate sent to clients.",
                |c| c.shard.terse_datagrams,
            ),
            ("throng_objects_sent_total", "Blocks of ObjectUpdate sent of what stands in a world.", |c| {
                c.shard.objects_sent
            }),
            (
                "throng_sceneries_filled_total",
                "Circuits that have been sent everything that stood near them, for the first time.",
                |c| c.shard.sceneries_filled,
            ),
            (
                "throng_far_left_out_total",
                "Turns in which clients were not told of those far away, because their shard did not keep up.",
                |c| c.shard.far_left_out,
            ),
            ("throng_full_sent_total", "Blocks of ObjectUpdate sent of avatars.", |c| c.shard.full_sent),
            ("throng_kills_sent_total", "Entities that clients were told to forget.", |c| c.shard.kills_sent),
            ("throng_animations_sent_total", "AvatarAnimation messages sent.", |c| c.shard.animations_sent),
            ("throng_appearances_sent_total", "AvatarAppearance messages sent.", |c| {
                c.shard.appearances_sent
            }),
        ];
        for (name, help, of) in blocks {
            self.count(name, help, "", sum(of));
        }
        let chat = ("throng_chat_total", "Chat messages, once per hearer.");
        self.count(chat.0, chat.1, "sent", sum(|c| c.shard.chat_sent));
        self.count(chat.0, chat.1, "dropped", sum(|c| c.shard.chat_dropped));
        let circuits = ("throng_circuits_total", "Circuits by what became of them.");
        self.count(circuits.0, circuits.1, "opened", sum(|c| c.shard.circuits_opened));
        self.count(circuits.0, circuits.1, "lost", sum(|c| c.shard.circuits_lost));
        let (lost, unresponsive) = (sum(|c| c.shard.circuits_lost), sum(|c| c.shard.circuits_unresponsive));
        for (reason, n) in [("timed_out", lost - unresponsive), ("unresponsive", unresponsive)] {
            self.count_by("throng_circuits_lost_total", "Circuits lost, by reason.", ("reason", reason), n);
        }
        self.count(
            "throng_messages_refused_total",
            "Reliable messages that a client's full circuit did not take.",
            "",
            sum(|c| c.shard.messages_refused),
        );
        self.count(
            "throng_udp_receive_drops_total",
            "Datagrams that the kernel dropped because a socket's receive buffer was full.",
            "",
            sum(|c| c.kernel_drops),
        );
        let drops = ("throng_udp_send_drops_total", "Datagrams that the kernel did not take, by reason.");
        for reason in SendDrop::ALL {
            self.count_by(drops.0, drops.1, ("reason", reason.as_str()), sent.dropped(reason));
        }
        self.count(
            "throng_udp_segmented_total",
            "Datagrams sent together with equal ones to the same client, to be cut apart by the device or the kernel.",
            "",
            sent.segmented,
        );
        self.count(
            "throng_udp_bursts_refused_total",
            "Bursts of datagrams that the kernel did not take as such; their datagrams were sent one by one.",
            "",
            sent.bursts_refused,
        );
        self.count(
            "throng_avatars_reentered_total",
            "Avatars that came in again after their world began again without them.",
            "",
            sum(|c| c.shard.reentered),
        );
        let mut drops: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (reason, n) in counted.iter().flat_map(|c| c.shard.drops()) {
            *drops.entry(reason).or_default() += n;
        }
        for (reason, n) in drops {
            let metrics = &self.metrics;
            let counter = self.drops.entry(reason).or_insert_with(|| {
                let help = "Datagrams and messages from clients that were dropped, by reason.";
                metrics.counter("throng_dropped_total", help, &[("reason", reason)])
            });
            counter.absolute(n);
        }
        self.messages.export(&self.metrics, counted);
        for (n, shard) in watched.iter().enumerate() {
            let label = ("shard", n.to_string());
            let clients = shard.n_clients.load(Ordering::Relaxed) as f64;
            self.gauge("throng_circuits", "Circuits open now.", (label.0, &label.1), clients);
            let pressure =
                ("throng_shard_pressure", "What a shard leaves out because it does not keep up, 0 to 3.");
            self.gauge(pressure.0, pressure.1, (label.0, &label.1), counted[n].shard.pressure.into());
            let share = ("throng_client_share_bytes_per_s", "What each client may be sent a second at most.");
            self.gauge(share.0, share.1, (label.0, &label.1), counted[n].shard.client_bytes_per_s.into());
        }
    }
}
