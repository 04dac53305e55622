//! Takes, rezzes and gifts of objects that must not be copied: one alone, and as many as many clients make.

use super::site::KeepStage;
use crate::bots::{Bots, TimeSummary};
use crate::clock;
use crate::crowd::{NO_CAP_BYTES_PER_S, NO_THROTTLE_BITS_PER_S};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use report::Section;
use std::time::Duration;

/// Clients whose transfers hardly ever meet, and the transfers of each per second; in the beginning, more.
const FEW: u32 = 2;
const PACE_HZ: &str = "1";
const PACE_HZ_QUICK: &str = "4";
const BEGIN_HZ: &str = "10";
/// Requests a second of clients that make as many as they can: each has eight under way at most.
const RUSH_HZ: &str = "125";
/// Edge of a client's plot, metres.
const PLOT_M: &str = "8";

/// Time of transfers alone, and of many.
const WINDOW: Duration = Duration::from_secs(180);
const WINDOW_RUSH: Duration = Duration::from_secs(30);
const WINDOW_QUICK: Duration = Duration::from_secs(3);
/// Wait for the first objects that must not be copied: they come into being by a gift. Then the time until most clients have some.
const FIRST_MAX: Duration = Duration::from_secs(60);
const LOOK_PERIOD: Duration = Duration::from_millis(250);
const SETTLE: Duration = Duration::from_secs(20);
const SETTLE_QUICK: Duration = Duration::from_millis(500);

/// Ticks of the world within a transfer: one until the command is carried out, one until its effect is sent.
const TICKS: f64 = 2.0;
const TICK_MS: f64 = 50.0;

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    measure_alone(stage, findings)?;
    measure_many(stage, findings)?;
    let text = format!(
        "{FEW} clients take, rez and give objects that must not be copied, each {PACE_HZ} a second, from \
         the command until the client knows the effect: a taken item is there, a rezzed object is \
         displayed and its item gone, a given item gone. {TICKS} ticks of {TICK_MS} ms are subtracted, and \
         the rest is divided by the 99th percentile of fdatasync on the same disk. Then {} clients do so \
         as fast as they are answered.",
        stage.size.ferriers
    );
    findings.sections.push(Section::new("Transfers").text(&text));
    Ok(())
}

fn measure_alone(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let data = stage.prepare("transfers", "")?;
    let server = Server::start_in(stage.run, "transfers", &data)?;
    let mut bots = begin(stage, &server, "ferriers", FEW, &["--rate", BEGIN_HZ])?;
    bots.command(&format!("rate {}", stage.run.pick(PACE_HZ, PACE_HZ_QUICK)))?;
    // Requests of the former pace are answered.
    clock::wait(stage.run.pick(SETTLE, SETTLE_QUICK));
    let times = TransferWindow::of(stage, &mut bots, WINDOW)?.times;
    for (name, in_fsyncs, time_ms) in [
        ("transfer_ms_p50", "transfer_fsyncs_p50", times.p50_ms),
        ("transfer_ms_p99", "transfer_fsyncs_p99", times.p99_ms),
    ] {
        let time_ms = time_ms.unwrap_or(f64::NAN);
        findings.figure(name, time_ms);
        findings.figure(in_fsyncs, in_synchronisations(time_ms, stage.disk.p99_ms));
    }
    stage.dismiss(bots)?;
    server.stop()
}

fn measure_many(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    // The disk and the database are measured, not the line to the clients.
    let settings = format!("\n[gateway]\nclient_bytes_per_s = {NO_CAP_BYTES_PER_S}\n");
    let data = stage.prepare("transfers-many", &settings)?;
    let server = Server::start_in(stage.run, "transfers-many", &data)?;
    let options = ["--rate", BEGIN_HZ, "--throttle", NO_THROTTLE_BITS_PER_S];
    let mut bots = begin(stage, &server, "ferriers-many", stage.size.ferriers, &options)?;
    bots.command(&format!("rate {RUSH_HZ}"))?;
    clock::wait(stage.run.pick(SETTLE, SETTLE_QUICK));
    let TransferWindow { n, seconds, times } = TransferWindow::of(stage, &mut bots, WINDOW_RUSH)?;
    findings.figure("transfers_per_s", n as f64 / seconds);
    findings.figure("transfers_ms_p99", times.p99_ms.unwrap_or(f64::NAN));
    stage.dismiss(bots)?;
    server.stop()
}

/// Logs bots in, and lets them work until there are transfers that wait for the disk.
fn begin(
    stage: &KeepStage<'_>,
    server: &Server,
    name: &str,
    count: u32,
    options: &[&str],
) -> Result<Bots, ExperimentError> {
    let usual = ["--behavior", "stand", "--last-name", "Ferrier", "--plot", PLOT_M];
    let mut bots = Bots::start(stage.run, server, name, count, &[&usual[..], options].concat())?;
    bots.command(&format!("enter {count}"))?;
    bots.command("behavior ferry")?;
    let ends_at = clock::now() + FIRST_MAX;
    let mut n_transfers = 0;
    // Of objects that must not be copied each client gets some.
    while n_transfers < u64::from(count) && clock::now() < ends_at {
        clock::wait(LOOK_PERIOD);
        n_transfers += bots.command("carry")?.carry.unwrap_or_default().times.count;
    }
    Ok(bots)
}

/// Transfers in a window.
struct TransferWindow {
    n: u64,
    seconds: f64,
    /// Of those that wait for the disk.
    times: TimeSummary,
}

impl TransferWindow {
    fn of(stage: &KeepStage<'_>, bots: &mut Bots, duration: Duration) -> Result<Self, ExperimentError> {
        stage.run.references.sample();
        let before = bots.command("carry")?.carry.unwrap_or_default();
        let began = clock::now();
        clock::wait(stage.run.pick(duration, WINDOW_QUICK));
        let after = bots.command("carry")?.carry.unwrap_or_default();
        let seconds = began.elapsed().as_secs_f64();
        Ok(Self { n: after.transfers.saturating_sub(before.transfers), seconds, times: after.times })
    }
}

/// A time without its ticks, in synchronisations of the disk. No number stays none.
fn in_synchronisations(time_ms: f64, fdatasync_ms: f64) -> f64 {
    let left_ms = time_ms - TICKS * TICK_MS;
    if left_ms < 0.0 { 0.0 } else { left_ms / fdatasync_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ticks_are_no_synchronisations() {
        assert_eq!(in_synchronisations(108.0, 4.0), 2.0);
        assert_eq!(in_synchronisations(60.0, 4.0), 0.0);
        assert!(in_synchronisations(f64::NAN, 4.0).is_nan());
    }
}
