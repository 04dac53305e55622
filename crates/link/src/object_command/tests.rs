//! Encodings of requests, and the objects that they name.

use super::*;
use crate::object::{PrimFlags, PrimMotion};
use glam::Quat;
use prim::{Body, Carried, MaterialOverride, Ownership, Permissions, Sale};
use std::collections::BTreeSet;
use std::sync::Arc;

fn item() -> ContentItem {
    let user = AgentId(Uuid::from_u128(3));
    ContentItem {
        id: Uuid::from_u128(7),
        asset: Uuid::from_u128(8),
        asset_type: 7,
        inventory_type: 7,
        name: "note".into(),
        description: "".into(),
        flags: 0,
        ownership: Ownership {
            creator: user,
            owner: user,
            last_owner: user,
            group: Uuid::nil(),
            permissions: Permissions::NEW,
        },
        sale: Sale::default(),
        created_s: -1,
        carried: Carried::default(),
    }
}

#[test]
fn an_insertion_has_the_bytes_of_recordings_before_archives() {
    let body = Arc::new(Body::new(Uuid::from_u128(7), Shape::BOX, Arc::default(), AgentId(Uuid::nil()), 0));
    let linksets = vec![InsertedLinkset { prims: vec![(PrimMotion::NONE, body)] }];
    let insertion = Insertion { ids: Uuid::from_u128(9), linksets };
    let former = postcard::to_stdvec(&(insertion.ids, &insertion.linksets)).unwrap();
    assert_eq!(postcard::to_stdvec(&insertion), Ok(former));
}

#[test]
fn a_request_of_every_kind_survives_its_encoding_and_counts_its_objects() {
    let (id, uuid) = (LocalId(1 << 20), Uuid::from_u128(7));
    let new = NewObject {
        id: uuid,
        created_us: 1 << 50,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::splat(0.5),
        position: Vec3::new(1.0, 2.0, 3.0),
        ray: Some(Ray { start: Vec3::Z, end: Vec3::X, target: uuid }),
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::TEMPORARY,
        is_selected: true,
    };
    let copies = vec![
        (id, CopyPlace::Offset(Vec3::X)),
        (id, CopyPlace::At { position: Vec3::Y, ray: None, rotation: Some(Quat::IDENTITY) }),
    ];
    let place = Placement { scale: Some(Vec3::ONE), is_uniform: true, ..Placement::default() };
    let matter = PhysicsEdit { shape: 2, density: 1.0, friction: 0.5, restitution: 0.5, gravity: -1.0 };
    let offer = Offer { kind: 1, price: 0 };
    let derez = Derez { objects: vec![id], kind: DerezKind::Return, folder: uuid, transaction: uuid };
    let body = Arc::new(Body::new(uuid, Shape::BOX, Arc::new([3]), AgentId(uuid), 1 << 50));
    let linkset = InsertedLinkset { prims: vec![(PrimMotion::NONE, body)] };
    let insertion = Insertion { ids: uuid, linksets: vec![linkset] };
    let shiny = RenderMaterialEdit {
        face: None,
        material: Some(uuid),
        changes: Some(Box::new(MaterialOverride { metallic: Some(1.0), ..MaterialOverride::default() })),
    };
    let edit = ItemEdit {
        item: uuid,
        name: "nöte".into(),
        description: String::new(),
        masks: Permissions::NEW,
        offer,
    };
    let requests = [
        ObjectCommand::Create(Box::new(new)),
        ObjectCommand::Duplicate(Box::new(Duplicates { ids: uuid, group: uuid, is_selected: false, copies })),
        ObjectCommand::Place(vec![(id, place)]),
        ObjectCommand::Shape(vec![(id, Shape::BOX)]),
        ObjectCommand::Textures(vec![(id, Textures { entry: Arc::new([1, 2]), media_url: "é".into() })]),
        ObjectCommand::Material(vec![(id, 7)]),
        ObjectCommand::ExtraParam(vec![(id, ExtraParamEdit { kind: 0x30, data: Some(vec![1]) })]),
        ObjectCommand::Flags(id, FlagsEdit { physics: Some(matter), ..FlagsEdit::default() }),
        ObjectCommand::Name(vec![(id, "hé".into())]),
        ObjectCommand::Description(vec![(id, String::new())]),
        ObjectCommand::ClickAction(vec![(id, 9)]),
        ObjectCommand::InSearch(vec![(id, true)]),
        ObjectCommand::Permissions(vec![(id, MaskEdit { field: 8, is_set: true, bits: 1 << 15 })]),
        ObjectCommand::Group { objects: vec![id], group: uuid },
        ObjectCommand::Owner { objects: vec![id], owner: AgentId(uuid), group: uuid },
        ObjectCommand::Sale(vec![(id, offer)]),
        ObjectCommand::Buy { offers: vec![(id, offer)], group: uuid },
        ObjectCommand::Link(vec![id, id]),
        ObjectCommand::Delink(vec![id]),
        ObjectCommand::Attach(vec![(id, 5)]),
        ObjectCommand::PutDown(vec![id]),
        ObjectCommand::Derez(derez),
        ObjectCommand::Undo(vec![uuid]),
        ObjectCommand::Redo(vec![uuid]),
        ObjectCommand::Insert(Box::new(insertion.clone())),
        ObjectCommand::Media(id, vec![None, Some(MediaEntry::default())]),
        ObjectCommand::Navigate(id, Navigation { face: 1, address: "http://a/".into() }),
        ObjectCommand::RenderMaterial(vec![(id, shiny)]),
        ObjectCommand::FaceMaterial(vec![(id, FaceMaterial { face: Some(1), material: uuid })]),
        ObjectCommand::Drag { object: id, grip: Vec3::X, target: Vec3::splat(50.0) },
        ObjectCommand::Release,
        ObjectCommand::PutItem(id, Box::new(item())),
        ObjectCommand::EditItem(id, Box::new(edit)),
        ObjectCommand::RemoveItem(id, uuid),
        ObjectCommand::ReadItem(id, uuid),
        ObjectCommand::TakeItem { object: id, item: uuid, folder: uuid },
        ObjectCommand::TakeOff(vec![id]),
        ObjectCommand::Clear(vec![(id, uuid)]),
        ObjectCommand::InsertWithIds(Box::new(insertion)),
    ];
    let labels: BTreeSet<&str> = requests.iter().map(ObjectCommand::label).collect();
    assert_eq!(labels.len(), requests.len(), "{labels:?}");
    for request in requests {
        let is_named = !matches!(
            request,
            ObjectCommand::Create(_)
                | ObjectCommand::Undo(_)
                | ObjectCommand::Redo(_)
                | ObjectCommand::Insert(_)
                | ObjectCommand::InsertWithIds(_)
                | ObjectCommand::Release
        );
        assert_eq!(request.first_object(), is_named.then_some(id), "{request:?}");
        let n = match request {
            ObjectCommand::Duplicate(_) | ObjectCommand::Link(_) => 2,
            ObjectCommand::Release => 0,
            _ => 1,
        };
        assert_eq!(request.n_objects(), n, "{request:?}");
        let is_of_node = matches!(
            request,
            ObjectCommand::Insert(_)
                | ObjectCommand::InsertWithIds(_)
                | ObjectCommand::PutItem(..)
                | ObjectCommand::Clear(_)
        );
        assert_eq!(request.is_of_node(), is_of_node);
        assert_eq!(request.is_of_contents(), request.label().ends_with("_item"), "{request:?}");
        let bytes = postcard::to_stdvec(&request).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(request));
    }
}
