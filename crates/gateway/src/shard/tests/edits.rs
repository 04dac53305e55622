//! Requests to change objects, as they reach the world: one command for each message, with all that it says.

use super::editing::{PLACE, make, node_of_two};
use crate::coverage::MessageOutcome;
use crate::shard::tests::coverage::outcomes;
use crate::testing::{Client, Node};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{
    Action, CopyPlace, Derez, DerezKind, Duplicates, ExtraParamEdit, FlagsEdit, MaskEdit, ObjectCommand,
    Offer, PhysicsEdit, Placement, Textures,
};
use prim::Shape;
use wire::messages::*;

const GROUP: Uuid = Uuid::from_u128(0x6e);
const FOLDER: Uuid = Uuid::from_u128(0xf0);
const TRANSACTION: Uuid = Uuid::from_u128(0x7a);

/// A message and its name.
type Named = (MessageName, Message);

/// A message of this client, with the ids that each of them begins with.
macro_rules! edit {
    ($client:expr, $Message:ident, $fill:expr) => {{
        let mut message = $Message::default();
        message.agent_data.agent_id = $client.agent.0;
        message.agent_data.session_id = $client.session_id.0;
        let fill: &dyn Fn(&mut $Message) = &$fill;
        fill(&mut message);
        (MessageName::$Message, Message::from(message))
    }};
}

/// Messages on places, with the requests that they are for the prim with this local id.
fn on_places(client: &Client, id: u32, object: Uuid) -> Vec<(Named, ObjectCommand)> {
    let place = |placement| ObjectCommand::Place(vec![(LocalId(id), placement)]);
    let floats = |vectors: &[Vec3]| -> Vec<u8> {
        vectors.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect()
    };
    let (position, scale, half_turn) =
        (PLACE + Vec3::X, Vec3::new(1.0, 2.0, 3.0), Quat::from_xyzw(1.0, 0.0, 0.0, 0.0));
    let multiple = floats(&[position, Vec3::X, scale]);
    vec![
        (
            edit!(client, MultipleObjectUpdate, |m| m.object_data = vec![MultipleObjectUpdateObjectData {
                object_local_id: id,
                r#type: 1 | 2 | 4 | 8 | 16,
                data: multiple.clone(),
            }]),
            place(Placement {
                position: Some(position),
                rotation: Some(half_turn),
                scale: Some(scale),
                is_linked_set: true,
                is_uniform: true,
            }),
        ),
        (
            edit!(client, ObjectPosition, |m| m.object_data =
                vec![ObjectPositionObjectData { object_local_id: id, position }]),
            place(Placement { position: Some(position), is_linked_set: true, ..Placement::default() }),
        ),
        (
            edit!(client, ObjectRotation, |m| m.object_data =
                vec![ObjectRotationObjectData { object_local_id: id, rotation: half_turn }]),
            place(Placement { rotation: Some(half_turn), is_linked_set: true, ..Placement::default() }),
        ),
        (
            edit!(client, ObjectScale, |m| m.object_data =
                vec![ObjectScaleObjectData { object_local_id: id, scale }]),
            place(Placement { scale: Some(scale), ..Placement::default() }),
        ),
        (
            edit!(client, Undo, |m| m.object_data = vec![UndoObjectData { object_id: object }]),
            ObjectCommand::Undo(vec![object]),
        ),
        (
            edit!(client, Redo, |m| m.object_data = vec![RedoObjectData { object_id: object }]),
            ObjectCommand::Redo(vec![object]),
        ),
    ]
}

