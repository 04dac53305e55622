//! Time of a checkpoint and of a snapshot of a crowd, beside that of a step.
//!
//! `cargo bench -p world --bench snapshot` measures 5,000 dressed avatars; `cargo test` runs the same with a few. Goal: to
//! see what may be taken inside a step and what may not. Not a goal: to promise anything, so nothing is asserted.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Appearance, Command, Control, ControlFlags, Enter, Frame, Terrain};
use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};
use world::{World, WorldConfig};

const SIZE_M: u32 = 512;
const DT: Duration = Duration::from_millis(50);

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_avatars, rounds) = if full { (5_000, 100) } else { (50, 3) };
    let config = WorldConfig {
        id: WorldId(0),
        epoch: Epoch(0),
        size_m: SIZE_M,
        local_ids: 1..1_000_000,
        terrain: Arc::new(Terrain::hills(SIZE_M, 1)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: WorldConfig::MAX_AVATARS,
        seed: 1,
    };
    let mut world = World::new(config.clone());
    let mut frame = Frame::empty();
    let mut commands: Vec<Command> = (1..=n_avatars).flat_map(walker).collect();
    for tick in 0..20 {
        world.step(Tick(tick), DT, 1.0, &mut commands, &mut frame);
    }
    let bytes = world.snapshot();
    println!("{n_avatars} walkers with looks, snapshot {} bytes; milliseconds", bytes.len());
    println!("{:<34} {:>8} {:>8}", "what", "median", "max");
    let mut tick = 20;
    measure("step", rounds, || {
        tick += 1;
        world.step(Tick(tick), DT, 1.0, &mut Vec::new(), &mut frame);
    });
    let mut kept = None;
    measure("checkpoint, and the former dropped", rounds, || kept = Some(black_box(world.checkpoint())));
    measure("snapshot", rounds, || drop(black_box(world.snapshot())));
    let kept = kept.expect("there was a round");
    measure("resume from a checkpoint", rounds, || drop(World::resume(config.clone(), &kept)));
    measure("restore from a snapshot", rounds, || drop(World::restore(config.clone(), &bytes)));
}

fn measure(what: &str, rounds: usize, mut act: impl FnMut()) {
    let mut ms: Vec<f64> = (0..rounds)
        .map(|_| {
            let began = Instant::now();
            act();
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    ms.sort_unstable_by(f64::total_cmp);
    println!("{what:<34} {:>8.3} {:>8.3}", ms[rounds / 2], ms[rounds - 1]);
}

/// Comes in, dressed, and walks.
fn walker(avatar: u64) -> [Command; 2] {
    let at = |salt: u64| 20.0 + (avatar.wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ salt) >> 40) as f32 / 35_000.0;
    let appearance = Appearance {
        texture_entry: vec![avatar as u8; 900],
        visual_params: vec![avatar as u8; 251],
        cof_version: 1,
        height_m: 1.8,
    };
    let enter = Enter {
        agent: AgentId(Uuid::from_u128(u128::from(avatar))),
        first_name: format!("Walker{avatar}"),
        last_name: "Bench".into(),
        position: Vec3::new(at(0), at(0xABCD), 0.0),
        look_at: Vec3::X,
        flying: false,
        appearance: Some(Arc::new(appearance)),
    };
    let control =
        Control { flags: ControlFlags::AT_POS, body_rotation: Quat::from_rotation_z(avatar as f32) };
    let command = |sequence, action| Command::by_session(SessionKey(avatar), sequence, action);
    [command(0, Action::Enter(Box::new(enter))), command(1, Action::Control(control))]
}
