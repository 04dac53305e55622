//! Time of one client's turn: departures, and the choice of avatars to send.
//!
//! `cargo bench -p replicate --bench selection` measures 5,000 avatars and 100 viewers; `cargo test` runs the same scenes with a
//! few, so that they keep working. Goal: to see what a change of the selection costs. Nothing is asserted but how many blocks
//! were chosen, which is printed to show that a faster choice is still the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use glam::Vec3;
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{Appearance, Audience, Avatar, Change, Entity, Frame, Motion};
use replicate::scenery::SceneryReplica;
use replicate::selection::{Allowance, Selection};
use replicate::{EncodedFrame, Encoder, Intake, Lister, Publisher, Replica, Viewer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client's share of a send at 128 KiB/s and 10 Hz, and of full updates.
const ALLOWANCE: Allowance = Allowance {
    bytes: 12_800,
    full: 24,
    blocks_per_datagram: 18,
    pressure: 1.0,
    far_every: 1,
    near_only: false,
};
/// Avatars that a client is shown.
const VISIBLE_MAX: usize = 200;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_avatars, n_viewers, sends) = if full { (5_000, 100, 100) } else { (200, 3, 5) };
    println!("{n_avatars} avatars, {n_viewers} viewers, {sends} sends; microseconds per viewer and send");
    println!("{:<40} {:>7} {:>7} {:>7}  blocks", "scene", "median", "p99", "max");
    let bench = |name, moving, knows| scene(name, n_avatars, n_viewers, sends, moving, knows);
    bench("all sit", |_, _| false, true);
    bench("one in 400 moves", |avatar, send| (avatar + send).is_multiple_of(400), true);
    bench("one in 20 moves", |avatar, send| (avatar + send).is_multiple_of(20), true);
    bench("all walk", |_, _| true, true);
    bench("new viewers, all sit", |_, _| false, false);
}

/// `moving` selects the avatars that move before a send; `knows`: the viewers were shown every avatar before.
fn scene(name: &str, n_avatars: u32, n_viewers: u32, sends: u32, moving: fn(u32, u32) -> bool, knows: bool) {
    let mut stage = Stage::new(n_avatars);
    let mut viewers: Vec<Viewer> =
        (1..=n_viewers).map(|n| Viewer::new(SessionKey(u64::from(n)), place(n, 0), VISIBLE_MAX)).collect();
    let mut lister = Lister::default();
    for viewer in viewers.iter_mut().filter(|_| knows) {
        let replica = stage.publisher.current();
        viewer.update_visible_set(replica, &mut lister);
        for at in 0..viewer.shown().len() {
            viewer.mark_shown(at as u32, &replica.hot()[viewer.shown()[at].slot as usize], 0);
        }
    }
    let mut selection = Selection::default();
    let (mut micros, mut blocks) = (Vec::new(), 0);
    for send in 1..=sends {
        let moved = (1..=n_avatars).filter(|&avatar| moving(avatar, send));
        stage.publish(moved.map(|avatar| Change::Moved(LocalId(avatar), walk(avatar, send))).collect());
        let replica = Arc::clone(stage.publisher.current());
        for viewer in &mut viewers {
            let began = Instant::now();
            viewer.update_visible_set(&replica, &mut lister);
            selection.choose(viewer, &replica, ALLOWANCE);
            let tick = replica.tick.0 as u32;
            for &at in &selection.full {
                viewer.mark_shown(at, &replica.hot()[viewer.shown()[at as usize].slot as usize], tick);
            }
            for &at in &selection.terse {
                viewer.updated(at, &replica.hot()[viewer.shown()[at as usize].slot as usize], tick);
            }
            micros.push(began.elapsed().as_secs_f64() * 1e6);
            blocks += selection.full.len() + selection.terse.len();
        }
    }
    micros.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
    println!("{name:<40} {:>7.2} {:>7.2} {:>7.2}  {blocks}", at(0.5), at(0.99), at(1.0));
}

/// A replica and what feeds it.
struct Stage {
    encoder: Encoder,
    publisher: Publisher,
    spare: EncodedFrame,
    frames: u64,
}

impl Stage {
    fn new(n_avatars: u32) -> Self {
        let replica = Replica::new(WorldId(0), 512.0, SceneryReplica::default());
        let mut stage = Self {
            encoder: Encoder::new(Duration::from_millis(50)),
            publisher: Publisher::new(replica),
            spare: EncodedFrame::default(),
            frames: 0,
        };
        stage.publish((1..=n_avatars).map(enter).collect());
        stage
    }

    fn publish(&mut self, changes: Vec<Change>) {
        let frame = Frame {
            epoch: Epoch(0),
            sequence: self.frames,
            tick: Tick(self.frames),
            changes,
            ..Frame::empty()
        };
        self.frames += 1;
        assert_eq!(self.encoder.encode(&frame, &mut self.spare), Intake::Ready);
        self.spare = self.publisher.publish(std::mem::take(&mut self.spare));
    }
}

fn enter(avatar: u32) -> Change {
    Change::Created(Arc::new(Entity {
        id: LocalId(avatar),
        audience: Audience::All,
        motion: Motion { position: place(avatar, 0), ..Motion::default() },
        seat: None,
        avatar: Avatar {
            session: SessionKey(avatar.into()),
            agent: AgentId(Uuid::from_u128(avatar.into())),
            first_name: format!("Visitor{avatar}"),
            last_name: "Resident".into(),
            size: Appearance::DEFAULT_SIZE,
            appearance: None,
            animations: link::Animations::new(),
        },
    }))
}

fn walk(avatar: u32, send: u32) -> Motion {
    Motion { position: place(avatar, send), velocity: Vec3::new(3.2, 0.0, 0.0), ..Motion::default() }
}

/// Strewn over a region of 512 m: multiples of the golden ratio lie evenly.
fn place(avatar: u32, send: u32) -> Vec3 {
    let (x, y) = (avatar as f32 * 0.618_034, avatar as f32 * 0.754_878);
    Vec3::new(x.fract() * 480.0 + send as f32 * 0.32, y.fract() * 480.0, 22.0)
}
