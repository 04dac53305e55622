//! Random requests, possible and hostile ones: the state stays sound, and a restored world continues alike.

use super::stage::{ADA, EVE, FAY, IDS, OPERATOR, TICK, agent_of, check, config, enter, new_object};
use crate::World;
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Tick, Uuid};
use link::{
    Action, Command, CopyPlace, Derez, DerezKind, Duplicates, EditRights, ExtraParamEdit, FaceMaterial,
    FlagsEdit, Frame, ItemEdit, MaskEdit, Navigation, NewObject, ObjectCommand, ObjectLimits, Offer,
    PhysicsEdit, Placement, PrimFlags, RenderMaterialEdit, StoredObjects, Textures, plain_texture,
};
use prim::{
    Carried, ContentItem, Mask, MaterialOverride, MediaEntry, MediaUsers, Ownership, Permissions, Sale, Shape,
};
use proptest::prelude::*;
use std::sync::Arc;

/// Ids of kept and temporary objects that are there or were, of avatars, of no object.
fn id() -> impl Strategy<Value = LocalId> {
    let temporary = IDS.start + (1 << 19);
    let avatars = temporary + (1 << 17);
    prop_oneof![
        20 => (IDS.start..IDS.start + 16).prop_map(LocalId),
        4 => (temporary..temporary + 4).prop_map(LocalId),
        1 => (avatars..avatars + 5).prop_map(LocalId),
        1 => prop::sample::select(vec![0, 1, IDS.end - 1, IDS.end, 5 << 20, u32::MAX]).prop_map(LocalId),
    ]
}

fn number() -> impl Strategy<Value = f32> {
    let hostile =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30, f32::MIN_POSITIVE / 8.0, -0.0, 1e-30];
    prop_oneof![
        20 => -10.0_f32..270.0,
        10 => 0.0_f32..3.0,
        1 => prop::sample::select(hostile.to_vec()),
    ]
}

fn vector() -> impl Strategy<Value = Vec3> {
    [number(), number(), number()].prop_map(Vec3::from_array)
}

fn rotation() -> impl Strategy<Value = Quat> {
    prop_oneof![
        3 => (-3.0_f32..3.0).prop_map(Quat::from_rotation_z),
        1 => [number(), number(), number(), number()].prop_map(Quat::from_array),
    ]
}

fn placement() -> impl Strategy<Value = Placement> {
    let parts = (prop::option::of(vector()), prop::option::of(rotation()), prop::option::of(vector()));
    (parts, any::<bool>(), any::<bool>()).prop_map(
        |((position, rotation, scale), is_linked_set, is_uniform)| Placement {
            position,
            rotation,
            scale,
            is_linked_set,
            is_uniform,
        },
    )
}

fn of_ids<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<(LocalId, T)>> {
    prop::collection::vec((id(), value), 0..5)
}

fn ids() -> impl Strategy<Value = Vec<LocalId>> {
    prop::collection::vec(id(), 0..7)
}

fn uuid() -> impl Strategy<Value = Uuid> {
    (0_u128..24).prop_map(Uuid::from_u128)
}

fn offer() -> impl Strategy<Value = Offer> {
    (0_u8..5, -1_i32..2).prop_map(|(kind, price)| Offer { kind, price })
}

fn creation() -> impl Strategy<Value = ObjectCommand> {
    let flags = prop::sample::select(vec![0, PrimFlags::TEMPORARY.0, PrimFlags::PHYSICS.0, u32::MAX]);
    let new = (uuid(), vector(), rotation(), vector(), flags, any::<u8>());
    let new = new.prop_map(|(id, position, rotation, scale, flags, code)| {
        let (p_code, material) = if code < 230 { (9, 3) } else { (code, code) };
        let flags = PrimFlags(flags);
        let plain = new_object(0, position);
        ObjectCommand::Create(Box::new(NewObject { id, rotation, scale, flags, p_code, material, ..plain }))
    });
    let place = prop_oneof![
        vector().prop_map(CopyPlace::Offset),
        (vector(), prop::option::of(rotation())).prop_map(|(position, rotation)| CopyPlace::At {
            position,
            ray: None,
            rotation
        }),
    ];
    let copies = (any::<u128>(), of_ids(place)).prop_map(|(ids, copies)| {
        let (ids, group) = (Uuid::from_u128(ids), Uuid::nil());
        ObjectCommand::Duplicate(Box::new(Duplicates { ids, group, is_selected: true, copies }))
    });
    prop_oneof![3 => new, 1 => copies]
}

