//! Order, forms and reach of the prims that one client is sent.

use super::*;
use crate::objects::tests::Eye as Bystander;
use crate::objects::{FrameTime, ObjectEncoder, reach_m};
use ids::{AgentId, Instant, Uuid};
use link::{Motion, ObjectChange, ObjectMask, PrimFlags, PrimMotion, VersionedBody};
use prim::{Body, Shape};
use std::sync::Arc;

const EYE: Vec3 = Vec3::new(100.0, 100.0, 20.0);
/// The avatar of the client, and another one.
const OWN: LocalId = LocalId(1);
const OTHER: LocalId = LocalId(2);
/// State of a prim on the screen: attachment point 35, halves of the byte swapped.
const SCREEN: u8 = 35_u8.rotate_left(4);

/// A client that displays its own avatar, and the other one if that is near.
struct Eye {
    is_other_near: bool,
}

impl Onlooker for Eye {
    fn eye(&self) -> Vec3 {
        EYE
    }

    fn draw_m(&self) -> f32 {
        256.0
    }

    fn distance_to_wearer(&self, wearer: LocalId, is_on_screen: bool) -> Option<f32> {
        let is_displayed = wearer == OWN || wearer == OTHER && self.is_other_near && !is_on_screen;
        is_displayed.then_some(5.0)
    }

    fn wearers(&self) -> impl Iterator<Item = LocalId> {
        [OWN, OTHER].into_iter().filter(move |&wearer| self.distance_to_wearer(wearer, false).is_some())
    }
}

const NEAR: Eye = Eye { is_other_near: true };

fn id(n: u32) -> LocalId {
    LocalId((1 << 20) + n)
}

fn at(x: f32) -> PrimMotion {
    PrimMotion { motion: Motion { position: EYE.with_x(EYE.x + x), ..Motion::default() }, ..PrimMotion::NONE }
}

fn worn(wearer: LocalId) -> PrimMotion {
    PrimMotion { parent: wearer, ..PrimMotion::NONE }
}

#[derive(Default)]
struct World {
    encoder: ObjectEncoder,
    tick: u32,
}

impl World {
    fn publish(&mut self, objects: &mut ObjectReplica, changes: &[ObjectChange]) {
        self.tick += 1;
        let at = Instant(u64::from(self.tick) * 50_000_000);
        let time = FrameTime { at, tick: self.tick, tick_s: 0.05, has_dead_reckoning: true };
        let mut encoded = Vec::new();
        self.encoder.encode(time, changes, &mut encoded);
        encoded.iter().for_each(|change| objects.apply(self.tick, change));
    }
}

fn set(n: u32, motion: PrimMotion, state: u8, version: u32) -> ObjectChange {
    let owner = AgentId(Uuid::from_u128(1));
    let body =
        Body { state, ..Body::new(Uuid::from_u128(u128::from(n) + 1), Shape::BOX, Arc::default(), owner, 0) };
    let body = VersionedBody { version, body: Arc::new(body) };
    ObjectChange::Set { id: id(n), motion, body, mask: ObjectMask::CREATED }
}

/// Chooses, and sends all that is chosen.
fn send(sent: &mut SentSet, objects: &ObjectReplica, eye: &Eye, most: usize) -> Vec<LocalId> {
    let (mut kills, mut due) = (Vec::new(), Vec::new());
    sent.follow(objects, &mut kills);
    sent.choose(objects, eye, most, &mut due);
    assert!(due.len() <= most);
    for due in &due {
        sent.mark_sent(due.id, false);
        sent.settle(due.id, false);
    }
    due.iter().map(|due| due.id).collect()
}

