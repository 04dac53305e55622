//! Figures of loads and saves, for the results of their jobs, with the names of `throng oar check --json`: counts, and lists beside them that are cut.

use super::materials::LoadedMaterials;
use super::oar_check::CheckedOar;
use super::saved_file::SavedAssets;
use crate::archive_assets::LoadedAssets;
use crate::region_transfer::MissingPart;
use archive::check::{AccountFinding, ArchiveReport, AssetFinding, CheckVerdict, FindingList, PartFinding};
use archiver::inventory::{InventoryPlan, InventoryWritten};
use archiver::region::RegionWritten;
use archiver::{Finding, Findings, MissingAsset};
use ids::Uuid;
use serde_json::{Value, json};

/// Figures of a load.
#[derive(Debug, Default)]
pub(super) struct LoadedOar {
    pub(super) n_cleared: u64,
    pub(super) n_objects: u64,
    pub(super) n_prims: u64,
    pub(super) n_parcels: u64,
    pub(super) has_terrain: bool,
    pub(super) has_settings: bool,
    pub(super) assets: LoadedAssets,
    pub(super) materials: LoadedMaterials,
    /// Objects that became something else, or nothing.
    pub(super) changed: Findings,
    /// Parcels by their places in the archive's list, each with its id now.
    pub(super) parcels: Vec<(usize, Uuid)>,
}

/// Figures of an archive that was loaded into a region.
pub(super) fn load_figures(checked: &CheckedOar, loaded: &LoadedOar) -> Value {
    let figures = json!({
        "objects": loaded.n_objects,
        "prims": loaded.n_prims,
        "cleared": loaded.n_cleared,
        "skipped": checked.skipped.len(),
        "parcels": loaded.n_parcels,
        "terrain": loaded.has_terrain,
        "settings": loaded.has_settings,
        "materials": loaded.materials.n_kept,
        "materials_left_out": loaded.materials.n_left_out,
    });
    let found = report_figures(&checked.report, &loaded.changed);
    joined([figures, asset_figures(&loaded.assets), found])
}

/// Figures of an archive that was loaded into an inventory.
pub(super) fn inventory_load_figures(
    report: &ArchiveReport,
    plan: &InventoryPlan,
    assets: &LoadedAssets,
) -> Value {
    let figures = json!({ "folders": plan.n_folders, "items": plan.n_items, "links": plan.n_links });
    joined([figures, asset_figures(assets), report_figures(report, &plan.findings)])
}

/// Figures of regions that were saved into an archive. `damaged` are parts that the database has lost.
pub(super) fn save_figures(written: &RegionWritten, damaged: &[MissingPart], assets: &SavedAssets) -> Value {
    let figures = json!({
        "objects": written.n_objects,
        "prims": written.n_prims,
        "left_out": written.n_left_out,
        "parcels": written.n_parcels,
        "damaged": damaged.len(),
        "damaged_parts": damaged.iter().map(ToString::to_string).collect::<Value>(),
    });
    joined([figures, saved_figures(assets)])
}

/// Figures of a folder of an inventory that was saved into an archive.
pub(super) fn inventory_save_figures(written: &InventoryWritten, assets: &SavedAssets) -> Value {
    let figures = json!({
        "folders": written.n_folders,
        "items": written.n_items,
        "left_out": written.n_left_out,
        "damaged": 0,
    });
    joined([figures, saved_figures(assets)])
}

fn saved_figures(assets: &SavedAssets) -> Value {
    let missing = |missing: &MissingAsset| json!({ "id": missing.id, "named_by": missing.named_by });
    json!({
        "assets": assets.n_assets,
        "bytes": assets.bytes,
        "missing": assets.missing.len(),
        "missing_assets": assets.missing.iter().map(missing).collect::<Value>(),
    })
}

fn asset_figures(assets: &LoadedAssets) -> Value {
    json!({
        "assets": assets.n_stored,
        "assets_own": assets.n_own,
        "assets_left_out": assets.n_unfit,
        "assets_kept": assets.n_kept,
        "kept_assets": assets.kept,
    })
}

fn report_figures(report: &ArchiveReport, changed: &Findings) -> Value {
    let is_whole = report.verdict() == CheckVerdict::Loads;
    json!({
        "version": report.version.map(|(major, minor)| format!("{major}.{minor}")),
        "loads": if is_whole { "all" } else { "in part" },
        "missing": report.missing.n_total,
        "damaged": report.damaged.n_total,
        "unreadable": report.unreadable.n_total,
        "remarks": report.remarks.n_total,
        "changed": changed.n_total(),
        "owners_unknown": report.owners_unknown.n_total,
        "creators_unknown": report.creators_unknown.n_total,
        "missing_assets": assets_json(&report.missing),
        "damaged_assets": assets_json(&report.damaged),
        "unreadable_parts": parts_json(&report.unreadable),
        "remarked_parts": parts_json(&report.remarks),
        "changed_parts": changed.listed().iter().map(finding_json).collect::<Value>(),
        "unknown_owners": accounts_json(&report.owners_unknown),
        "unknown_creators": accounts_json(&report.creators_unknown),
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({ "path": finding.what, "reason": finding.why })
}

fn assets_json(findings: &FindingList<AssetFinding>) -> Value {
    let asset = |finding: &AssetFinding| {
        json!({
            "id": finding.id,
            "kind": finding.kind.map(|kind| kind.name()),
            "reason": (!finding.reason.is_empty()).then_some(&finding.reason),
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

/// The fields of several objects.
fn joined<const N: usize>(objects: [Value; N]) -> Value {
    let fields = objects.into_iter().flat_map(|object| match object {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    });
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loads_figures_are_those_of_its_report_and_of_what_has_become_of_it() {
        let report = ArchiveReport { version: Some((0, 8)), ..ArchiveReport::default() };
        let mut plan = InventoryPlan { n_items: 3, ..InventoryPlan::default() };
        plan.findings.add("inventory/a", "no reason");
        let figures = inventory_load_figures(&report, &plan, &LoadedAssets::default());
        assert_eq!(figures["version"], "0.8");
        assert_eq!((&figures["loads"], &figures["items"]), (&json!("all"), &json!(3)));
        let changed = json!([{ "path": "inventory/a", "reason": "no reason" }]);
        assert_eq!((&figures["changed"], &figures["changed_parts"]), (&json!(1), &changed));
    }

    #[test]
    fn a_saves_figures_name_what_is_missing() {
        let missing = MissingAsset { id: Uuid::from_u128(7), named_by: "ground".into() };
        let assets = SavedAssets { n_assets: 1, bytes: 9, missing: vec![missing] };
        let figures = save_figures(&RegionWritten::default(), &[], &assets);
        assert_eq!(figures["missing_assets"][0]["named_by"], "ground");
        assert_eq!((&figures["missing"], &figures["damaged"]), (&json!(1), &json!(0)));
    }
}