fn flags() -> impl Strategy<Value = FlagsEdit> {
    let matter = (0_u8..5, number(), number()).prop_map(|(shape, density, gravity)| PhysicsEdit {
        shape,
        density,
        friction: density,
        restitution: gravity,
        gravity,
    });
    (any::<[bool; 3]>(), prop::option::of(matter)).prop_map(
        |([is_physical, is_temporary, is_phantom], physics)| FlagsEdit {
            is_physical,
            is_temporary,
            is_phantom,
            physics,
        },
    )
}

fn appearance() -> impl Strategy<Value = ObjectCommand> {
    let shape = any::<(u8, u8, u16, u16, i8)>().prop_map(|(path_curve, profile_curve, a, b, c)| Shape {
        path_curve: path_curve & 0xF0,
        profile_curve: profile_curve & 0x37,
        path_begin: a,
        profile_end: b,
        path_twist: c,
        path_skew: c,
        ..Shape::BOX
    });
    let textures = (0_usize..49, any::<u8>()).prop_map(|(at, byte)| {
        let mut entry = plain_texture(7).to_vec();
        entry.get_mut(at).into_iter().for_each(|place| *place = byte);
        Textures { entry: entry.into(), media_url: "u".repeat(usize::from(byte) * 2) }
    });
    let param = (prop::sample::select(vec![0x10_u16, 0x20, 0x30, 0x70, 0x11]), 0_usize..20, any::<u8>());
    let param =
        param.prop_map(|(kind, len, byte)| ExtraParamEdit { kind, data: (len > 0).then(|| vec![byte; len]) });
    prop_oneof![
        of_ids(shape).prop_map(ObjectCommand::Shape),
        of_ids(textures).prop_map(ObjectCommand::Textures),
        of_ids(0_u8..10).prop_map(ObjectCommand::Material),
        of_ids(param).prop_map(ObjectCommand::ExtraParam),
        of_ids(".{0,90}").prop_map(ObjectCommand::Name),
        of_ids(".{0,90}").prop_map(ObjectCommand::Description),
        of_ids(0_u8..12).prop_map(ObjectCommand::ClickAction),
        of_ids(any::<bool>()).prop_map(ObjectCommand::InSearch),
    ]
}

fn faces() -> impl Strategy<Value = ObjectCommand> {
    let page = |(users, len): (u8, usize)| MediaEntry {
        current: "p".repeat(len),
        interact: MediaUsers(users),
        ..MediaEntry::default()
    };
    let entry = (any::<u8>(), prop_oneof![9 => 0_usize..40, 1 => Just(1_030_usize)]).prop_map(page);
    let entries = prop::collection::vec(prop::option::of(entry), 0..9);
    let visit = (0_u8..9, ".{0,20}").prop_map(|(face, address)| Navigation { face, address });
    let face = || prop::option::of(0_u8..48);
    let changes = prop::option::of((number(), number())).prop_map(|factors| {
        let of = |(metallic, offset): (f32, f32)| {
            let mut changes = MaterialOverride { metallic: Some(metallic), ..MaterialOverride::default() };
            changes.transforms[1].offset = Some([offset; 2]);
            Box::new(changes)
        };
        factors.map(of)
    });
    let asset = || prop::sample::select(vec![Uuid::nil(), Uuid::from_u128(8)]);
    let edit = (face(), prop::option::of(asset()), changes);
    let edit = edit.prop_map(|(face, material, changes)| RenderMaterialEdit { face, material, changes });
    let material = (face(), asset()).prop_map(|(face, material)| FaceMaterial { face, material });
    prop_oneof![
        (id(), entries).prop_map(|(id, entries)| ObjectCommand::Media(id, entries)),
        (id(), visit).prop_map(|(id, visit)| ObjectCommand::Navigate(id, visit)),
        of_ids(edit).prop_map(ObjectCommand::RenderMaterial),
        of_ids(material).prop_map(ObjectCommand::FaceMaterial),
    ]
}

