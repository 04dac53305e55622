//! Control files of every version.

use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const OF_OLDEST: &str =
    "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<archive major_version=\"0\" minor_version=\"1\" />";

const OF_ONE: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?>
<archive major_version=\"0\" minor_version=\"8\">
  <creation_info>
    <datetime>1460000000</datetime>
    <id>00000000-0000-0000-0000-000000000001</id>
  </creation_info>
  <assets_included>True</assets_included>
  <region_info>
    <is_megaregion>False</is_megaregion>
    <size_in_meters>512,256</size_in_meters>
    <novelty>kept</novelty>
  </region_info>
</archive>";

const OF_SEVERAL: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?>
<archive major_version=\"1\" minor_version=\"0\">
  <creation_info>
    <datetime>1460000000</datetime>
  </creation_info>
  <assets_included>False</assets_included>
  <regions>
    <row>
      <region>
        <id>00000000-0000-0000-0000-000000000001</id>
        <dir>1_1_A_b</dir>
        <size_in_meters>256,256</size_in_meters>
      </region>
      <region />
    </row>
    <row />
    <row>
      <region></region>
      <region>
        <id>00000000-0000-0000-0000-000000000002</id>
        <dir>2_3_C</dir>
      </region>
    </row>
  </regions>
</archive>";

fn read(text: &str) -> OarControl {
    let ReadDocument { value, unread } = OarControl::read(text.as_bytes()).unwrap();
    assert_eq!(unread, vec![]);
    value
}

/// Without the document, for comparisons.
fn bare(control: OarControl) -> OarControl {
    OarControl { source: DocumentSource::default(), ..control }
}

const SIZE: RegionSize = RegionSize { width_m: 512, depth_m: 256 };

#[test]
fn an_archive_of_one_region_has_its_size() {
    let control = read(OF_ONE);
    let expected = OarControl {
        is_megaregion: Some(false),
        ..OarControl::single(Uuid::from_u128(1), SIZE, 1_460_000_000)
    };
    assert_eq!(bare(control.clone()), expected);
    assert_eq!((control.size_of(None), control.size_of(Some("x"))), (Some(SIZE), None));
    assert!(!control.is_multiple());
    assert_eq!(control.write(), OF_ONE);
    let moved = OarControl { region: Some(Uuid::from_u128(7)), ..control };
    assert_eq!(moved.write(), OF_ONE.replace("000000000001<", "000000000007<"));
}

#[test]
fn an_archive_of_several_regions_has_rows_with_gaps() {
    let control = read(OF_SEVERAL);
    let directories: Vec<&str> = control.regions().map(|region| &*region.directory).collect();
    assert_eq!(directories, ["1_1_A_b", "2_3_C"]);
    let gaps: Vec<Vec<bool>> =
        control.rows.iter().map(|row| row.iter().map(Option::is_none).collect()).collect();
    assert_eq!(gaps, [vec![false, true], vec![], vec![true, false]]);
    assert_eq!(control.size_of(Some("1_1_A_b")), Some(RegionSize { width_m: 256, depth_m: 256 }));
    assert_eq!((control.size_of(Some("2_3_C")), control.size_of(None)), (None, None));
    assert_eq!(control.write(), OF_SEVERAL);
    let new = OarControl::multiple(control.rows.clone(), 1_460_000_000).write();
    // OpenSimulator's reader skips the node behind each value.
    assert!(!new.contains("</id><") && !new.contains("</dir><"), "{new}");
    assert_eq!(read(&new).rows, control.rows);
}

#[test]
fn absent_elements_are_those_of_older_versions() {
    let control = read(OF_OLDEST);
    assert_eq!(bare(control.clone()), OarControl { version: (0, 1), ..OarControl::default() });
    assert_eq!(control.write(), OF_OLDEST);
    for version in (1..=8).map(|minor| (0, minor)).chain([(1, 0), (1, 5)]) {
        let control = OarControl { version, ..OarControl::default() };
        assert_eq!(bare(read(&control.write())), control);
        let raised = OarControl { version, ..read(OF_ONE) };
        assert_eq!(bare(read(&raised.write())), bare(raised));
    }
}

#[test]
fn other_documents_and_newer_versions_are_refused() {
    let refused = |text: &str| OarControl::read(text.as_bytes()).unwrap_err();
    assert_eq!(refused("<archive major_version='2' minor_version='0'/>"), DocumentError::Version(2, 0));
    assert_eq!(refused("<archive minor_version='1'/>"), DocumentError::Attribute("major_version"));
    let wrong = "<archive major_version='0' minor_version='x'/>";
    assert_eq!(refused(wrong), DocumentError::Attribute("minor_version"));
    assert!(matches!(refused("<iarchive/>"), DocumentError::Other { expected: "archive", .. }));
    let bomb = "<!DOCTYPE a [<!ENTITY b 'cc'>]><archive major_version='0' minor_version='8'>&b;</archive>";
    assert!(matches!(refused(bomb), DocumentError::Xml(_)));
    let deep = ["<archive major_version='0' minor_version='8'>", &"<a>".repeat(100)].concat();
    assert!(matches!(refused(&deep), DocumentError::Xml(_)));
}

#[test]
fn regions_that_cannot_be_told_apart_from_files_are_named() {
    for regions in [
        "<row><region><dir>a/b</dir></region></row>",
        "<row><region><id>00000000-0000-0000-0000-000000000001</id></region></row>",
        "<row><region><id>x</id><dir>a</dir></region></row>",
        "<line/>",
        "<row><place/></row>",
        &"<row/>".repeat(300),
    ] {
        let attributes = "major_version='1' minor_version='0'";
        let text = format!("<archive {attributes}><regions>{regions}</regions></archive>");
        let read = OarControl::read(text.as_bytes()).unwrap();
        assert_eq!((read.unread.len(), read.value.rows.len()), (1, 0), "{regions}");
        assert_eq!(read.value.write(), text);
    }
    for size in ["256", "0,256", "256,x", "256,256,256", "NaN,256", "256.5,256", "70000,256"] {
        assert_eq!(RegionSize::read(size), None, "{size}");
    }
    assert_eq!(RegionSize::read("256, 512.0"), Some(RegionSize { width_m: 256, depth_m: 512 }));
}

proptest! {
    #[test]
    fn any_rows_are_read_as_they_were_written(
        rows in vec(vec(option::of((any::<u128>(), "[a-z<&\" \u{e4}]{1,9}", 1_u32..65_536)), 0..4), 1..4),
    ) {
        let region = |(id, directory, side): (u128, String, u32)| OarRegion {
            id: Uuid::from_u128(id),
            directory: directory.into(),
            size_m: Some(RegionSize { width_m: side, depth_m: side }),
            unknown: "".into(),
        };
        let rows: Vec<Vec<Option<OarRegion>>> =
            rows.into_iter().map(|row| row.into_iter().map(|it| it.map(region)).collect()).collect();
        let control = OarControl::multiple(rows, 1);
        prop_assert_eq!(bare(read(&control.write())), control);
    }
}