#[test]
fn a_changed_or_doubtful_prim_is_plain_and_one_that_is_asked_for_is_not() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    world.publish(&mut objects, &[0, 1, 2].map(|n| set(n, at(1.0), 0, 1)));
    assert_eq!(send(&mut sent, &objects, &NEAR, 10).len(), 3);
    world.publish(&mut objects, &[set(0, at(1.0), 0, 2), set(3, at(1.0), 0, 1)]);
    sent.mark_doubtful(id(1));
    sent.mark_asked(id(2));
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [1, 2, 0, 3].map(id), "in the order of the list");
    assert_eq!([0, 1, 2, 3].map(|n| sent.is_plain(id(n))), [true, true, false, false]);
    assert_eq!([0, 1, 2, 3].map(|n| sent.is_asked(id(n))), [false, false, true, false]);
    world.publish(&mut objects, &[ObjectChange::Removed(id(0)), ObjectChange::Removed(id(2))]);
    sent.follow(&objects, &mut Vec::new());
    assert!(!sent.is_plain(id(0)) && !sent.is_asked(id(2)), "another prim may get the local id");
}

#[test]
fn a_mover_that_comes_into_reach_of_a_standing_client_is_sent() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    let body = |x: f32| {
        let mut prim = PrimMotion { flags: PrimFlags::PHYSICS, ..at(x) };
        prim.motion.velocity = -Vec3::X;
        prim
    };
    world.publish(&mut objects, &[set(0, body(150.0), 0, 1)]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), []);
    for x in [140.0, 130.0, 120.0] {
        world.publish(&mut objects, &[ObjectChange::Moved(id(0), body(x))]);
        sent.follow(&objects, &mut Vec::new());
        assert!(!sent.is_due(&objects, EYE, 256.0), "a far mover costs nothing");
    }
    world.publish(&mut objects, &[ObjectChange::Moved(id(0), body(10.0))]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [id(0)]);
    world.publish(&mut objects, &[ObjectChange::Moved(id(0), body(20.0))]);
    sent.follow(&objects, &mut Vec::new());
    assert!(!sent.is_due(&objects, EYE, 256.0), "a known mover costs nothing");
    world.publish(&mut objects, &[set(1, body(150.0), 0, 1)]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), []);
    for n in 0..5_000 {
        let x = 10.0 + (n % 2) as f32 * 10.0;
        world.publish(&mut objects, &[ObjectChange::Moved(id(n % 4 / 2), body(x))]);
    }
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [id(1)], "the list of filed movers has lapsed");
}

#[test]
fn all_worn_prims_of_a_crowd_are_sent_and_screens_of_others_are_not_due() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    let n_worn = 2 * LISTED_MAX as u32;
    let changes: Vec<ObjectChange> = (0..n_worn).map(|n| set(n, worn(OTHER), 0, 1)).collect();
    world.publish(&mut objects, &changes);
    let mut got = Vec::new();
    for _ in 0..n_worn {
        sent.note_wearer(&objects, OTHER, false);
        got.extend(send(&mut sent, &objects, &NEAR, 100));
    }
    got.sort_unstable();
    assert_eq!(got, (0..n_worn).map(id).collect::<Vec<_>>());
    world
        .publish(&mut objects, &[set(n_worn, worn(OTHER), SCREEN, 1), set(n_worn + 1, worn(OWN), SCREEN, 1)]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 100), [id(n_worn + 1)]);
    sent.note_wearer(&objects, OTHER, false);
    assert!(!sent.is_due(&objects, EYE, 256.0));
}

#[test]
fn a_worn_prim_that_changes_far_from_the_client_is_sent_when_its_wearer_comes_back() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    world.publish(&mut objects, &[set(0, worn(OTHER), 0, 1)]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [id(0)]);
    world.publish(&mut objects, &[set(0, worn(OTHER), 0, 2)]);
    assert_eq!(send(&mut sent, &objects, &Eye { is_other_near: false }, 10), []);
    sent.note_wearer(&objects, OTHER, false);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [id(0)]);
}