fn rights() -> impl Strategy<Value = ObjectCommand> {
    let fields = prop::sample::select(vec![0_u8, 1, 2, 4, 8, 16]);
    let masks = (fields, any::<bool>(), any::<u32>());
    let masks = masks.prop_map(|(field, is_set, bits)| MaskEdit { field, is_set, bits });
    let group = Uuid::from_u128(5);
    let owners = [agent_of(ADA), agent_of(EVE), AgentId(Uuid::nil())];
    prop_oneof![
        4 => of_ids(masks).prop_map(ObjectCommand::Permissions),
        1 => ids().prop_map(move |objects| ObjectCommand::Group { objects, group }),
        1 => (ids(), prop::sample::select(owners.to_vec()))
            .prop_map(move |(objects, owner)| ObjectCommand::Owner { objects, owner, group }),
        3 => of_ids(offer()).prop_map(ObjectCommand::Sale),
        3 => of_ids(offer()).prop_map(move |offers| ObjectCommand::Buy { offers, group }),
    ]
}

fn items() -> impl Strategy<Value = ObjectCommand> {
    let masks = || {
        any::<[u32; 5]>().prop_map(|bits| {
            let [base, owner, group, everyone, next_owner] = bits.map(Mask::of_bits);
            Permissions { base, owner, group, everyone, next_owner }
        })
    };
    let item = || (0_u128..6).prop_map(Uuid::from_u128);
    let kinds = prop::sample::select(vec![0_i8, 3, 6, 10]);
    let users = prop::sample::select(vec![agent_of(ADA), agent_of(EVE)]);
    let new = (item(), kinds, users, prop_oneof![Just(Permissions::NEW), masks()], "[ab]{0,2}|.{0,90}");
    let new = new.prop_map(|(id, kind, user, permissions, name)| ContentItem {
        id,
        asset: id,
        asset_type: kind,
        inventory_type: kind,
        name: name.as_str().into(),
        description: name.into(),
        flags: 0,
        ownership: Ownership {
            creator: user,
            owner: user,
            last_owner: user,
            group: Uuid::nil(),
            permissions,
        },
        sale: Sale::default(),
        created_s: 0,
        carried: Carried::default(),
    });
    let edit = (item(), "[ab]{0,2}", masks(), offer()).prop_map(|(item, name, masks, offer)| {
        let description = name.clone();
        Box::new(ItemEdit { item, name, description, masks, offer })
    });
    prop_oneof![
        4 => (id(), new).prop_map(|(id, item)| ObjectCommand::PutItem(id, Box::new(item))),
        2 => (id(), edit).prop_map(|(id, edit)| ObjectCommand::EditItem(id, edit)),
        1 => (id(), item()).prop_map(|(id, item)| ObjectCommand::RemoveItem(id, item)),
        1 => (id(), item()).prop_map(|(id, item)| ObjectCommand::ReadItem(id, item)),
    ]
}

fn request() -> impl Strategy<Value = ObjectCommand> {
    let kinds =
        [DerezKind::Delete, DerezKind::Trash, DerezKind::Return, DerezKind::Take, DerezKind::TakeCopy];
    let derez = (ids(), prop::sample::select(kinds.to_vec())).prop_map(|(objects, kind)| {
        ObjectCommand::Derez(Derez { objects, kind, folder: Uuid::nil(), transaction: Uuid::nil() })
    });
    let objects = || prop::collection::vec(uuid(), 0..6);
    prop_oneof![
        8 => creation(),
        8 => of_ids(placement()).prop_map(ObjectCommand::Place),
        4 => appearance(),
        4 => faces(),
        4 => (id(), flags()).prop_map(|(id, flags)| ObjectCommand::Flags(id, flags)),
        4 => rights(),
        6 => items(),
        6 => ids().prop_map(ObjectCommand::Link),
        3 => ids().prop_map(ObjectCommand::Delink),
        1 => derez,
        3 => objects().prop_map(ObjectCommand::Undo),
        2 => objects().prop_map(ObjectCommand::Redo),
        2 => (id(), vector(), vector()).prop_map(|(object, grip, target)| ObjectCommand::Drag { object, grip, target }),
        1 => Just(ObjectCommand::Release),
        1 => (id(), 255_usize..258).prop_map(|(id, n)| ObjectCommand::Link(vec![id; n])),
    ]
}

