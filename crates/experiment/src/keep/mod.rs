//! `keep`: content that is never lost, its costs, and how fast it moves.
//!
//! | part | module |
//! |---|---|
//! | SIGKILL while bots carry things, and an audit of all of them behind each | [`kills`], [`site`] |
//! | the same with the power cut, with slow synchronisations, and with a full disk | [`power`], [`trouble`] |
//! | transfers: one alone, and as many as 200 clients make | [`transfers`] |
//! | uploads: as many as are acknowledged, and the synchronisations that they take | [`uploads`] |
//! | textures: cached, uncached, and beside walkers | [`textures`] |
//! | an inventory of 20,000 items | [`inventory`] |
//! | archives: check, load, their effect on other worlds, and round trips of every version | [`archives`] |
//! | backups, and a rehearsal that is compared with the source | [`backup`] |
//! | bits flipped in every kind of file and row | [`damage`] |
//!
//! Load over HTTP is made by threads of the experiment ([`load`]) with the capabilities of bots that are logged in; subcommands are processes as an operator has
//! them ([`command`]), whose memory is read from outside ([`memory`]). `keep-kills` is the crashes alone.

mod archives;
mod backup;
mod command;
mod damage;
mod inventory;
mod kills;
mod load;
mod memory;
mod power;
mod site;
mod textures;
mod transfers;
mod trouble;
mod uploads;

pub use archives::ArchiveFacts;

use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::disk::DiskTimes;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::{Experiment, Run};
use site::{KeepSize, KeepStage};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "keep",
    question: "Is acknowledged content present after any crash, exactly once, and what does that cost?",
    run,
    figures: || FIGURES.names(),
};

/// The crashes alone, as many as are wanted, for tests.
pub(crate) const KILLS: Experiment = Experiment {
    name: "keep-kills",
    question: "Which content is lost or doubled by SIGKILL, power cuts, slow synchronisations and a full disk?",
    run: run_kills,
    figures: || FIGURES_OF_KILLS.names(),
};

/// Kills of `keep-kills` for each power cut, and for each kill with a slow or a full disk: those take longer.
const KILLS_PER_CUT: usize = 2;
const KILLS_PER_TROUBLE: usize = 20;

const SIZE: KeepSize = KeepSize {
    kills: 200,
    power_cuts: 200,
    slow_kills: 5,
    full_kills: 5,
    carriers: 12,
    ferriers: 200,
    uploads: 4_000,
    textures: 2_000,
    fetchers: 50,
    walkers: 100,
    items: 20_000,
    folders: 800,
    archive_prims: 45_000,
    archive_textures: 6_000,
    archive_bytes: 1_000_000_000,
    round_trip_prims: 400,
    backup_assets: 10_000,
    flips: 20,
};
const SIZE_QUICK: KeepSize = KeepSize {
    kills: 1,
    power_cuts: 1,
    slow_kills: 1,
    full_kills: 1,
    carriers: 3,
    ferriers: 6,
    uploads: 60,
    textures: 40,
    fetchers: 4,
    walkers: 4,
    items: 600,
    folders: 24,
    archive_prims: 200,
    archive_textures: 20,
    archive_bytes: 2_500_000,
    round_trip_prims: 24,
    backup_assets: 32,
    flips: 1,
};

