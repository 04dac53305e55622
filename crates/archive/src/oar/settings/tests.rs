//! Settings as OpenSimulator writes them.

use super::*;
use proptest::prelude::*;

const SAMPLE: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?>
<RegionSettings>
  <General>
    <AllowDamage>True</AllowDamage>
    <AllowLandResell>False</AllowLandResell>
    <AllowLandJoinDivide>True</AllowLandJoinDivide>
    <BlockFly>True</BlockFly>
    <BlockLandShowInSearch>False</BlockLandShowInSearch>
    <BlockTerraform>True</BlockTerraform>
    <DisableCollisions>False</DisableCollisions>
    <DisablePhysics>True</DisablePhysics>
    <DisableScripts>True</DisableScripts>
    <MaturityRating>1</MaturityRating>
    <RestrictPushing>True</RestrictPushing>
    <AgentLimit>111</AgentLimit>
    <ObjectBonus>1.4</ObjectBonus>
    <Casino>False</Casino>
  </General>
  <GroundTextures>
    <Texture1>00000000-0000-0000-0000-000000000001</Texture1>
    <Texture2>00000000-0000-0000-0000-000000000002</Texture2>
    <Texture3>00000000-0000-0000-0000-000000000003</Texture3>
    <Texture4>00000000-0000-0000-0000-000000000004</Texture4>
    <ElevationLowSW>15.9</ElevationLowSW>
    <ElevationLowNW>14.9</ElevationLowNW>
    <ElevationLowSE>18.3</ElevationLowSE>
    <ElevationLowNE>19.3</ElevationLowNE>
    <ElevationHighSW>49.9</ElevationHighSW>
    <ElevationHighNW>45.3</ElevationHighNW>
    <ElevationHighSE>49.1</ElevationHighSE>
    <ElevationHighNE>54.1</ElevationHighNE>
  </GroundTextures>
  <Terrain>
    <WaterHeight>23</WaterHeight>
    <TerrainRaiseLimit>17.9</TerrainRaiseLimit>
    <TerrainLowerLimit>-0.4</TerrainLowerLimit>
    <UseEstateSun>True</UseEstateSun>
    <FixedSun>True</FixedSun>
    <SunPosition>12</SunPosition>
  </Terrain>
  <Telehub>
    <TelehubObject>00000000-0000-0000-0000-000000000005</TelehubObject>
    <SpawnPoint>1.5,-2,0.33</SpawnPoint>
    <SpawnPoint>0,0,3</SpawnPoint>
  </Telehub>
  <Novelty a='b'>kept</Novelty>
</RegionSettings>";

fn sample() -> ArchivedSettings {
    let ReadDocument { value, unread } = ArchivedSettings::read(SAMPLE.as_bytes()).unwrap();
    assert_eq!(unread, vec![]);
    value
}

/// Without the document, for comparisons.
fn bare(settings: ArchivedSettings) -> ArchivedSettings {
    ArchivedSettings { source: DocumentSource::default(), ..settings }
}

#[test]
fn every_value_is_read() {
    let settings = sample();
    let rules = RegionRules {
        allows_damage: true,
        allows_resale: false,
        allows_join_divide: true,
        blocks_fly: true,
        blocks_search: false,
        blocks_terraform: true,
        disables_collisions: false,
        disables_physics: true,
        disables_scripts: true,
        maturity: 1,
        restricts_pushing: true,
        agents_max: 111,
        object_bonus: 1.4,
    };
    assert_eq!(settings.rules, rules);
    assert_eq!(settings.ground_textures, [1, 2, 3, 4].map(Uuid::from_u128));
    assert_eq!(settings.ground_materials, [Uuid::nil(); 4]);
    assert_eq!(settings.ground_low_m, CornerHeights { sw: 15.9, nw: 14.9, se: 18.3, ne: 19.3 });
    assert_eq!(settings.ground_high_m, CornerHeights { sw: 49.9, nw: 45.3, se: 49.1, ne: 54.1 });
    assert_eq!((settings.water_m, settings.raise_max_m, settings.lower_max_m), (23.0, 17.9, -0.4));
    assert_eq!((settings.uses_estate_sun, settings.has_fixed_sun), (true, true));
    assert_eq!(settings.sun_position_h, 12.0);
    let points = [(1.5, -2.0, 0.33), (0.0, 0.0, 3.0)].map(|(yaw_rad, pitch_rad, distance_m)| SpawnPoint {
        yaw_rad,
        pitch_rad,
        distance_m,
    });
    let telehub = ArchivedTelehub { object: Uuid::from_u128(5), spawn_points: points.to_vec() };
    assert_eq!(settings.telehub, Some(telehub));
    assert_eq!((settings.environment, settings.allows_direct_teleport), (None, None));
}

