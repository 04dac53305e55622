use super::*;
use crate::{GroundHeights, PathFinder, PolyRef, Solid, Solids, WalkerSize};
use glam::{Quat, Vec3};

const DT: f32 = 0.05;

/// Level ground with a wall from the west to x = 42, at y = 32.
fn mesh() -> NavMesh {
    let heights = vec![20.0; 64 * 64];
    let wall = Solid {
        centre: Vec3::new(21.0, 32.0, 21.0),
        rotation: Quat::IDENTITY,
        size: Vec3::new(42.0, 0.2, 3.0),
    };
    let solids = Solids::new(64, &[wall]).unwrap();
    NavMesh::build(GroundHeights::new(64, &heights).unwrap(), &solids, &WalkerSize::default(), &mut || true)
        .unwrap()
}

fn spot(mesh: &NavMesh, x: f32, y: f32) -> MeshPoint {
    let heights = vec![20.0; 64 * 64];
    let ground = GroundHeights::new(64, &heights).unwrap();
    mesh.locate(ground, Vec3::new(x, y, 20.0), 0.1, PolyRef::NONE).unwrap()
}

fn on_its_way(mesh: &NavMesh, from: MeshPoint, to: MeshPoint) -> PathFollower {
    let mut follower = PathFollower::default();
    follower.set_goal(to, 3.2, 0.1);
    assert_eq!(follower.step(mesh, from, false, DT).status, Status::NeedsPath);
    let mut path = Path::EMPTY;
    PathFinder::new().find(mesh, from, to, 1_000, &mut path);
    follower.set_path(&path);
    follower
}

/// Walks until it has arrived: velocities, each once, and the place.
fn walk(mesh: &NavMesh, from: MeshPoint, follower: &mut PathFollower) -> (Vec<Vec2>, MeshPoint) {
    let (mut spot, mut velocities, mut hindered) = (from, Vec::new(), false);
    for _ in 0..1_000 {
        let pace = follower.step(mesh, spot, hindered, DT);
        if velocities.last() != Some(&pace.velocity) {
            velocities.push(pace.velocity);
        }
        if pace.status == Status::Arrived {
            return (velocities, spot);
        }
        let slid = mesh.slide(spot, spot.at + pace.velocity * DT);
        (spot, hindered) = (slid.spot, slid.hindered);
    }
    panic!("not there after 1,000 ticks, but at {spot:?}");
}

#[test]
fn it_is_small_and_plain() {
    assert!(size_of::<PathFollower>() <= 128, "{} bytes", size_of::<PathFollower>());
    let mesh = mesh();
    let follower = on_its_way(&mesh, spot(&mesh, 30.0, 28.0), spot(&mesh, 30.0, 36.0));
    let bytes = postcard::to_allocvec(&follower).unwrap();
    assert_eq!(postcard::from_bytes::<PathFollower>(&bytes), Ok(follower));
}

#[test]
fn a_straight_way_has_three_velocities_and_ends_at_the_goal() {
    let mesh = mesh();
    let (from, to) = (spot(&mesh, 10.0, 10.0), spot(&mesh, 40.0, 25.0));
    let mut follower = on_its_way(&mesh, from, to);
    let (velocities, end) = walk(&mesh, from, &mut follower);
    assert!((velocities[0].length() - 3.2).abs() < 1e-5);
    assert!((velocities[1].length() - 1.6).abs() < 1e-5, "slower at the end");
    assert_eq!(velocities.last(), Some(&Vec2::ZERO));
    assert!(velocities.len() <= 4, "{velocities:?}");
    assert!(end.at.distance(to.at) <= 0.1, "{end:?}");
    assert_eq!(follower.step(&mesh, end, false, DT).status, Status::Idle);
}

#[test]
fn around_the_end_of_a_wall_it_turns_a_few_times() {
    let mesh = mesh();
    let (from, to) = (spot(&mesh, 20.0, 28.0), spot(&mesh, 20.0, 36.0));
    let mut follower = on_its_way(&mesh, from, to);
    let (velocities, end) = walk(&mesh, from, &mut follower);
    assert!(end.at.distance(to.at) <= 0.1, "{end:?}");
    assert!(velocities.len() <= 8, "{velocities:?}");
    let slow = velocities.iter().filter(|velocity| velocity.length() < 3.1).count();
    assert!(slow <= 3, "only at the goal: {velocities:?}");
}

#[test]
fn a_blocked_walker_presses_on_and_then_asks_for_another_way() {
    let mesh = mesh();
    let from = spot(&mesh, 20.0, 28.0);
    let mut follower = on_its_way(&mesh, from, spot(&mesh, 20.0, 36.0));
    let (mut pressed, mut asked) = (0, 0);
    for _ in 0..100 {
        let pace = follower.step(&mesh, from, false, DT);
        pressed += u32::from(pace.pressing);
        asked += u32::from(pace.status == Status::NeedsPath);
    }
    assert!((75..95).contains(&pressed), "{pressed} of 100 ticks");
    assert_eq!(asked, 2, "once in two seconds");
}

#[test]
fn a_walker_blocked_for_long_gives_up_and_reports_it_once() {
    let mesh = mesh();
    let from = spot(&mesh, 20.0, 28.0);
    let mut follower = on_its_way(&mesh, from, spot(&mesh, 20.0, 36.0));
    let (mut ticks, mut path) = (0, Path::EMPTY);
    loop {
        // Pushed about, and searching again and again.
        let at = Vec2::from_angle(ticks as f32) * 0.2;
        let pace = follower.step(&mesh, MeshPoint { at: from.at + at, ..from }, false, DT);
        match pace.status {
            Status::GaveUp => break,
            Status::NeedsPath => {
                PathFinder::new().find(&mesh, from, follower.goal().unwrap(), 1_000, &mut path);
                follower.set_path(&path);
            }
            status => assert_eq!(status, Status::Walking),
        }
        ticks += 1;
        assert!(ticks < 1_000, "for ever");
    }
    assert!((ticks as f32 * DT - GIVE_UP_S).abs() < 0.5, "{ticks} ticks");
    assert_eq!(follower.goal(), None);
    assert_eq!(follower.step(&mesh, from, false, DT).status, Status::Idle);
}

#[test]
fn a_path_that_goes_on_is_asked_for_before_it_ends() {
    let mesh = mesh();
    let from = spot(&mesh, 20.0, 28.0);
    let mut follower = on_its_way(&mesh, from, spot(&mesh, 20.0, 36.0));
    (follower.complete, follower.len) = (false, 1);
    follower.next = 1;
    let pace = follower.step(&mesh, from, false, DT);
    assert_eq!(pace.status, Status::NeedsPath);
    assert!((pace.velocity.length() - 3.2).abs() < 1e-5, "it walks on meanwhile");
    assert_eq!(follower.goal(), Some(spot(&mesh, 20.0, 36.0)));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mesh = mesh();
    let mut follower = on_its_way(&mesh, spot(&mesh, 20.0, 28.0), spot(&mesh, 20.0, 36.0));
    for at in [Vec2::NAN, Vec2::INFINITY, Vec2::splat(1e30)] {
        let _ = follower.step(&mesh, MeshPoint { poly: PolyRef(7), at }, true, f32::NAN);
        let _ = follower.step(&mesh, MeshPoint { poly: PolyRef(u32::MAX), at }, true, DT);
    }
}