/// Counts of lost and doubled things. In quick runs, too, each is a failure: that is no measurement.
const OF_CRASHES: [FigureLimit; 8] = [
    budget("lost_acknowledged", "things lost after an answer, SIGKILL", "", Limit::AtMost(0.0)),
    budget("doubled", "things without a copy that are twice there", "", Limit::AtMost(0.0)),
    budget("vanished", "things without a copy that are nowhere", "", Limit::AtMost(0.0)),
    budget(trouble::LOST_FULL, "things lost after an answer, with a full disk", "", Limit::AtMost(0.0)),
    budget("audits_failed", "audits that could not be made", "", Limit::AtMost(0.0)),
    budget(power::LOST, "things lost after an answer, power cut", "", Limit::AtMost(0.0)),
    budget(trouble::LOST_SLOW[0], "things lost after an answer, 5 ms slower", "", Limit::AtMost(0.0)),
    budget(trouble::LOST_SLOW[1], "things lost after an answer, 50 ms slower", "", Limit::AtMost(0.0)),
];
const OF_COSTS: [FigureLimit; 11] = [
    budget("transfer_fsyncs_p50", "a transfer alone ÷ fdatasync p99, p50", "", Limit::AtMost(4.0)),
    budget("transfer_fsyncs_p99", "a transfer alone ÷ fdatasync p99, p99", "", Limit::AtMost(8.0)),
    budget("transfers_per_s", "transfers of 200 clients", "1/s", Limit::AtLeast(500.0)),
    budget("uploads_per_s", "uploads of 60 kB, 16 at a time", "1/s", Limit::AtLeast(150.0)),
    budget(uploads::FSYNCS, "synchronisations for 1,000 uploads, 64 at a time", "", Limit::AtMost(200.0)),
    budget("texture_gets_per_core_s", "cached textures per core-second", "1/s", Limit::AtLeast(5_000.0)),
    budget("texture_cold_ms_p99", "uncached textures, 50 clients, p99", "ms", Limit::AtMost(50.0)),
    budget(
        "ping_beside_textures",
        "p99 of pings beside 50 fetching clients ÷ without",
        "",
        Limit::AtMost(1.5),
    ),
    budget("inventory_20000_s", "fetch of an inventory of 20,000 items", "s", Limit::AtMost(5.0)),
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    budget("logins_failed", "logins failed", "", Limit::AtMost(0.0)),
];
const OF_ARCHIVES: [FigureLimit; 10] = [
    budget("oar_mb_per_s", "check of an archive, uncompressed, per core", "MB/s", Limit::AtLeast(60.0)),
    budget("oar_load_45000_s", "load of 45,000 prims with 1 GB of assets", "s", Limit::AtMost(40.0)),
    budget("oar_objects_45000_s", "the same load without assets", "s", Limit::AtMost(15.0)),
    budget("oar_memory_mb", "memory of its check and load beyond the region's", "MB", Limit::AtMost(256.0)),
    budget(
        "archive_p99_ratio",
        "step p99 of another world beside archives ÷ without",
        "",
        Limit::AtMost(1.1),
    ),
    budget(
        "round_trip_differences",
        "undocumented differences of archives saved again",
        "",
        Limit::AtMost(0.0),
    ),
    budget("damage_found", "share of flipped bits found and named", "", Limit::AtLeast(1.0)),
    budget("backup_mb_per_s", "first backup of 10,000 assets", "MB/s", Limit::AtLeast(50.0)),
    budget("backup_next_ratio", "next backup with 1 % new ÷ first", "", Limit::AtMost(0.1)),
    budget("rehearsal_differences", "differences of a rehearsal and the source", "", Limit::AtMost(0.0)),
];

/// Figures without a budget.
const OTHERS: [&str; 24] = [
    "kills",
    "kills_acknowledged",
    "kills_unanswered",
    "transfer_ms_p50",
    "transfer_ms_p99",
    "transfers_ms_p99",
    "upload_ms_p99",
    "texture_hit_ms_p99",
    "texture_cold_ms_p50",
    "inventory_bytes",
    "fdatasync_ms_p50",
    "fdatasync_ms_p99",
    "oar_mb",
    "oar_check_s",
    "oar_check_memory_mb",
    "oar_load_memory_mb",
    "archive_p99_quiet_ms",
    "archive_p99_ratio_load",
    "archive_p99_ratio_save",
    "archive_p99_ratio_backup",
    "round_trips",
    "damage_flips",
    "backup_mb_per_s_unpaced",
    "backup_next_s",
];

const FIGURES: FigureList = FigureList { limited: &[&OF_CRASHES, &OF_COSTS, &OF_ARCHIVES], others: &OTHERS };

const FIGURES_OF_KILLS: FigureList =
    FigureList { limited: &[&OF_CRASHES], others: &["kills", "kills_acknowledged", "kills_unanswered"] };

/// A part with its name on the command line.
type Part = (&'static str, fn(&KeepStage<'_>, &mut Findings) -> Result<(), ExperimentError>);

/// The parts. A full run makes them one after the other. A quick run, whose figures are no measurements, runs the rows concurrently, since parts mostly wait.
const PARTS: [&[Part]; 6] = [
    &[("kills", kills::measure), ("slow", trouble::measure_slow)],
    &[("power", power::measure), ("full", trouble::measure_full)],
    &[("transfers", transfers::measure)],
    &[("uploads", uploads::measure), ("textures", textures::measure), ("inventory", inventory::measure)],
    &[("archives", archives::measure), ("backup", backup::measure)],
    &[("round-trips", archives::round_trip::measure), ("damage", damage::measure)],
];

