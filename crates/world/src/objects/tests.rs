//! Linksets against a plain model, and frames against the store.

use super::store::LINK_MAX;
use super::{ObjectError, ObjectStore};
use crate::world::{World, WorldConfig};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, Frame, Motion, ObjectChange, ObjectMask, PageBodies, PageMotions, PrimFlags, PrimMotion,
    StoredObjects, Terrain, VersionedBody,
};
use prim::{Body, Shape};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(super) const IDS: Range<u32> = 1 << 20..2 << 20;

pub(super) fn body(n: u128) -> Arc<Body> {
    Arc::new(Body::new(Uuid::from_u128(n), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(1)), 0))
}

pub(super) fn at(x: f32) -> PrimMotion {
    let motion = Motion { position: Vec3::new(x, 2.0, 3.0), ..Motion::default() };
    PrimMotion { motion, ..PrimMotion::NONE }
}

/// A store with prims at x = 0, 1, …, after its first frame.
pub(super) fn store_of(n: u16) -> (ObjectStore, Vec<LocalId>) {
    let mut store = ObjectStore::new(&IDS);
    let insert = |n: u16| store.insert(at(f32::from(n)), body(u128::from(n) + 1)).expect("room");
    let ids = (0..n).map(insert).collect();
    store.write_changes(&mut Vec::new());
    (store, ids)
}

fn changes(store: &mut ObjectStore) -> Vec<ObjectChange> {
    let mut out = Vec::new();
    store.write_changes(&mut out);
    out
}

/// The store that is restored from another one's state.
fn restored(store: &ObjectStore) -> ObjectStore {
    ObjectStore::restored(&IDS, store.stored()).expect("its own state")
}

#[test]
fn a_prim_is_found_by_its_local_id_and_changes_are_told_once() {
    let (mut store, ids) = store_of(300);
    assert_eq!((store.len(), ids[0], ids[299]), (300, LocalId(IDS.start), LocalId(IDS.start + 299)));
    assert_eq!(changes(&mut store), []);
    store.set_motion(ids[1], at(9.0).motion).unwrap();
    store.set_motion(ids[1], at(8.0).motion).unwrap();
    let [ObjectChange::Set { id, motion, body, mask }] = &changes(&mut store)[..] else {
        panic!("one change")
    };
    assert_eq!((*id, *motion, body.version, *mask), (ids[1], at(8.0), 2, ObjectMask::MOTION));
    let moving = PrimMotion { motion: Motion { velocity: Vec3::X, ..at(8.0).motion }, ..at(8.0) };
    store.set_motion(ids[1], moving.motion).unwrap();
    assert_eq!(changes(&mut store), [ObjectChange::Moved(ids[1], moving)]);
    store.edit_body(ids[2], ObjectMask::TEXT, |body| body.click_action = 4).unwrap();
    let [ObjectChange::Set { id, body, mask, .. }] = &changes(&mut store)[..] else { panic!("one change") };
    assert_eq!((*id, body.version, body.body.click_action, *mask), (ids[2], 2, 4, ObjectMask::TEXT));
    store.remove(ids[3]).unwrap();
    assert_eq!(changes(&mut store), [ObjectChange::Removed(ids[3])]);
    assert_eq!(store.remove(ids[3]), Err(ObjectError::Unknown));
}

#[test]
fn a_prim_that_comes_and_goes_within_a_tick_is_not_mentioned() {
    let (mut store, _) = store_of(1);
    let hash = store.hash();
    let id = store.insert(at(5.0), body(99)).unwrap();
    store.set_motion(id, at(6.0).motion).unwrap();
    store.remove(id).unwrap();
    assert_eq!((changes(&mut store), store.hash()), (Vec::new(), hash));
}

