//! `crash`: how long visitors of a world that panicked are without it, and how long a server that crashed is away.
//!
//! Each round has a server of its own under `--supervise`, since servers take their time when they crash again and again.
//! Walking bots fill it, some of them after the newest checkpoint of their world, so that their avatars have to come back by
//! other ways than those of the checkpoint. Their world panics by the operator's command, and later the process is sent
//! SIGSEGV from outside.

use crate::bots::Bots;
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use crate::{Experiment, Run, clock};
use report::{Column, Section, Table};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "crash",
    question: "How long is a world unavailable after a panic, and a server after a crash?",
    run,
    figures: || FIGURES.names(),
};

const ROUNDS: usize = 5;
const ROUNDS_QUICK: usize = 1;

/// Visitors, and how many of them come after the checkpoint.
const VISITORS: u32 = 100;
const VISITORS_QUICK: u32 = 6;
const LATE_DIVISOR: u32 = 5;

/// Worlds take a checkpoint every 4 s; after this time there is one that contains the first visitors.
const CHECKPOINT: Duration = Duration::from_secs(5);

/// Observation of the visitors' view before a panic, for its usual rate of change, and after the world is back, so that a gap has an
/// end.
const WATCH: Duration = Duration::from_secs(2);

/// Period and deadline of waiting for a condition.
const POLL_PERIOD: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(30);

/// Logins that may be tried while the server is away.
const ATTEMPTS_MAX: u32 = 2_000;

const BUDGETS: [FigureLimit; 4] = [
    budget(
        "panic_back_s",
        "time from a panic until the world runs with its visitors",
        "s",
        Limit::AtMost(2.0),
    ),
    budget(
        "crash_back_s",
        "time from the signal until the dump is written and logins succeed",
        "s",
        Limit::AtMost(5.0),
    ),
    budget("circuits_lost", "visitors lost by a panic", "", Limit::AtMost(0.0)),
    budget("visitors_missing", "visitors missing on other clients after a panic", "", Limit::AtMost(0.0)),
];

const FIGURES: FigureList = FigureList {
    limited: &[&BUDGETS],
    others: &["visitors", "panic_gap_s", "panic_restart_s", "crash_dump_s"],
};

/// Results of a round, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The longest time in which any visitor was shown nothing new, before the panic and around it.
    usual_gap_s: f64,
    gap_s: f64,
    /// From the panic, by the server's own clock: until the next life was stepped, and until all visitors were in it.
    restart_s: f64,
    back_s: f64,
    circuits_lost: u32,
    missing: u32,
    /// Time from the signal to the dump, and from the signal until both the dump and a login are complete.
    dump_s: f64,
    crash_back_s: f64,
}

impl Round {
    /// A visitor has the world back when the avatar stands in the new life and the view moves again.
    fn panic_back_s(&self) -> f64 {
        worse(self.gap_s, self.back_s)
    }
}

/// The longer of two times; no number if either is none, since then it never came to an end.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let visitors = run.pick(VISITORS, VISITORS_QUICK);
    let mut rounds = Vec::new();
    for n in 0..run.pick(ROUNDS, ROUNDS_QUICK) {
        let name = format!("server-{n}");
        let server = Server::start_supervised(run, &name)?;
        let mut round = Round::default();
        panic(run, &server, visitors, &mut round)?;
        crash(run, &server, visitors, &mut round)?;
        server.stop()?;
        rounds.push(round);
    }
    let mut findings = Findings::default();
    findings.figure("visitors", visitors.into());
    report_rounds(&rounds, &mut findings);
    FIGURES.judge(run, &mut findings);
    Ok(findings)
}

/// A world panics under its visitors.
fn panic(run: &Run, server: &Server, visitors: u32, round: &mut Round) -> Result<(), ExperimentError> {
    let all = visitors.to_string();
    let options = ["--behavior", "walk", "--observers", &all];
    let mut bots = Bots::start(run, server, "visitors", visitors, &options)?;
    bots.command(&format!("enter {}", visitors - visitors.div_ceil(LATE_DIVISOR)))?;
    clock::wait(CHECKPOINT);
    bots.command(&format!("enter {visitors}"))?;
    bots.command("gap")?;
    clock::wait(WATCH);
    round.usual_gap_s = bots.command("gap")?.gap_s.unwrap_or(f64::NAN);

    server.fault("panic", "world:Field")?;
    let gives_up_at = clock::now() + PATIENCE;
    let metrics = loop {
        let metrics = server.metrics()?;
        if metrics.sum("throng_world_back_seconds_count") > 0.0 || clock::now() >= gives_up_at {
            break metrics;
        }
        clock::wait(POLL_PERIOD);
    };
    clock::wait(WATCH);
    round.gap_s = bots.command("gap")?.gap_s.unwrap_or(f64::NAN);
    round.restart_s = once(&metrics, "throng_world_restart_seconds");
    round.back_s = once(&metrics, "throng_world_back_seconds");

    let report = bots.leave()?;
    let avatars_seen = report.avatars_seen_min.unwrap_or(0) as u32;
    round.missing = (visitors - 1).saturating_sub(avatars_seen);
    round.circuits_lost = report.logins_failed + report.circuits_lost;
    Ok(())
}

/// The one time of a timing; no number when there is none.
fn once(metrics: &crate::metrics::MetricScrape, timing: &str) -> f64 {
    metrics.sum(&format!("{timing}_sum")) / metrics.sum(&format!("{timing}_count"))
}

