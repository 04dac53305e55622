//! Parcels: borders, settings, lists, owners.

use super::super::part::ObjectReturn;
use super::super::{LandAuthor, LandOrder, LandSurroundings, carry_out_orders};
use super::scene::*;
use crate::world::World;
use glam::Vec3;
use ids::{SessionKey, Uuid};
use link::{
    ACCESS_MAX, AccessEntry, AccessList, ENVIRONMENT_MAX, Environment, EstateEdit, LandChange, LandEdit,
    LandRect, LandRefusal, LandSale, Landing, LandingKind, ParcelEdit, ParcelFlags, ParcelNumber,
    RegionFlags, ReturnKinds,
};

const ONE: ParcelNumber = ParcelNumber(1);

fn divide(area: LandRect, id: u128) -> LandEdit {
    LandEdit::Divide { area, id: Uuid::from_u128(id) }
}

fn access(list: AccessList, is_first: bool, entries: &[(u64, u64)]) -> ParcelEdit {
    let entry = |&(session, expires_s)| AccessEntry { agent: agent(session), expires_s };
    ParcelEdit::Access { list, is_first, entries: entries.iter().map(entry).collect() }
}

fn n_parcels(scene: &Scene) -> usize {
    scene.land().state().parcels.len()
}

#[test]
fn a_part_of_a_parcel_becomes_one_with_the_same_settings() {
    let mut scene = Scene::flat();
    scene.set(OWNER, ONE, |settings| {
        settings.description = "Woods".into();
        settings.flags = settings.flags.union(ParcelFlags::SHOW_DIRECTORY);
        settings.landing =
            Landing { kind: LandingKind::Point, at: Vec3::new(70.0, 70.0, 22.0), look_at: Vec3::X };
    });
    // Borders are rounded to squares.
    scene.edit(OWNER, divide(rect(61.0, 63.9, 80.4, 72.0), 7)).unwrap();
    let part = scene.parcel(2);
    assert_eq!((part.n_squares, part.id, part.owner), (10, Uuid::from_u128(7), Some(agent(OWNER))));
    assert_eq!((&*part.settings.description, part.settings.landing), ("Woods", Landing::ANYWHERE));
    assert!(!part.settings.flags.any(ParcelFlags::SHOW_DIRECTORY));
    assert_eq!((scene.number_at(60.1, 64.1), scene.number_at(59.9, 64.1)), (ParcelNumber(2), ONE));
    let former = scene.parcel(1);
    assert_eq!(
        (former.n_squares, former.settings.landing),
        (64 * 64 - 10, Landing::ANYWHERE),
        "its point was on the part"
    );
    let changes = &scene.frame.land;
    let parcels: Vec<u16> = changes
        .iter()
        .filter_map(|change| match change {
            LandChange::Parcel(parcel) => Some(parcel.number.0),
            _ => None,
        })
        .collect();
    assert_eq!(parcels, [1, 2]);
    let squares = changes.iter().find_map(|change| match change {
        LandChange::Squares(ParcelNumber(2), set) => Some(set),
        _ => None,
    });
    assert_eq!(squares.map(link::SquareSet::bounds), Some([(15, 16), (19, 17)]));
}

#[test]
fn divisions_that_cannot_be_are_refused() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, divide(rect(0.0, 0.0, 16.0, 16.0), 7)).unwrap();
    let nan = f32::NAN;
    for (area, id, reason) in [
        (rect(0.0, 0.0, 32.0, 16.0), 8, LandRefusal::SeveralParcels),
        (rect(0.0, 0.0, 16.0, 16.0), 8, LandRefusal::WholeParcel),
        (rect(0.0, 0.0, 8.0, 8.0), 7, LandRefusal::IdTaken),
        (rect(0.0, 0.0, 8.0, 8.0), 0xA, LandRefusal::IdTaken),
        (rect(0.0, 0.0, 8.0, 8.0), 0, LandRefusal::IdTaken),
        (rect(8.0, 0.0, 8.0, 8.0), 8, LandRefusal::NoArea),
        (rect(9.0, 0.0, 8.0, 8.0), 8, LandRefusal::NoArea),
        (rect(-8.0, 0.0, 8.0, 8.0), 8, LandRefusal::NoArea),
        (rect(200.0, 200.0, 300.0, 300.0), 8, LandRefusal::NoArea),
        (rect(nan, 0.0, 8.0, 8.0), 8, LandRefusal::NoArea),
        (rect(0.0, 0.0, 8.0, f32::INFINITY), 8, LandRefusal::NoArea),
    ] {
        assert_eq!(scene.edit(OWNER, divide(area, id)), Err(reason), "{area:?}");
    }
    assert_eq!(scene.edit(ADA, divide(rect(0.0, 0.0, 8.0, 8.0), 8)), Err(LandRefusal::NotPermitted));
    assert_eq!(n_parcels(&scene), 2);
}

