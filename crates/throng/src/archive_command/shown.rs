//! Outcomes of checks and comparisons, as text and as JSON.

use archive::check::{
    AccountFinding, ArchiveReport, AssetFinding, CheckVerdict, FindingList, InventoryCounts, KindCount,
    PartFinding, RegionCount,
};
use archive::diff::{ArchiveDifference, DiffReport};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Findings of a list that the text shows; JSON has all listed ones.
const SHOWN_MAX: usize = 20;

pub(super) fn check_json(file: &Path, report: &ArchiveReport) -> Value {
    let ArchiveReport { inventory, .. } = report;
    let mut counts = json!({
        "file": file.display().to_string(),
        "version": report.version.map(|(major, minor)| format!("{major}.{minor}")),
        "loads": loads(report),
        "objects": report.n_objects,
        "prims": report.n_prims,
        "scripts": report.n_scripts,
        "assets": report.n_assets,
        "missing": report.missing.n_total,
        "damaged": report.damaged.n_total,
        "unused": report.unused.n_total,
        "unreadable": report.unreadable.n_total,
        "remarks": report.remarks.n_total,
        "owners_unknown": report.owners_unknown.n_total,
        "creators_unknown": report.creators_unknown.n_total,
        "bytes": report.bytes,
        "bytes_uncompressed": report.bytes_uncompressed,
        "memory_bytes": report.memory_bytes,
        "newcomer_bytes": report.newcomer_bytes,
        "folders": inventory.n_folders,
        "items": inventory.n_items,
        "links": inventory.n_links,
        "links_broken": inventory.n_broken_links,
    });
    let lists = json!({
        "kinds": report.kinds.iter().map(kind_json).collect::<Value>(),
        "regions": report.regions.iter().map(region_json).collect::<Value>(),
        "missing_assets": assets_json(&report.missing),
        "damaged_assets": assets_json(&report.damaged),
        "unused_assets": assets_json(&report.unused),
        "unreadable_parts": parts_json(&report.unreadable),
        "remarked_parts": parts_json(&report.remarks),
        "unknown_owners": accounts_json(&report.owners_unknown),
        "unknown_creators": accounts_json(&report.creators_unknown),
    });
    if let (Value::Object(counts), Value::Object(lists)) = (&mut counts, lists) {
        counts.extend(lists);
    }
    counts
}

const fn loads(report: &ArchiveReport) -> &'static str {
    match report.verdict() {
        CheckVerdict::Loads => "all",
        CheckVerdict::LoadsInPart => "in part",
    }
}

fn kind_name(count: &KindCount) -> &'static str {
    count.kind.map_or("unknown", |kind| kind.name())
}

fn kind_json(count: &KindCount) -> Value {
    json!({ "kind": kind_name(count), "assets": count.n_assets, "bytes": count.bytes })
}

fn region_json(region: &RegionCount) -> Value {
    json!({
        "directory": region.directory,
        "size_m": region.size_m.map(|(width, depth)| [width, depth]),
        "objects": region.n_objects,
        "prims": region.n_prims,
        "prims_max": region.prims_max,
        "parcels": region.n_parcels,
    })
}

fn assets_json(findings: &FindingList<AssetFinding>) -> Value {
    let asset = |finding: &AssetFinding| {
        json!({
            "id": finding.id,
            "kind": finding.kind.map(|kind| kind.name()),
            "bytes": finding.bytes,
            "reason": (!finding.reason.is_empty()).then_some(&finding.reason),
            "references": finding.n_references,
            "referrers": finding.referrers,
        })
    };
    findings.listed.iter().map(asset).collect()
}

fn parts_json(findings: &FindingList<PartFinding>) -> Value {
    let part = |finding: &PartFinding| json!({ "path": finding.path, "reason": finding.reason });
    findings.listed.iter().map(part).collect()
}

fn accounts_json(findings: &FindingList<AccountFinding>) -> Value {
    let account =
        |finding: &AccountFinding| json!({ "id": finding.id, "name": finding.name, "uses": finding.n_uses });
    findings.listed.iter().map(account).collect()
}

pub(super) fn diff_json(report: &DiffReport) -> Value {
    let difference = |found: &ArchiveDifference| json!({ "path": found.path, "a": found.a, "b": found.b });
    report.differences.iter().map(difference).collect()
}