/// Messages on looks and names.
fn on_looks(client: &Client, id: u32) -> Vec<(Named, ObjectCommand)> {
    let at = LocalId(id);
    vec![
        (
            edit!(client, ObjectShape, |m| m.object_data = vec![ObjectShapeObjectData {
                object_local_id: id,
                path_curve: 0x20,
                profile_curve: 5,
                path_begin: 1,
                path_end: 2,
                path_scale_x: 103,
                path_scale_y: 104,
                path_shear_x: 0xff,
                path_shear_y: 6,
                path_twist: -7,
                path_twist_begin: 8,
                path_radius_offset: -9,
                path_taper_x: 10,
                path_taper_y: -11,
                path_revolutions: 12,
                path_skew: -13,
                profile_begin: 14,
                profile_end: 15,
                profile_hollow: 16,
            }]),
            ObjectCommand::Shape(vec![(
                at,
                Shape {
                    path_curve: 0x20,
                    profile_curve: 5,
                    path_begin: 1,
                    path_end: 2,
                    path_scale_x: 103,
                    path_scale_y: 104,
                    path_shear_x: -1,
                    path_shear_y: 6,
                    path_twist: -7,
                    path_twist_begin: 8,
                    path_radius_offset: -9,
                    path_taper_x: 10,
                    path_taper_y: -11,
                    path_revolutions: 12,
                    path_skew: -13,
                    profile_begin: 14,
                    profile_end: 15,
                    profile_hollow: 16,
                },
            )]),
        ),
        (
            edit!(client, ObjectImage, |m| m.object_data = vec![ObjectImageObjectData {
                object_local_id: id,
                media_url: b"http://localhost/\0".to_vec(),
                texture_entry: vec![7; 17],
            }]),
            ObjectCommand::Textures(vec![(
                at,
                Textures { entry: vec![7; 17].into(), media_url: "http://localhost/".into() },
            )]),
        ),
        (
            edit!(client, ObjectMaterial, |m| m.object_data =
                vec![ObjectMaterialObjectData { object_local_id: id, material: 4 }]),
            ObjectCommand::Material(vec![(at, 4)]),
        ),
        (
            edit!(client, ObjectExtraParams, |m| m.object_data = vec![ObjectExtraParamsObjectData {
                object_local_id: id,
                param_type: 0x20,
                param_in_use: true,
                param_size: 3,
                param_data: vec![1, 2, 3],
            }]),
            ObjectCommand::ExtraParam(vec![(at, ExtraParamEdit { kind: 0x20, data: Some(vec![1, 2, 3]) })]),
        ),
        (
            edit!(client, ObjectExtraParams, |m| m.object_data = vec![ObjectExtraParamsObjectData {
                object_local_id: id,
                param_type: 0x30,
                ..ObjectExtraParamsObjectData::default()
            }]),
            ObjectCommand::ExtraParam(vec![(at, ExtraParamEdit { kind: 0x30, data: None })]),
        ),
        (
            edit!(client, ObjectFlagUpdate, |m| {
                m.agent_data.object_local_id = id;
                m.agent_data.is_phantom = true;
                m.extra_physics = vec![ObjectFlagUpdateExtraPhysics {
                    physics_shape_type: 2,
                    density: 1_000.0,
                    friction: 0.25,
                    restitution: 0.5,
                    gravity_multiplier: -1.0,
                }];
            }),
            ObjectCommand::Flags(
                at,
                FlagsEdit {
                    is_phantom: true,
                    physics: Some(PhysicsEdit {
                        shape: 2,
                        density: 1_000.0,
                        friction: 0.25,
                        restitution: 0.5,
                        gravity: -1.0,
                    }),
                    ..FlagsEdit::default()
                },
            ),
        ),
        (
            edit!(client, ObjectFlagUpdate, |m| {
                m.agent_data.object_local_id = id;
                m.agent_data.use_physics = true;
                m.agent_data.is_temporary = true;
            }),
            ObjectCommand::Flags(
                at,
                FlagsEdit { is_physical: true, is_temporary: true, ..FlagsEdit::default() },
            ),
        ),
        (
            edit!(client, ObjectClickAction, |m| m.object_data =
                vec![ObjectClickActionObjectData { object_local_id: id, click_action: 1 }]),
            ObjectCommand::ClickAction(vec![(at, 1)]),
        ),
        (
            edit!(client, ObjectName, |m| m.object_data =
                vec![ObjectNameObjectData { local_id: id, name: b"Stool\0".to_vec() }]),
            ObjectCommand::Name(vec![(at, "Stool".into())]),
        ),
        (
            edit!(client, ObjectDescription, |m| m.object_data =
                vec![ObjectDescriptionObjectData { local_id: id, description: b"Of oak\0".to_vec() }]),
            ObjectCommand::Description(vec![(at, "Of oak".into())]),
        ),
        (
            edit!(client, ObjectIncludeInSearch, |m| m.object_data =
                vec![ObjectIncludeInSearchObjectData { object_local_id: id, include_in_search: true }]),
            ObjectCommand::InSearch(vec![(at, true)]),
        ),
    ]
}

