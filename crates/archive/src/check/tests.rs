//! Checks of archives with each sort of finding.

use super::*;
use crate::kind::ArchivedKind;
use crate::testing::*;
use proptest::prelude::*;

fn check_with(bytes: &[u8], change: impl FnOnce(&mut CheckConfig<'_>)) -> ArchiveReport {
    let mut config = CheckConfig::default();
    change(&mut config);
    check_oar(bytes, &config).unwrap()
}

fn check(bytes: &[u8]) -> ArchiveReport {
    check_with(bytes, |_| {})
}

fn ids(findings: &FindingList<AssetFinding>) -> Vec<Uuid> {
    assert_eq!(findings.n_total, findings.listed.len() as u64);
    findings.listed.iter().map(|finding| finding.id).collect()
}

fn paths(findings: &FindingList<PartFinding>) -> Vec<&str> {
    findings.listed.iter().map(|finding| &*finding.path).collect()
}

/// Archive of version 0.8 with changed entries.
fn changed(change: impl FnOnce(&mut SampleEntries)) -> Vec<u8> {
    let mut entries = oar_entries((0, 8));
    change(&mut entries);
    archive(&entries)
}

#[test]
fn everything_in_an_archive_is_counted() {
    let bytes = oar((0, 8));
    let report = check(&bytes);
    assert_eq!(report.version, Some((0, 8)));
    assert_eq!((report.n_objects, report.n_prims, report.n_scripts, report.n_assets), (1, 2, 1, 6));
    assert_eq!((report.bytes, report.bytes_uncompressed), (bytes.len() as u64, bytes.len() as u64));
    assert_eq!(ids(&report.missing), [id(MISSING_TEXTURE)]);
    assert_eq!(ids(&report.damaged), [id(DAMAGED_GESTURE)]);
    assert_eq!(ids(&report.unused), [id(UNUSED_SCRIPT), id(DAMAGED_GESTURE)]);
    assert_eq!(report.unreadable, FindingList::default());
    assert_eq!(report.remarks, FindingList::default());
    assert_eq!(report.verdict(), CheckVerdict::LoadsInPart);
    let owners: Vec<Uuid> = report.owners_unknown.listed.iter().map(|owner| owner.id).collect();
    assert_eq!(owners, [id(OWNER)]);
    // Two prims, two items and the parcel.
    assert_eq!(report.owners_unknown.listed[0].n_uses, 5);
    assert_eq!(report.creators_unknown.listed[0].id, id(CREATOR));
    let region = RegionCount {
        directory: "".into(),
        size_m: Some((256, 256)),
        n_objects: 1,
        n_prims: 2,
        n_parcels: 1,
        prims_max: 45_000,
    };
    assert_eq!(report.regions, [region]);
    let scripts = ArchivedKind::from_suffix("_script.lsl");
    let count = report.kinds.iter().find(|count| count.kind == scripts).unwrap();
    assert_eq!((count.n_assets, count.bytes), (2, 20));
}

#[test]
fn missing_assets_have_their_referrers_and_kinds() {
    let report = check(&oar((0, 8)));
    let [missing] = report.missing.listed.as_slice() else { panic!("{:?}", report.missing) };
    let house = format!("objects/House_128-128-025__{}.xml", id(HOUSE));
    assert_eq!(missing.referrers, [Box::from(house.as_str())]);
    assert_eq!((missing.n_references, missing.kind), (1, ArchivedKind::from_suffix("_texture.jp2")));
    let [damaged] = report.damaged.listed.as_slice() else { panic!("{:?}", report.damaged) };
    assert!(damaged.reason.contains("gesture"), "{damaged:?}");
    // The notecard names the landmark; without it, the landmark is unused.
    let report = check(&changed(|entries| entries.retain(|(path, _)| !path.ends_with("_notecard.txt"))));
    assert_eq!(ids(&report.missing), [id(MISSING_TEXTURE), id(NOTECARD)]);
    assert_eq!(ids(&report.unused), [id(LANDMARK), id(UNUSED_SCRIPT), id(DAMAGED_GESTURE)]);
    let report = check(&changed(|entries| entries.retain(|(path, _)| !path.ends_with("_landmark.txt"))));
    let [_, landmark] = report.missing.listed.as_slice() else { panic!("{:?}", report.missing) };
    assert_eq!(landmark.referrers, [format!("assets/{}_notecard.txt", id(NOTECARD)).into_boxed_str()]);
}

#[test]
fn accounts_and_assets_that_are_known_are_not_listed() {
    let report = check_with(&oar((0, 8)), |config| {
        config.knows_account = &|account| account == id(OWNER);
        config.knows_asset = &|asset| asset == id(MISSING_TEXTURE);
    });
    assert_eq!((report.missing.n_total, report.owners_unknown.n_total), (0, 0));
    assert_eq!(report.creators_unknown.n_total, 1);
    let blank = Uuid::from_u128(VIEWERS_OWN[1]);
    let viewers = check(&changed(|entries| {
        for (_, content) in entries.iter_mut().filter(|(path, _)| path.starts_with("settings/")) {
            let text = String::from_utf8(std::mem::take(content)).unwrap();
            *content = text.replace(&id(TEXTURE).to_string(), &blank.to_string()).into_bytes();
        }
    }));
    assert_eq!(ids(&viewers.missing), [id(MISSING_TEXTURE)]);
}

#[test]
fn each_version_loads_with_equal_counts() {
    for version in OAR_VERSIONS {
        let report = check(&oar(version));
        assert_eq!(report.version, Some(version));
        let counts = (report.n_objects, report.n_prims, report.n_scripts);
        assert_eq!(counts, if version.0 == 1 { (2, 3, 1) } else { (1, 2, 1) }, "{version:?}");
        assert_eq!(report.unreadable, FindingList::default(), "{version:?}");
        let directories: Vec<&str> = report.regions.iter().map(|region| &*region.directory).collect();
        let expected: &[&str] = if version.0 == 1 { &["1_1_Sea_side", "2_2_Hills"] } else { &[""] };
        assert_eq!(directories, expected);
    }
}

#[test]
fn an_archive_without_damage_loads() {
    let report = check(&changed(|entries| entries.retain(|(path, _)| !path.ends_with("_gesture.txt"))));
    assert_eq!(report.verdict(), CheckVerdict::Loads, "missing assets are listed only");
    assert_eq!(report.missing.n_total, 1);
}

#[test]
fn unreadable_parts_are_listed_with_their_reasons() {
    let broken = changed(|entries| {
        let part = |path: &str, content: &[u8]| (path.to_owned(), content.to_vec());
        entries.extend([
            part("objects/a__1.xml", b"<SceneObjectGroup><SceneObjectPart>"),
            part("objects/b__1.xml", b"<Other/>"),
            part("landdata/c.xml", b"<LandData>&bomb;</LandData>"),
            part("settings/d.xml", b"x"),
            part("terrains/e.r32", &[0; 12]),
            part("assets/f_texture.jp2", b"x"),
            part(&format!("assets/{}_texture.png", id(77)), b"x"),
            part(&format!("assets/{}_texture.jp2", id(TEXTURE).simple()), &texture()),
            part("regions/1_1_A/objects/g__1.xml", document(&plain_box()).as_bytes()),
        ]);
    });
    let report = check(&broken);
    let expected = [
        "objects/a__1.xml",
        "objects/b__1.xml",
        "landdata/c.xml",
        "settings/d.xml",
        "terrains/e.r32",
        "assets/f_texture.jp2",
        &format!("assets/{}_texture.png", id(77)),
        &format!("assets/{}_texture.jp2", id(TEXTURE).simple()),
        "regions/1_1_A",
    ];
    assert_eq!(paths(&report.unreadable), expected);
    assert!(report.unreadable.listed.iter().all(|finding| !finding.reason.is_empty()));
    assert_eq!(report.verdict(), CheckVerdict::LoadsInPart);
}

#[test]
fn an_archive_without_a_control_file_loads_in_part() {
    let report = check(&changed(|entries| drop(entries.remove(0))));
    assert_eq!(paths(&report.unreadable), ["archive.xml"]);
    let newer = b"<archive major_version='2' minor_version='0'/>".to_vec();
    let report = check(&changed(|entries| entries[0].1 = newer));
    assert_eq!(paths(&report.unreadable), ["archive.xml", "archive.xml"]);
    assert!(report.unreadable.listed[0].reason.contains("version 2.0"), "{:?}", report.unreadable);
}

#[test]
fn files_that_are_no_archives_of_regions_are_refused() {
    let config = CheckConfig::default();
    let refused = |bytes: &[u8]| check_oar(bytes, &config).unwrap_err();
    assert_eq!(refused(b""), CheckError::File(FileError::Empty));
    assert_eq!(refused(b"PK\x03\x04"), CheckError::File(FileError::OtherForm));
    let other = archive(&[("README".to_owned(), b"x".to_vec())]);
    assert!(matches!(refused(&other), CheckError::OtherArchive(_)));
    assert!(matches!(check_iar(&other[..], &config), Err(CheckError::OtherArchive(_))));
}

#[test]
fn an_archive_cut_at_any_block_is_checked_up_to_the_cut() {
    let bytes = oar((0, 8));
    let whole = check(&bytes);
    assert_eq!(whole.cut_short, None);
    let config = CheckConfig::default();
    for length in (0..bytes.len() - 512).step_by(4_096) {
        match check_oar(&bytes[..length], &config) {
            Ok(report) => {
                assert!(report.n_assets <= whole.n_assets && report.n_prims <= whole.n_prims);
                let last = report.unreadable.listed.last().map(|last| (&*last.path, &*last.reason));
                assert_eq!(last, report.cut_short.as_deref().map(|why| ("end of the archive", why)));
                assert!(report.cut_short.is_some());
            }
            Err(why) => assert!(length < 2_048, "cut at {length}: {why}"),
        }
    }
}

#[test]
fn doubled_ids_and_other_files_are_remarked() {
    let report = check(&changed(|entries| {
        let (_, house) = entries.iter().find(|(path, _)| path.starts_with("objects/")).unwrap().clone();
        entries.push(("objects/again__1.xml".to_owned(), house));
        entries.push(("assets.xml".to_owned(), b"<assets/>".to_vec()));
        entries.push((format!("assets/{}_image.tga", id(70)), b"x".to_vec()));
    }));
    let image = format!("assets/{}_image.tga", id(70));
    let again = "objects/again__1.xml";
    assert_eq!(paths(&report.remarks), [again, again, "assets.xml", &image]);
    assert_eq!((report.n_objects, report.n_prims), (2, 4));
}

#[test]
fn the_cost_of_loading_follows_its_formula() {
    let report = check(&oar((0, 8)));
    let updates: usize = house().parts().map(|part| part.body.texture_entry.len() + 1).sum();
    // Extra parameters have a zero byte, and the one texture is that of a wall and of the ground.
    let expected = 2 * UPDATE_BYTES + updates as u64 + texture().len() as u64;
    assert_eq!(report.newcomer_bytes, expected);
    assert_eq!(report.memory_bytes, 2 * PRIM_BYTES + 2 * ITEM_BYTES + 65_536 * HEIGHT_BYTES);
    let full = check_with(&oar((0, 8)), |config| config.prims_max = 1);
    assert_eq!(paths(&full.remarks), ["region"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_archives_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = changed(|entries| entries.retain(|(path, _)| !path.starts_with("terrains")));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = check_oar(&bytes[..], &CheckConfig::default());
        let _ = check_iar(&bytes[..], &CheckConfig::default());
    }
}
