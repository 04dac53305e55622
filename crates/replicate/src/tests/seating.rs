//! Avatars that sit on linksets: clients get them whole, with their parent, and move them by themselves from then on.

use super::scene::{ME, PLENTY, Scene, Sent, along, send};
use crate::Viewer;
use glam::{Quat, Vec3};
use ids::{LocalId, RegionHandle};
use link::Seat;
use wire::object_update::{self, SeenObject};
use wire::terse;

const ROOT: LocalId = LocalId(1 << 20);

fn seat() -> Seat {
    Seat { parent: ROOT, position: Vec3::new(0.5, 0.0, 0.65), rotation: Quat::from_rotation_z(1.0) }
}

/// A row of avatars that a viewer was shown.
fn shown_row(n: u32) -> (Scene, Viewer) {
    let (scene, mut viewer) = (Scene::row(n), Viewer::new(ME, along(0.0), 1_000));
    assert_eq!(send(&mut viewer, &scene, PLENTY).full.len(), n as usize);
    (scene, viewer)
}

/// The avatar with a local id, as its full update shows it.
fn full(scene: &Scene, id: u32) -> SeenObject {
    let index = scene.replica.of_id(LocalId(id)).expect("it is there");
    let mut body = Vec::new();
    object_update::write_prefix(&mut body, RegionHandle::from_grid(1, 1), 1.0, 1);
    scene.replica.slot(index).expect("it is there").write_full(0.0, &mut body);
    let (_, objects) = object_update::decode(&body[1..]).expect("a whole message");
    objects.into_iter().next().expect("one avatar")
}

fn terse_position(scene: &Scene, id: u32) -> Vec3 {
    let index = scene.replica.of_id(LocalId(id)).expect("it is there");
    let mut body = Vec::new();
    terse::write_prefix(&mut body, RegionHandle::from_grid(1, 1), 1.0, 1);
    body.extend_from_slice(scene.replica.terse(index));
    let mut blocks = terse::decode(&body[1..]).expect("a prefix");
    blocks.next().expect("one block").expect("a whole block").position
}

#[test]
fn an_avatar_that_sits_down_or_gets_up_is_sent_whole_with_its_parent() {
    let (mut scene, mut viewer) = shown_row(3);
    scene.seat(2, Some(seat()));
    scene.rest(2, along(40.0));
    scene.tick();
    assert_eq!(send(&mut viewer, &scene, PLENTY).full, [2]);
    let seen = full(&scene, 2);
    assert_eq!((seen.parent, seen.motion.position), (ROOT, seat().position));
    assert_eq!(terse_position(&scene, 2), seat().position);
    scene.seat(2, None);
    scene.rest(2, along(41.0));
    scene.tick();
    assert_eq!(send(&mut viewer, &scene, PLENTY).full, [2]);
    let seen = full(&scene, 2);
    assert_eq!((seen.parent, seen.motion.position), (LocalId(0), along(41.0)));
    assert_eq!(terse_position(&scene, 2), along(41.0));
}

#[test]
fn an_avatar_that_rides_along_costs_nothing_and_is_where_its_linkset_is() {
    let (mut scene, mut viewer) = shown_row(3);
    scene.seat(2, Some(seat()));
    scene.tick();
    send(&mut viewer, &scene, PLENTY);
    // The rest is repeated once: a late update of the walk to the seat would be taken as relative to it.
    scene.ticks(20);
    assert_eq!(send(&mut viewer, &scene, PLENTY).terse, [2]);
    for x in 0..40_u8 {
        scene.rest(2, along(f32::from(x)));
        scene.tick();
        assert_eq!(send(&mut viewer, &scene, PLENTY), Sent::default(), "{x}");
    }
    let index = scene.replica.of_id(LocalId(2)).expect("it is there");
    assert_eq!(scene.replica.hot()[index as usize].position, along(39.0));
    assert_eq!(terse_position(&scene, 2), seat().position);
}