#[test]
fn changes_leave_half_of_a_send_to_a_scene_that_waits() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    let changes = |of: std::ops::Range<u32>, x, version| -> Vec<ObjectChange> {
        of.map(|n| set(n, at(x), 0, version)).collect()
    };
    world.publish(&mut objects, &changes(0..100, 1.0, 1));
    assert_eq!(send(&mut sent, &objects, &NEAR, 100).len(), 100);
    world.publish(&mut objects, &changes(100..200, 20.0, 1));
    // A search finds the scene.
    sent.follow(&objects, &mut Vec::new());
    sent.listed.clear();
    sent.searched = None;
    assert_eq!(send(&mut sent, &objects, &NEAR, 10).len(), 10);
    world.publish(&mut objects, &changes(0..100, 1.0, 2));
    let now = send(&mut sent, &objects, &NEAR, 10);
    assert_eq!(now.iter().filter(|&&of| of < id(100)).count(), 5, "{now:?}");
    assert_eq!(now.len(), 10);
}

#[test]
fn a_small_prim_that_changes_goes_before_a_scene_of_large_ones_until_it_is_sent() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    world.publish(&mut objects, &[set(0, at(30.0), 0, 1)]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [id(0)]);
    let scene: Vec<ObjectChange> = (1..100).map(|n| set(n, at(1.0), 0, 1)).collect();
    world.publish(&mut objects, &scene);
    sent.follow(&objects, &mut Vec::new());
    sent.listed.clear();
    sent.searched = None;
    assert_eq!(send(&mut sent, &objects, &NEAR, 4).len(), 4);
    // Far away, they look smaller than all that waits, and the one that changed last larger than the other.
    let part =
        |root, version| set(101, PrimMotion { parent: id(root), link_number: 1, ..at(1.0) }, 0, version);
    world.publish(&mut objects, &[set(100, at(35.0), 0, 1)]);
    world.publish(&mut objects, &[set(0, at(30.0), 0, 2)]);
    let mut due = Vec::new();
    for searches in [false, true] {
        if searches {
            sent.searched = None;
        }
        sent.follow(&objects, &mut Vec::new());
        sent.choose(&objects, &NEAR, 8, &mut due);
        let changed = due.iter().filter(|due| due.rank < SCENE).map(|due| due.id);
        assert_eq!(changed.collect::<Vec<_>>(), [id(100), id(0)]);
        assert_eq!((due[0].id, due[1].id, due.len()), (id(100), id(0), 8));
        sent.put_back(&mut due);
    }
    assert_eq!(send(&mut sent, &objects, &NEAR, 200).len(), 97);
    world.publish(&mut objects, &[set(102, at(50.0), 0, 1), part(102, 1)]);
    sent.follow(&objects, &mut Vec::new());
    sent.listed.retain(|&listed| listed != id(102));
    sent.backlog.push(id(102));
    sent.choose(&objects, &NEAR, 8, &mut due);
    let order: Vec<(LocalId, u32)> = due.iter().map(|due| (due.id, due.rank)).collect();
    assert_eq!(order, [(id(102), SCENE), (id(101), SCENE)]);
}

#[test]
fn unsent_prims_are_the_first_of_the_next_send_without_a_search() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    let n = 2 * LISTED_MAX as u32;
    let changes: Vec<ObjectChange> = (0..n).map(|n| set(n, at(1.0), 0, 1)).collect();
    world.publish(&mut objects, &changes);
    let mut due = Vec::new();
    sent.follow(&objects, &mut Vec::new());
    sent.choose(&objects, &NEAR, n as usize - 10, &mut due);
    let first: Vec<LocalId> = due.iter().take(10).map(|due| due.id).collect();
    sent.put_back(&mut due);
    assert!(sent.searched.is_some());
    assert_eq!(sent.backlog.len() + sent.listed.len(), n as usize);
    assert_eq!(send(&mut sent, &objects, &NEAR, 20)[..10], first);
    due.clear();
    let mut one = DueObject { rank: SCENE, size: 1.0, root: id(0), link_number: 0, id: id(0) };
    for n in 0..2 * BACKLOG_MAX as u32 {
        (one.root, one.id) = (id(n), id(n));
        due.push(one);
    }
    sent.put_back(&mut due);
    assert!(sent.backlog.len() == BACKLOG_MAX && sent.is_more, "a search finds the last ones");
}

