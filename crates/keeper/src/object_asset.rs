//! Objects as assets: the XML of OpenSimulator's inventories. It contains all properties of an object except its movement, and the data that are preserved for
//! archives.

use archive::object::flags::PART_FLAGS;
use archive::object::{
    Coalesced, CoalescedGroup, ObjectError, PartPlace, SceneGroup, SceneObject, ScenePart, WriteOptions,
    XmlForm, read_object, write_object,
};
use archive::xml::XmlLimits;
use glam::Vec3;
use ids::LocalId;
use link::{HeldObject, Motion, PlacedLinkset, PrimFlags, PrimMotion, VersionedBody};
use prim::Body;
use std::sync::Arc;

/// The XML of an object exceeds the length that readers accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} bytes as an asset, which is more than {max} that are read", max = XmlLimits::OBJECT.bytes_max)]
pub struct TooLong(pub usize);

/// Encodes the asset of an object. Equal objects have equal bytes. The asset of an object that was worn contains the attachment point in its prims, and
/// the position relative to the point beside the position of the root.
///
/// # Errors
/// [`TooLong`].
pub fn encode_object(object: &HeldObject) -> Result<Vec<u8>, TooLong> {
    let options = WriteOptions { form: XmlForm::Original, creators: None };
    let text = write_object(&scene_object(object), &options);
    if text.len() > XmlLimits::OBJECT.bytes_max { Err(TooLong(text.len())) } else { Ok(text.into_bytes()) }
}

/// Decodes the linksets of an asset, in any form that OpenSimulator writes. The roots of several linksets are placed relative to each other, a single root at its
/// stored position. Ids and owners are those of the asset, and nothing moves.
///
/// # Errors
/// [`ObjectError`].
pub fn decode_object(bytes: &[u8]) -> Result<Vec<PlacedLinkset>, ObjectError> {
    let object = read_object(bytes, &XmlLimits::OBJECT)?.object;
    let is_coalesced = matches!(object, SceneObject::Coalesced(_));
    let linkset = |CoalescedGroup { offset, group }: CoalescedGroup| {
        let mut prims = linkset_of(group);
        if let Some((root, _)) = prims.first_mut().filter(|_| is_coalesced) {
            root.motion.position = offset;
        }
        prims
    };
    Ok(object.into_groups().into_iter().map(linkset).collect())
}

/// Like [`decode_object`], with all roots at their positions in the region that they left.
///
/// # Errors
/// [`ObjectError`].
pub(crate) fn decode_object_in_place(bytes: &[u8]) -> Result<Vec<PlacedLinkset>, ObjectError> {
    let object = read_object(bytes, &XmlLimits::OBJECT)?.object;
    Ok(object.into_groups().into_iter().map(|member| linkset_of(member.group)).collect())
}

/// Decodes the linksets of an asset for an avatar to wear: the position of a root is relative to the attachment point, and zero for an object that was
/// never worn.
///
/// # Errors
/// [`ObjectError`].
pub(crate) fn decode_worn(bytes: &[u8]) -> Result<Vec<PlacedLinkset>, ObjectError> {
    let object = read_object(bytes, &XmlLimits::OBJECT)?.object;
    let linkset = |member: CoalescedGroup| {
        let position = member.group.root.place.attached_position.unwrap_or_default();
        let mut prims = linkset_of(member.group);
        if let Some((root, _)) = prims.first_mut() {
            root.motion.position = position;
        }
        prims
    };
    Ok(object.into_groups().into_iter().map(linkset).collect())
}

fn scene_object(object: &HeldObject) -> SceneObject {
    let groups = object.linksets.iter().filter_map(|prims| scene_group(prims, object.is_worn));
    let mut groups: Vec<SceneGroup> = groups.collect();
    if groups.len() == 1 {
        return SceneObject::Group(groups.remove(0));
    }
    let (low, high) = object.extent().unwrap_or_default();
    let member = |group: SceneGroup| CoalescedGroup { offset: group.root.place.position - low, group };
    SceneObject::Coalesced(Coalesced { size: high - low, groups: groups.into_iter().map(member).collect() })
}

fn scene_group(prims: &PlacedLinkset, is_worn: bool) -> Option<SceneGroup> {
    let mut parts = prims.iter().enumerate().map(|(number, (place, versioned))| ScenePart {
        place: PartPlace {
            position: place.motion.position,
            rotation: place.motion.rotation,
            velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
            acceleration: Vec3::ZERO,
            attached_position: (is_worn && number == 0).then_some(place.motion.position),
        },
        flags: place.flags.0 & PART_FLAGS & !PrimFlags::TEMPORARY.0,
        body: if is_worn { stated_point(&versioned.body) } else { Arc::clone(&versioned.body) },
    });
    Some(SceneGroup { root: parts.next()?, others: parts.collect() })
}

/// A worn prim with its attachment point in the nibble order of assets.
fn stated_point(body: &Arc<Body>) -> Arc<Body> {
    let state = body.attachment_point();
    if body.state == state { Arc::clone(body) } else { Arc::new(Body { state, ..(**body).clone() }) }
}

