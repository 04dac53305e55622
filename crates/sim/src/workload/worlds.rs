//! Worlds without clients: simulated, encoded and published without readers. Their commands come from a seed or from a recording.

use super::inputs::Inputs;
use super::outcome::Mark;
use super::{Workload, fold_states, world_mark};
use crate::follower::Follower;
use crate::scenario::TICK;
use crate::setting::REGION_M;
use crate::streams::{Purpose, stream};
use crate::village;
use bots::rng::Rng;
use gateway::feed::Feed;
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, ChatKind, Command, Control, ControlFlags, Enter, Frame, Scenery, Terrain, WATER_M};
use recording::{Recording, RecordingError, Step};
use replicate::Replica;
use replicate::scenery::StaticObjects;
use std::collections::BTreeMap;
use std::f32::consts::TAU;
use std::io::{Read, Seek};
use std::sync::Arc;
use world::{World, WorldConfig};

const SEED: u64 = 3;
const WORLDS: u32 = 4;
/// In each of them.
const AVATARS: u64 = 250;
/// Visitors of each world with NPCs, and of its static objects.
const VISITORS: u64 = 4;
const VILLAGE_BOXES: u32 = 300;
/// They come in the first tick and have found their place, and their gait, after a second.
const WARM_UP_TICKS: u64 = 20;
/// Period of a replica's missed frames, ticks.
const MISS_TICKS: u64 = 32;

pub(super) fn prepare(workload: Workload, ticks: u64) -> Inputs {
    let mut inputs = Inputs {
        workload: workload.name().to_owned(),
        seed: SEED,
        warm_up_ticks: WARM_UP_TICKS,
        ticks,
        calls: Vec::new(),
        states: 0,
    };
    let mut worlds = Worlds::new(workload, &inputs);
    let marks: Vec<Mark> = (0..WARM_UP_TICKS + ticks).map(|_| worlds.tick()).collect();
    inputs.states = fold_states(&marks);
    inputs
}

/// Worlds that step together.
pub(super) struct Worlds {
    runs: Vec<WorldRun>,
    n_commands: u64,
    bytes: u64,
    scratch: Vec<u8>,
}

/// One world, its future inputs, and the follower of its frames.
struct WorldRun {
    world: World,
    /// The last first.
    steps: Vec<Step>,
    inbox: Vec<Command>,
    frame: Frame,
    follower: Follower,
    feed: Feed,
    /// Ticks between two frames that the replica misses.
    miss_ticks: Option<u64>,
}

impl Worlds {
    pub(super) fn new(workload: Workload, inputs: &Inputs) -> Self {
        let ticks = inputs.warm_up_ticks + inputs.ticks;
        let seed = inputs.seed;
        let runs = match workload {
            // All worlds of a template have the same ground, the same that stands on it, and the same cast.
            Workload::Npcs => {
                let terrain = Arc::new(Terrain::hills(REGION_M, seed));
                let scenery = Arc::new(Scenery::boxes(VILLAGE_BOXES, &terrain, seed));
                let cast = Some(village::cast(&terrain, &scenery, WATER_M));
                let objects = Arc::new(StaticObjects::new(&scenery, REGION_M as f32));
                let config = |n| {
                    let (terrain, scenery) = (Arc::clone(&terrain), Arc::clone(&scenery));
                    WorldConfig { terrain, scenery, cast: cast.clone(), ..config(seed, n) }
                };
                (0..WORLDS).map(|n| WorldRun::drawn(seed, VISITORS, config(n), &objects, ticks)).collect()
            }
            Workload::Worlds | Workload::Crowd => {
                let objects = Arc::default();
                (0..WORLDS)
                    .map(|n| WorldRun::drawn(seed, AVATARS, config(seed, n), &objects, ticks))
                    .collect()
            }
        };
        Self::of(runs)
    }

    /// The world of a recording with its first ticks, up to the given number. A last tick that panicked is left out.
    pub(super) fn recorded<R: Read + Seek>(
        recording: &mut Recording<R>,
        ticks_max: u64,
    ) -> Result<(Self, u64), RecordingError> {
        let world = recording.world()?;
        let config = recording.config();
        let replica = replica(&config, Arc::new(StaticObjects::new(&config.scenery, config.size_m as f32)));
        let steps = recording.steps()?.filter(|step| !matches!(step, Ok(Step { state_hash: None, .. })));
        let steps: Vec<Step> = steps.take(ticks_max as usize).collect::<Result<_, _>>()?;
        let ticks = steps.len() as u64;
        Ok((Self::of(vec![WorldRun::new(replica, world, steps, None)]), ticks))
    }

    fn of(runs: Vec<WorldRun>) -> Self {
        Self { runs, n_commands: 0, bytes: 0, scratch: Vec::new() }
    }

    pub(super) fn tick(&mut self) -> Mark {
        let mut tick = Tick(0);
        let mut worlds = Vec::with_capacity(self.runs.len());
        for run in &mut self.runs {
            let mut step = run.steps.pop().expect("there is a step for every tick");
            tick = step.tick;
            self.n_commands += step.commands.len() as u64;
            run.inbox.append(&mut step.commands);
            run.world.step(step.tick, step.dt, step.dilation, &mut run.inbox, &mut run.frame);
            if run.hears_of(tick) {
                run.inbox.extend(run.follower.handle_frame(&run.frame, &run.feed));
            }
            worlds.push(world_mark(&run.frame, &mut self.scratch));
            self.bytes += self.scratch.len() as u64;
        }
        Mark { tick: tick.0, worlds, sent: 0 }
    }

