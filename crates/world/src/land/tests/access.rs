//! Access: parcels and estates that keep users out, and questions of other parts.

use super::super::{CLOSED_HEIGHT_M, LandArrival, LandDeed};
use super::scene::*;
use glam::{Quat, Vec2, Vec3};
use ids::{SessionKey, Uuid};
use link::{
    AccessEntry, AccessList, Action, Change, Control, ControlFlags, EntryRefusal, EstateEdit, EstateList,
    Event, LandEdit, LandEvent, LandRect, LandRefusal, Landing, LandingKind, ParcelEdit, ParcelFlags,
    ParcelNumber, RegionFlags, RegionOptions, Telehub, TelehubEdit,
};
use std::time::Duration;

/// A parcel of Ada's: 40 m × 40 m in the middle.
const PLOT: LandRect = rect(100.0, 100.0, 140.0, 140.0);

fn scene_with_plot() -> (Scene, ParcelNumber) {
    let mut scene = Scene::flat();
    let number = scene.divide_for(ADA, PLOT);
    (scene, number)
}

fn access(number: ParcelNumber, list: AccessList, session: u64, expires_s: u64) -> LandEdit {
    let entries = vec![AccessEntry { agent: agent(session), expires_s }];
    LandEdit::Parcel(number, ParcelEdit::Access { list, is_first: true, entries })
}

fn is_inside(position: Vec3) -> bool {
    (100.0..140.0).contains(&position.x) && (100.0..140.0).contains(&position.y)
}

fn region(scene: &Scene, flags: impl Fn(RegionFlags) -> RegionFlags) -> LandEdit {
    let region = scene.land().estate().region;
    LandEdit::Estate(EstateEdit::Region(RegionOptions { flags: flags(region.flags), ..region }))
}

#[test]
fn a_banned_avatar_leaves_the_parcel_in_the_tick_of_the_ban() {
    let (mut scene, number) = scene_with_plot();
    scene.teleport(EVE, Vec3::new(103.0, 120.0, 22.0));
    scene.run(20);
    let before = scene.position(EVE).unwrap();
    assert!(is_inside(before));
    scene.edit(ADA, access(number, AccessList::Banned, EVE, 0)).unwrap();
    let after = scene.position(EVE).unwrap();
    // To the nearest border, on the ground, and reported once.
    assert!((after.x - 100.0).abs() < 0.1 && after.x < 100.0 && (after.y - before.y).abs() < 0.1, "{after}");
    assert_eq!(after.z, GROUND_M + 0.95);
    assert_eq!(scene.frame.events, [Event::Land(SessionKey(EVE), LandEvent::PutOut(number))]);
    scene.step();
    assert!(scene.frame.events.is_empty());
}

#[test]
fn a_closed_parcel_is_a_wall_for_walkers_and_arrivals() {
    let (mut scene, number) = scene_with_plot();
    scene.edit(ADA, access(number, AccessList::Banned, EVE, 0)).unwrap();
    scene.teleport(EVE, Vec3::new(97.0, 120.0, 22.0));
    scene.run(5);
    let east = Control { flags: ControlFlags::AT_POS, body_rotation: Quat::IDENTITY };
    scene.send(EVE, Action::Control(east));
    for _ in 0..100 {
        scene.step();
        assert!(!is_inside(scene.position(EVE).unwrap()));
        assert!(scene.frame.events.is_empty(), "{:?}", scene.frame.events);
    }
    assert!(scene.position(EVE).unwrap().x > 99.5, "it stands at the border");
    scene.teleport(EVE, Vec3::new(120.0, 138.0, 22.0));
    let at = scene.position(EVE).unwrap();
    assert!(at.y > 140.0 && !is_inside(at), "{at}");
    // The owner, estate and others walk in.
    for session in [ADA, OWNER, MANAGER] {
        scene.teleport(session, Vec3::new(120.0, 110.0 + session as f32, 22.0));
        assert!(is_inside(scene.position(session).unwrap()));
    }
}