pub(super) fn check_text(file: &Path, report: &ArchiveReport) -> String {
    let version = report.version.map_or_else(
        || "without a control file".to_owned(),
        |(major, minor)| format!("version {major}.{minor}"),
    );
    let mut text = format!("{}: {version}, loads {}.\n", file.display(), loads(report));
    let InventoryCounts { n_folders, n_items, n_links, n_broken_links } = report.inventory;
    if report.inventory != InventoryCounts::default() {
        let links = format!("{n_links} links ({n_broken_links} broken)");
        let _ = writeln!(text, "{n_folders} folders, {n_items} items, {links}.");
    }
    let _ = writeln!(
        text,
        "{} objects of {} prims with {} scripts, {} assets.",
        report.n_objects, report.n_prims, report.n_scripts, report.n_assets
    );
    let _ = writeln!(
        text,
        "{} bytes, {} uncompressed; {} bytes of memory, {} bytes for a newcomer.",
        report.bytes, report.bytes_uncompressed, report.memory_bytes, report.newcomer_bytes
    );
    for RegionCount { directory, size_m, n_objects, n_prims, n_parcels, prims_max } in &report.regions {
        let size = size_m.map_or_else(String::new, |(width, depth)| format!(" of {width} x {depth} m"));
        let prims = format!("{n_objects} objects of {n_prims} prims (room for {prims_max})");
        let name = directory.escape_debug();
        let _ = writeln!(text, "region {name}{size}: {prims}, {n_parcels} parcels");
    }
    for count in &report.kinds {
        let _ = writeln!(text, "{:<24} {:>8} {:>14} bytes", kind_name(count), count.n_assets, count.bytes);
    }
    push_findings(&mut text, "unreadable", &report.unreadable, part_line);
    push_findings(&mut text, "damaged", &report.damaged, asset_line);
    push_findings(&mut text, "missing", &report.missing, asset_line);
    push_findings(&mut text, "unused", &report.unused, asset_line);
    push_findings(&mut text, "owner without an account", &report.owners_unknown, account_line);
    push_findings(&mut text, "creator without an account", &report.creators_unknown, account_line);
    push_findings(&mut text, "remark", &report.remarks, part_line);
    text
}

fn push_findings<T>(text: &mut String, name: &str, findings: &FindingList<T>, line: fn(&T) -> String) {
    for finding in findings.listed.iter().take(SHOWN_MAX) {
        let _ = writeln!(text, "{name}: {}", line(finding));
    }
    let n_more = findings.n_total.saturating_sub(SHOWN_MAX as u64);
    if n_more > 0 {
        let _ = writeln!(text, "{name}: {n_more} more, which --json lists");
    }
}

/// Texts of archives may have control characters.
fn part_line(finding: &PartFinding) -> String {
    format!("{}: {}", finding.path.escape_debug(), finding.reason.escape_debug())
}

fn asset_line(finding: &AssetFinding) -> String {
    let mut line = finding.id.to_string();
    if let Some(kind) = finding.kind {
        let _ = write!(line, ", {kind}");
    }
    if finding.bytes > 0 {
        let _ = write!(line, ", {} bytes", finding.bytes);
    }
    if !finding.reason.is_empty() {
        let _ = write!(line, ", {}", finding.reason.escape_debug());
    }
    if let Some(referrer) = finding.referrers.first() {
        let _ = write!(line, ", named {} times, by {}", finding.n_references, referrer.escape_debug());
    }
    line
}

fn account_line(finding: &AccountFinding) -> String {
    match &finding.name {
        Some(name) => format!("{} ({}), {} uses", finding.id, name.escape_debug(), finding.n_uses),
        None => format!("{}, {} uses", finding.id, finding.n_uses),
    }
}

pub(super) fn diff_text(report: &DiffReport) -> String {
    let side = |text: &Option<Box<str>>| match text {
        Some(text) => format!("{text:?}"),
        None => "nothing".to_owned(),
    };
    let mut text = String::new();
    for ArchiveDifference { path, a, b } in &report.differences {
        let _ = writeln!(text, "{}: {} | {}", path.escape_debug(), side(a), side(b));
    }
    let n_total = report.differences.len() as u64 + report.n_more;
    let _ = writeln!(text, "{n_total} differences.");
    text
}
