//! Cost of perception and thoughts in a server full of small worlds.
//!
//! `cargo bench -p nav` has 20,000 NPCs in 1,000 worlds at 20 Hz, one player in each; `cargo test` runs the same with a few, so that it
//! keeps working. NPCs of the example behaviours live on a plane and go straight to where they intend to be, which stands
//! in for navigation and is measured apart. Goal: to see what a change costs, per thought, per look, and amortised over an NPC's
//! tick. Not a goal: to promise anything, so nothing is asserted; the hash of all minds is printed to show that faster still
//! does the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

#[path = "../tests/behaviours/village.rs"]
mod village;

use behavior::{
    BehaviorSet, Go, Intent, Mind, Pace,
    senses::{
        Acuity, Attention, Candidate, DetailPolicy, EntityId, Journey, KindId, KindSet, Listener,
        MoveProgress, Onlooker, Perception, PerceptionCounts, Senses, Sound, SoundKind, SoundSet, Sounds,
        WorldTime,
    },
};
use glam::{Vec2, Vec3};
use std::time::{Duration, Instant};

const TICK_MS: u64 = 50;
const NPCS_PER_WORLD: u32 = 20;

/// Behaviours and kinds of a world's NPCs, in turn.
const CAST: [(&str, u8); 6] =
    [("villager", 1), ("guard", 2), ("bandit", 3), ("deer", 5), ("woodcutter", 1), ("shopkeeper", 4)];

struct Npc {
    mind: Mind,
    intent: Intent,
    perception: Perception,
    attention: Attention,
    journey: Journey,
    position: Vec3,
    facing: Vec2,
    id: EntityId,
    kind: KindId,
    interest: KindSet,
    hearing: SoundSet,
}

struct Village {
    npcs: Vec<Npc>,
    player: Candidate,
    sounds: Sounds,
    candidates: Vec<Candidate>,
    random: u32,
}

#[derive(Default)]
struct Spent {
    looking: Duration,
    thinking: Duration,
    moving: Duration,
    counts: PerceptionCounts,
    thoughts: u64,
    visits: u64,
    visits_max: u32,
    moved: u64,
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_worlds, ticks) = if full { (1_000, 600) } else { (3, 40) };
    let set = village::load();
    println!("{} NPCs in {n_worlds} worlds, {ticks} ticks of 50 ms", n_worlds * NPCS_PER_WORLD);
    println!(
        "bytes: mind {}, intent {}, perception {}, attention {}; {} nodes of 14 in all behaviours",
        size_of::<Mind>(),
        size_of::<Intent>(),
        size_of::<Perception>(),
        size_of::<Attention>(),
        set.n_nodes()
    );
    println!(
        "{:<22} {:>9} {:>8} {:>8} {:>9} {:>8} {:>8}  hash",
        "players are", "think ns", "visits", "look ns", "npc tick", "think/s", "look/s"
    );
    for (name, distance) in [("in the middle", 0.0), ("at the edge", 90.0), ("far away", 400.0)] {
        scene(name, &set, n_worlds, ticks, distance);
    }
}

fn scene(name: &str, set: &BehaviorSet, n_worlds: u32, ticks: u64, distance: f32) {
    let mut worlds: Vec<Village> = (0..n_worlds).map(|world| Village::new(set, world, distance)).collect();
    // Noon, so that every NPC is at work.
    let start = 12 * 3_600_000;
    let mut spent = Spent::default();
    for tick in 0..ticks {
        // The first seconds are for getting under way.
        if tick == ticks / 10 {
            spent = Spent::default();
        }
        let now = WorldTime(start + tick * TICK_MS);
        for world in &mut worlds {
            world.tick(set, now, &mut spent);
        }
    }
    let npc_ticks = f64::from(n_worlds * NPCS_PER_WORLD) * (ticks - ticks / 10) as f64;
    let per = |time: Duration, n: u64| time.as_nanos() as f64 / n.max(1) as f64;
    let amortised = (spent.looking + spent.thinking).as_nanos() as f64 / npc_ticks;
    let per_s = |n: u64| n as f64 / npc_ticks * 1e3 / TICK_MS as f64;
    let hash = worlds
        .iter()
        .flat_map(|world| &world.npcs)
        .fold(0u64, |all, npc| all.rotate_left(5) ^ npc.mind.state_hash());
    println!(
        "{name:<22} {:>9.0} {:>8.1} {:>8.0} {:>9.0} {:>8.2} {:>8.2}  {hash:016x}",
        per(spent.thinking, spent.thoughts),
        spent.visits as f64 / spent.thoughts.max(1) as f64,
        per(spent.looking, spent.counts.looks),
        amortised,
        per_s(spent.thoughts),
        per_s(spent.counts.looks),
    );
    println!(
        "{:<22} rays/s {:.2} of which clear {:.2}; most visits {}; moving {:.0} %; moving took {:.0} ns",
        "",
        per_s(spent.counts.rays),
        per_s(spent.counts.clear),
        spent.visits_max,
        spent.moved as f64 / npc_ticks * 100.0,
        spent.moving.as_nanos() as f64 / npc_ticks,
    );
}