#[test]
fn bans_end_at_their_time_and_reach_up_to_a_height() {
    let (mut scene, number) = scene_with_plot();
    scene.edit(ADA, access(number, AccessList::Banned, EVE, NOW_S + 10)).unwrap();
    scene.send(EVE, Action::Control(Control { flags: ControlFlags::FLY, body_rotation: Quat::IDENTITY }));
    scene.teleport(EVE, Vec3::new(120.0, 120.0, GROUND_M + 0.95 + CLOSED_HEIGHT_M + 5.0));
    scene.step();
    assert!(is_inside(scene.position(EVE).unwrap()), "high above it");
    scene.teleport(EVE, Vec3::new(120.0, 120.0, GROUND_M + CLOSED_HEIGHT_M - 5.0));
    let at = scene.position(EVE).unwrap();
    assert!(!is_inside(at) && at.z > GROUND_M + 50.0, "a flyer is moved aside: {at}");
    // A second of world time is twenty ticks; the time of a command counts as well.
    scene.run(20 * 5);
    let clock = link::LandCommand { at_s: NOW_S + 11, edit: LandEdit::Clock };
    scene.send(ADA, Action::Land(Box::new(clock)));
    scene.teleport(EVE, Vec3::new(120.0, 120.0, 22.0));
    assert!(is_inside(scene.position(EVE).unwrap()));
    assert_eq!(scene.land().now_s(), NOW_S + 11);
    // Time does not run back.
    scene.send(ADA, Action::Land(Box::new(link::LandCommand { at_s: 5, edit: LandEdit::Clock })));
    scene.run(21);
    assert_eq!(scene.land().now_s(), NOW_S + 12);
    scene.send(ADA, Action::Land(Box::new(link::LandCommand { at_s: u64::MAX, edit: LandEdit::Clock })));
    scene.run(3);
    assert_eq!(scene.land().now_s(), u64::MAX / 2 / 1_000_000_000);
}

#[test]
fn an_avatar_at_rest_leaves_when_its_time_ends() {
    let (mut scene, number) = scene_with_plot();
    scene.teleport(EVE, Vec3::new(120.0, 120.0, 22.0));
    scene.edit(ADA, access(number, AccessList::Allowed, EVE, NOW_S + 3)).unwrap();
    for _ in 0..80 {
        let is_over = scene.land().now_s() >= NOW_S + 3;
        assert_eq!(is_inside(scene.position(EVE).unwrap()), !is_over);
        scene.step();
    }
    assert!(scene.land().now_s() > NOW_S + 3);
}

#[test]
fn an_access_list_lets_only_its_users_in_if_the_estate_lets_parcels_choose() {
    let (mut scene, number) = scene_with_plot();
    scene.edit(ADA, access(number, AccessList::Allowed, 50, 0)).unwrap();
    let at = Vec2::new(120.0, 120.0);
    let may = |scene: &Scene| {
        [ADA, EVE, 50, 51, OWNER].map(|session| scene.land().may_be_at(agent(session), at, 0.0))
    };
    assert_eq!(may(&scene), [true, false, true, false, true]);
    assert!(scene.land().is_restricted_at(at) && !scene.land().is_restricted_at(Vec2::new(99.0, 120.0)));
    assert!(!scene.land().is_restricted_at(Vec2::new(f32::NAN, 120.0)));
    let open = region(&scene, |flags| flags.without(RegionFlags::ALLOW_PARCEL_ACCESS));
    scene.edit(OWNER, open).unwrap();
    assert_eq!(may(&scene), [true; 5]);
    assert!(!scene.land().is_restricted_at(at));
}

#[test]
fn an_avatar_without_a_place_to_go_leaves_the_world() {
    let mut scene = Scene::flat();
    scene.edit(OWNER, access(ParcelNumber(1), AccessList::Allowed, ADA, 0)).unwrap();
    let refused = Event::Refused { session: SessionKey(EVE), reason: EntryRefusal::NotAdmitted };
    assert!(scene.frame.events.contains(&refused), "{:?}", scene.frame.events);
    assert!(scene.frame.changes.iter().any(|change| matches!(change, Change::Removed(_))));
    assert_eq!(
        [OWNER, MANAGER, ADA, EVE].map(|session| scene.position(session).is_some()),
        [true, true, true, false]
    );
}

