//! Single bits flipped in every kind of file and row, one at a time: the share of them that is found and named, by `throng verify --deep`, a restore, or a
//! check of an archive.
//!
//! Rows are found in the file of the database by [`pages`], and each table is a kind of its own; [`site`] has the data, the files and the commands that look.

mod pages;
mod site;

use super::site::KeepStage;
use crate::error::ExperimentError;
use crate::findings::Findings;
use bots::rng::Rng;
use report::{Cell, Column, Section, Table, Verdict};
use site::{DamageSite, Target};
use std::collections::BTreeMap;

/// Seed of the places.
const SEED: u64 = 41;

/// Flips of one kind of file or row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FlipCounts {
    n_flips: u32,
    n_found: u32,
}

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let site = DamageSite::make(stage)?;
    let targets = site.targets()?;
    let mut rng = Rng::new(SEED, 0);
    let mut counts: BTreeMap<&str, FlipCounts> = BTreeMap::new();
    for target in targets.iter().filter(|target| !target.is_empty()) {
        for _ in 0..stage.size.flips {
            let of_kind = counts.entry(&target.kind).or_default();
            of_kind.n_flips += 1;
            of_kind.n_found += u32::from(find_flipped(&site, target, &mut rng)?);
        }
    }
    let all = counts.values().fold(FlipCounts::default(), |all, of_kind| FlipCounts {
        n_flips: all.n_flips + of_kind.n_flips,
        n_found: all.n_found + of_kind.n_found,
    });
    findings.figure("damage_flips", all.n_flips.into());
    findings.figure("damage_found", f64::from(all.n_found) / f64::from(all.n_flips));
    findings.sections.push(section(&counts, &targets));
    Ok(())
}

/// Flips a bit of a target at any place, has it looked for, and flips it back. True if it was found and named.
fn find_flipped(site: &DamageSite<'_>, target: &Target, rng: &mut Rng) -> Result<bool, ExperimentError> {
    let (file, at) = target.place(rng);
    let bit = 1_u8 << (rng.next() % 8);
    site::flip(file, at, bit)?;
    let found = site.look(target.look);
    site::flip(file, at, bit)?;
    found
}

fn section(counts: &BTreeMap<&str, FlipCounts>, targets: &[Target]) -> Section {
    let mut table = Table::new(vec![
        Column::text("file or row"),
        Column::number("flipped", ""),
        Column::number("found and named", ""),
        Column::text("all"),
    ]);
    for (kind, FlipCounts { n_flips, n_found }) in counts {
        let is_all = n_found == n_flips;
        let verdict =
            if is_all { Cell::verdict(Verdict::Good, "yes") } else { Cell::verdict(Verdict::Bad, "no") };
        table.row(vec![(*kind).into(), (*n_flips).into(), (*n_found).into(), verdict]);
    }
    let empty: Vec<&str> =
        targets.iter().filter(|target| target.is_empty()).map(|target| target.kind.as_str()).collect();
    let empty = if empty.is_empty() { "none".to_owned() } else { empty.join(", ") };
    let text = format!(
        "One bit at a time, at a random place: in the part of a row that lies on its page, in the compressed \
         bytes of an archive, anywhere in other files. It is found if the command ends with an error and lists a \
         fault beyond those of whole data, or says that the database cannot be read. Rows and files of the data by \
         `throng verify --deep`, files of a backup by `throng restore`, archives by `throng oar check` and `throng \
         iar check`. Tables without rows: {empty}."
    );
    Section::new("Damage").text(&text).table(table)
}
