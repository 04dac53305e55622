//! Archives of the experiment's own, as the check of archives finds them.

use super::collection::{IAR_VERSIONS, OAR_VERSIONS, write_inventory, write_region};
use super::generate::{OarPlan, WrittenOar, write_oar};
use archive::check::{ArchiveReport, CheckConfig, CheckVerdict, check_iar, check_oar};
use ids::Uuid;
use std::fs::File;
use std::path::Path;

const OWNER: Uuid = Uuid::from_u128(0x1234_5678_9abc_4def_8000_0000_0000_0001);

fn check(path: &Path) -> ArchiveReport {
    check_oar(File::open(path).unwrap(), &CheckConfig::default()).unwrap()
}

/// Nothing is missing, damaged, unused or remarkable.
fn assert_is_whole(report: &ArchiveReport) {
    assert_eq!(report.verdict(), CheckVerdict::Loads);
    let ArchiveReport { missing, unused, remarks, .. } = report;
    assert_eq!((missing.n_total, unused.n_total, remarks.n_total), (0, 0, 0), "{report:?}");
}

#[test]
fn an_archive_has_the_prims_and_bytes_of_its_plan_with_assets_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.oar");
    let plan = OarPlan {
        version: (0, 8),
        owner: OWNER,
        n_prims: 150,
        n_textures: 30,
        bytes: 4_000_000,
        has_assets: true,
        seed: 3,
    };
    let written = write_oar(&path, &plan).unwrap();
    let report = check(&path);
    assert_eq!((report.n_objects, report.n_prims), (written.n_objects, 150));
    assert_eq!((report.n_assets, written.n_assets), (33, 33));
    assert!((3_400_000..4_600_000).contains(&report.bytes_uncompressed), "{}", report.bytes_uncompressed);
    assert_is_whole(&report);
    assert_eq!(write_oar(&path, &plan).unwrap(), written, "the same again");

    let bare = OarPlan { has_assets: false, ..plan };
    assert_eq!(write_oar(&path, &bare).unwrap(), WrittenOar { n_assets: 0, ..written });
    let report = check(&path);
    assert_eq!((report.n_prims, report.n_assets, report.missing.n_total), (150, 0, 33));
}

#[test]
fn archives_of_every_version_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (n, version) in OAR_VERSIONS.into_iter().enumerate() {
        let path = folder.path().join("a.oar");
        let written = write_region(&path, n, 24, OWNER).unwrap();
        let report = check(&path);
        assert_eq!((report.version, report.n_prims), (Some(version), 24));
        assert_eq!(report.n_objects, written.n_objects);
        assert_is_whole(&report);
    }
    for (n, version) in IAR_VERSIONS.into_iter().enumerate() {
        let path = folder.path().join("a.iar");
        write_inventory(&path, n, OWNER).unwrap();
        let report = check_iar(File::open(&path).unwrap(), &CheckConfig::default()).unwrap();
        assert_eq!(report.version, Some(version));
        let counts = report.inventory;
        assert_eq!((counts.n_folders, counts.n_items, counts.n_links, counts.n_broken_links), (3, 2, 2, 0));
        assert_is_whole(&report);
    }
}