#[test]
fn users_banned_from_the_estate_leave_and_do_not_come_back() {
    let mut scene = Scene::flat();
    scene.edit(MANAGER, listed(EstateList::Banned, EVE, true)).unwrap();
    let refused =
        |session| Event::Refused { session: SessionKey(session), reason: EntryRefusal::NotAdmitted };
    assert_eq!(scene.frame.events, [refused(EVE)]);
    assert_eq!(scene.position(EVE), None);
    scene.send(EVE, enter_at(EVE, Vec3::new(50.0, 50.0, 22.0)));
    scene.step();
    assert_eq!(scene.frame.events, [refused(EVE)]);
    assert!(scene.frame.changes.is_empty(), "never shown");
    let closed = region(&scene, |flags| flags.without(RegionFlags::PUBLIC));
    scene.edit(OWNER, closed).unwrap();
    assert_eq!(scene.frame.events, [refused(ADA)]);
    scene.edit(OWNER, listed(EstateList::Allowed, ADA, true)).unwrap();
    scene.send(ADA, enter_at(ADA, Vec3::new(50.0, 50.0, 22.0)));
    scene.step();
    assert!(scene.position(ADA).is_some());
}

#[test]
fn the_agent_limit_of_the_estate_holds_for_newcomers() {
    let mut scene = Scene::flat();
    let region = RegionOptions { agent_limit: 2, ..scene.land().estate().region };
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Region(region))).unwrap();
    assert_eq!(scene.world.n_avatars(), 4, "those that are in stay");
    scene.send(50, enter_at(50, Vec3::new(50.0, 50.0, 22.0)));
    scene.step();
    assert_eq!(scene.frame.events, [Event::Refused { session: SessionKey(50), reason: EntryRefusal::Full }]);
    assert_eq!(scene.world.n_avatars(), 4);
}

#[test]
fn other_parts_ask_what_users_may_do_at_a_point() {
    let (mut scene, number) = scene_with_plot();
    scene.set(ADA, number, |settings| {
        settings.flags =
            settings.flags.without(ParcelFlags::CREATE_OBJECTS.union(ParcelFlags::ALLOW_OBJECT_ENTRY));
        settings.has_any_sounds = false;
    });
    let (inside, outside) = (Vec2::new(120.0, 120.0), Vec2::new(50.0, 50.0));
    let land = scene.land();
    let may = |deed, at| [ADA, EVE, OWNER].map(|session| land.may(deed, agent(session), at));
    assert_eq!(may(LandDeed::Build, inside), [true, false, true]);
    assert_eq!(may(LandDeed::Build, outside), [true; 3]);
    assert_eq!(may(LandDeed::MakeSounds, inside), [true, false, true]);
    assert_eq!(may(LandDeed::Build, Vec2::new(-1.0, 50.0)), [false; 3]);
    assert_eq!(may(LandDeed::Build, Vec2::new(f32::NAN, 50.0)), [false; 3]);
    let enters = |session, from| land.may_move_object(agent(session), from, inside);
    assert!(enters(ADA, Some(outside)) && !enters(EVE, Some(outside)) && !enters(EVE, None));
    assert!(enters(EVE, Some(Vec2::new(101.0, 101.0))), "within the parcel");
    let plot = scene.parcel(number.0);
    assert_eq!(land.capacity(plot, 15_000), 366, "100 of 4,096 squares");
    assert_eq!(land.return_after(agent(EVE), inside), None);
    scene.edit(ADA, LandEdit::Parcel(number, ParcelEdit::AutoReturn { minutes: 2 })).unwrap();
    let after = |session| scene.land().return_after(agent(session), inside);
    assert_eq!((after(EVE), after(ADA)), (Some(Duration::from_secs(120)), None));
}