#[test]
fn a_walking_client_has_all_prims_in_reach_whatever_is_moved_lost_or_left_unsent() {
    let mut random = 1_u64;
    let mut below = |n: u64| {
        random = state_hash::mix(random.wrapping_add(1));
        random % n
    };
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    let prim = |x: u64, y: u64| {
        let position = Vec3::new(x as f32, y as f32, 20.0);
        PrimMotion { motion: Motion { position, ..Motion::default() }, ..PrimMotion::NONE }
    };
    let changes: Vec<ObjectChange> = (0..3_000).map(|n| set(n, prim(below(256), below(256)), 0, 1)).collect();
    world.publish(&mut objects, &changes);
    let (mut eye, mut kills, mut due) = (Bystander(EYE, 20.0), Vec::new(), Vec::new());
    for round in 2..300 {
        eye.0 += Vec3::new(below(13) as f32 - 6.0, below(13) as f32 - 6.0, 0.0);
        eye.0 = eye.0.clamp(Vec3::ZERO, Vec3::splat(256.0));
        if below(40) == 0 {
            eye.1 = 10.0 + below(80) as f32;
        }
        let moved: Vec<ObjectChange> = (0..below(20))
            .map(|_| set(below(3_000) as u32, prim(below(256), below(256)), 0, round))
            .collect();
        world.publish(&mut objects, &moved);
        sent.follow(&objects, &mut kills);
        sent.choose(&objects, &eye, 40, &mut due);
        let mut unsent = due.split_off(due.len().min(below(41) as usize));
        sent.put_back(&mut unsent);
        for due in &due {
            sent.mark_sent(due.id, false);
            sent.settle(due.id, below(10) == 0);
        }
        if round % 10 > 0 {
            continue;
        }
        while sent.is_due(&objects, eye.0, eye.1) {
            sent.choose(&objects, &eye, 500, &mut due);
            for due in &due {
                sent.mark_sent(due.id, false);
                sent.settle(due.id, false);
            }
        }
        let reach_max_m = eye.1 + BEYOND_DRAW_M;
        for (id, entry) in objects.entries() {
            let is_near = entry.position.distance(eye.0) < reach_m(entry.radius_m).min(reach_max_m);
            assert!(!is_near || sent.is_current(id), "round {round}: {id:?} at {}", entry.position);
        }
    }
}

#[test]
fn a_walking_client_that_lacks_most_of_a_full_region_has_what_is_near_and_all_of_it_at_last() {
    let mut random = 1_u64;
    let mut below = |n: u64| {
        random = state_hash::mix(random.wrapping_add(1));
        random % n
    };
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    let changes: Vec<ObjectChange> = (0..40_000)
        .map(|n| {
            let position = Vec3::new(below(256) as f32, below(256) as f32, 20.0);
            let motion = Motion { position, ..Motion::default() };
            set(n, PrimMotion { motion, ..PrimMotion::NONE }, 0, 1)
        })
        .collect();
    world.publish(&mut objects, &changes);
    let (mut eye, mut due) = (Bystander(Vec3::new(40.0, 40.0, 20.0), 256.0), Vec::new());
    sent.follow(&objects, &mut Vec::new());
    let (mut n_full, mut full_from) = (0, Vec3::ZERO);
    let (mut n_has, mut n_lacks) = (0, 0);
    for round in 0..600 {
        // Ten sends a second of six prims, and 3.2 m/s.
        eye.0 += Vec3::new(0.23, 0.23, 0.0);
        sent.choose(&objects, &eye, 6, &mut due);
        assert!(sent.is_more && !sent.backlog.is_empty(), "round {round}: it lacks more than is kept");
        n_full += u32::from(std::mem::replace(&mut full_from, sent.fully_searched_from) != full_from);
        for due in &due {
            sent.mark_sent(due.id, false);
            sent.settle(due.id, false);
        }
        let near = objects.entries().filter(|(_, entry)| entry.position.distance(eye.0) < 6.0);
        let (has, lacks): (Vec<_>, Vec<_>) = near.map(|(id, _)| sent.is_current(id)).partition(|&has| has);
        n_has += has.len();
        n_lacks += lacks.len();
    }
    assert!(n_lacks * 8 < n_has, "it lacks {n_lacks} of {n_has} within 6 m");
    assert!((4..=7).contains(&n_full), "{n_full} searches of the whole reach on 195 m");
    while sent.is_due(&objects, eye.0, eye.1) {
        sent.choose(&objects, &eye, 500, &mut due);
        for due in &due {
            sent.mark_sent(due.id, false);
            sent.settle(due.id, false);
        }
    }
    for (id, entry) in objects.entries() {
        let is_near = entry.position.distance(eye.0) < reach_m(entry.radius_m);
        assert!(!is_near || sent.is_current(id), "{id:?} at {}", entry.position);
    }
}

