//! Worlds on a real pool: each is stepped a number of times, with commands of a script, as fast as the machine can.
#![expect(clippy::disallowed_methods, reason = "a real pool runs on the wall's time")]

use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Enter, Frame, NewObject, ObjectLimits, PrimFlags, StoredObjects, Terrain};
use prim::Shape;
use schedule::{Pool, StepStart, Task};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use world::{World, WorldConfig};

/// World time of a step.
const DT: Duration = Duration::from_millis(50);
/// Wall time between two steps: as soon as the machine can.
const PACE: Duration = Duration::from_micros(500);
/// Numbers of commands in a tick.
const COMMANDS_MAX: u64 = 1_000;
pub(crate) const GROUND_M: f32 = 21.0;
/// The only visitor of each world, who makes all prims.
pub(crate) const VISITOR: SessionKey = SessionKey(1);

/// Actions of sessions in a tick, in their order.
pub(crate) type Actions = Vec<(SessionKey, Action)>;

/// Worlds that are built on, and what comes to pass in them.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) n_worlds: u32,
    /// Steps of each world.
    pub(crate) ticks: u64,
    /// Actions by the number of the world and of the tick.
    pub(crate) script: fn(u32, u64) -> Actions,
    /// A count of anything in a frame.
    pub(crate) count: fn(&Frame) -> u64,
}

/// A world at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Hash of the states in all frames.
    pub(crate) hash: u64,
    /// The last state as bytes.
    snapshot: Vec<u8>,
    /// Sum of the plan's counts.
    pub(crate) counted: u64,
}

struct Run {
    world: World,
    n: u32,
    plan: Plan,
    frame: Frame,
    outcome: Outcome,
    left: u64,
    over: Sender<(u32, Outcome)>,
}

impl Task for Run {
    fn is_quiet(&mut self) -> bool {
        self.left == 0
    }

    fn step(&mut self, start: &StepStart) {
        if self.left == 0 {
            return;
        }
        let tick = start.tick.0;
        let mut commands = numbered(tick, (self.plan.script)(self.n, tick));
        self.world.step(start.tick, DT, 1.0, &mut commands, &mut self.frame);
        self.outcome.hash = self.outcome.hash.rotate_left(7) ^ self.frame.state_hash;
        self.outcome.counted += (self.plan.count)(&self.frame);
        self.left -= 1;
        if self.left == 0 {
            self.outcome.snapshot = self.world.snapshot();
            let outcome = std::mem::take(&mut self.outcome);
            self.over.send((self.n, outcome)).expect("the test waits for it");
        }
    }
}

fn numbered(tick: u64, actions: Actions) -> Vec<Command> {
    let first = tick * COMMANDS_MAX;
    let command = |((session, action), n): ((SessionKey, Action), u64)| match session {
        SessionKey::NODE => Command::by_node(session, first + n, action),
        _ => Command::by_session(session, first + n, action),
    };
    actions.into_iter().zip(0..COMMANDS_MAX).map(command).collect()
}

/// Local ids of a world. Prims get them in the order in which they are made.
pub(crate) fn local_ids(world: u32) -> Range<u32> {
    link::shared_local_ids(WorldId(world + 1))
}

/// Actions of the first tick: the visitor arrives, and may make prims as fast as it likes.
pub(crate) fn arrive(world: u32) -> Actions {
    let limits = ObjectLimits { rez_per_s: 100_000, ..ObjectLimits::default() };
    let enter = Enter {
        agent: AgentId(Uuid::from_u128(world.into())),
        first_name: "Ada".into(),
        last_name: "Test".into(),
        position: Vec3::new(118.0, 124.0, GROUND_M + 1.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    };
    vec![(SessionKey::NODE, Action::ObjectLimits(limits)), (VISITOR, Action::Enter(Box::new(enter)))]
}

/// A box of 2 m that nothing moves.
pub(crate) fn new_prim(n: u32, position: Vec3) -> NewObject {
    NewObject {
        id: Uuid::from_u128(u128::from(n) + 1_000),
        created_us: 0,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::splat(2.0),
        position,
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::default(),
        is_selected: false,
    }
}

/// The worlds' outcomes, by their numbers.
fn run(plan: Plan, n_workers: usize) -> Vec<Outcome> {
    let terrain = Arc::new(Terrain::flat(256, GROUND_M));
    let began = std::time::Instant::now();
    let clock = move || Instant(u64::try_from(began.elapsed().as_nanos()).expect("a test is short"));
    let pool = Pool::start(n_workers, clock).expect("threads");
    let (over, ended) = channel();
    for n in 0..plan.n_worlds {
        let world = World::new(WorldConfig {
            id: WorldId(n + 1),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: local_ids(n),
            terrain: Arc::clone(&terrain),
            scenery: Arc::default(),
            objects: Some(StoredObjects::default()),
            land: None,
            cast: None,
            water_m: link::WATER_M,
            max_avatars: 20,
            seed: n.into(),
        });
        let (outcome, left, over) = (Outcome::default(), plan.ticks, over.clone());
        let run = Run { world, n, plan, frame: Frame::empty(), outcome, left, over };
        pool.add(Box::new(run), PACE, Tick(0));
    }
    let mut outcomes = vec![Outcome::default(); plan.n_worlds as usize];
    for _ in 0..plan.n_worlds {
        let (n, outcome) = ended.recv().expect("every world comes to its end");
        outcomes[n as usize] = outcome;
    }
    drop(pool.stop());
    outcomes
}

/// Fails unless the worlds come to the same states on one, two and four workers. Returns the outcomes.
pub(crate) fn run_on_one_two_and_four(plan: Plan) -> Vec<Outcome> {
    let on_one = run(plan, 1);
    for n_workers in [2, 4] {
        for (n, (outcome, expected)) in run(plan, n_workers).iter().zip(&on_one).enumerate() {
            assert_eq!(outcome.hash, expected.hash, "world {n} on {n_workers} workers");
            assert!(outcome == expected, "world {n} has another last state on {n_workers} workers");
        }
    }
    on_one
}