#[test]
fn the_bonus_of_the_region_makes_room_up_to_its_own() {
    let (mut scene, number) = scene_with_plot();
    let bonus = |scene: &Scene, object_bonus| {
        let region = RegionOptions { object_bonus, ..scene.land().estate().region };
        LandEdit::Estate(EstateEdit::Region(region))
    };
    let edit = bonus(&scene, 2.0);
    scene.edit(OWNER, edit).unwrap();
    assert_eq!(scene.land().capacity(scene.parcel(number.0), 15_000), 732);
    assert_eq!(scene.land().capacity(scene.parcel(1), 15_000), 15_000);
}

#[test]
fn teleports_arrive_as_the_parcel_says() {
    let (mut scene, number) = scene_with_plot();
    let requested = Vec3::new(120.0, 120.0, 22.0);
    let arrivals =
        |scene: &Scene| [ADA, EVE, MANAGER].map(|session| scene.land().arrival(agent(session), requested));
    let landing = |kind, at| {
        move |settings: &mut link::ParcelSettings| {
            settings.landing = Landing { kind, at, look_at: Vec3::Y };
        }
    };
    let point = Vec3::new(110.0, 110.0, 25.0);
    for (kind, at, expected) in [
        (LandingKind::Anywhere, point, LandArrival::AsRequested),
        (LandingKind::Point, point, LandArrival::At(point, Vec3::Y)),
        (LandingKind::Point, Vec3::ZERO, LandArrival::AsRequested),
        (LandingKind::Blocked, point, LandArrival::Refused),
    ] {
        scene.set(ADA, number, landing(kind, at));
        assert_eq!(
            arrivals(&scene),
            [LandArrival::AsRequested, expected, LandArrival::AsRequested],
            "{kind:?}"
        );
    }
    scene.set(ADA, number, landing(LandingKind::Anywhere, point));
    scene.edit(ADA, access(number, AccessList::Banned, EVE, 0)).unwrap();
    assert_eq!(arrivals(&scene)[1], LandArrival::Refused);
}