#[test]
fn a_region_has_at_most_as_many_parcels_as_squares_of_256_m() {
    let mut scene = Scene::of(link::Terrain::flat(512, GROUND_M));
    let mut n = 0_u16;
    // Many in a step: a mirror compares after each.
    while n_parcels(&scene) < ParcelNumber::COUNT_MAX {
        for _ in 0..512 {
            let (x, y) = (f32::from(n % 128) * 4.0, f32::from(n / 128) * 4.0);
            scene.edit_by(OWNER, divide(rect(x, y, x + 4.0, y + 4.0), 0x100 + u128::from(n)));
            n += 1;
        }
        scene.step();
    }
    assert_eq!(scene.refusals().last(), Some(&(OWNER, LandRefusal::TooManyParcels)));
    let join = LandEdit::Join(rect(0.0, 0.0, 512.0, 512.0));
    assert_eq!(scene.edit(OWNER, join), Ok(()));
    assert_eq!((n_parcels(&scene), scene.parcel(1).n_squares), (1, 128 * 128));
}

#[test]
fn joined_parcels_have_the_settings_of_the_largest() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, divide(rect(0.0, 0.0, 16.0, 16.0), 7)).unwrap();
    scene.edit(OWNER, divide(rect(16.0, 0.0, 64.0, 16.0), 8)).unwrap();
    scene.set(OWNER, ParcelNumber(3), |settings| settings.name = "Beach".into());
    assert_eq!(scene.edit(OWNER, LandEdit::Join(rect(0.0, 0.0, 8.0, 8.0))), Err(LandRefusal::OneParcel));
    scene.edit(OWNER, LandEdit::Join(rect(12.0, 0.0, 20.0, 4.0))).unwrap();
    assert_eq!(
        (n_parcels(&scene), scene.parcel(3).n_squares, &*scene.parcel(3).settings.name),
        (2, 64, "Beach")
    );
    assert!(scene.frame.land.contains(&LandChange::Removed(ParcelNumber(2))));
    // Numbers are not given again at once.
    scene.edit(OWNER, divide(rect(0.0, 0.0, 16.0, 16.0), 9)).unwrap();
    assert_eq!(scene.number_at(1.0, 1.0), ParcelNumber(4));
    let number = scene.divide_for(ADA, rect(100.0, 100.0, 120.0, 120.0));
    assert_eq!(
        scene.edit(OWNER, LandEdit::Join(rect(90.0, 90.0, 130.0, 130.0))),
        Err(LandRefusal::SeveralOwners)
    );
    assert_eq!(
        scene.edit(ADA, LandEdit::Join(rect(90.0, 90.0, 130.0, 130.0))),
        Err(LandRefusal::NotPermitted)
    );
    assert_eq!(scene.parcel(number.0).n_squares, 25);
}

#[test]
fn a_parcel_that_comes_and_goes_within_a_tick_leaves_no_trace() {
    let mut scene = Scene::flat();
    let before = scene.land().state();
    scene.edit_by(OWNER, divide(rect(0.0, 0.0, 16.0, 16.0), 7));
    scene.edit_by(OWNER, LandEdit::Join(rect(0.0, 0.0, 32.0, 16.0)));
    scene.step();
    assert_eq!((scene.refusals(), scene.land().state()), (Vec::new(), before));
}

