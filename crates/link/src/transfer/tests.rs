//! Encodings: every form survives, and the forms of builds before inventories have their bytes.

use super::*;
use glam::Quat;
use ids::WorldId;
use prim::{Body, Shape};

fn prim(n: u128) -> (PrimMotion, VersionedBody) {
    let body = Body::new(Uuid::from_u128(n), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(1)), 0);
    (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) })
}

fn object(kind: DerezKind, is_worn: bool, lengths: &[usize]) -> HeldObject {
    let linksets = lengths.iter().map(|length| (0..*length as u128).map(prim).collect()).collect();
    let (owner, by) = (AgentId(Uuid::from_u128(1)), SessionKey(5 << 48 | 1));
    let (folder, transaction) = (Uuid::from_u128(2), Uuid::from_u128(3));
    HeldObject { owner, by, kind, folder, transaction, is_worn, linksets }
}

fn order(key: Option<HeldKey>, place: RestorePlace, kind: DerezKind) -> Restoration {
    Restoration { key, object: Arc::new(object(kind, false, &[1])), place, ids: Uuid::from_u128(9) }
}

fn key(region: u32, ticket: u32) -> HeldKey {
    HeldKey { region: WorldId(region), ticket: Ticket(ticket) }
}

#[test]
fn objects_of_any_form_survive_their_encoding() {
    let kinds = [
        DerezKind::Delete,
        DerezKind::Trash,
        DerezKind::Return,
        DerezKind::Take,
        DerezKind::TakeCopy,
        DerezKind::Save,
    ];
    for kind in kinds {
        for lengths in [&[][..], &[0], &[1], &[3], &[1, 2, 1], &[2, 0]] {
            for is_worn in [false, true] {
                let object = object(kind, is_worn, lengths);
                let bytes = postcard::to_stdvec(&object).unwrap();
                assert_eq!(object.is_whole(), !lengths.is_empty() && !lengths.contains(&0));
                assert_eq!(object.n_prims(), object.prims().count());
                assert_eq!(postcard::from_bytes(&bytes), Ok(object));
            }
        }
    }
}

#[test]
fn one_linkset_has_the_bytes_of_builds_that_knew_no_others() {
    let object = object(DerezKind::Return, false, &[2]);
    let HeldObject { owner, by, kind, folder, transaction, linksets, .. } = object.clone();
    let former = postcard::to_stdvec(&(owner, by, kind, folder, transaction, &linksets[0])).unwrap();
    assert_eq!(postcard::to_stdvec(&object), Ok(former));
    let order = order(Some(key(1, 7)), RestorePlace::At(Vec3::X), DerezKind::Return);
    let former = (key(1, 7), &order.object, Some(Vec3::X), order.ids);
    assert_eq!(postcard::to_stdvec(&order), postcard::to_stdvec(&former));
    let order = Restoration { place: RestorePlace::Former, ..order };
    let former = (key(1, 7), &order.object, None::<Vec3>, order.ids);
    assert_eq!(postcard::to_stdvec(&order), postcard::to_stdvec(&former));
}

#[test]
fn lengths_that_are_not_those_of_the_prims_are_refused() {
    let object = object(DerezKind::Take, false, &[1, 2]);
    let bytes = postcard::to_stdvec(&object).unwrap();
    // Owner, session, variant, kind and flag come first, then the lengths.
    let at = postcard::to_stdvec(&(object.owner, object.by)).unwrap().len() + 3;
    assert_eq!(bytes[at..at + 3], [2, 1, 2]);
    for lengths in [[2, 1, 1], [2, 2, 2], [2, 3, 1]] {
        let mut other = bytes.clone();
        other[at..at + 3].copy_from_slice(&lengths);
        assert!(postcard::from_bytes::<HeldObject>(&other).is_err(), "{lengths:?}");
    }
}

#[test]
fn orders_of_any_form_survive_their_encoding() {
    let ray = Ray { start: Vec3::Z, end: Vec3::X, target: Uuid::from_u128(4) };
    let rezzing = Rezzing { session: SessionKey(3), position: Vec3::Y, ray: Some(ray), is_selected: true };
    let back = RestorePlace::Back { session: SessionKey(3), is_selected: false };
    let places = [RestorePlace::Former, RestorePlace::At(Vec3::X), RestorePlace::Rezzed(rezzing), back];
    for place in places {
        for key in [None, Some(key(1, 7)), Some(key(0, 1))] {
            let order = order(key, place, DerezKind::Take);
            let bytes = postcard::to_stdvec(&order).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(order));
        }
    }
}

#[test]
fn objects_of_items_and_copies_get_ids_of_their_own() {
    let is_fresh = |key, kind| order(key, RestorePlace::Former, kind).has_fresh_ids();
    assert!(is_fresh(None, DerezKind::Take) && is_fresh(Some(key(0, 1)), DerezKind::Return));
    assert!(is_fresh(Some(key(1, 1)), DerezKind::TakeCopy) && is_fresh(Some(key(1, 1)), DerezKind::Save));
    assert!(!is_fresh(Some(key(1, 1)), DerezKind::Take) && !is_fresh(Some(key(1, 1)), DerezKind::Trash));
}

#[test]
fn a_request_can_name_as_many_linksets_as_an_object_has() {
    assert_eq!(crate::object_command::DEREZ_OBJECTS_MAX, HeldObject::PRIMS_MAX);
}

#[test]
fn the_extent_of_an_object_is_that_of_all_its_prims() {
    let mut object = object(DerezKind::Take, false, &[2, 1]);
    assert_eq!(object.extent(), Some((Vec3::splat(-0.25), Vec3::splat(0.25))));
    let quarter = Quat::from_rotation_z(std::f32::consts::FRAC_PI_2);
    object.linksets[0][0].0.motion.rotation = quarter;
    object.linksets[0][1].0.motion.position = Vec3::new(2.0, 0.0, 0.0);
    Arc::make_mut(&mut object.linksets[0][1].1.body).scale = Vec3::new(1.0, 0.5, 0.5);
    object.linksets[1][0].0.motion.position = Vec3::new(-3.0, 0.0, 0.0);
    let (low, high) = object.extent().expect("finite");
    // The part is turned with its root.
    assert!(low.distance(Vec3::new(-3.25, -0.25, -0.25)) < 1e-5, "{low}");
    assert!(high.distance(Vec3::new(0.25, 2.5, 0.25)) < 1e-5, "{high}");
    object.linksets[0][1].0.motion.position.z = f32::NAN;
    assert_eq!((object.extent(), HeldObject { linksets: Vec::new(), ..object }.extent()), (None, None));
}
