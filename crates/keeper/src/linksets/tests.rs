//! Linksets with losses.

use super::*;
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use link::VersionedBody;
use prim::{Body, Shape};
use std::sync::Arc;

/// A prim with its own number as id.
fn prim(id: u32, root: u32, link_number: u8, x: f32) -> PlacedPrim {
    let body = Body::new(Uuid::from_u128(id.into()), Shape::BOX, Arc::default(), AgentId(Uuid::nil()), 0);
    let motion = Motion { position: Vec3::new(x, 0.0, 0.0), ..Motion::default() };
    let motion = PrimMotion { motion, parent: LocalId(root), link_number, ..PrimMotion::NONE };
    PlacedPrim { id: LocalId(id), motion, body: VersionedBody { version: 1, body: Arc::new(body) } }
}

/// Root, number, and x of each prim.
fn places(prims: &[PlacedPrim]) -> Vec<(u32, u32, u8, f32)> {
    let place = |prim: &PlacedPrim| {
        (prim.id.0, prim.motion.parent.0, prim.motion.link_number, prim.motion.motion.position.x)
    };
    prims.iter().map(place).collect()
}

fn lost(mended: &Mended) -> Vec<u32> {
    mended.lost.iter().map(|(LocalId(id), _)| *id).collect()
}

#[test]
fn whole_linksets_stay_as_they_are() {
    let prims = vec![prim(1, 0, 0, 5.0), prim(2, 4, 2, 1.0), prim(3, 4, 1, 2.0), prim(4, 0, 0, 3.0)];
    let mut same = prims.clone();
    let mended = mend(&mut same, BTreeMap::new());
    assert_eq!((same, mended.n_changed, lost(&mended)), (prims, 0, vec![]));
}

#[test]
fn parts_behind_a_lost_one_are_numbered_anew() {
    let mut prims = vec![prim(1, 0, 0, 5.0), prim(2, 1, 1, 1.0), prim(4, 1, 3, 2.0), prim(5, 1, 4, 3.0)];
    let mended = mend(&mut prims, BTreeMap::new());
    assert_eq!(places(&prims), [(1, 0, 0, 5.0), (2, 1, 1, 1.0), (4, 1, 2, 2.0), (5, 1, 3, 3.0)]);
    assert_eq!(prims.iter().map(|prim| prim.body.version).collect::<Vec<_>>(), [1, 1, 2, 2]);
    assert_eq!((mended.n_changed, lost(&mended)), (2, vec![]));
}

#[test]
fn the_first_part_takes_the_place_of_a_lost_root() {
    let turned = Motion { rotation: Quat::from_rotation_z(1.0), ..prim(9, 0, 0, 100.0).motion.motion };
    let root = PrimMotion { motion: turned, ..PrimMotion::NONE };
    let mut prims = vec![prim(2, 1, 2, 4.0), prim(3, 1, 1, 1.0)];
    let before = prims.clone();
    let mended = mend(&mut prims, BTreeMap::from([(LocalId(1), root)]));
    assert!(lost(&mended).is_empty());
    let [other, heir] = &prims[..] else { panic!("two prims") };
    assert_eq!((heir.motion.parent, heir.motion.link_number), (LocalId(0), 0));
    assert_eq!((other.motion.parent, other.motion.link_number), (LocalId(3), 1));
    let at = |part: &PlacedPrim| in_region(&turned, &part.motion.motion);
    assert!(heir.motion.motion.position.distance(at(&before[1]).position) < 1e-4);
    let other = in_region(&heir.motion.motion, &other.motion.motion);
    assert!(other.position.distance(at(&before[0]).position) < 1e-4);
    assert!(other.rotation.dot(at(&before[0]).rotation).abs() > 0.9999);
}

#[test]
fn parts_without_a_place_are_lost() {
    let mut prims = vec![prim(2, 1, 1, 1.0), prim(3, 2, 1, 1.0), prim(4, 4, 1, 1.0), prim(5, 0, 0, 1.0)];
    let mended = mend(&mut prims, BTreeMap::new());
    assert_eq!(lost(&mended), [2, 3, 4]);
    assert_eq!(places(&prims), [(5, 0, 0, 1.0)]);
    // The lost root is somewhere beyond all numbers.
    let far = PrimMotion {
        motion: Motion { rotation: Quat::from_xyzw(0.0, 0.0, 1e30, 1e30), ..Motion::default() },
        ..PrimMotion::NONE
    };
    let mut prims = vec![prim(3, 2, 1, 1e20), prim(4, 2, 2, 1.0)];
    assert_eq!(lost(&mend(&mut prims, BTreeMap::from([(LocalId(2), far)]))), [3, 4]);
    // The lost root was a part itself.
    let mut prims = vec![prim(3, 2, 1, 1.0)];
    assert_eq!(lost(&mend(&mut prims, BTreeMap::from([(LocalId(2), prim(2, 1, 1, 0.0).motion)]))), [3]);
}

#[test]
fn of_two_prims_with_one_id_the_second_is_lost() {
    let mut prims = vec![prim(1, 0, 0, 1.0), prim(2, 0, 0, 8.0), prim(3, 2, 1, 1.0)];
    prims[1].body = prims[0].body.clone();
    let mended = mend(&mut prims, BTreeMap::new());
    assert_eq!(lost(&mended), [2]);
    assert_eq!(places(&prims), [(1, 0, 0, 1.0), (3, 0, 0, 9.0)], "its part stays where it was");
}

#[test]
fn a_linkset_has_no_more_parts_than_numbers() {
    let mut prims = vec![prim(1, 0, 0, 0.0)];
    prims.extend((2..300).map(|id| prim(id, 1, 7, 0.0)));
    let mended = mend(&mut prims, BTreeMap::new());
    assert_eq!((prims.len(), lost(&mended).first()), (256, Some(&257)));
    assert!(prims[1..].iter().map(|prim| prim.motion.link_number).eq(1..=255));
}
