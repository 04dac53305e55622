//! Random edits, sensible and hostile ones: invariants, readers of frames, hashes, and continuation from a snapshot.

use super::scene::*;
use crate::world::World;
use glam::{Quat, Vec3};
use ids::Uuid;
use link::{
    AccessEntry, AccessList, Action, Brush, Control, ControlFlags, Environment, EstateEdit, EstateList,
    GroundEdit, GroundPatch, GroundTextures, LandEdit, LandRect, LandSale, Landing, LandingKind, Maturity,
    PATCH_SAMPLES, ParcelEdit, ParcelFlags, ParcelNumber, ParcelSettings, Pass, RegionFlags, RegionOptions,
    ReturnKinds, StrokeArea, Sun, Terrain, WaterAndLimits,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Metres along an edge: mostly inside, seldom outside or no number.
fn metres() -> impl Strategy<Value = f32> {
    prop_oneof![
        12 => (0..=64_u8).prop_map(|square| f32::from(square) * 4.0),
        4 => 0.0..256.0_f32,
        1 => select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 257.0, 1e30, f32::MIN_POSITIVE, -0.0, 1e-40]),
    ]
}

/// A number in a field that has a range.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -10.0..120.0_f32,
        1 => select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e38, 1e-40, -0.0]),
    ]
}

fn area() -> impl Strategy<Value = LandRect> {
    prop_oneof![
        1 => Just(rect(0.0, 0.0, 256.0, 256.0)),
        1 => (metres(), metres()).prop_map(|(x, y)| rect(x, y, x, y)),
        8 => (metres(), metres(), metres(), metres())
            .prop_map(|(a, b, c, d)| rect(a.min(c), b.min(d), a.max(c), b.max(d))),
        2 => (metres(), metres(), metres(), metres()).prop_map(|(a, b, c, d)| rect(a, b, c, d)),
    ]
}

fn parcel() -> impl Strategy<Value = ParcelNumber> {
    prop_oneof![8 => 1..12_u16, 1 => any::<u16>()].prop_map(ParcelNumber)
}

fn user() -> impl Strategy<Value = u64> {
    0..8_u64
}

fn ground_edit() -> impl Strategy<Value = LandEdit> {
    let shape = prop_oneof![
        6 => (metres(), metres(), number()).prop_map(|(x, y, radius_m)| disc(x, y, radius_m)),
        2 => area().prop_map(StrokeArea::Rect),
        1 => parcel().prop_map(StrokeArea::Parcel),
    ];
    let patch = (0..18_u8, 0..18_u8, -5.0..60.0_f32).prop_map(|(column, row, height)| {
        GroundPatch::new(column, row, [height; PATCH_SAMPLES]).expect("a height")
    });
    prop_oneof![
        9 => (select(Brush::ALL.to_vec()), shape, number(), number())
            .prop_map(|(brush, area, seconds, height_m)| stroke_to(brush, area, seconds, height_m)),
        4 => Just(LandEdit::Ground(GroundEdit::Undo)),
        1 => Just(LandEdit::Ground(GroundEdit::Bake)),
        1 => prop::collection::vec(patch, 0..4).prop_map(|patches| LandEdit::Ground(GroundEdit::Load(patches))),
    ]
}

fn settings() -> impl Strategy<Value = ParcelSettings> {
    let flags = prop_oneof![Just(ParcelFlags::NEW), any::<u32>().prop_map(ParcelFlags)];
    let kind = select(vec![LandingKind::Blocked, LandingKind::Point, LandingKind::Anywhere]);
    (flags, kind, metres(), metres(), number(), 0..200_usize, any::<u8>(), user()).prop_map(
        |(flags, kind, x, y, hours, length, category, buyer)| ParcelSettings {
            flags,
            category,
            landing: Landing { kind, at: Vec3::new(x, y, 30.0), look_at: Vec3::X },
            pass: Pass { price: u32::from(category), hours },
            sale: LandSale { price: u32::from(category / 128), buyer: agent(buyer).0 },
            ..ParcelSettings::new(&"né".repeat(length))
        },
    )
}

