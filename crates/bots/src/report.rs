//! Findings of a run of bots, as text and JSON.

use circuit::Tally;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Findings of a run. As JSON the fields have exactly these names and this order; later versions may only add fields. The *window*
/// lasts `--duration` from the last login; logins before and logouts after it are not part of its costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunReport {
    /// Bots that logged in and were placed in a region (AgentMovementComplete).
    pub logins_ok: u32,
    /// Bots that were refused, got no answer, or lost their circuit before they were placed.
    pub logins_failed: u32,
    /// Bots that lost their circuit afterwards and before they wanted to leave.
    pub circuits_lost: u32,
    /// Pings of all bots without an answer before the next one, 5 s later. Pings dropped by `--loss` do not count.
    pub pings_unanswered: u64,
    /// The fewest other avatars that any observer was shown at the end of the window; null without observers.
    pub avatars_seen_min: Option<usize>,
    /// Blocks of full and terse updates that the observers decoded, from their logins to the end of the window. Other
    /// bots do not count blocks; see `messages` for their packets.
    pub updates_received: u64,
    /// Median of all pings, in milliseconds; null without pings.
    pub ping_ms_p50: Option<f64>,
    /// 99th percentile of all pings, in milliseconds; null without pings.
    pub ping_ms_p99: Option<f64>,
    /// Seconds from the start of the run to the first completed login; null without one.
    pub login_first_s: Option<f64>,
    /// CPU seconds that this process used during the window.
    pub bots_cpu_s: f64,
    /// CPU seconds that the server's process used during the window; null without `--server-pid`.
    pub server_cpu_s: Option<f64>,
    /// Resident memory of the server's process at the end of the window; null without `--server-pid`.
    pub server_rss_bytes: Option<u64>,
    /// Packets and bytes by message from the first login to the end of the window.
    pub messages: BTreeMap<String, Tally>,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Packets and bytes of all messages during the window.
    pub window: Tally,
    /// Median of the times from the login call to AgentMovementComplete, in seconds.
    pub login_s_p50: Option<f64>,
    /// 99th percentile of those times.
    pub login_s_p99: Option<f64>,
    /// Seconds from the start of the run to the beginning of the window.
    pub logins_took_s: f64,
    /// Pings that were answered.
    pub pings_answered: u64,
    /// Pings that stayed unanswered because `--loss` dropped them or their answers.
    pub pings_dropped: u64,
    /// Agent updates sent from the first login to the end of the window.
    pub agent_updates_sent: u64,
    /// Datagrams that the bots dropped because they were malformed or duplicates.
    pub datagrams_dropped: u64,
    /// Datagrams of the bots that the kernel did not take, or that it dropped before the bots read them.
    pub datagrams_lost_locally: u64,
    /// Datagrams that the lines of slow readers had no room for.
    pub datagrams_overflowed: u64,
    /// Logouts that were answered.
    pub logouts_ok: u32,
    /// Requests to capabilities that failed: seed, event queue, inventory.
    pub http_errors: u64,
    /// Bytes that a bot received in a second of the window, 99th percentile over all bots and seconds, rounded up to 256.
    pub second_bytes_p99: Option<f64>,
    /// Prims that building bots made and saw.
    pub objects_made: u64,
    /// Prims that they asked for and did not see within 10 s.
    pub objects_failed: u64,
    /// Edits that they asked for.
    pub edits_sent: u64,
    /// Edits whose effect they saw.
    pub edits_seen: u64,
    /// Edits whose effect they did not see within 10 s, and updates of their prims that no edit explains.
    pub edits_wrong: u64,
    /// Median of the times from an edit to its effect on the bot's own screen, in milliseconds; null without edits.
    pub edit_seen_ms_p50: Option<f64>,
    /// 99th percentile of those times.
    pub edit_seen_ms_p99: Option<f64>,
    /// New prims that any observer was shown.
    pub objects_observed: u64,
    /// Edits on screens of observers, once for each of them.
    pub edits_observed: u64,
    /// Edits that an observer should have been shown and was not within 10 s, once for each of them.
    pub edits_unobserved: u64,
    /// Median of the times from an edit to its effect on the screen of an observer, in milliseconds; null without edits.
    pub edit_observed_ms_p50: Option<f64>,
    /// 99th percentile of those times.
    pub edit_observed_ms_p99: Option<f64>,
    /// Answers of the server that an effect is durable, to requests of bots that carry; with `--audit` those of the whole record.
    pub acknowledged: u64,
    /// Things and assets that the last audit has compared with the server's state; 0 without one.
    pub audited: u64,
    /// Things and assets that are not as an answer has stated.
    pub lost: u64,
    /// Things that must not be copied, and are at more than one place.
    pub doubled: u64,
    /// Things that must not be copied, and are at no place.
    pub vanished: u64,
    /// Median of the times from the request of a transfer that waits for the disk to its answer, in milliseconds; null without transfers.
    pub transfer_ms_p50: Option<f64>,
    /// 99th percentile of those times.
    pub transfer_ms_p99: Option<f64>,
    /// True if an audit was to be made, and could not be.
    pub audit_failed: bool,
    /// The first differences that an audit has found, in words.
    pub audit_findings: Vec<String>,
    /// Reasons of failed logins and lost circuits, with their counts.
    pub failures: BTreeMap<String, u32>,
}