#[test]
fn owners_divide_and_join_where_the_region_lets_them() {
    let mut scene = Scene::flat();
    scene.divide_for(ADA, rect(0.0, 0.0, 64.0, 64.0));
    assert_eq!(scene.edit(ADA, divide(rect(0.0, 0.0, 16.0, 16.0), 7)), Ok(()));
    let mut region = scene.land().estate().region;
    region.flags = region.flags.without(RegionFlags::ALLOW_PARCEL_CHANGES);
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Region(region))).unwrap();
    assert_eq!(scene.edit(ADA, divide(rect(16.0, 0.0, 32.0, 16.0), 8)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(MANAGER, divide(rect(16.0, 0.0, 32.0, 16.0), 8)), Ok(()));
}

#[test]
fn settings_are_for_owner_and_estate() {
    let mut scene = Scene::flat();
    let number = scene.divide_for(ADA, rect(0.0, 0.0, 64.0, 64.0));
    let named = |scene: &Scene, name: &str| {
        let settings = link::ParcelSettings { name: name.into(), ..scene.parcel(number.0).settings.clone() };
        LandEdit::Parcel(number, ParcelEdit::Settings(Box::new(settings)))
    };
    for (session, outcome) in
        [(ADA, Ok(())), (OWNER, Ok(())), (MANAGER, Ok(())), (EVE, Err(LandRefusal::NotPermitted))]
    {
        let edit = named(&scene, &format!("of {session}"));
        assert_eq!(scene.edit(session, edit), outcome, "{session}");
    }
    assert_eq!(&*scene.parcel(number.0).settings.name, "of 2");
    assert!(scene.frame.land.is_empty(), "nothing of a refused edit");
}

#[test]
fn a_landing_point_is_on_its_parcel_and_numbers_are_numbers() {
    let mut scene = Scene::flat();
    let number = scene.divide_for(ADA, rect(0.0, 0.0, 64.0, 64.0));
    let with = |scene: &Scene, at: Vec3| {
        let mut settings = scene.parcel(number.0).settings.clone();
        settings.landing = Landing { kind: LandingKind::Point, at, look_at: Vec3::Y };
        LandEdit::Parcel(number, ParcelEdit::Settings(Box::new(settings)))
    };
    for (at, outcome) in [
        (Vec3::new(63.0, 1.0, 30.0), Ok(())),
        (Vec3::new(65.0, 1.0, 30.0), Err(LandRefusal::LandingElsewhere)),
        (Vec3::new(f32::NAN, 1.0, 30.0), Err(LandRefusal::Malformed)),
        (Vec3::ZERO, Ok(())),
    ] {
        let edit = with(&scene, at);
        assert_eq!(scene.edit(ADA, edit), outcome, "{at}");
    }
}

#[test]
fn access_lists_come_in_sections_and_set_their_flags() {
    let mut scene = Scene::flat();
    let number = scene.divide_for(ADA, rect(0.0, 0.0, 64.0, 64.0));
    let later = NOW_S + 3_600;
    let edit = |edit| LandEdit::Parcel(number, edit);
    // The owner, null and past entries are left out.
    scene
        .edit(ADA, edit(access(AccessList::Banned, true, &[(EVE, 0), (ADA, 0), (0, 0), (9, 5), (8, later)])))
        .unwrap();
    let banned = |scene: &Scene| {
        scene.parcel(number.0).banned.iter().map(|entry| (entry.agent, entry.expires_s)).collect::<Vec<_>>()
    };
    assert_eq!(banned(&scene), [(agent(EVE), 0), (agent(8), later)]);
    assert!(scene.parcel(number.0).settings.flags.any(ParcelFlags::USE_BAN_LIST));
    scene.edit(ADA, edit(access(AccessList::Banned, false, &[(EVE, later), (7, 0)]))).unwrap();
    assert_eq!(banned(&scene), [(agent(EVE), later), (agent(7), 0), (agent(8), later)]);
    assert_eq!(scene.edit(EVE, edit(access(AccessList::Banned, true, &[]))), Err(LandRefusal::NotPermitted));
    // An empty list is one null entry.
    scene.edit(ADA, edit(access(AccessList::Banned, true, &[(0, 0)]))).unwrap();
    assert!(banned(&scene).is_empty());
    assert!(!scene.parcel(number.0).settings.flags.any(ParcelFlags::USE_BAN_LIST));
    let many: Vec<(u64, u64)> = (100..100 + ACCESS_MAX as u64).map(|n| (n, 0)).collect();
    scene.edit(ADA, edit(access(AccessList::Allowed, true, &many))).unwrap();
    assert_eq!(
        scene.edit(ADA, edit(access(AccessList::Allowed, false, &[(EVE, 0)]))),
        Err(LandRefusal::ListFull)
    );
    assert_eq!(scene.parcel(number.0).allowed.len(), ACCESS_MAX);
    let mut region = scene.land().estate().region;
    region.flags = region.flags.without(RegionFlags::ALLOW_PARCEL_ACCESS);
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Region(region))).unwrap();
    assert_eq!(
        scene.edit(ADA, edit(access(AccessList::Allowed, true, &[]))),
        Err(LandRefusal::AccessBlocked)
    );
}

