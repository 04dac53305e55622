//! Plans of archives: the chosen region, its demand, and archives that are none.

use super::*;
use crate::testing::*;
use archive::check::{CheckConfig, check_oar_with};
use archive::file::ArchiveWriter;
use archive::oar::{OarRegion, OarWriter, RegionSize};
use archive::object::{WriteOptions, write_group};

const SIZE: RegionSize = RegionSize { width_m: 256, depth_m: 256 };

fn archive_of(control: &OarControl, write: impl FnOnce(&mut OarWriter<Vec<u8>>)) -> Vec<u8> {
    let mut writer = OarWriter::begin(ArchiveWriter::plain(Vec::new()), control).unwrap();
    write(&mut writer);
    writer.finish().unwrap()
}

/// Adds an object with two prims, whose ids follow each other.
fn add_object(writer: &mut OarWriter<Vec<u8>>, directory: Option<&str>, n: u128, x: f32) {
    let mut root = part(n, Vec3::new(x, 10.0, 20.0));
    root.flags = PrimFlags::PHYSICS.0;
    let root = with(root, |body| body.contents = notecards(&[1, 2], agent(1)));
    let document = write_group(&group(root, vec![part(n + 1, Vec3::X)]), &WriteOptions::default());
    writer.object(directory, ("Box", [x, 10.0, 20.0], id(n)), &document).unwrap();
}

fn plan(file: &[u8], wanted: Option<&str>) -> Result<RegionPlan, PlanError> {
    let mut planner = RegionPlanner::default();
    let report = check_oar_with(file, &CheckConfig::default(), &mut planner).expect("an archive");
    planner.finish(wanted, "Harbour", &report)
}

#[test]
fn the_demand_is_that_of_objects_with_a_place() {
    let file = archive_of(&OarControl::single(id(1), SIZE, 7), |writer| {
        let settings = ArchivedSettings {
            telehub: Some(archive::oar::ArchivedTelehub { object: id(10), spawn_points: vec![] }),
            ..ArchivedSettings::default()
        };
        writer.settings(None, "Harbour", &settings).unwrap();
        let parcel = ArchivedParcel { id: id(5), bitmap: vec![255; 512], ..ArchivedParcel::default() };
        writer.parcel(None, &parcel).unwrap();
        add_object(writer, None, 10, 20.0);
        add_object(writer, None, 20, 200.0);
    });
    let plan = plan(&file, None).unwrap();
    assert_eq!((plan.directory(), plan.size_m(), plan.version()), (None, (256, 256), (0, 8)));
    assert_eq!((plan.n_documents(), plan.parcels().len(), plan.telehub()), (2, 1, Some(id(10))));
    let still = plan.placing(PlacingOptions::default(), 256);
    let all = plan.demand(&still, &|_| false);
    assert_eq!((all.n_objects, all.n_prims, all.n_physical, all.n_items), (2, 4, 4, 4));
    assert_eq!(plan.demand(&still, &|root| root == id(20)).n_objects, 1);
    let moved = PlacingOptions { displacement: Vec3::new(100.0, 0.0, 0.0), ..PlacingOptions::default() };
    let moved = plan.placing(moved, 256);
    assert_eq!(plan.demand(&moved, &|_| false).n_prims, 2);
    let ids: Vec<(Uuid, &[Uuid])> = plan.placed_ids(&moved).collect();
    assert_eq!(ids, [(id(10), &[id(10), id(11)][..])]);
    let documents = plan.documents(true, &[(0, id(77)), (9, id(78))]);
    assert_eq!(documents.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [Uuid::nil(), id(77)]);
    assert!(plan.documents(false, &[]).is_empty());
}

#[test]
fn a_region_of_several_is_found_by_its_name_or_folder() {
    let region = |directory: &str| OarRegion {
        id: id(1),
        directory: directory.into(),
        size_m: Some(RegionSize { width_m: 512, ..SIZE }),
        ..OarRegion::default()
    };
    let rows = vec![vec![Some(region("1_1_Harbour")), None], vec![Some(region("1_2_Old_Town"))]];
    let control = OarControl::multiple(rows, 7);
    let file = archive_of(&control, |writer| {
        add_object(writer, Some("1_1_Harbour"), 10, 20.0);
        add_object(writer, Some("1_2_Old_Town"), 20, 20.0);
        add_object(writer, Some("1_2_Old_Town"), 30, 20.0);
    });
    for (wanted, directory, n_documents) in [
        (None, "1_1_Harbour", 1),
        (Some("old town"), "1_2_Old_Town", 2),
        (Some("1_2_Old_Town"), "1_2_Old_Town", 2),
    ] {
        let plan = plan(&file, wanted).unwrap();
        assert_eq!((plan.directory(), plan.n_documents()), (Some(directory), n_documents));
        assert_eq!(plan.size_m(), (512, 256));
    }
    let error = plan(&file, Some("Hills")).unwrap_err();
    assert!(error.to_string().contains("1_2_Old_Town"), "{error}");
}

#[test]
fn an_archive_without_a_control_file_is_refused() {
    let mut writer = ArchiveWriter::plain(Vec::new());
    let document = write_group(&group(part(1, Vec3::ONE), vec![]), &WriteOptions::default());
    writer.append("objects/Box_001-001-001__1.xml", document.as_bytes()).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(plan(&file, None).unwrap_err(), PlanError::NoControl);
}
