//! What is counted once in the server: replicas, the flight recorder, HTTP, sessions and teleports.

use super::Export;
use crate::serve::crashes::Crashes;
use crate::serve::watch::Start;
use gateway::http::listener::EndCounters;
use std::sync::atomic::{AtomicU64, Ordering};
use telemetry::recorder::RecorderCounters;

impl Export {
    pub(in crate::serve::watch) fn crashes(&mut self, crashes: Option<&Crashes>) {
        let runs = crashes.is_some_and(Crashes::tend);
        self.gauge(
            "throng_crash_monitor_up",
            "1 while the process runs that writes crash dumps.",
            ("", ""),
            f64::from(u8::from(runs)),
        );
    }

    pub(in crate::serve::watch) fn server(&mut self, start: &Start) {
        let uptime_s = (start.clock)().0 as f64 / 1e9;
        self.gauge("throng_uptime_seconds", "Seconds since the start, at this export.", ("", ""), uptime_s);
        let replicas = &start.replicas;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.count("throng_frames_total", "Frames taken by the replica thread.", "", load(&replicas.frames));
        self.count(
            "throng_blocks_encoded_total",
            "Changes encoded for all clients together.",
            "",
            load(&replicas.blocks_encoded),
        );
        self.count(
            "throng_replica_resyncs_total",
            "Snapshots asked for after a gap in the frames.",
            "",
            load(&replicas.resyncs),
        );
        self.count(
            "throng_replica_copies_total",
            "Replicas copied whole because a reader was slow.",
            "",
            load(&replicas.copies),
        );
        let recorder = start.recorder.counters();
        let memory = recorder.blocks_touched as f64 * RecorderCounters::BLOCK_BYTES as f64;
        self.gauge(
            "throng_recorder_memory_bytes",
            "Memory that threads have recorded into.",
            ("", ""),
            memory,
        );
        self.count(
            "throng_recorder_scopes_total",
            "Scopes entered on threads that record.",
            "",
            recorder.scopes,
        );
        self.count(
            "throng_recorder_blocks_recycled_total",
            "Blocks of the flight recorder that were used again before they had grown old.",
            "",
            recorder.blocks_recycled,
        );
        self.count(
            "throng_recorder_events_lost_total",
            "Scopes that the flight recorder could not record.",
            "",
            recorder.events_lost,
        );
        self.count(
            "throng_recorder_scopes_refused_total",
            "Kinds of scopes that found the flight recorder's table full.",
            "",
            recorder.scopes_refused,
        );
        self.count(
            "throng_recorder_threads_refused_total",
            "Threads that found the flight recorder's table full.",
            "",
            recorder.threads_refused,
        );
        let http = &start.portal.counters;
        let requests = ("throng_http_requests_total", "HTTP requests by outcome.");
        self.count(requests.0, requests.1, "ok", load(&http.ok));
        self.count(requests.0, requests.1, "refused", load(&http.refused));
        self.count(requests.0, requests.1, "failed", load(&http.failed));
        for (listener, connections) in [("public", &start.http.public), ("operator", &start.http.operator)] {
            let occupancy = connections.occupancy();
            for (name, help, n) in [
                ("throng_http_connections", "HTTP connections open.", occupancy.open),
                (
                    "throng_http_connections_waiting",
                    "Of them, those that wait for their client.",
                    occupancy.waiting,
                ),
                (
                    "throng_http_connections_spare",
                    "HTTP connections that are not taken by clients being served.",
                    occupancy.spare,
                ),
            ] {
                self.gauge(name, help, ("listener", listener), n as f64);
            }
        }
        let ends =
            ("throng_http_connections_ended_total", "HTTP connections that the server ended, by reason.");
        let counted = |of: fn(&EndCounters) -> &AtomicU64| {
            [&start.http.public, &start.http.operator]
                .map(|listener| load(of(&listener.counters)))
                .iter()
                .sum()
        };
        self.count(ends.0, ends.1, "evicted", counted(|ends| &ends.evicted));
        self.count(ends.0, ends.1, "refused", counted(|ends| &ends.refused));
        self.count(ends.0, ends.1, "timed_out", counted(|ends| &ends.timed_out));
        let over_share = (
            "throng_http_requests_over_share_total",
            "HTTP requests refused because their client had its share of connections being served.",
        );
        self.count(over_share.0, over_share.1, "", counted(|ends| &ends.over_share));
        let logins = ("throng_logins_total", "Logins by outcome.");
        self.count(logins.0, logins.1, "ok", load(&http.logins_ok));
        self.count(logins.0, logins.1, "refused", load(&http.logins_refused));
        let (hub, n_sessions) = start.portal.sessions.with(|hub| (hub.counters(), hub.n_sessions()));
        self.gauge("throng_sessions", "Sessions now.", ("", ""), n_sessions as f64);
        let waiting = start.portal.login.waiting() as f64;
        self.gauge("throng_password_checks_waiting", "Password checks that wait.", ("", ""), waiting);
        self.count(
            "throng_sessions_superseded_total",
            "Sessions ended because the same user logged in again.",
            "",
            hub.superseded,
        );
        let teleports = ("throng_teleports_total", "Teleports between regions.");
        self.count(teleports.0, teleports.1, "begun", hub.teleports);
        self.count(teleports.0, teleports.1, "failed", hub.teleports_failed);
        self.count(
            "throng_world_switches_total",
            "Times that another world was put behind a circuit: passages without a teleport.",
            "",
            hub.switches,
        );
        let orders = ("throng_portal_orders_total", "Instances asked for at portals.");
        self.count(orders.0, orders.1, "given", hub.orders);
        self.count(orders.0, orders.1, "refused", hub.orders_refused);
        self.count(
            "throng_instance_events_dropped_total",
            "What happened in instances and a shard was not told, for its mailbox was full.",
            "",
            start.portal.sessions.offers_dropped(),
        );
        self.count(
            "throng_name_lookups_dropped_total",
            "Questions of clients for the database (names, people, profiles, inventories) that were refused because too many waited.",
            "",
            start.portal.sessions.lookups_dropped(),
        );
        self.count(
            "throng_unknown_capabilities_total",
            "Requests for capabilities that do not exist: altered, guessed, ended.",
            "",
            hub.unknown_capabilities,
        );
        self.count("throng_instant_messages_total", "Instant messages passed on.", "", hub.instant_messages);
        self.count(
            "throng_events_dropped_total",
            "Events dropped from queues that nobody polled.",
            "",
            hub.events_dropped,
        );
    }
}