#[test]
fn parcels_change_hands() {
    let mut scene = Scene::flat();
    let number = scene.divide_for(ADA, rect(0.0, 0.0, 64.0, 64.0));
    let owner = |scene: &Scene| scene.parcel(number.0).owner;
    let edit = |edit| LandEdit::Parcel(number, edit);
    let buy = |price| ParcelEdit::Buy { price, area_m2: 64 * 64 };
    assert_eq!(scene.edit(EVE, edit(buy(0))), Err(LandRefusal::NotForSale));
    let offer = |price, buyer: u64| {
        move |settings: &mut link::ParcelSettings| {
            settings.flags = settings.flags.union(ParcelFlags::FOR_SALE);
            settings.group = Uuid::from_u128(5);
            settings.sale = LandSale { price, buyer: agent(buyer).0 };
        }
    };
    scene.set(ADA, number, offer(0, MANAGER));
    assert_eq!(scene.edit(EVE, edit(buy(0))), Err(LandRefusal::NotForSale));
    scene.set(ADA, number, offer(10, 0));
    assert_eq!(scene.edit(EVE, edit(buy(0))), Err(LandRefusal::OfferChanged));
    assert_eq!(scene.edit(EVE, edit(buy(10))), Err(LandRefusal::NoCurrency));
    scene.set(ADA, number, offer(0, EVE));
    assert_eq!(scene.edit(ADA, edit(buy(0))), Err(LandRefusal::NotForSale), "it owns it");
    assert_eq!(
        scene.edit(EVE, edit(ParcelEdit::Buy { price: 0, area_m2: 4 })),
        Err(LandRefusal::OfferChanged)
    );
    assert_eq!(scene.edit(EVE, edit(buy(0))), Ok(()));
    let sold = scene.parcel(number.0);
    assert_eq!(
        (sold.owner, sold.settings.sale, sold.settings.group),
        (Some(agent(EVE)), LandSale::default(), Uuid::nil())
    );
    assert!(!sold.settings.flags.any(ParcelFlags::OF_SALE));

    assert_eq!(scene.edit(ADA, edit(ParcelEdit::Release)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(EVE, edit(ParcelEdit::Release)), Ok(()));
    assert_eq!(owner(&scene), Some(agent(OWNER)));
    assert_eq!(scene.edit(OWNER, edit(ParcelEdit::ForceOwner(None))), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit_as_operator(edit(ParcelEdit::ForceOwner(None))), Ok(()));
    assert_eq!(owner(&scene), None);
    assert_eq!(
        scene.edit_as_operator(edit(ParcelEdit::ForceOwner(Some(agent(0))))),
        Err(LandRefusal::Malformed)
    );
    for (session, outcome) in [(ADA, Err(LandRefusal::NotPermitted)), (MANAGER, Ok(()))] {
        assert_eq!(scene.edit(session, edit(ParcelEdit::Reclaim)), outcome);
    }
    assert_eq!(owner(&scene), Some(agent(OWNER)));
}

#[test]
fn only_the_estate_sells_where_it_blocks_resale() {
    let mut scene = Scene::flat();
    let number = scene.divide_for(ADA, rect(0.0, 0.0, 64.0, 64.0));
    let mut region = scene.land().estate().region;
    region.flags = region.flags.union(RegionFlags::BLOCK_LAND_RESELL);
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Region(region))).unwrap();
    let mut settings = scene.parcel(number.0).settings.clone();
    settings.flags = settings.flags.union(ParcelFlags::FOR_SALE);
    let offer = LandEdit::Parcel(number, ParcelEdit::Settings(Box::new(settings)));
    assert_eq!(scene.edit(ADA, offer.clone()), Err(LandRefusal::ResaleBlocked));
    assert_eq!(scene.edit(OWNER, offer), Ok(()));
    // Other settings of an offered parcel are free.
    scene.set(ADA, number, |settings| settings.name = "Woods".into());
}