/// A command in a tick; ticks differ in their number of them.
fn command() -> impl Strategy<Value = (SessionKey, Action)> {
    let editors = vec![ADA, ADA, ADA, EVE, FAY, OPERATOR, SessionKey::NODE];
    let edit = (prop::sample::select(editors), request())
        .prop_map(|(by, request)| (by, Action::Object(Box::new(request))));
    let limits = (prop::sample::select(vec![5_u32, 40]), 0_u32..40, 1_u32..5, 50_u32..3_000).prop_map(
        |(objects_max, rez_per_s, link_max, temporary_ms)| {
            let limits = ObjectLimits {
                objects_max,
                physical_max: link_max,
                rez_per_s,
                link_max,
                temporary_ms,
                edits_per_s: 2_000,
                is_closed: objects_max > 30 && rez_per_s < 4,
            };
            (SessionKey::NODE, Action::ObjectLimits(limits))
        },
    );
    let visits = prop_oneof![Just((EVE, Action::Leave)), Just((EVE, enter(EVE)))];
    prop_oneof![40 => edit, 1 => limits, 1 => visits]
}

fn start() -> World {
    let mut world = World::with_objects(config(), StoredObjects::default()).expect("no objects");
    let arrivals = [ADA, EVE, FAY, OPERATOR].map(|session| (session, enter(session)));
    step(&mut world, 0, &arrivals);
    let friend = EditRights { owners: vec![agent_of(ADA)], ..EditRights::default() };
    let operator = EditRights { is_operator: true, ..EditRights::default() };
    let rights = [(FAY, friend), (OPERATOR, operator)];
    let mut commands: Vec<Command> = rights
        .into_iter()
        .map(|(session, rights)| Command::by_node(session, 1, Action::EditRights(Box::new(rights))))
        .collect();
    world.step(Tick(1), TICK, 1.0, &mut commands, &mut Frame::empty());
    let boxes = (0..10_u16).map(|n| {
        let object = new_object(u128::from(n) + 1, Vec3::new(f32::from(n) + 40.0, 40.0, 25.0));
        (if n < 7 { ADA } else { EVE }, Action::Object(Box::new(ObjectCommand::Create(Box::new(object)))))
    });
    step(&mut world, 2, &boxes.collect::<Vec<_>>());
    let linkset = (IDS.start..IDS.start + 3).map(LocalId).collect();
    step(&mut world, 3, &[(ADA, Action::Object(Box::new(ObjectCommand::Link(linkset))))]);
    world
}

fn step(world: &mut World, tick: u64, commands: &[(SessionKey, Action)]) -> Arc<Frame> {
    let commands = (0..).zip(commands).map(|(number, (by, action))| {
        let sequence = tick << 32 | number;
        // The node puts items into prims for users, too.
        let is_of_node = *by == SessionKey::NODE || action.is_of_node();
        let make = if is_of_node { Command::by_node } else { Command::by_session };
        make(*by, sequence, action.clone())
    });
    let mut frame = Frame::empty();
    world.step(Tick(tick), TICK, 1.0, &mut commands.collect(), &mut frame);
    Arc::new(frame)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_state_stays_sound_and_a_restored_world_continues_alike(
        ticks in prop::collection::vec(prop::collection::vec(command(), 0..5), 4..40),
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(ticks.len());
        let (mut world, mut restored, mut resumed) = (start(), None, None);
        for (number, commands) in ticks.iter().enumerate() {
            if number == at {
                restored = Some(World::restore(config(), &world.snapshot()).expect("its own snapshot"));
                resumed = Some(World::resume(config(), &world.checkpoint()).expect("its own checkpoint"));
            }
            let tick = number as u64 + 4;
            let frame = step(&mut world, tick, commands);
            check(&world);
            for other in [&mut restored, &mut resumed].into_iter().flatten() {
                prop_assert_eq!(&step(other, tick, commands), &frame);
            }
        }
    }
}