#[test]
fn a_later_life_gives_no_version_that_an_earlier_one_has_shown_and_lost() {
    let (mut store, ids) = store_of(2);
    let saved = store.stored();
    store.edit_body(ids[0], ObjectMask::TEXT, |body| body.click_action = 4).unwrap();
    let lost = store.body(ids[0]).expect("it is there").version;
    let mut later = ObjectStore::restored(&IDS, StoredObjects { version_floor: 1_000, ..saved }).unwrap();
    let version = |store: &ObjectStore, n: usize| store.body(ids[n]).expect("it is there").version;
    assert_eq!((version(&later, 0), version(&later, 1), lost), (1, 1, 2), "unchanged prims keep theirs");
    later.edit_body(ids[0], ObjectMask::TEXT, |body| body.click_action = 5).unwrap();
    later.set_flags(ids[1], PrimFlags::PHANTOM).unwrap();
    assert_eq!((version(&later, 0), version(&later, 1)), (1_000, 1_000));
    let mut restored = restored(&later);
    restored.edit_body(ids[0], ObjectMask::TEXT, |body| body.click_action = 6).unwrap();
    restored.set_flags(ids[1], PrimFlags::default()).unwrap();
    assert_eq!((version(&restored, 0), version(&restored, 1)), (1_001, 1_001));
    assert_eq!([0, 7, 1 << 31, u64::MAX].map(StoredObjects::floor_at), [0, 7, 1 << 31, 1 << 31]);
}

#[test]
fn temporary_objects_have_ids_of_their_own() {
    let (mut store, _) = store_of(1);
    let temporary = PrimMotion { flags: PrimFlags::TEMPORARY, ..at(1.0) };
    assert_eq!(store.insert(temporary, body(50)), Ok(LocalId(IDS.start + (1 << 19))));
    assert_eq!(store.insert(temporary, body(50)), Err(ObjectError::Twice));
}

#[test]
fn parts_keep_their_places_and_their_order() {
    let (mut store, ids) = store_of(4);
    let turned = Motion { rotation: Quat::from_rotation_z(1.0), ..at(10.0).motion };
    store.set_motion(ids[0], turned).unwrap();
    for &part in &ids[1..] {
        store.link(ids[0], part).unwrap();
    }
    assert_eq!(store.linkset(ids[0]).collect::<Vec<_>>(), ids);
    let place = |store: &ObjectStore, n: usize| store.motion_in_region(ids[n]).unwrap().position;
    assert!((1..4).all(|n| place(&store, n).distance(at(n as f32).motion.position) < 1e-5));
    // Parts go with their root.
    store.set_motion(ids[0], Motion { position: turned.position + Vec3::Z, ..turned }).unwrap();
    assert!(place(&store, 2).distance(at(2.0).motion.position + Vec3::Z) < 1e-5);
    store.unlink(ids[2]).unwrap();
    assert_eq!(store.linkset(ids[0]).collect::<Vec<_>>(), [ids[0], ids[1], ids[3]]);
    assert_eq!(store.motion(ids[3]).map(|prim| prim.link_number), Some(2));
    assert!(place(&store, 2).distance(at(2.0).motion.position + Vec3::Z) < 1e-5);
    // The first part inherits the others.
    store.unlink(ids[0]).unwrap();
    assert_eq!((store.root_of(ids[3]), store.root_of(ids[0])), (Some(ids[1]), Some(ids[0])));
    store.remove(ids[1]).unwrap();
    assert_eq!((store.len(), store.body(ids[3])), (2, None));
}

#[test]
fn links_that_cannot_be_are_refused() {
    let (mut store, ids) = store_of(300);
    assert_eq!(store.link(ids[0], ids[0]), Err(ObjectError::Itself));
    store.link(ids[0], ids[1]).unwrap();
    assert_eq!(store.link(ids[1], ids[0]), Err(ObjectError::Itself));
    assert_eq!(store.link(ids[0], LocalId(7)), Err(ObjectError::Unknown));
    for &part in &ids[2..LINK_MAX] {
        store.link(ids[0], part).unwrap();
    }
    assert_eq!(store.link(ids[0], ids[LINK_MAX]), Err(ObjectError::TooManyParts));
    store.link(ids[257], ids[258]).unwrap();
    assert_eq!(store.link(ids[257], ids[0]), Err(ObjectError::TooManyParts));
    assert_eq!(store.linkset(ids[257]).count(), 2);
    assert_eq!(store.motion(ids[255]).map(|prim| prim.link_number), Some(255));
}