/// Messages on owners, linksets and copies.
fn on_ownership(client: &Client, id: u32) -> Vec<(Named, ObjectCommand)> {
    let at = LocalId(id);
    let owner = Uuid::from_u128(0x0e);
    let derez = |kind, folder, transaction| {
        ObjectCommand::Derez(Derez { objects: vec![at], kind, folder, transaction })
    };
    let derez_message = |destination| {
        edit!(client, DeRezObject, |m| {
            m.agent_block.destination = destination;
            m.agent_block.destination_id = FOLDER;
            m.agent_block.transaction_id = TRANSACTION;
            m.agent_block.packet_count = 1;
            m.object_data = vec![DeRezObjectObjectData { object_local_id: id }];
        })
    };
    let copies = |group, is_selected, place| {
        let (ids, copies) = (Uuid::nil(), vec![(at, place)]);
        ObjectCommand::Duplicate(Box::new(Duplicates { ids, group, is_selected, copies }))
    };
    vec![
        (
            edit!(client, ObjectPermissions, |m| m.object_data =
                vec![ObjectPermissionsObjectData { object_local_id: id, field: 8, set: 1, mask: 1 << 15 }]),
            ObjectCommand::Permissions(vec![(at, MaskEdit { field: 8, is_set: true, bits: 1 << 15 })]),
        ),
        (
            edit!(client, ObjectGroup, |m| {
                m.agent_data.group_id = GROUP;
                m.object_data = vec![ObjectGroupObjectData { object_local_id: id }];
            }),
            ObjectCommand::Group { objects: vec![at], group: GROUP },
        ),
        (
            edit!(client, ObjectOwner, |m| {
                m.header_data.owner_id = owner;
                m.header_data.group_id = GROUP;
                m.object_data = vec![ObjectOwnerObjectData { object_local_id: id }];
            }),
            ObjectCommand::Owner { objects: vec![at], owner: AgentId(owner), group: GROUP },
        ),
        (
            edit!(client, ObjectSaleInfo, |m| m.object_data =
                vec![ObjectSaleInfoObjectData { local_id: id, sale_type: 2, sale_price: 10 }]),
            ObjectCommand::Sale(vec![(at, Offer { kind: 2, price: 10 })]),
        ),
        (
            edit!(client, ObjectBuy, |m| {
                m.agent_data.group_id = GROUP;
                m.object_data =
                    vec![ObjectBuyObjectData { object_local_id: id, sale_type: 1, sale_price: 0 }];
            }),
            ObjectCommand::Buy { offers: vec![(at, Offer { kind: 1, price: 0 })], group: GROUP },
        ),
        (
            edit!(client, ObjectLink, |m| m.object_data = vec![ObjectLinkObjectData { object_local_id: id }]),
            ObjectCommand::Link(vec![at]),
        ),
        (
            edit!(client, ObjectDelink, |m| m.object_data =
                vec![ObjectDelinkObjectData { object_local_id: id }]),
            ObjectCommand::Delink(vec![at]),
        ),
        (
            edit!(client, ObjectAttach, |m| {
                m.agent_data.attachment_point = 5;
                m.object_data =
                    vec![ObjectAttachObjectData { object_local_id: id, rotation: Quat::IDENTITY }];
            }),
            ObjectCommand::Attach(vec![(at, 5)]),
        ),
        (
            edit!(client, ObjectDrop, |m| m.object_data = vec![ObjectDropObjectData { object_local_id: id }]),
            ObjectCommand::PutDown(vec![at]),
        ),
        (
            edit!(client, ObjectDuplicate, |m| {
                m.agent_data.group_id = GROUP;
                m.shared_data.offset = Vec3::X;
                m.object_data = vec![ObjectDuplicateObjectData { object_local_id: id }];
            }),
            copies(GROUP, false, CopyPlace::Offset(Vec3::X)),
        ),
        (
            edit!(client, ObjectDuplicateOnRay, |m| {
                m.agent_data.ray_start = PLACE + Vec3::Z * 10.0;
                m.agent_data.ray_end = PLACE + Vec3::X;
                m.agent_data.bypass_raycast = true;
                m.agent_data.copy_rotates = true;
                m.agent_data.duplicate_flags = 2;
                m.object_data = vec![ObjectDuplicateOnRayObjectData { object_local_id: id }];
            }),
            // Above the end by half the size of the prim, 0.5 m.
            copies(
                Uuid::nil(),
                true,
                CopyPlace::At { position: PLACE + Vec3::new(1.0, 0.0, 0.25), ray: None, rotation: None },
            ),
        ),
        (
            edit!(client, ObjectDelete, |m| m.object_data =
                vec![ObjectDeleteObjectData { object_local_id: id }]),
            derez(DerezKind::Delete, Uuid::nil(), Uuid::nil()),
        ),
        (derez_message(1), derez(DerezKind::TakeCopy, FOLDER, TRANSACTION)),
        (derez_message(4), derez(DerezKind::Take, FOLDER, TRANSACTION)),
        (derez_message(6), derez(DerezKind::Trash, FOLDER, TRANSACTION)),
        (derez_message(9), derez(DerezKind::Return, FOLDER, TRANSACTION)),
        (
            edit!(client, MoveTaskInventory, |m| {
                m.agent_data.folder_id = FOLDER;
                (m.inventory_data.local_id, m.inventory_data.item_id) = (id, owner);
            }),
            ObjectCommand::TakeItem { object: at, item: owner, folder: FOLDER },
        ),
    ]
}