#[test]
fn changes_leave_the_rest_as_it_was() {
    let mut settings = sample();
    assert_eq!(settings.write(), SAMPLE);
    settings.water_m = 20.5;
    assert_eq!(settings.write(), SAMPLE.replace(">23<", ">20.5<"));
    settings.telehub = None;
    settings.environment = Some("{'a':i1}".to_owned());
    settings.ground_materials[2] = Uuid::from_u128(9);
    settings.allows_direct_teleport = Some(false);
    let text = settings.write();
    for kept in ["<Casino>False</Casino>", "<Novelty a='b'>kept</Novelty>"] {
        assert!(text.contains(kept), "{text}");
    }
    let again = ArchivedSettings::read(text.as_bytes()).unwrap();
    assert_eq!((bare(again.value), again.unread), (bare(settings), vec![]));
}

/// The reader of OpenSimulator skips the node behind each value, so that two elements must not touch.
fn has_blanks_between_elements(text: &str) -> bool {
    !text.contains("><") || text.split("><").skip(1).all(|rest| rest.starts_with('/'))
}

#[test]
fn a_new_document_is_what_opensimulator_can_read() {
    let settings = ArchivedSettings {
        environment: Some("{}".to_owned()),
        allows_direct_teleport: Some(true),
        allows_parcel_environments: Some(false),
        ..bare(sample())
    };
    let text = settings.write();
    assert!(has_blanks_between_elements(&text), "{text}");
    let groups = ["<General>", "<GroundTextures>", "<Terrain>", "<Telehub>", "<Environment>", "<Estate>"];
    let places: Vec<Option<usize>> = groups.iter().map(|group| text.find(group)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    for field in FIELDS {
        assert!(text.contains(&format!("<{}", field.name)), "{}", field.name);
    }
    let again = ArchivedSettings::read(text.as_bytes()).unwrap();
    assert_eq!((bare(again.value), again.unread), (settings, vec![]));
    let least = ArchivedSettings::default().write();
    assert!(least.contains("\n  <Telehub />\n") && !least.contains("<Estate>"), "{least}");
    assert_eq!(bare(ArchivedSettings::read(least.as_bytes()).unwrap().value), ArchivedSettings::default());
}

#[test]
fn numbers_of_other_countries_and_unknown_spawn_points_are_named() {
    for (element, name) in [
        ("<Terrain><WaterHeight>20,5</WaterHeight></Terrain>", "WaterHeight"),
        ("<General><AllowDamage>yes</AllowDamage></General>", "AllowDamage"),
        ("<Telehub><SpawnPoint>1,2</SpawnPoint></Telehub>", "Telehub"),
        ("<Telehub><SpawnPoint>1,2,3,4</SpawnPoint></Telehub>", "Telehub"),
        (&["<Telehub>", &"<SpawnPoint>1,2,3</SpawnPoint>".repeat(65), "</Telehub>"].concat(), "Telehub"),
    ] {
        let text = format!("<RegionSettings>{element}</RegionSettings>");
        let read = ArchivedSettings::read(text.as_bytes()).unwrap();
        assert_eq!(read.unread.iter().map(|unread| &*unread.element).collect::<Vec<_>>(), [name]);
        assert_eq!(read.value.write(), text);
    }
}

proptest! {
    #[test]
    fn any_numbers_are_read_as_they_were_written(
        water_m in -1e6_f64..1e6, bonus in 0.0_f64..10.0, agents in any::<i32>(), id in any::<u128>(),
        is_new in any::<bool>(),
    ) {
        let mut settings = if is_new { ArchivedSettings::default() } else { sample() };
        settings.water_m = water_m;
        settings.rules.object_bonus = bonus;
        settings.rules.agents_max = agents;
        settings.ground_textures[1] = Uuid::from_u128(id);
        let again = ArchivedSettings::read(settings.write().as_bytes()).unwrap().value;
        prop_assert_eq!(bare(again), bare(settings));
    }
}