fn parcel_edit() -> impl Strategy<Value = ParcelEdit> {
    let entry = (user(), select(vec![0, 5, NOW_S + 1, u64::MAX]))
        .prop_map(|(user, expires_s)| AccessEntry { agent: agent(user), expires_s });
    let list = select(vec![AccessList::Allowed, AccessList::Banned]);
    prop_oneof![
        4 => settings().prop_map(|settings| ParcelEdit::Settings(Box::new(settings))),
        4 => (list, any::<bool>(), prop::collection::vec(entry, 0..6))
            .prop_map(|(list, is_first, entries)| ParcelEdit::Access { list, is_first, entries }),
        1 => any::<u32>().prop_map(|minutes| ParcelEdit::AutoReturn { minutes }),
        1 => Just(ParcelEdit::Release),
        1 => Just(ParcelEdit::Reclaim),
        2 => (0..2_u32, select(vec![16_u32, 256, 65_536]))
            .prop_map(|(price, area_m2)| ParcelEdit::Buy { price, area_m2 }),
        3 => prop::option::of(user().prop_map(agent)).prop_map(ParcelEdit::ForceOwner),
        1 => prop::option::of((any::<i32>(), 0..70_000_usize))
            .prop_map(|environment| ParcelEdit::Environment(environment.map(environment_of))),
        1 => (any::<u32>(), prop::collection::vec(user().prop_map(agent), 0..300))
            .prop_map(|(kinds, owners)| ParcelEdit::ReturnObjects { kinds: ReturnKinds(kinds), owners }),
    ]
}

fn environment_of((version, length): (i32, usize)) -> Environment {
    Environment { version, bytes: vec![1; length].into() }
}

fn estate_edit() -> impl Strategy<Value = EstateEdit> {
    let lists = vec![EstateList::Managers, EstateList::Allowed, EstateList::Groups, EstateList::Banned];
    let flags = prop_oneof![4 => Just(RegionFlags::NEW), 1 => any::<u32>().prop_map(RegionFlags)];
    prop_oneof![
        6 => (select(lists), user(), any::<bool>())
            .prop_map(|(list, user, is_added)| EstateEdit::List { list, id: agent(user).0, is_added }),
        2 => (flags, 0..9_u32, number()).prop_map(|(flags, agent_limit, object_bonus)| {
            EstateEdit::Region(RegionOptions { flags, agent_limit, object_bonus, maturity: Maturity::General })
        }),
        2 => (number(), number(), number())
            .prop_map(|(water_m, raise_m, lower_m)| EstateEdit::Levels(WaterAndLimits { water_m, raise_m, lower_m })),
        1 => number().prop_map(|hour| EstateEdit::Sun(Sun { hour, ..Sun::default() })),
        1 => number().prop_map(|low| EstateEdit::Textures(GroundTextures { low_m: [low; 4], ..GroundTextures::default() })),
        1 => prop::option::of(user().prop_map(agent)).prop_map(EstateEdit::Owner),
        1 => any::<u128>().prop_map(|id| EstateEdit::Covenant(Uuid::from_u128(id))),
        1 => (0..90_usize).prop_map(|length| EstateEdit::Name("é".repeat(length).into())),
        1 => prop::option::of((any::<i32>(), 0..70_000_usize))
            .prop_map(|environment| EstateEdit::Environment(environment.map(environment_of))),
    ]
}

fn edit() -> impl Strategy<Value = LandEdit> {
    prop_oneof![
        6 => ground_edit(),
        4 => (area(), 0..40_u128).prop_map(|(area, id)| LandEdit::Divide { area, id: Uuid::from_u128(id) }),
        2 => area().prop_map(LandEdit::Join),
        6 => (parcel(), parcel_edit()).prop_map(|(number, edit)| LandEdit::Parcel(number, edit)),
        2 => estate_edit().prop_map(LandEdit::Estate),
        1 => Just(LandEdit::Clock),
    ]
}

