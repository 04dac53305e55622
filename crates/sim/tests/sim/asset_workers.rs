//! Worlds whose meshes get their solids in the midst of a walk come to the same states on one, two and four workers of a real pool.

use crate::pooled::{Actions, GROUND_M, Plan, VISITOR, arrive, local_ids, new_prim, run_on_one_two_and_four};
use glam::{Quat, Vec3};
use ids::{LocalId, SessionKey, Uuid};
use link::{
    Action, Control, ControlFlags, Event, ExtraParamEdit, Frame, KnownSolid, NewObject, ObjectCommand,
};
use prim::{AssetSolid, SolidKey, SolidPart};

const WORLDS: u32 = 8;
const MESHES: u32 = 20;
const TICKS: u64 = 150;
/// Type of the extra parameter that names an asset.
const SCULPT: u16 = 0x30;

fn asset(n: u32) -> Uuid {
    Uuid::from_u128(u128::from(n) + 1)
}

/// The lower part of a prim, as a wedge of four triangles that differs from asset to asset.
fn solid(n: u32) -> Action {
    let top = -0.3 + 0.1 * n as f32;
    let corners = vec![
        Vec3::new(-0.5, -0.5, -0.5),
        Vec3::new(0.5, -0.5, -0.5),
        Vec3::new(0.0, 0.5, -0.5),
        Vec3::new(0.0, 0.0, top),
    ];
    let triangles = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    let key = SolidKey { asset: asset(n), part: SolidPart::MeshSurface };
    let solid = AssetSolid::surface(corners, triangles, true).expect("a wedge");
    Action::PutSolid(Box::new(KnownSolid { key, solid }))
}

fn mesh(world: u32, n: u32) -> (NewObject, ExtraParamEdit) {
    let (x, y) = ((n % 5) as f32 * 3.0, (n / 5) as f32 * 3.0 + world as f32 * 0.1);
    let new = new_prim(n, Vec3::new(122.0 + x, 122.0 + y, GROUND_M + 1.0));
    let data = Some([&asset(n % 4).as_bytes()[..], &[5]].concat());
    (new, ExtraParamEdit { kind: SCULPT, data })
}

/// Actions of a tick: a visitor builds meshes, walks among them, and the node brings the solids of three assets of four.
fn script(world: u32, tick: u64) -> Actions {
    let object = |command| Action::Object(Box::new(command));
    match tick {
        0 => arrive(world),
        1 => {
            let made = (0..MESHES).map(|n| object(ObjectCommand::Create(Box::new(mesh(world, n).0))));
            made.map(|action| (VISITOR, action)).collect()
        }
        2 => {
            let local_id = |n: u32| LocalId(local_ids(world).start + n);
            let named = (0..MESHES).map(|n| (local_id(n), mesh(world, n).1)).collect();
            vec![(VISITOR, object(ObjectCommand::ExtraParam(named)))]
        }
        20 | 50 | 80 => vec![(SessionKey::NODE, solid((tick / 30) as u32))],
        tick if tick % 15 == 10 => {
            let body_rotation = Quat::from_rotation_z(tick as f32 * 0.1 + world as f32);
            let control = Control { flags: ControlFlags::AT_POS, body_rotation };
            vec![(VISITOR, Action::Control(control))]
        }
        _ => Vec::new(),
    }
}

/// Solids that a frame asks for.
fn n_wanted(frame: &Frame) -> u64 {
    let wanted = frame.events.iter().map(|event| match event {
        Event::SolidsWanted(keys) => keys.len() as u64,
        _ => 0,
    });
    wanted.sum()
}

#[test]
fn worlds_with_meshes_are_the_same_on_one_two_and_four_workers() {
    let plan = Plan { n_worlds: WORLDS, ticks: TICKS, script, count: n_wanted };
    for outcome in run_on_one_two_and_four(plan) {
        assert_eq!(outcome.counted, 4, "each world announces its assets once");
    }
}