/// The server dies of a signal while it has visitors, and comes back.
fn crash(run: &Run, server: &Server, visitors: u32, round: &mut Round) -> Result<(), ExperimentError> {
    let mut crowd = Bots::start(run, server, "crowd", visitors, &["--behavior", "walk"])?;
    crowd.command(&format!("enter {visitors}"))?;
    let options = ["--behavior", "stand", "--last-name", "Newcomer"];
    let mut newcomers = Bots::start(run, server, "newcomers", ATTEMPTS_MAX, &options)?;
    // No bot enters yet, but from here on they are ready to.
    newcomers.command("enter 0")?;
    let pid = server.serving_pid().expect("a server that lets people in has written its run.json");

    let crashed_at = clock::now();
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(target, Signal::SEGV).map_err(|errno| ExperimentError::Start {
        what: format!("a crash of process {pid}"),
        source: errno.into(),
    })?;
    let mut attempts = 0;
    let mut logged_in = false;
    let mut dumped_at = None;
    while !(logged_in && dumped_at.is_some()) {
        if dumped_at.is_none() && has_dump(&server.data, pid) {
            dumped_at = Some(clock::now());
        }
        if !logged_in && attempts < ATTEMPTS_MAX {
            attempts += 1;
            let answer = newcomers.command(&format!("enter {attempts}"))?;
            logged_in = answer.logins_ok > 0 && server.serving_pid().is_some_and(|serving| serving != pid);
        }
        if crashed_at.elapsed() >= PATIENCE {
            not_back(round);
            return Ok(());
        }
        clock::wait(POLL_PERIOD);
    }
    let since = |at: Instant| (at - crashed_at).as_secs_f64();
    round.dump_s = dumped_at.map_or(f64::NAN, since);
    round.crash_back_s = since(clock::now());
    Ok(())
}

/// No number is a failure, and says that there is none.
const fn not_back(round: &mut Round) {
    round.dump_s = f64::NAN;
    round.crash_back_s = f64::NAN;
}

/// True if the dump of a process that died of a signal exists. Dumps are renamed when they are complete.
fn has_dump(data: &Path, pid: u32) -> bool {
    let ending = format!("-{pid}.dmp");
    let files = fs::read_dir(data.join("crashes")).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().ends_with(&ending))
}

/// Figures of times are the worst of all rounds; a round without a number leaves none.
fn report_rounds(rounds: &[Round], findings: &mut Findings) {
    let worst = |of: fn(&Round) -> f64| rounds.iter().map(of).reduce(worse).unwrap_or(f64::NAN);
    findings.figure("panic_back_s", worst(Round::panic_back_s));
    findings.figure("panic_gap_s", worst(|round| round.gap_s));
    findings.figure("panic_restart_s", worst(|round| round.restart_s));
    findings.figure("crash_back_s", worst(|round| round.crash_back_s));
    findings.figure("crash_dump_s", worst(|round| round.dump_s));
    findings.figure("circuits_lost", rounds.iter().map(|round| f64::from(round.circuits_lost)).sum());
    findings.figure("visitors_missing", worst(|round| round.missing.into()));

    let mut table = Table::new(vec![
        Column::number("round", ""),
        Column::number("panic: next life stepped", "s"),
        Column::number("all visitors in it", "s"),
        Column::number("longest still view", "s"),
        Column::number("usual still view", "s"),
        Column::number("signal: dump written", "s"),
        Column::number("dump written and a login", "s"),
    ])
    .caption("Figures are the worst of each column. A view is still while an observer gets no update.");
    for (n, round) in rounds.iter().enumerate() {
        table.row(vec![
            ((n + 1) as f64).into(),
            round.restart_s.into(),
            round.back_s.into(),
            round.gap_s.into(),
            round.usual_gap_s.into(),
            round.dump_s.into(),
            round.crash_back_s.into(),
        ]);
    }
    findings.sections.push(Section::new("Rounds").table(table));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_round_counts_and_an_endless_one_leaves_no_figure() {
        let good = Round { back_s: 0.1, gap_s: 0.3, crash_back_s: 1.0, ..Round::default() };
        let slow = Round { back_s: 0.9, gap_s: 0.4, crash_back_s: 2.0, ..Round::default() };
        let mut findings = Findings::default();
        report_rounds(&[good, slow, good], &mut findings);
        assert_eq!((findings.figures["panic_back_s"], findings.figures["crash_back_s"]), (0.9, 2.0));
        let mut never = good;
        not_back(&mut never);
        report_rounds(&[never, good], &mut findings);
        assert!(findings.figures["crash_back_s"].is_nan());
        assert_eq!(findings.figures["panic_back_s"], 0.3);
        report_rounds(&[Round { back_s: f64::NAN, ..good }], &mut findings);
        assert!(
            findings.figures["panic_back_s"].is_nan(),
            "a visitor that does not return has no time of return"
        );
    }

    #[test]
    fn the_dump_of_a_panic_is_not_that_of_the_crash() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join("crashes")).unwrap();
        fs::write(data.path().join("crashes/20261121T214512Z-17-panic.dmp"), "").unwrap();
        assert!(!has_dump(data.path(), 17));
        fs::write(data.path().join("crashes/20261121T214513Z-17.dmp"), "").unwrap();
        assert!(has_dump(data.path(), 17) && !has_dump(data.path(), 7));
    }
}
