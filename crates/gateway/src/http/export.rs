//! Counters of HTTP, sessions and teleports as metrics.

use super::HttpState;
use super::listener::{ConnectionLimiter, EndCounters};
use std::sync::atomic::{AtomicU64, Ordering};
use telemetry::MetricTable;

impl HttpState {
    /// Exports its counters, those of the hub, and those of the listeners, each by its name.
    pub fn export(&self, table: &mut MetricTable, listeners: &[(&'static str, &ConnectionLimiter)]) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let http = &self.counters;
        let requests = ("throng_http_requests_total", "HTTP requests by outcome.");
        table.count(requests.0, requests.1, "ok", load(&http.ok));
        table.count(requests.0, requests.1, "refused", load(&http.refused));
        table.count(requests.0, requests.1, "failed", load(&http.failed));
        for &(listener, connections) in listeners {
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
                table.gauge(name, help, ("listener", listener), n as f64);
            }
        }
        let ends =
            ("throng_http_connections_ended_total", "HTTP connections that the server ended, by reason.");
        let counted = |of: fn(&EndCounters) -> &AtomicU64| {
            listeners.iter().map(|(_, listener)| load(of(&listener.counters))).sum()
        };
        table.count(ends.0, ends.1, "evicted", counted(|ends| &ends.evicted));
        table.count(ends.0, ends.1, "refused", counted(|ends| &ends.refused));
        table.count(ends.0, ends.1, "timed_out", counted(|ends| &ends.timed_out));
        let over_share = (
            "throng_http_requests_over_share_total",
            "HTTP requests refused because their client had its share of connections being served.",
        );
        table.count(over_share.0, over_share.1, "", counted(|ends| &ends.over_share));
        let uploads = ("throng_uploads_total", "Uploads over HTTP by kind and outcome.");
        for (kind, outcome, n) in self.uploads.counts() {
            table.count_by(uploads.0, uploads.1, &[("kind", kind), ("outcome", outcome)], n);
        }
        let help = "Bytes of uploads over HTTP that are arriving, or waiting to be on the disk.";
        table.gauge("throng_upload_bytes", help, ("", ""), self.uploads.bytes_held() as f64);
        let logins = ("throng_logins_total", "Logins by outcome.");
        table.count(logins.0, logins.1, "ok", load(&http.logins_ok));
        table.count(logins.0, logins.1, "refused", load(&http.logins_refused));
        let (hub, n_sessions) = self.sessions.with(|hub| (hub.counters(), hub.n_sessions()));
        table.gauge("throng_sessions", "Sessions now.", ("", ""), n_sessions as f64);
        let waiting = self.login.waiting() as f64;
        table.gauge("throng_password_checks_waiting", "Password checks that wait.", ("", ""), waiting);
        table.count(
            "throng_sessions_superseded_total",
            "Sessions ended because the same user logged in again.",
            "",
            hub.superseded,
        );
        let teleports = ("throng_teleports_total", "Teleports between regions.");
        table.count(teleports.0, teleports.1, "begun", hub.teleports);
        table.count(teleports.0, teleports.1, "failed", hub.teleports_failed);
        table.count(
            "throng_world_switches_total",
            "Times that another world was put behind a circuit: passages without a teleport.",
            "",
            hub.switches,
        );
        let orders = ("throng_portal_orders_total", "Instances asked for at portals.");
        table.count(orders.0, orders.1, "given", hub.orders);
        table.count(orders.0, orders.1, "refused", hub.orders_refused);
        table.count(
            "throng_instance_events_dropped_total",
            "Events of instances that did not reach a shard because its mailbox was full.",
            "",
            self.sessions.offers_dropped(),
        );
        table.count(
            "throng_name_lookups_dropped_total",
            "Questions of clients for the database (names, people, profiles, inventories) that were refused: too many waited, or the database did not answer.",
            "",
            hub.lookups_refused,
        );
        table.count(
            "throng_inventory_changes_dropped_total",
            "Changes of inventories over UDP that were not carried out: too many waited, or the database failed.",
            "",
            hub.inventory_refused,
        );
        table.count(
            "throng_unknown_capabilities_total",
            "Requests for capabilities that do not exist: altered, guessed, ended.",
            "",
            hub.unknown_capabilities,
        );
        table.count("throng_instant_messages_total", "Instant messages passed on.", "", hub.instant_messages);
        table.count(
            "throng_events_dropped_total",
            "Events dropped from queues without a poll.",
            "",
            hub.events_dropped,
        );
    }
}