/// The parts of `keep-kills`.
const CRASHES: [&[Part]; 2] = [
    &[("kills", kills::measure), ("slow", trouble::measure_slow)],
    &[("power", power::measure), ("full", trouble::measure_full)],
];

/// The part of `keep-kills` with a database outside of the data directory: a disk that is slow, full or without power is that of the data directory.
const CRASHES_WITH_STORE: [&[Part]; 1] = [&[("kills", kills::measure)]];

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let mut size = *run.pick(&SIZE, &SIZE_QUICK);
    if let Some(kills) = run.kills {
        (size.kills, size.power_cuts) = (kills as usize, kills as usize);
    }
    let disk = DiskTimes::measure(&run.out, run.quick)?;
    let stage = KeepStage::new(run, &size, disk);
    let mut findings = match &run.part {
        Some(name) => measure_part(&stage, name)?,
        None => measure_all(&stage, &PARTS)?,
    };
    disk.report(&mut findings);
    stage.report_losses(&mut findings);
    judge(run, &FIGURES, &mut findings);
    Ok(findings)
}

fn run_kills(run: &Run) -> Result<Findings, ExperimentError> {
    let mut size = *run.pick(&SIZE, &SIZE_QUICK);
    size.kills = run.kills.map_or(size.kills, |kills| kills as usize);
    size.power_cuts = size.kills.div_ceil(KILLS_PER_CUT);
    size.slow_kills = size.kills.div_ceil(KILLS_PER_TROUBLE);
    size.full_kills = size.slow_kills;
    let disk = DiskTimes::measure(&run.out, run.quick)?;
    let stage = KeepStage::new(run, &size, disk);
    let rows: &[&[Part]] = if run.store.is_some() { &CRASHES_WITH_STORE } else { &CRASHES };
    let mut findings = measure_all(&stage, rows)?;
    stage.report_audits(&mut findings);
    judge(run, &FIGURES_OF_KILLS, &mut findings);
    Ok(findings)
}

/// Judges limits, in quick runs those of [`OF_CRASHES`] as well.
fn judge(run: &Run, figures: &FigureList, findings: &mut Findings) {
    figures.judge(run, findings);
    if run.quick {
        for FigureLimit { figure, what, limit, .. } in &OF_CRASHES {
            if let Some(value) = findings.figures.get(*figure).filter(|value| !limit.holds(**value)) {
                findings.failures.push(format!("{what}: {}", report::number(*value)));
            }
        }
    }
}

fn measure_part(stage: &KeepStage<'_>, name: &str) -> Result<Findings, ExperimentError> {
    let parts = || PARTS.into_iter().flatten();
    let Some(&(_, part)) = parts().find(|(of, _)| *of == name) else {
        let known = parts().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(ExperimentError::Unknown { name: name.to_owned(), known });
    };
    let mut findings = Findings::default();
    part(stage, &mut findings)?;
    Ok(findings)
}

fn measure_all(stage: &KeepStage<'_>, rows: &[&[Part]]) -> Result<Findings, ExperimentError> {
    let mut findings = Findings::default();
    let measure = |row: &[Part]| {
        let mut found = Findings::default();
        row.iter().try_for_each(|(_, part)| part(stage, &mut found)).map(|()| found)
    };
    if stage.run.quick {
        let found = std::thread::scope(|scope| {
            let threads: Vec<_> = rows.iter().map(|row| scope.spawn(move || measure(row))).collect();
            let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended
                .map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        for found in found {
            findings.add(found?);
        }
    } else {
        for row in rows {
            findings.add(measure(row)?);
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_figure_is_listed_twice_and_each_part_has_its_name() {
        for all in [FIGURES.names(), FIGURES_OF_KILLS.names()] {
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        }
        let names: Vec<&str> = PARTS.into_iter().flatten().map(|(name, _)| *name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let crashes = CRASHES.into_iter().chain(CRASHES_WITH_STORE).flatten().map(|(name, _)| *name);
        assert!(crashes.into_iter().all(|name| names.contains(&name)));
    }
}
