//! Time of one client's choice of objects while it walks among prims.
//!
//! `cargo bench -p replicate --bench objects` measures 100 clients among 40,000 prims; `cargo test` runs the same scene with a few. A client walks
//! 3.2 m/s, ten sends a second; it is new at the first send, and has its surroundings when half of the sends are over. The number of prims sent is
//! printed to show that a faster choice is still the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use glam::Vec3;
use ids::{AgentId, Epoch, LocalId, Uuid, WorldId};
use link::{Frame, Motion, ObjectChange, ObjectMask, PrimMotion, VersionedBody};
use prim::{Body, Shape};
use replicate::objects::{Onlooker, SentSet};
use replicate::scenery::SceneryReplica;
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE_M: f32 = 256.0;
const STEP_M: f32 = 0.32;
/// Objects of one send at most: those of twelve datagrams.
const MOST: usize = 240;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_prims, n_clients, sends) = if full { (40_000, 100, 400) } else { (2_000, 3, 20) };
    let mut publisher = Publisher::new(Replica::new(WorldId(0), SIZE_M, SceneryReplica::default()));
    let mut encoded = EncodedFrame::default();
    let frame = Frame { epoch: Epoch(0), objects: (0..n_prims).map(prim).collect(), ..Frame::empty() };
    assert_eq!(Encoder::new(Duration::from_millis(50)).encode(&frame, &mut encoded), Intake::Ready);
    publisher.publish(encoded);
    let replica = Arc::clone(publisher.current());
    let objects = replica.objects();
    assert_eq!(objects.len(), n_prims as usize);

    println!("{n_prims} prims, {n_clients} clients, {sends} sends; microseconds per client and send");
    println!("{:<12} {:>7} {:>7} {:>7} {:>7}  prims", "sends", "mean", "median", "p99", "max");
    let mut clients: Vec<(u32, SentSet)> = (0..n_clients).map(|n| (n, SentSet::default())).collect();
    let mut due = Vec::new();
    for part in ["arrival", "walk"] {
        let (mut micros, mut n_sent) = (Vec::new(), 0);
        for send in 0..sends / 2 {
            for (n, sent) in &mut clients {
                let send = if part == "walk" { send + sends / 2 } else { 0 };
                let eye = Eye(place(*n, send as f32 * STEP_M));
                let began = Instant::now();
                if sent.is_due(objects, eye.0, eye.draw_m()) {
                    sent.choose(objects, &eye, MOST, &mut due);
                    for due in &due {
                        sent.mark_sent(due.id, false);
                        sent.settle(due.id, false);
                    }
                    n_sent += due.len();
                }
                micros.push(began.elapsed().as_secs_f64() * 1e6);
            }
        }
        micros.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
        let mean = micros.iter().sum::<f64>() / micros.len() as f64;
        println!("{part:<12} {mean:>7.2} {:>7.2} {:>7.2} {:>7.2}  {n_sent}", at(0.5), at(0.99), at(1.0));
    }
}

/// The place of a client that displays no avatar.
struct Eye(Vec3);

impl Onlooker for Eye {
    fn eye(&self) -> Vec3 {
        self.0
    }

    fn draw_m(&self) -> f32 {
        128.0
    }

    fn distance_to_wearer(&self, _: LocalId, _: bool) -> Option<f32> {
        None
    }

    fn wearers(&self) -> impl Iterator<Item = LocalId> {
        std::iter::empty()
    }
}

/// One of many prims, from a tenth of a metre to ten.
fn prim(n: u32) -> ObjectChange {
    let owner = AgentId(Uuid::from_u128(1));
    let mut body = Body::new(Uuid::from_u128(u128::from(n) + 1), Shape::BOX, Arc::default(), owner, 0);
    let share = (n as f32 * 0.569_840).fract();
    body.scale = Vec3::splat(0.1 * 100.0_f32.powf(share * share));
    let motion =
        PrimMotion { motion: Motion { position: place(n, 0.0), ..Motion::default() }, ..PrimMotion::NONE };
    let body = VersionedBody { version: 1, body: Arc::new(body) };
    ObjectChange::Set { id: LocalId((1 << 20) + n), motion, body, mask: ObjectMask::CREATED }
}

/// Strewn over the region: multiples of the golden ratio lie evenly. A client walks to the east, and again from the west.
fn place(n: u32, walked_m: f32) -> Vec3 {
    let (x, y) = (n as f32 * 0.618_034, n as f32 * 0.754_878);
    Vec3::new((x.fract() * SIZE_M + walked_m) % SIZE_M, y.fract() * SIZE_M, 22.0)
}
