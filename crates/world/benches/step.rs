//! Time of one step with a crowd, in the shapes that crowds take.
//!
//! `cargo bench -p world` measures 5,000 avatars over 600 ticks; `cargo test` runs the same scenes with a few, so that
//! they keep working. Goal: to see what a change of the step costs. Not a goal: to promise anything, so nothing is
//! asserted but the state hash, which is printed to show that a faster step still does the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Control, ControlFlags, Enter, Frame, Terrain};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use world::{World, WorldConfig};

const SIZE_M: u32 = 512;

/// Inputs of a scene's avatars in a tick: (avatar, tick) → input, if any.
type Behaviour = fn(u64, u64) -> Option<Control>;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_avatars, ticks) = if full { (5_000, 600) } else { (50, 20) };
    println!("{n_avatars} avatars in {SIZE_M} m, {ticks} ticks of 50 ms; milliseconds per step");
    println!("{:<34} {:>7} {:>7} {:>7}  state hash", "scene", "median", "p99", "max");
    scene("walkers all over the region", n_avatars, ticks, SIZE_M as f32 - 20.0, walk);
    scene("walkers in a plaza of 128 m", n_avatars, ticks, 128.0, walk);
    scene("standers who turn every tick", n_avatars, ticks, 128.0, fidget);
    scene("standers at rest", n_avatars, ticks, 128.0, |_, _| None);
    scene("flyers in a plaza of 128 m", n_avatars, ticks, 128.0, fly);
}

fn scene(name: &str, n_avatars: u64, ticks: u64, width: f32, behaviour: Behaviour) {
    let mut world = World::new(WorldConfig {
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
    });
    let mut frame = Frame::empty();
    let mut commands: Vec<Command> = (1..=n_avatars).map(|avatar| enter(avatar, width)).collect();
    let mut step_ms = Vec::new();
    for tick in 0..ticks {
        let inputs = (1..=n_avatars).filter_map(|avatar| Some((avatar, behaviour(avatar, tick)?)));
        commands.extend(inputs.map(|(avatar, control)| {
            Command::by_session(SessionKey(avatar), tick + 1, Action::Control(control))
        }));
        let began = Instant::now();
        world.step(Tick(tick), Duration::from_millis(50), 1.0, &mut commands, &mut frame);
        step_ms.push(began.elapsed().as_secs_f64() * 1e3);
    }
    // In the first ticks the avatars enter.
    let mut step_ms = step_ms.split_off(5);
    step_ms.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| step_ms[((step_ms.len() - 1) as f64 * share) as usize];
    println!("{name:<34} {:>7.3} {:>7.3} {:>7.3}  {:016x}", at(0.5), at(0.99), at(1.0), frame.state_hash);
}

fn enter(avatar: u64, width: f32) -> Command {
    let corner = (SIZE_M as f32 - width) / 2.0;
    let position = Vec3::new(corner + width * share(avatar), corner + width * share(avatar ^ 0xABCD), 0.0);
    Command::by_session(
        SessionKey(avatar),
        0,
        Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u128(u128::from(avatar))),
            first_name: format!("Walker{avatar}"),
            last_name: "Bench".into(),
            position,
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        })),
    )
}

/// Legs of 10 s in random directions, begun at different times.
fn walk(avatar: u64, tick: u64) -> Option<Control> {
    leg(avatar, tick, ControlFlags::AT_POS)
}

fn fly(avatar: u64, tick: u64) -> Option<Control> {
    leg(avatar, tick, ControlFlags::FLY.union(ControlFlags::AT_POS))
}

fn leg(avatar: u64, tick: u64, flags: ControlFlags) -> Option<Control> {
    let turns = tick == 0 || (tick + avatar).is_multiple_of(200);
    turns.then(|| Control { flags, body_rotation: Quat::from_rotation_z(share(avatar ^ tick << 20) * 6.2) })
}

fn fidget(_: u64, tick: u64) -> Option<Control> {
    let body_rotation = Quat::from_rotation_z(tick as f32 * 1e-3);
    Some(Control { flags: ControlFlags::default(), body_rotation })
}

/// A number in 0…1 that looks random.
fn share(seed: u64) -> f32 {
    let bits = seed
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(seed.rotate_left(31))
        .wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (bits >> 40) as f32 / (1u32 << 24) as f32
}