impl RunReport {
    /// True if every login succeeded, no circuit was lost, every ping was answered, and no audit has found a difference.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        let is_kept = self.lost + self.doubled + self.vanished == 0 && !self.audit_failed;
        is_kept && self.logins_failed == 0 && self.circuits_lost == 0 && self.pings_unanswered == 0
    }

    /// One JSON object on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and maps with string keys")
    }
}

/// A few lines for people, and the messages that made most of the traffic.
impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        writeln!(
            f,
            "logins     {} ok, {} failed; first after {} s; p50 {} s, p99 {} s; all in {:.1} s",
            self.logins_ok,
            self.logins_failed,
            number(self.login_first_s),
            number(self.login_s_p50),
            number(self.login_s_p99),
            self.logins_took_s,
        )?;
        writeln!(f, "circuits   {} lost; {} logouts answered", self.circuits_lost, self.logouts_ok)?;
        writeln!(
            f,
            "pings      {} answered, {} unanswered, {} dropped on purpose; p50 {} ms, p99 {} ms",
            self.pings_answered,
            self.pings_unanswered,
            self.pings_dropped,
            number(self.ping_ms_p50),
            number(self.ping_ms_p99),
        )?;
        if let Some(seen) = self.avatars_seen_min {
            writeln!(f, "observers  see {seen} others at least; {} updates", self.updates_received)?;
        }
        if self.edits_sent > 0 {
            writeln!(
                f,
                "edits      {} sent, {} seen, {} wrong; p50 {} ms, p99 {} ms; {} prims made, {} failed",
                self.edits_sent,
                self.edits_seen,
                self.edits_wrong,
                number(self.edit_seen_ms_p50),
                number(self.edit_seen_ms_p99),
                self.objects_made,
                self.objects_failed,
            )?;
        }
        if self.edits_observed + self.edits_unobserved > 0 {
            writeln!(
                f,
                "others     saw {} edits, and {} not; p50 {} ms, p99 {} ms",
                self.edits_observed,
                self.edits_unobserved,
                number(self.edit_observed_ms_p50),
                number(self.edit_observed_ms_p99),
            )?;
        }
        if self.acknowledged > 0 {
            writeln!(
                f,
                "carried    {} acknowledged; transfers p50 {} ms, p99 {} ms",
                self.acknowledged,
                number(self.transfer_ms_p50),
                number(self.transfer_ms_p99),
            )?;
        }
        if self.audited > 0 {
            writeln!(
                f,
                "audit      {} compared: {} lost, {} doubled, {} vanished",
                self.audited, self.lost, self.doubled, self.vanished
            )?;
        }
        for finding in &self.audit_findings {
            writeln!(f, "finding    {finding}")?;
        }
        let per_s = |count: u64| if self.window_s > 0.0 { count as f64 / self.window_s } else { 0.0 };
        writeln!(
            f,
            "window     {:.1} s; in {:.0} packets/s, {:.0} B/s; out {:.0} packets/s, {:.0} B/s",
            self.window_s,
            per_s(self.window.packets_in),
            per_s(self.window.bytes_in),
            per_s(self.window.packets_out),
            per_s(self.window.bytes_out),
        )?;
        write!(f, "cpu        bots {:.2} s", self.bots_cpu_s)?;
        if let (Some(cpu_s), Some(rss_bytes)) = (self.server_cpu_s, self.server_rss_bytes) {
            write!(f, "; server {cpu_s:.2} s, {:.1} MiB resident", rss_bytes as f64 / (1024.0 * 1024.0))?;
        }
        writeln!(f)?;
        if self.http_errors + self.datagrams_lost_locally > 0 {
            writeln!(
                f,
                "trouble    {} HTTP errors, {} datagrams lost on this machine",
                self.http_errors, self.datagrams_lost_locally
            )?;
        }
        for (reason, count) in &self.failures {
            writeln!(f, "failure    {count} × {reason}")?;
        }
        let mut busiest: Vec<_> = self.messages.iter().collect();
        busiest.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.bytes_in + tally.bytes_out));
        for (name, tally) in busiest.iter().take(10) {
            writeln!(
                f,
                "  {name:<28} in {:>9} packets {:>12} B   out {:>9} packets {:>12} B",
                tally.packets_in, tally.bytes_in, tally.packets_out, tally.bytes_out
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_fields_are_fixed() {
        let report = RunReport {
            messages: BTreeMap::from([("AgentUpdate".to_owned(), Tally::default())]),
            ..RunReport::default()
        };
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
        let object = json.as_object().expect("an object");
        for name in [
            "logins_ok",
            "logins_failed",
            "circuits_lost",
            "pings_unanswered",
            "avatars_seen_min",
            "updates_received",
            "ping_ms_p50",
            "ping_ms_p99",
            "login_first_s",
            "bots_cpu_s",
            "server_cpu_s",
            "server_rss_bytes",
            "messages",
            "objects_made",
            "objects_failed",
            "edits_sent",
            "edits_seen",
            "edits_wrong",
            "edit_seen_ms_p50",
            "edit_seen_ms_p99",
            "acknowledged",
            "audited",
            "lost",
            "doubled",
            "vanished",
            "transfer_ms_p50",
            "transfer_ms_p99",
        ] {
            assert!(object.contains_key(name), "{name}");
        }
        let message = object["messages"]["AgentUpdate"].as_object().expect("an object");
        let names: Vec<&String> = message.keys().collect();
        assert_eq!(names, ["bytes_in", "bytes_out", "packets_in", "packets_out"]);
        assert!(!report.to_json().contains('\n'));
    }

    #[test]
    fn any_failure_makes_a_run_unclean() {
        assert!(RunReport::default().is_clean());
        for unclean in [
            RunReport { logins_failed: 1, ..RunReport::default() },
            RunReport { circuits_lost: 1, ..RunReport::default() },
            RunReport { pings_unanswered: 1, ..RunReport::default() },
            RunReport { lost: 1, ..RunReport::default() },
            RunReport { doubled: 1, ..RunReport::default() },
            RunReport { vanished: 1, ..RunReport::default() },
            RunReport { audit_failed: true, ..RunReport::default() },
        ] {
            assert!(!unclean.is_clean());
        }
    }

    #[test]
    fn the_text_report_has_the_important_figures() {
        let report =
            RunReport { logins_ok: 3, ping_ms_p50: Some(1.25), window_s: 10.0, ..RunReport::default() };
        let text = report.to_string();
        assert!(text.contains("3 ok, 0 failed") && text.contains("p50 1.250 ms"), "{text}");
    }
}
