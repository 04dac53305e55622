//! The estate: settings and lists.

use super::scene::*;
use ids::Uuid;
use link::{
    EstateEdit, EstateList, GroundTextures, LandChange, LandEdit, LandRefusal, Maturity, RegionOptions, Sun,
    WaterAndLimits,
};

fn estate(edit: EstateEdit) -> LandEdit {
    LandEdit::Estate(edit)
}

#[test]
fn owner_and_managers_change_the_estate_and_others_do_not() {
    let mut scene = Scene::flat();
    let textures = GroundTextures { textures: [Uuid::from_u128(7); 4], ..GroundTextures::default() };
    let region = RegionOptions { maturity: Maturity::Adult, ..scene.land().estate().region };
    let sun = Sun { is_fixed: true, is_estates: false, hour: 12.0 };
    let edits = [
        EstateEdit::Name("Dales".into()),
        EstateEdit::Region(region),
        EstateEdit::Sun(sun),
        EstateEdit::Textures(textures),
        EstateEdit::Covenant(Uuid::from_u128(8)),
        EstateEdit::Levels(WaterAndLimits { water_m: 25.0, raise_m: 1.0, lower_m: 2.0 }),
    ];
    for edit in edits {
        assert_eq!(scene.edit(ADA, estate(edit.clone())), Err(LandRefusal::NotPermitted), "{edit:?}");
        assert!(scene.frame.land.is_empty());
        assert_eq!(scene.edit(MANAGER, estate(edit)), Ok(()));
        assert!(matches!(scene.frame.land[..], [LandChange::Estate(_)]));
    }
    let changed = scene.land().estate();
    assert_eq!(
        (&*changed.name, changed.sun, changed.textures, changed.region),
        ("Dales", sun, textures, region)
    );
    assert_eq!((changed.covenant, changed.covenant_s), (Uuid::from_u128(8), NOW_S));
    assert_eq!(scene.world.setting.ground.water_m, 25.0, "flyers float on the new water");
}

#[test]
fn impossible_settings_are_refused_and_wide_ones_clamped() {
    let mut scene = Scene::flat();
    let before = scene.land().estate().clone();
    let nan = f32::NAN;
    let mut textures = GroundTextures::default();
    textures.high_m[2] = f32::NEG_INFINITY;
    for edit in [
        EstateEdit::Levels(WaterAndLimits { water_m: nan, raise_m: 1.0, lower_m: 1.0 }),
        EstateEdit::Region(RegionOptions { object_bonus: nan, ..before.region }),
        EstateEdit::Sun(Sun { hour: nan, ..Sun::default() }),
        EstateEdit::Textures(textures),
        EstateEdit::List { list: EstateList::Allowed, id: Uuid::nil(), is_added: true },
    ] {
        assert_eq!(scene.edit(OWNER, estate(edit.clone())), Err(LandRefusal::Malformed), "{edit:?}");
    }
    assert_eq!(*scene.land().estate(), before);
    let wide = WaterAndLimits { water_m: -3.0, raise_m: 1e9, lower_m: -1e9 };
    scene.edit(OWNER, estate(EstateEdit::Levels(wide))).unwrap();
    let WaterAndLimits { water_m, raise_m, lower_m } = scene.land().estate().levels;
    assert_eq!((water_m, raise_m, lower_m), (0.0, 100.0, 0.0));
}

#[test]
fn managers_are_appointed_by_the_owner_and_owners_by_operators() {
    let mut scene = Scene::flat();
    assert_eq!(scene.edit(MANAGER, listed(EstateList::Managers, ADA, true)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(OWNER, listed(EstateList::Managers, ADA, true)), Ok(()));
    assert_eq!(scene.edit(ADA, estate(EstateEdit::Name("Ada's".into()))), Ok(()));
    let full: Vec<u64> = (50..68).collect();
    for &n in &full {
        assert_eq!(scene.edit(OWNER, listed(EstateList::Managers, n, true)), Ok(()));
    }
    assert_eq!(scene.edit(OWNER, listed(EstateList::Managers, 70, true)), Err(LandRefusal::ListFull));
    assert_eq!(scene.edit(OWNER, listed(EstateList::Managers, ADA, false)), Ok(()));
    assert_eq!(scene.edit(ADA, estate(EstateEdit::Name("Ada's".into()))), Err(LandRefusal::NotPermitted));
    assert_eq!(
        scene.edit(OWNER, estate(EstateEdit::Owner(Some(agent(EVE))))),
        Err(LandRefusal::NotPermitted)
    );
    assert_eq!(scene.edit_as_operator(estate(EstateEdit::Owner(Some(agent(EVE))))), Ok(()));
    assert_eq!(scene.edit(OWNER, listed(EstateList::Managers, ADA, true)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(EVE, listed(EstateList::Managers, ADA, true)), Ok(()));
}

#[test]
fn a_user_is_on_one_of_the_lists_and_owner_and_managers_are_not_banned() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, listed(EstateList::Allowed, 50, true)).unwrap();
    scene.edit(OWNER, listed(EstateList::Banned, 50, true)).unwrap();
    let lists = |scene: &Scene| (scene.land().estate().allowed.clone(), scene.land().estate().banned.clone());
    assert_eq!(lists(&scene), (vec![], vec![agent(50)]));
    scene.edit(MANAGER, listed(EstateList::Allowed, 50, true)).unwrap();
    assert_eq!(lists(&scene), (vec![agent(50)], vec![]));
    for session in [OWNER, MANAGER] {
        assert_eq!(scene.edit(OWNER, listed(EstateList::Banned, session, true)), Err(LandRefusal::Protected));
    }
}