#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let (mut store, ids) = store_of(3);
    store.link(ids[0], ids[1]).unwrap();
    let stored = || store.stored();
    let broken = |damage: &dyn Fn(&mut PageMotions, &mut PageBodies)| {
        let mut stored = stored();
        let page = &mut stored.pages[0];
        damage(Arc::make_mut(&mut page.motions), Arc::make_mut(&mut page.bodies));
        ObjectStore::restored(&IDS, stored).is_none()
    };
    assert!(!broken(&|_, _| {}));
    assert!(broken(&|_, bodies| bodies[2] = bodies[1].clone()), "an id twice");
    assert!(broken(&|_, bodies| bodies[0] = None), "no root");
    assert!(broken(&|motions, _| motions[1].link_number = 2), "a gap");
    assert!(
        broken(&|motions, _| motions[2] = PrimMotion { parent: ids[1], link_number: 1, ..motions[2] }),
        "a part of a part"
    );
    let outside =
        StoredObjects { pages: vec![link::ObjectPage::empty(LocalId(5 << 20))], ..StoredObjects::default() };
    assert!(ObjectStore::restored(&IDS, outside).is_none());
}

#[test]
fn a_step_without_changes_copies_no_page_and_a_checkpoint_none_either() {
    let (mut store, ids) = store_of(600);
    let stored = store.stored();
    let shared = |store: &ObjectStore| {
        let now = store.stored();
        let pairs = stored.pages.iter().zip(now.pages);
        pairs
            .map(|(a, b)| (Arc::ptr_eq(&a.motions, &b.motions), Arc::ptr_eq(&a.bodies, &b.bodies)))
            .collect::<Vec<_>>()
    };
    assert_eq!(changes(&mut store), []);
    assert_eq!(shared(&store), [(true, true); 3]);
    store.set_motion(ids[300], at(1.0).motion).unwrap();
    assert_eq!(shared(&store), [(true, true), (false, true), (true, true)]);
    assert_eq!(stored.pages[1].motions[44].motion.position.x, 300.0, "the checkpoint is as it was");
}

fn world_of(stored: StoredObjects) -> World {
    World::with_objects(config(), stored).expect("a possible state")
}

fn config() -> WorldConfig {
    WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: IDS,
        terrain: Arc::new(Terrain::flat(256, 21.0)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    }
}

fn step(world: &mut World, tick: u64, commands: Vec<Command>) -> Frame {
    let mut frame = Frame::empty();
    world.step(Tick(tick), Duration::from_millis(50), 1.0, &mut { commands }, &mut frame);
    frame
}

#[test]
fn a_world_tells_its_objects_first_as_pages_and_continues_from_its_snapshot() {
    let (store, ids) = store_of(300);
    let mut world = world_of(store.stored());
    assert!(!world.is_quiet());
    let [ObjectChange::Pages(pages)] = &step(&mut world, 0, Vec::new()).objects[..] else { panic!("pages") };
    assert_eq!(pages.iter().map(|page| page.prims().count()).sum::<usize>(), 300);
    assert!(world.is_quiet());
    let mut continued = World::restore(config(), &world.snapshot()).expect("its own snapshot");
    let mut resumed = World::resume(config(), &world.checkpoint()).expect("its own checkpoint");
    for world in [&mut world, &mut continued, &mut resumed] {
        world.objects.as_mut().expect("built on").set_motion(ids[7], at(1.0).motion).unwrap();
    }
    let frame = step(&mut world, 1, Vec::new());
    assert!(
        matches!(frame.objects[..], [ObjectChange::Set { id, motion, .. }] if (id, motion) == (ids[7], at(1.0)))
    );
    assert_eq!(step(&mut continued, 1, Vec::new()), frame);
    assert_eq!(step(&mut resumed, 1, Vec::new()), frame);
    let resync = Command::by_node(SessionKey::NODE, 1, Action::Resync);
    let snapshot = step(&mut world, 2, vec![resync]).snapshot.expect("asked for");
    assert_eq!(snapshot.objects, world.objects.as_ref().expect("built on").pages());
    let elsewhere = WorldConfig { local_ids: 5 << 20..6 << 20, ..config() };
    assert!(World::restore(elsewhere, &world.snapshot()).is_err(), "the ids of objects are theirs");
}