    pub(super) fn work_done(&self) -> BTreeMap<&'static str, u64> {
        let sum = |of: fn(&WorldRun) -> u64| self.runs.iter().map(of).sum();
        let of_npcs = [
            ("NPCs moved", sum(|run| run.world.npc_counts().moving)),
            ("thoughts", sum(|run| run.world.npc_counts().thoughts)),
            ("looks", sum(|run| run.world.npc_counts().looks)),
            ("paths", sum(|run| run.world.npc_counts().paths)),
        ];
        let has_npcs = self.runs.iter().any(|run| run.world.n_npcs() > 0);
        let mut work = BTreeMap::from([
            ("commands", self.n_commands),
            ("frame bytes", self.bytes),
            ("avatars changed", sum(|run| run.world.counters().entities_dirtied)),
            ("blocks encoded", sum(|run| run.follower.encoder.blocks_encoded)),
            ("resyncs", sum(|run| run.follower.encoder.resyncs)),
        ]);
        work.extend(of_npcs.into_iter().filter(|_| has_npcs));
        work
    }
}

impl WorldRun {
    fn new(replica: Replica, world: World, mut steps: Vec<Step>, miss_ticks: Option<u64>) -> Self {
        steps.reverse();
        Self {
            world,
            steps,
            inbox: Vec::new(),
            frame: Frame::empty(),
            feed: Feed::new(replica.clone()),
            follower: Follower::new(TICK, replica),
            miss_ticks,
        }
    }

    /// A world with `n_owners` owners of avatars, drawn from the seed.
    fn drawn(
        seed: u64,
        n_owners: u64,
        config: WorldConfig,
        objects: &Arc<StaticObjects>,
        ticks: u64,
    ) -> Self {
        let mut owners = AvatarOwners::new(seed, config.id.0, n_owners);
        let step = |tick| Step {
            tick: Tick(tick),
            at: Instant::ZERO + TICK * tick as u32,
            dt: TICK,
            dilation: 1.0,
            commands: owners.act(tick),
            state_hash: None,
        };
        let replica = replica(&config, Arc::clone(objects));
        Self::new(replica, World::new(config), (0..ticks).map(step).collect(), Some(MISS_TICKS))
    }

    /// True if its frame reaches the replica.
    fn hears_of(&self, tick: Tick) -> bool {
        self.miss_ticks.is_none_or(|every| tick.0 % every != every - 1)
    }
}

/// The replica of a world before its first frame.
fn replica(config: &WorldConfig, objects: Arc<StaticObjects>) -> Replica {
    let scenery = replicate::scenery::SceneryReplica::new(objects, config.local_ids.start);
    Replica::new(config.id, config.size_m as f32, scenery)
}

/// A world of hills.
fn config(seed: u64, n: u32) -> WorldConfig {
    let mut rng = stream(seed, Purpose::World, n.into());
    let first_id = 1 + n * 1_000_000;
    WorldConfig {
        id: WorldId(n),
        epoch: Epoch(0),
        size_m: REGION_M,
        local_ids: first_id..first_id + 100_000,
        terrain: Arc::new(Terrain::hills(REGION_M, rng.next())),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: WATER_M,
        max_avatars: WorldConfig::MAX_AVATARS,
        seed: rng.next(),
    }
}

/// The owners of one world's avatars.
struct AvatarOwners {
    world: u32,
    rng: Rng,
    sequences: Vec<u64>,
}

impl AvatarOwners {
    fn new(seed: u64, world: u32, count: u64) -> Self {
        Self { world, rng: stream(seed, Purpose::Will, world.into()), sequences: vec![0; count as usize] }
    }

    /// Commands of all owners in one tick: all arrive in the first one; from then on an owner acts every two seconds, mostly by walking
    /// in another direction.
    fn act(&mut self, tick: u64) -> Vec<Command> {
        let mut commands = Vec::new();
        for index in 0..self.sequences.len() as u64 {
            let action = match tick {
                0 => self.enter(index),
                _ if self.rng.next().is_multiple_of(40) => self.whim(),
                _ => continue,
            };
            let sequence = &mut self.sequences[index as usize];
            let session = SessionKey(u64::from(self.world) * AVATARS + index + 1);
            commands.push(Command::by_session(session, *sequence, action));
            *sequence += 1;
        }
        commands
    }

    fn enter(&mut self, index: u64) -> Action {
        Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u64_pair(u64::from(self.world), index + 1)),
            first_name: format!("Owner{index}"),
            last_name: "Resident".to_owned(),
            position: self.position(),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        }))
    }

    fn whim(&mut self) -> Action {
        let flags = match self.rng.next() % 100 {
            0..60 => ControlFlags::AT_POS,
            60..85 => ControlFlags::default(),
            85..90 => ControlFlags::FLY.union(ControlFlags::AT_POS),
            90..93 => ControlFlags::SIT_ON_GROUND,
            93..97 => {
                let text = format!("word {}", self.rng.next() % 1_000);
                return Action::Chat { kind: ChatKind::Say, channel: 0, text };
            }
            97..99 => return Action::Animate(vec![(Uuid::from_u128(self.rng.next().into()), true)]),
            _ => return Action::Teleport { position: self.position(), look_at: Vec3::Y },
        };
        // Sine and cosine inside come from `libm`: glam is built so.
        let body_rotation = Quat::from_rotation_z(TAU * self.rng.unit() as f32);
        Action::Control(Control { flags, body_rotation })
    }

    fn position(&mut self) -> Vec3 {
        let edge = REGION_M as f32;
        Vec3::new(edge * self.rng.unit() as f32, edge * self.rng.unit() as f32, 30.0)
    }
}