#[test]
fn new_prims_that_fill_the_list_are_sent_to_a_client_that_walks_before_it_is_sent_them() {
    let (mut world, mut objects, mut sent) =
        (World::default(), ObjectReplica::new(256.0), SentSet::default());
    world.publish(&mut objects, &[set(0, at(1.0), 0, 1)]);
    assert_eq!(send(&mut sent, &objects, &NEAR, 10), [id(0)]);
    let new: Vec<ObjectChange> = (1..=LISTED_MAX as u32).map(|n| set(n, at(1.0), 0, 1)).collect();
    world.publish(&mut objects, &new);
    let (mut kills, mut due) = (Vec::new(), Vec::new());
    sent.follow(&objects, &mut kills);
    assert_eq!(sent.listed.len(), LISTED_MAX);
    sent.choose(&objects, &Bystander(EYE + Vec3::X * (STRIDE_M + 1.0), 256.0), 2 * LISTED_MAX, &mut due);
    assert_eq!(due.len(), LISTED_MAX);
}

#[test]
fn a_client_that_stands_on_a_huge_prim_has_it_however_short_it_draws() {
    let huge = |n: u32, x: f32, size: f32| {
        let mut change = set(n, at(x), 0, 1);
        if let ObjectChange::Set { body, .. } = &mut change {
            Arc::make_mut(&mut body.body).scale = Vec3::splat(size);
        }
        change
    };
    let (mut world, mut objects) = (World::default(), ObjectReplica::new(1_024.0));
    // Radii of 222, 222, 55 and 55 m: the client stands within the first one, and 150 m beyond the second one.
    world.publish(
        &mut objects,
        &[huge(0, 150.0, 256.0), huge(1, 372.0, 256.0), huge(2, 120.0, 64.0), huge(3, 150.0, 64.0)],
    );
    let eye = |draw_m: f32| Bystander(EYE, draw_m);
    for (draw_m, expected) in [(64.0, vec![id(0), id(2)]), (160.0, vec![id(0), id(1), id(2), id(3)])] {
        let (mut sent, mut due) = (SentSet::default(), Vec::new());
        sent.follow(&objects, &mut Vec::new());
        sent.choose(&objects, &eye(draw_m), 10, &mut due);
        let mut found: Vec<LocalId> = due.iter().map(|due| due.id).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "draws {draw_m} m");
    }
    // It walks to the second one, which is found on the way.
    let (mut sent, mut due) = (SentSet::default(), Vec::new());
    for x in [0.0, 40.0, 80.0, 120.0] {
        sent.follow(&objects, &mut Vec::new());
        sent.choose(&objects, &Bystander(EYE.with_x(EYE.x + x), 64.0), 10, &mut due);
        for due in &due {
            sent.mark_sent(due.id, false);
            sent.settle(due.id, false);
        }
    }
    assert!(sent.is_current(id(1)) && sent.is_current(id(3)));
}
