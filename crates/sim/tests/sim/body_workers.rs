//! Worlds with bodies that fall, are thrown, pulled, linked and woken come to the same states on one, two and four workers of a real pool.

use crate::pooled::{Actions, GROUND_M, Plan, VISITOR, arrive, local_ids, new_prim, run_on_one_two_and_four};
use glam::{Quat, Vec3};
use ids::{LocalId, Uuid};
use link::{
    Action, Control, ControlFlags, Derez, DerezKind, FlagsEdit, Frame, NewObject, ObjectChange,
    ObjectCommand, Placement, PrimFlags,
};
use prim::{Shape, ShapeKind};
use std::collections::BTreeSet;

const WORLDS: u32 = 8;
/// Slanting boards, which nothing moves; they are made first.
const BOARDS: u32 = 6;
const BODIES: u32 = 24;
const TICKS: u64 = 150;
/// A hollow box, which collides as triangles.
const TUBE: Shape = Shape { profile_hollow: 45_000, ..Shape::BOX };
const FORMS: [Shape; 4] =
    [Shape::BOX, Shape::plain(ShapeKind::Sphere), Shape::plain(ShapeKind::Cylinder), TUBE];

fn board(world: u32, n: u32) -> NewObject {
    let place = Vec3::new(124.0 + 1.5 * n as f32, 124.0 + 0.1 * world as f32, GROUND_M + 0.8);
    NewObject {
        scale: Vec3::new(2.0, 4.0, 0.3),
        rotation: Quat::from_rotation_x(0.2 + 0.1 * n as f32),
        ..new_prim(n, place)
    }
}

/// A body above the boards. Every fourth is not physical yet.
fn body(world: u32, n: u32) -> NewObject {
    let (column, row) = ((n % 6) as f32, (n / 6) as f32);
    let place = Vec3::new(124.0 + 1.2 * column, 122.5 + 0.9 * row, GROUND_M + 2.5 + 0.4 * column);
    NewObject {
        shape: FORMS[n as usize % FORMS.len()],
        scale: Vec3::new(0.6, 0.5 + 0.03 * column, 0.5),
        rotation: Quat::from_rotation_y(0.3 * row + 0.1 * world as f32),
        flags: if n % 4 == 3 { PrimFlags::default() } else { PrimFlags::PHYSICS },
        ..new_prim(BOARDS + n, place)
    }
}

/// Actions of a tick: a visitor builds a heap, walks into it, throws and pulls bodies, and takes a board from below them.
fn script(world: u32, tick: u64) -> Actions {
    let local_id = |n: u32| LocalId(local_ids(world).start + n);
    let nth_body = |n: u64| local_id(BOARDS + (n % u64::from(BODIES)) as u32);
    let create = |new| ObjectCommand::Create(Box::new(new));
    let edits: Vec<ObjectCommand> = match tick {
        0 => return arrive(world),
        1 => {
            let boards = (0..BOARDS).map(|n| create(board(world, n)));
            boards.chain((0..BODIES).map(|n| create(body(world, n)))).collect()
        }
        40 => {
            let edit = FlagsEdit { is_physical: true, ..FlagsEdit::default() };
            (3..u64::from(BODIES)).step_by(4).map(|n| ObjectCommand::Flags(nth_body(n), edit)).collect()
        }
        65 => vec![ObjectCommand::Link(vec![nth_body(8), nth_body(9)])],
        90 => {
            let (objects, nil) = ((0..BOARDS / 2).map(local_id).collect(), Uuid::nil());
            let kind = DerezKind::Delete;
            vec![ObjectCommand::Derez(Derez { objects, kind, folder: nil, transaction: nil })]
        }
        tick if tick % 10 == 0 => {
            let position = Vec3::new(126.0 + (tick % 7) as f32, 124.0, GROUND_M + 4.0);
            let thrown = Placement { position: Some(position), is_linked_set: true, ..Placement::default() };
            vec![ObjectCommand::Place(vec![(nth_body(tick / 10), thrown)])]
        }
        tick if tick % 20 == 5 => {
            let target = Vec3::new(128.0, 126.0 + 0.1 * world as f32, GROUND_M + 3.0);
            vec![ObjectCommand::Drag { object: nth_body(tick), grip: Vec3::new(0.1, 0.0, 0.2), target }]
        }
        tick if tick % 20 == 15 => vec![ObjectCommand::Release],
        _ => Vec::new(),
    };
    let mut actions: Actions =
        edits.into_iter().map(|edit| (VISITOR, Action::Object(Box::new(edit)))).collect();
    if tick % 15 == 12 {
        let body_rotation = Quat::from_rotation_z(tick as f32 * 0.1 + world as f32);
        actions.push((VISITOR, Action::Control(Control { flags: ControlFlags::AT_POS, body_rotation })));
    }
    actions
}

/// Movements in a frame.
fn n_moved(frame: &Frame) -> u64 {
    let moved = frame.objects.iter().filter(|change| matches!(change, ObjectChange::Moved(..)));
    moved.count() as u64
}

#[test]
fn worlds_with_bodies_are_the_same_on_one_two_and_four_workers() {
    let plan = Plan { n_worlds: WORLDS, ticks: TICKS, script, count: n_moved };
    let outcomes = run_on_one_two_and_four(plan);
    let hashes: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.hash).collect();
    assert_eq!(hashes.len(), WORLDS as usize, "other places and turns make other worlds");
    for outcome in outcomes {
        assert!(outcome.counted > TICKS, "{} movements are too few for a test", outcome.counted);
    }
}
