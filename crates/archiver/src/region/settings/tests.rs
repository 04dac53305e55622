//! Settings of archives as estates, and back.

use super::*;
use crate::testing::{agent, id};
use glam::Quat;
use proptest::prelude::*;

fn former() -> Estate {
    Estate { managers: vec![agent(3)], ..Estate::new("Hills", Some(agent(1)), 20.0) }
}

fn hub() -> FoundTelehub {
    FoundTelehub {
        object: id(70),
        name: "Hub".into(),
        position: Vec3::new(100.0, 50.0, 25.0),
        rotation: Quat::from_rotation_z(1.0),
    }
}

const DAY: &str = "{'flags':i0,'day_cycle':{'name':'A day'}}";

/// A document that another program has written, with values that are not modelled and numbers that are no 32-bit floats.
fn document() -> String {
    let text = ArchivedSettings {
        rules: RegionRules { blocks_fly: true, blocks_search: true, maturity: 2, ..RegionRules::default() },
        ground_textures: [id(5); 4],
        water_m: 19.35,
        lower_max_m: -17.1,
        telehub: Some(ArchivedTelehub {
            object: id(9),
            spawn_points: vec![SpawnPoint { yaw_rad: 1.0, pitch_rad: 0.5, distance_m: 4.0 }],
        }),
        environment: Some(DAY.to_owned()),
        allows_direct_teleport: Some(false),
        ..ArchivedSettings::default()
    };
    text.write().replace("</RegionSettings>", "<Novelty a=\"1\">kept</Novelty></RegionSettings>")
}

fn read(document: &str) -> ArchivedSettings {
    ArchivedSettings::read(document.as_bytes()).expect("a document").value
}

#[test]
fn settings_of_an_archive_become_those_of_the_estate_and_its_people_stay() {
    let estate = estate_of(&read(&document()), &former(), Some(&hub()));
    assert_eq!((&*estate.name, estate.owner, &estate.managers), ("Hills", Some(agent(1)), &vec![agent(3)]));
    let flags = estate.region.flags;
    assert!(flags.any(RegionFlags::BLOCK_FLY) && flags.any(RegionFlags::PUBLIC));
    assert!(!flags.any(RegionFlags::ALLOW_DIRECT_TELEPORT) && !flags.any(RegionFlags::BLOCK_LAND_RESELL));
    assert_eq!((estate.region.maturity, estate.region.agent_limit), (Maturity::Adult, 40));
    let WaterAndLimits { water_m, raise_m, lower_m } = estate.levels;
    assert_eq!((water_m, raise_m, lower_m), (19.35, 100.0, 17.1));
    assert_eq!(estate.environment.as_ref().map(|it| &*it.bytes), Some(DAY.as_bytes()));
    let telehub = estate.telehub.as_ref().expect("its object is there");
    assert_eq!((telehub.object, &*telehub.name), (id(70), "Hub"));
    let across = 4.0 * 0.5_f32.cos();
    let expected = Vec3::new(across * 1.0_f32.cos(), across * 1.0_f32.sin(), -4.0 * 0.5_f32.sin());
    assert!(telehub.spawn_points[0].abs_diff_eq(expected, 1e-5));
    assert_eq!(estate_of(&read(&document()), &former(), None).telehub, None, "its object is not there");
}

#[test]
fn settings_that_did_not_change_are_written_as_they_were() {
    let source = document();
    let estate = estate_of(&read(&source), &former(), Some(&FoundTelehub { object: id(9), ..hub() }));
    assert_eq!(settings_of(&estate, Some(read(&source))).write(), source);
    let mut changed = estate.clone();
    changed.levels.water_m = 21.5;
    changed.region.flags = changed.region.flags.without(RegionFlags::BLOCK_FLY);
    let text = settings_of(&changed, Some(read(&source))).write();
    let expected = source.replace("19.35", "21.5").replace("<BlockFly>True", "<BlockFly>False");
    assert_eq!(text, expected);
    let hub = FoundTelehub { object: id(70), ..hub() };
    let renewed = estate_of(&read(&source), &former(), Some(&hub));
    let text = settings_of(&renewed, Some(read(&source))).write();
    let expected = source.replace(&id(9).to_string(), &id(70).to_string());
    assert_eq!(text, expected, "only the object has another id");
}

#[test]
fn a_region_that_never_was_in_an_archive_gets_a_document_of_its_own() {
    let mut estate = former();
    estate.region.maturity = Maturity::Moderate;
    let map = wire::llsd::Llsd::map([("flags", wire::llsd::Llsd::Integer(1))]);
    let bytes = xml::encode(&map).into_bytes().into();
    estate.environment = Some(Environment { version: 4, bytes });
    let settings = settings_of(&estate, None);
    let again = estate_of(&read(&settings.write()), &Estate::new("Dales", Some(agent(9)), 1.0), None);
    assert_eq!((again.region, again.levels, again.sun), (estate.region, estate.levels, estate.sun));
    assert_eq!(again.textures, estate.textures);
    assert_eq!(settings.environment, Some(notation::encode(&map)));
    assert_eq!(settings.allows_direct_teleport, Some(true));
}

#[test]
fn an_environment_that_is_none_is_not_used_and_written_again() {
    for text in ["<llsd/>", "'text'", &format!("{{'a':'{}'}}", "x".repeat(70_000))] {
        let source = ArchivedSettings { environment: Some(text.to_owned()), ..ArchivedSettings::default() };
        let estate = estate_of(&source, &former(), None);
        assert_eq!(estate.environment, None);
        assert_eq!(settings_of(&estate, Some(source)).environment.as_deref(), Some(text));
    }
}

proptest! {
    #[test]
    fn estates_of_any_settings_are_sound_and_come_back(
        (water_m, bonus, hour) in (any::<f64>(), any::<f64>(), any::<f64>()),
        (maturity, agents_max) in (any::<i32>(), any::<i32>()),
        low in any::<f64>(),
    ) {
        let finite = |number: f64| if number.is_finite() { number } else { 0.0 };
        let settings = ArchivedSettings {
            rules: RegionRules {
                maturity,
                agents_max,
                object_bonus: finite(bonus),
                ..RegionRules::default()
            },
            water_m: finite(water_m),
            sun_position_h: finite(hour),
            ground_low_m: CornerHeights { sw: finite(low), nw: 1.0, se: 2.0, ne: 3.0 },
            ..ArchivedSettings::default()
        };
        let estate = estate_of(&settings, &former(), None);
        prop_assert!(estate.is_sound());
        let written = settings_of(&estate, None);
        prop_assert_eq!(estate_of(&written, &former(), None), estate);
    }

    #[test]
    fn places_around_a_telehub_come_back(
        (x, y, z) in (-50.0..50.0_f32, -50.0..50.0_f32, -50.0..50.0_f32),
    ) {
        let offset = Vec3::new(x, y, z);
        prop_assert!(offset_of(&spawn_point(offset)).abs_diff_eq(offset, 1e-3));
    }
}