#[test]
fn environments_and_unknown_parcels() {
    let mut scene = Scene::flat();
    let of = |length: usize| Some(Environment { version: 3, bytes: vec![7; length].into() });
    let edit = |length| of_parcel(1, ParcelEdit::Environment(of(length)));
    assert_eq!(scene.edit(ADA, edit(3)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(OWNER, edit(ENVIRONMENT_MAX + 1)), Err(LandRefusal::Malformed));
    assert_eq!(scene.edit(OWNER, edit(ENVIRONMENT_MAX)), Ok(()));
    assert_eq!(scene.parcel(1).environment, of(ENVIRONMENT_MAX));
    assert_eq!(scene.edit(OWNER, of_parcel(1, ParcelEdit::AutoReturn { minutes: 60 })), Ok(()));
    assert_eq!(scene.parcel(1).auto_return_min, 60);
    for number in [0, 2, u16::MAX] {
        for edit in
            [ParcelEdit::Release, ParcelEdit::Environment(None), ParcelEdit::Buy { price: 0, area_m2: 0 }]
        {
            assert_eq!(scene.edit(OWNER, of_parcel(number, edit)), Err(LandRefusal::UnknownParcel));
        }
    }
}

#[test]
fn orders_to_return_objects_wait_for_the_objects_phase_of_the_same_tick() {
    let mut scene = Scene::flat();
    let World { land, setting, roster, counters, .. } = &mut scene.world;
    let land = land.as_deref_mut().expect("with land");
    let mut carry_out = |land: &mut super::super::Land, session: u64, kinds, owners: &[u64]| {
        let author = LandAuthor { agent: Some(agent(session)), is_operator: false };
        let owners = owners.iter().map(|&owner| agent(owner)).collect();
        let edit = of_parcel(1, ParcelEdit::ReturnObjects { kinds, owners });
        let mut orders = vec![LandOrder { author, session: SessionKey(session), sequence: 1, at_s: 0, edit }];
        let (ground, mut events) = (&mut setting.ground, Vec::new());
        let around =
            LandSurroundings { ground, roster, counters, seed: 1, has_npcs: false, is_closed: false };
        carry_out_orders(Some(land), &mut orders, around, &mut events);
        events.is_empty()
    };
    assert!(carry_out(land, OWNER, ReturnKinds::OTHER, &[]));
    assert!(!carry_out(land, ADA, ReturnKinds::OTHER, &[]));
    assert!(!carry_out(land, ADA, ReturnKinds::LISTED, &[ADA, EVE]));
    assert!(carry_out(land, ADA, ReturnKinds::LISTED, &[ADA]), "its own objects");
    assert!(!carry_out(land, OWNER, ReturnKinds::LISTED, &[9; 256]));
    let order = |session, kinds, owners: &[u64]| ObjectReturn {
        by: Some(agent(session)),
        parcel: ONE,
        kinds,
        owners: owners.iter().map(|&owner| agent(owner)).collect(),
    };
    assert_eq!(
        land.object_returns(),
        [order(OWNER, ReturnKinds::OTHER, &[]), order(ADA, ReturnKinds::LISTED, &[ADA])]
    );
    scene.step();
    assert!(scene.land().object_returns().is_empty());
}