#[test]
fn without_direct_teleports_users_arrive_at_the_telehub() {
    let (mut scene, number) = scene_with_plot();
    let requested = Vec3::new(20.0, 20.0, 22.0);
    let hub = Telehub {
        object: Uuid::from_u128(1),
        name: "Hub".into(),
        position: Vec3::new(50.0, 60.0, 22.0),
        rotation: Quat::IDENTITY,
        spawn_points: Vec::new(),
    };
    let edit = |edit| LandEdit::Estate(EstateEdit::Telehub(edit));
    assert_eq!(scene.edit(EVE, edit(TelehubEdit::Disconnect)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(OWNER, edit(TelehubEdit::AddPoint(requested))), Err(LandRefusal::Malformed));
    let broken = Telehub { position: Vec3::NAN, ..hub.clone() };
    assert_eq!(scene.edit(OWNER, edit(TelehubEdit::Connect(broken.into()))), Err(LandRefusal::Malformed));
    scene.edit(OWNER, edit(TelehubEdit::Connect(hub.clone().into()))).unwrap();
    let arrivals =
        |scene: &Scene| [EVE, MANAGER].map(|session| scene.land().arrival(agent(session), requested));
    assert_eq!(arrivals(&scene), [LandArrival::AsRequested; 2], "teleports are direct");
    let region = scene.land().estate().region;
    let flags = region.flags.without(RegionFlags::ALLOW_DIRECT_TELEPORT);
    scene.edit(OWNER, LandEdit::Estate(EstateEdit::Region(RegionOptions { flags, ..region }))).unwrap();
    assert_eq!(arrivals(&scene), [LandArrival::At(hub.position, Vec3::ZERO), LandArrival::AsRequested]);
    // A point on a parcel that keeps the user out.
    scene.edit(OWNER, edit(TelehubEdit::AddPoint(Vec3::new(120.0, 120.0, 22.0)))).unwrap();
    assert_eq!(arrivals(&scene)[0], LandArrival::At(Vec3::new(120.0, 120.0, 22.0), Vec3::ZERO));
    scene.edit(ADA, access(number, AccessList::Banned, EVE, 0)).unwrap();
    assert_eq!(arrivals(&scene)[0], LandArrival::Refused);
    scene.edit(OWNER, edit(TelehubEdit::RemovePoint(0))).unwrap();
    assert_eq!(scene.edit(OWNER, edit(TelehubEdit::RemovePoint(0))), Err(LandRefusal::Malformed));
    for _ in 0..16 {
        scene.edit(OWNER, edit(TelehubEdit::AddPoint(requested))).unwrap();
    }
    assert_eq!(scene.edit(OWNER, edit(TelehubEdit::AddPoint(requested))), Err(LandRefusal::ListFull));
}

#[test]
fn local_sounds_stay_on_their_parcel() {
    let (mut scene, number) = scene_with_plot();
    let (inside, beside, outside) = (Vec2::new(120.0, 120.0), Vec2::new(101.0, 101.0), Vec2::new(50.0, 50.0));
    let heard = |scene: &Scene| {
        [(inside, beside), (inside, outside), (outside, inside)]
            .map(|points| <[Vec2; 2]>::from(points).map(|at| scene.land().parcel_at(at).expect("inside")))
            .map(|[from, to]| from.carries_sound_to(to))
    };
    assert_eq!(heard(&scene), [true; 3]);
    scene.set(ADA, number, |settings| settings.flags = settings.flags.union(ParcelFlags::SOUND_LOCAL));
    assert_eq!(heard(&scene), [true, false, false]);
}

#[test]
fn teleports_within_a_region_arrive_where_the_land_has_them_arrive() {
    let (mut scene, number) = scene_with_plot();
    let (requested, point) = (Vec3::new(120.0, 120.0, 22.0), Vec3::new(110.0, 110.0, 22.0));
    let landing = |kind| {
        move |settings: &mut link::ParcelSettings| {
            settings.landing = Landing { kind, at: point, look_at: Vec3::Y };
        }
    };
    scene.set(ADA, number, landing(LandingKind::Point));
    scene.teleport(EVE, requested);
    assert!(scene.position(EVE).unwrap().truncate().distance(point.truncate()) < 1.0);
    scene.set(ADA, number, landing(LandingKind::Blocked));
    scene.teleport(EVE, Vec3::new(20.0, 20.0, 22.0));
    let before = scene.position(EVE).unwrap();
    scene.teleport(EVE, requested);
    assert_eq!(scene.position(EVE), Some(before));
    let [Event::Teleported(_), Event::Land(session, LandEvent::Refused { reason, .. })] =
        scene.frame.events[..]
    else {
        panic!("{:?}", scene.frame.events)
    };
    assert_eq!((session, reason), (SessionKey(EVE), LandRefusal::NoLanding));
    scene.teleport(MANAGER, requested);
    assert!(is_inside(scene.position(MANAGER).unwrap()));
}

#[test]
fn avatars_fall_where_their_users_may_not_fly() {
    let (mut scene, number) = scene_with_plot();
    let fly = Control { flags: ControlFlags::FLY, body_rotation: Quat::IDENTITY };
    let sessions = [ADA, EVE, MANAGER];
    for (n, session) in (0_u8..).zip(sessions) {
        scene.send(session, Action::Control(fly));
        scene.teleport(session, Vec3::new(110.0 + 5.0 * f32::from(n), 120.0, 40.0));
    }
    scene.run(60);
    let are_high = |scene: &Scene| sessions.map(|session| scene.position(session).unwrap().z > 35.0);
    assert_eq!(are_high(&scene), [true; 3]);
    scene.set(ADA, number, |settings| settings.flags = settings.flags.without(ParcelFlags::ALLOW_FLY));
    scene.run(60);
    assert_eq!(are_high(&scene), [true, false, true], "owner, visitor, manager");
}