/// Something that a session does, or the node in its name.
#[derive(Clone, Debug)]
enum Deed {
    Edit {
        session: u64,
        is_operator: bool,
        edit: LandEdit,
    },
    Teleport {
        session: u64,
        to: Vec3,
    },
    Enter(u64),
    /// Walks in a direction, or stops.
    Walk {
        session: u64,
        yaw: Option<f32>,
    },
    /// Some ticks without commands.
    Rest(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    let session = || 1..6_u64;
    prop_oneof![
        12 => (session(), prop::bool::weighted(0.3), edit())
            .prop_map(|(session, is_operator, edit)| Deed::Edit { session, is_operator, edit }),
        2 => (session(), metres(), metres(), number())
            .prop_map(|(session, x, y, z)| Deed::Teleport { session, to: Vec3::new(x, y, z) }),
        1 => session().prop_map(Deed::Enter),
        2 => (session(), prop::option::weighted(0.8, 0.0..6.0_f32)).prop_map(|(session, yaw)| Deed::Walk { session, yaw }),
        1 => (1..30_u8).prop_map(Deed::Rest),
    ]
}

fn give(scene: &mut Scene, deed: Deed) {
    match deed {
        Deed::Edit { session, is_operator: true, edit } => scene.send_as_operator(session, edit),
        Deed::Edit { session, is_operator: false, edit } => scene.edit_by(session, edit),
        Deed::Teleport { session, to } => {
            scene.send(session, Action::Teleport { position: to, look_at: Vec3::X })
        }
        Deed::Enter(session) => scene.send(session, enter_at(session, Vec3::new(30.0, 30.0, 22.0))),
        Deed::Walk { session, yaw } => {
            let flags = if yaw.is_some() { ControlFlags::AT_POS } else { ControlFlags::default() };
            let body_rotation = Quat::from_rotation_z(yaw.unwrap_or_default());
            scene.send(session, Action::Control(Control { flags, body_rotation }));
        }
        Deed::Rest(ticks) => scene.run(ticks.into()),
    }
}

/// Checks the avatars: on the ground or above, and on no parcel that is closed to them.
fn check_avatars(scene: &Scene) {
    let land = scene.land();
    for entity in scene.world.avatars() {
        let (at, agent) = (entity.motion.position, entity.avatar.agent);
        let above_m = at.z - entity.avatar.size.z / 2.0 - scene.ground().height(at.x, at.y);
        assert!(at.is_finite() && above_m > -1e-2, "{agent:?} is {above_m} m above the ground");
        assert!(land.may_be_at(agent, at.truncate(), above_m), "{agent:?} is at {at}");
        assert!(land.estate().admits(agent), "{agent:?} is not admitted");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_edits_leave_a_possible_land_that_readers_and_restored_worlds_have(
        steps in prop::collection::vec(prop::collection::vec(deed(), 1..6), 1..24),
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(steps.len());
        let mut scene = Scene::of(Terrain::hills(256, 9));
        let mut restored: Option<Scene> = None;
        for (n, deeds) in steps.into_iter().enumerate() {
            if n == at {
                let snapshot = scene.world.snapshot();
                let copy = World::restore(scene.config.clone(), &snapshot).unwrap();
                prop_assert_eq!(copy.snapshot(), snapshot);
                restored = Some(scene.continued_with(copy));
            }
            for deed in deeds {
                if let Some(other) = &mut restored {
                    give(other, deed.clone());
                }
                give(&mut scene, deed);
            }
            // A step compares the reader's state with the world's, and checks the squares.
            scene.step();
            check_avatars(&scene);
            let anew = World::restore(scene.config.clone(), &scene.world.snapshot()).unwrap();
            prop_assert_eq!(anew.state_hash(), scene.frame.state_hash, "the running hash, step {}", n);
            if let Some(other) = &mut restored {
                other.step();
                prop_assert_eq!(&other.frame, &scene.frame);
            }
        }
        prop_assert_eq!(&*scene.config.terrain, &Terrain::hills(256, 9));
    }
}