#[derive(Clone, Debug)]
enum Deed {
    Insert(bool),
    Remove(usize),
    Move(usize, i8),
    Edit(usize),
    Link(usize, usize),
    Unlink(usize),
    Frame,
    Pass,
}

fn deed() -> impl Strategy<Value = Deed> {
    let which = 0..40_usize;
    prop_oneof![
        4 => any::<bool>().prop_map(Deed::Insert),
        1 => which.clone().prop_map(Deed::Remove),
        3 => (which.clone(), any::<i8>()).prop_map(|(n, x)| Deed::Move(n, x)),
        2 => which.clone().prop_map(Deed::Edit),
        4 => (which.clone(), which.clone()).prop_map(|(a, b)| Deed::Link(a, b)),
        2 => which.prop_map(Deed::Unlink),
        3 => Just(Deed::Frame),
        1 => Just(Deed::Pass),
    ]
}

/// A reader of frames.
type Mirror = BTreeMap<LocalId, (PrimMotion, VersionedBody)>;

fn follow(mirror: &mut Mirror, changes: Vec<ObjectChange>) {
    for change in changes {
        match change {
            ObjectChange::Pages(pages) => {
                for page in pages {
                    mirror.retain(|id, _| link::page_of(*id) != page.first);
                    mirror.extend(page.prims().map(|(id, motion, body)| (id, (*motion, body.clone()))));
                }
            }
            ObjectChange::Set { id, motion, body, .. } => {
                mirror.insert(id, (motion, body));
            }
            ObjectChange::Moved(id, motion) => mirror.get_mut(&id).expect("a known prim moves").0 = motion,
            ObjectChange::Removed(id) => assert!(mirror.remove(&id).is_some(), "{id:?} was not there"),
        }
    }
}

fn content(store: &ObjectStore) -> Mirror {
    let pages = store.stored().pages;
    pages
        .iter()
        .flat_map(|page| page.prims().map(|(id, motion, body)| (id, (*motion, body.clone()))))
        .collect()
}

proptest! {
    #[test]
    fn readers_of_frames_have_the_stores_state_and_so_has_a_restored_store(deeds in prop::collection::vec(deed(), 1..120)) {
        let mut store = ObjectStore::new(&IDS);
        let mut mirror = Mirror::new();
        let mut ids = Vec::new();
        for (n, deed) in deeds.into_iter().enumerate() {
            let of = |n: usize| ids.get(n % ids.len().max(1)).copied().unwrap_or(LocalId(3));
            // Refusals are part of the run: of prims that are gone, of links in a circle.
            match deed {
                Deed::Insert(is_temporary) => {
                    let flags = if is_temporary { PrimFlags::TEMPORARY } else { PrimFlags::default() };
                    ids.push(store.insert(PrimMotion { flags, ..at(n as f32) }, body(n as u128 + 1)).unwrap());
                }
                Deed::Remove(n) => drop(store.remove(of(n))),
                Deed::Move(n, x) => drop(store.set_motion(of(n), at(f32::from(x)).motion)),
                Deed::Edit(n) => drop(store.edit_body(of(n), ObjectMask::TEXT, |body| body.click_action ^= 1)),
                Deed::Link(a, b) => drop(store.link(of(a), of(b))),
                Deed::Unlink(n) => drop(store.unlink(of(n))),
                Deed::Frame => follow(&mut mirror, changes(&mut store)),
                Deed::Pass => store.pass(40_000_000_000),
            }
        }
        follow(&mut mirror, changes(&mut store));
        prop_assert_eq!(&mirror, &content(&store));
        let mut again = restored(&store);
        prop_assert_eq!(again.hash(), store.hash(), "the sum is that of the prims");
        let mut anew = Mirror::new();
        follow(&mut anew, changes(&mut again));
        prop_assert_eq!(&anew, &mirror);
        prop_assert_eq!(again.hash(), store.hash());
        // Both continue alike.
        let next = |store: &mut ObjectStore| (store.insert(at(1.0), body(1_000)), changes(store), store.hash());
        prop_assert_eq!(next(&mut again), next(&mut store));
    }
}
