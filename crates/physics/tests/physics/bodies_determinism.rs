//! Equal inputs give equal bytes, also on another instance, and after a restart from bytes.

use crate::region::{SIZE_M, Stage, TICK};
use glam::{Quat, Vec3};
use physics::{Dynamics, DynamicsError, DynamicsSettings};
use prim::{Shape, ShapeKind};

/// Bodies of several forms that fall among prims, on a slope.
fn scene() -> Stage {
    let mut stage = Stage::on(|x, y| 10.0 + 0.05 * x + 0.2 * libm::sinf(y * 0.3));
    let tube = Shape { profile_hollow: 45_000, ..Shape::BOX };
    let forms = [Shape::BOX, Shape::plain(ShapeKind::Sphere), Shape::plain(ShapeKind::Cylinder), tube];
    for n in 0_u8..40 {
        let (column, row) = (f32::from(n % 8), f32::from(n / 8));
        let shape = forms[usize::from(n) % forms.len()];
        let rotation = Quat::from_xyzw(0.1 * column, 0.2 * row, 0.3, 1.0).normalize();
        let at = Vec3::new(60.0 + 1.1 * column, 60.0 + 1.1 * row, 15.5 + 0.3 * row);
        let scale = Vec3::new(0.8, 0.6 + 0.05 * column, 0.7);
        let body = stage.region.sleeper(&shape, physics::Placement { position: at, rotation, scale });
        // Some sleep until they are hit.
        if n % 4 != 3 {
            assert!(stage.dynamics.wake(body));
        }
        let fixed = at + Vec3::new(0.4, 0.7, -1.4);
        stage.region.prim(&shape, physics::Placement { position: fixed, rotation, scale: Vec3::ONE });
    }
    stage
}

/// Edits and drags of one tick.
fn interfere(stage: &mut Stage, tick: u32) {
    let roots: Vec<_> = stage.region.linksets.keys().copied().collect();
    if tick % 7 == 3 {
        let root = roots[tick as usize % roots.len()];
        stage.region.linksets.get_mut(&root).unwrap().position += Vec3::new(0.0, 0.5, 1.0);
        stage.region.place(root);
        stage.dynamics.edited(root);
    }
    if tick % 5 == 1 {
        let root = roots[(3 * tick) as usize % roots.len()];
        assert!(stage.dynamics.drag(root, Vec3::new(0.1, 0.0, 0.2), Vec3::new(64.0, 64.0, 18.0)));
    }
    if tick % 11 == 10 {
        for &root in &roots {
            stage.dynamics.release(root);
        }
    }
}

#[test]
fn two_instances_have_equal_bytes_at_every_tick() {
    let (mut one, mut other) = (scene(), scene());
    for tick in 0..120 {
        for stage in [&mut one, &mut other] {
            interfere(stage, tick);
            stage.step(TICK);
        }
        assert!(one.dynamics.save() == other.dynamics.save(), "tick {tick}");
        assert_eq!(one.outcome.moved, other.outcome.moved, "tick {tick}");
    }
    assert!(one.dynamics.n_bodies() > 0, "something moved until the end");
}

#[test]
fn instances_on_threads_of_their_own_have_equal_bytes() {
    let play = || {
        let mut stage = scene();
        for tick in 0..120 {
            interfere(&mut stage, tick);
            stage.step(TICK);
        }
        stage.dynamics.save()
    };
    let states: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(play)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let here = play();
    assert!(states.iter().all(|state| *state == here));
}

#[test]
fn a_restored_state_continues_bit_by_bit() {
    for before in [1, 17, 40, 90] {
        let mut one = scene();
        for tick in 0..before {
            interfere(&mut one, tick);
            one.step(TICK);
        }
        let bytes = one.dynamics.save();
        let settings = DynamicsSettings::new(SIZE_M);
        let mut other = Stage {
            region: one.region.rebuilt(),
            dynamics: Dynamics::restore(settings, &bytes).unwrap(),
            outcome: physics::Outcome::default(),
        };
        assert!(other.dynamics.save() == bytes, "the same bytes again");
        for tick in before..before + 60 {
            for stage in [&mut one, &mut other] {
                interfere(stage, tick);
                stage.step(TICK);
            }
            assert_eq!(one.outcome.moved, other.outcome.moved, "tick {tick}, restored at {before}");
            assert!(one.dynamics.save() == other.dynamics.save(), "tick {tick}, restored at {before}");
        }
    }
}

#[test]
fn bytes_that_are_no_state_of_this_build_are_refused() {
    let mut stage = scene();
    for tick in 0..10 {
        interfere(&mut stage, tick);
        stage.step(TICK);
    }
    let bytes = stage.dynamics.save();
    let restore = |bytes: &[u8]| Dynamics::restore(DynamicsSettings::new(SIZE_M), bytes).err();
    assert_eq!(restore(&bytes), None);
    for length in [0, 3, 4, 8, bytes.len() / 2, bytes.len() - 1] {
        assert_eq!(restore(&bytes[..length]), Some(DynamicsError::Damaged), "{length} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(restore(&longer), Some(DynamicsError::Damaged));
    let mut other_format = bytes.clone();
    other_format[0] ^= 1;
    let mut other_rapier = bytes.clone();
    other_rapier[5] ^= 1;
    assert_eq!([restore(&other_format), restore(&other_rapier)], [Some(DynamicsError::OtherVersion); 2]);
    let few = DynamicsSettings { bodies_max: 2, ..DynamicsSettings::new(SIZE_M) };
    assert_eq!(
        Dynamics::restore(few, &bytes).err(),
        Some(DynamicsError::Damaged),
        "more bodies than the limit"
    );
}