fn linkset_of(group: SceneGroup) -> PlacedLinkset {
    let SceneGroup { root, others } = group;
    let parts = std::iter::once(root).chain(others).zip((0..=u8::MAX).chain(std::iter::repeat(u8::MAX)));
    let prims = parts.map(|(ScenePart { place, flags, body }, number)| {
        let motion = Motion { position: place.position, rotation: place.rotation, ..Motion::default() };
        let empty = if body.n_items() == 0 { PrimFlags::INVENTORY_EMPTY } else { PrimFlags::default() };
        let flags = PrimFlags(flags & PART_FLAGS & !PrimFlags::TEMPORARY.0 | empty.0);
        let place = PrimMotion { motion, parent: LocalId(0), link_number: number, flags };
        (place, VersionedBody { version: 1, body })
    });
    prims.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, body, item};
    use ids::{AgentId, SessionKey, Uuid};
    use link::DerezKind;
    use prim::{Carried, ContentItem, Contents, Names};

    fn object(linksets: Vec<PlacedLinkset>) -> HeldObject {
        let (owner, by) = (AgentId(Uuid::from_u128(2)), SessionKey::NODE);
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        HeldObject { owner, by, kind: DerezKind::Take, folder, transaction, is_worn: false, linksets }
    }

    /// A prim without items.
    fn part(number: u8, versioned: VersionedBody) -> (PrimMotion, VersionedBody) {
        let flags = PrimFlags(PrimFlags::PHANTOM.0 | PrimFlags::INVENTORY_EMPTY.0);
        (PrimMotion { link_number: number, flags, ..at(0.5) }, versioned)
    }

    /// A prim with two of them.
    fn filled(number: u8) -> (PrimMotion, VersionedBody) {
        let content = |n, name| {
            let item = (*item(n, name)).clone();
            Arc::new(ContentItem { inventory_type: 10, carried: Carried::default(), ..item })
        };
        let items = vec![content(1, "Script"), content(2, "Zettel, schön & <neu>")];
        let names = Names { name: "Lampe".into(), description: "zwei\nZeilen".into(), ..Names::default() };
        let plain = body(number.into());
        let contents = Some(Arc::new(Contents { serial: 0, items }));
        let (ownership, scale) = (Arc::new(item(1, "").ownership), Vec3::new(0.001, 2.0, 200.0));
        let full = Body { names, contents, ownership, scale, ..(*plain.body).clone() };
        let (place, _) = part(number, plain.clone());
        let place = PrimMotion { flags: PrimFlags::PHANTOM, ..place };
        (place, VersionedBody { body: Arc::new(full), ..plain })
    }

    #[test]
    fn a_linkset_is_read_back_as_it_was() {
        let object = object(vec![vec![part(0, body(1)), part(1, body(2)), filled(2)]]);
        let bytes = encode_object(&object).unwrap();
        assert_eq!(bytes, encode_object(&object).unwrap());
        let read = decode_object(&bytes).unwrap();
        assert_eq!((read.len(), read[0].len()), (1, 3));
        for ((place, versioned), (expected, former)) in read[0].iter().zip(&object.linksets[0]) {
            assert_eq!((place.motion.position, place.flags), (expected.motion.position, expected.flags));
            assert!(place.motion.rotation.abs_diff_eq(expected.motion.rotation, 1e-6));
            assert_eq!(place.link_number, expected.link_number);
            let items = |body: &Body| body.contents.as_ref().map(|contents| contents.items.clone());
            assert_eq!(items(&versioned.body), items(&former.body));
            assert!(versioned.body.shows_the_same_as(&former.body), "{:?}", versioned.body);
        }
    }

    #[test]
    fn several_linksets_keep_their_distances() {
        let moved = |x: f32, versioned: VersionedBody| {
            let (mut place, versioned) = part(0, versioned);
            place.motion.position.x = x;
            vec![(place, versioned)]
        };
        let object = object(vec![moved(10.0, body(1)), moved(14.0, body(2))]);
        let read = decode_object(&encode_object(&object).unwrap()).unwrap();
        let position = |n: usize| read[n][0].0.motion.position;
        assert!((position(1) - position(0)).distance(Vec3::new(4.0, 0.0, 0.0)) < 1e-5);
        assert!(read[1][0].1.body.shows_the_same_as(&object.linksets[1][0].1.body));
    }

    #[test]
    fn a_worn_linkset_is_read_back_at_its_point() {
        let mut root = part(0, body(1));
        (root.0.motion.position, Arc::make_mut(&mut root.1.body).state) = (Vec3::new(0.1, 0.0, -0.05), 0x52);
        let worn = HeldObject { is_worn: true, ..object(vec![vec![root]]) };
        let bytes = encode_object(&worn).unwrap();
        let [linkset] = &decode_worn(&bytes).unwrap()[..] else { panic!("one") };
        let (place, versioned) = &linkset[0];
        assert_eq!((place.motion.position, versioned.body.state), (Vec3::new(0.1, 0.0, -0.05), 0x25));
        // An object that was never worn is at the attachment point itself.
        let bytes = encode_object(&object(vec![vec![part(0, body(1))]])).unwrap();
        assert_eq!(decode_worn(&bytes).unwrap()[0][0].0.motion.position, Vec3::ZERO);
    }

    #[test]
    fn bytes_that_are_no_object_are_refused() {
        for bytes in [&b""[..], b"LLWearable", b"<Other/>"] {
            assert!(decode_object(bytes).is_err());
        }
    }
}