impl Village {
    fn new(set: &BehaviorSet, world: u32, distance: f32) -> Self {
        let now = WorldTime(12 * 3_600_000);
        let npcs = (0..NPCS_PER_WORLD)
            .map(|index| {
                let (name, kind) = CAST[index as usize % CAST.len()];
                let behavior = set.behavior(name).expect("is in the set");
                let number = 1 + index;
                let position =
                    Vec3::new(60.0 + (index * 37 % 90) as f32, 60.0 + (index * 53 % 90) as f32, 20.0);
                let kind = KindId(kind);
                Npc {
                    mind: Mind::new(behavior, position),
                    intent: Intent::default(),
                    perception: Perception::new(now),
                    attention: Attention::new(world * 977 + number, &DetailPolicy::default(), now),
                    journey: Journey::default(),
                    position,
                    facing: Vec2::X,
                    id: EntityId::new(number).expect("not zero"),
                    kind,
                    interest: set.interest(behavior, kind),
                    hearing: set.hearing(behavior),
                }
            })
            .collect();
        let player = Candidate {
            who: EntityId::new(1_000).expect("not zero"),
            kind: KindId::PLAYER,
            has_fallen: false,
            position: Vec3::new(105.0 + distance, 105.0, 20.0),
        };
        Self { npcs, player, sounds: Sounds::new(), candidates: Vec::new(), random: world + 1 }
    }

    fn tick(&mut self, set: &BehaviorSet, now: WorldTime, spent: &mut Spent) {
        let began = Instant::now();
        self.look(now, spent);
        let looked = Instant::now();
        self.think(set, now, spent);
        let thought = Instant::now();
        self.carry_on(now, spent);
        spent.looking += looked - began;
        spent.thinking += thought - looked;
        spent.moving += thought.elapsed();
    }

    fn look(&mut self, now: WorldTime, spent: &mut Spent) {
        let policy = DetailPolicy::default();
        self.candidates.clear();
        self.candidates.push(self.player);
        self.candidates.extend(self.npcs.iter().map(|npc| Candidate {
            who: npc.id,
            kind: npc.kind,
            has_fallen: false,
            position: npc.position,
        }));
        for npc in &mut self.npcs {
            if now.0.is_multiple_of(1_000) {
                let far = npc.position.distance(self.player.position);
                npc.attention.observe(&policy, Some(far), true, now);
            }
            if !npc.attention.is_look_due(now) {
                continue;
            }
            npc.attention.looked(&policy, now);
            let eyes = Onlooker {
                me: npc.id,
                position: npc.position,
                facing: npc.facing,
                interest: npc.interest,
                target: npc.mind.target(),
            };
            let sight = Acuity::default();
            // A wall of sorts; what a ray costs is another matter.
            let mut is_clear = |from: Vec3, to: Vec3| (from.x < 100.0) == (to.x < 100.0);
            npc.perception.list_targets(
                &eyes,
                &sight,
                &self.candidates,
                now,
                &mut is_clear,
                &mut spent.counts,
            );
            let ears = Listener { me: npc.id, position: npc.position, keenness: 1.0, interest: npc.hearing };
            npc.perception.listen(ears, &self.sounds, now, &mut spent.counts);
        }
    }

    fn think(&mut self, set: &BehaviorSet, now: WorldTime, spent: &mut Spent) {
        let policy = DetailPolicy::default();
        let random = &mut self.random;
        let mut random = || {
            *random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (*random ^ (*random >> 15)).wrapping_mul(2_246_822_519)
        };
        for npc in &mut self.npcs {
            if !npc.attention.is_think_due(now) {
                continue;
            }
            npc.attention.thought(&policy, now);
            let senses = Senses {
                position: npc.position,
                kind: npc.kind,
                health: 1.0,
                minute: (now.0 / 60_000 % 1_440) as u16,
                journey: npc.journey,
                target_is_gone: false,
                is_refused: false,
                seen: npc.perception.seen(),
                heard: npc.perception.heard(),
                hurt: npc.perception.hurt(),
            };
            let visits = npc.mind.think(set, &senses, now, &mut random, &mut npc.intent);
            spent.thoughts += 1;
            spent.visits += u64::from(visits);
            spent.visits_max = spent.visits_max.max(visits);
            if npc.intent.leg != npc.journey.leg {
                npc.journey = Journey { leg: npc.intent.leg, progress: MoveProgress::Going };
            }
        }
    }

    fn carry_on(&mut self, now: WorldTime, spent: &mut Spent) {
        for npc in &mut self.npcs {
            if npc.intent.say.take().is_some() || npc.intent.pace == Pace::Run {
                let kind = if npc.intent.pace == Pace::Run { SoundKind::STEPS } else { SoundKind::CHAT };
                let sound = Sound {
                    kind,
                    place: npc.position,
                    reach_m: 20.0,
                    by: Some(npc.id),
                    by_kind: npc.kind,
                    about: None,
                };
                self.sounds.add(sound, now);
            }
            let way = match npc.intent.go {
                Go::Stay => continue,
                Go::To(goal) => goal - npc.position,
                Go::Toward { .. } => self.player.position - npc.position,
                Go::Away { from } => npc.position - from,
            };
            let way = way.truncate();
            let left = way.length();
            if left < 0.3 {
                npc.journey.progress = MoveProgress::Arrived;
                npc.attention.request_thought(now);
                npc.intent.go = Go::Stay;
                continue;
            }
            npc.facing = way / left;
            npc.position += (npc.facing * (0.16f32).min(left)).extend(0.0);
            spent.moved += 1;
        }
    }
}