/// The requests that reach the world after a message.
fn reaching(node: &mut Node, client: usize, message: &Message) -> Vec<ObjectCommand> {
    let before = node.commands.len();
    node.clients[client].send(message);
    node.run_ms(300);
    let requests = node.commands[before..].iter().filter_map(|(_, command)| match &command.action {
        Action::Object(request) => Some((**request).clone()),
        _ => None,
    });
    requests
        .map(|mut request| {
            // Chosen at random.
            if let ObjectCommand::Duplicate(duplicates) = &mut request {
                duplicates.ids = Uuid::nil();
            }
            request
        })
        .collect()
}

#[test]
fn every_message_reaches_the_world_as_one_request_with_its_content() {
    let (mut node, ada, _) = node_of_two();
    let all = |client: &Client, id, object| {
        [on_places(client, id, object), on_looks(client, id), on_ownership(client, id)].concat()
    };
    let n = all(&node.clients[ada], 0, Uuid::nil()).len();
    for at in 0..n {
        let (id, object) = make(&mut node, ada, PLACE + Vec3::Y * at as f32);
        let ((name, message), expected) = all(&node.clients[ada], id, object).swap_remove(at);
        let name = name.as_str();
        assert_eq!(reaching(&mut node, ada, &message), [expected], "{name}");
        let occurred = outcomes(&node);
        assert!(occurred.contains_key(&(name, MessageOutcome::Done)), "{name}: {occurred:?}");
    }
}

#[test]
fn a_message_with_a_false_length_reaches_no_world_and_is_counted() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let client = &node.clients[ada];
    let messages = [
        edit!(client, MultipleObjectUpdate, |m| m.object_data =
            vec![MultipleObjectUpdateObjectData { object_local_id: id, r#type: 1 | 4, data: vec![0; 12] }]),
        edit!(client, ObjectExtraParams, |m| m.object_data = vec![ObjectExtraParamsObjectData {
            object_local_id: id,
            param_type: 0x20,
            param_in_use: true,
            param_size: 4,
            param_data: vec![1, 2, 3],
        }]),
    ];
    for (name, message) in messages {
        assert_eq!(reaching(&mut node, ada, &message), []);
        let occurred = outcomes(&node);
        assert!(occurred.contains_key(&(name.as_str(), MessageOutcome::Dropped)), "{occurred:?}");
    }
}
