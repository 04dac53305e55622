//! A world that begins again after a panic: from which state, and with which numbers.

use crate::stage::{TICK, config, enter_at};
use glam::Vec3;
use ids::{Epoch, Instant, LocalId, SessionKey, Tick};
use link::{Action, Change, Command, Frame, Terrain};
use std::collections::BTreeMap;
use std::time::Duration;
use world::{Beginning, Life, World};

/// A life whose frames are followed as a replica would.
struct Play {
    life: Life,
    now: Instant,
    tick: u64,
    /// Present avatars, by session.
    here: BTreeMap<u64, LocalId>,
    frame: Frame,
}

impl Play {
    fn begin(share: f32) -> Self {
        let life = Life::new(config(Terrain::flat(256, 21.0)), share);
        Self { life, now: Instant::ZERO, tick: 0, here: BTreeMap::new(), frame: Frame::empty() }
    }

    fn step(&mut self, actions: Vec<(u64, Action)>) {
        let mut commands: Vec<Command> = actions
            .into_iter()
            .zip(0..)
            .map(|((session, action), sequence)| Command::by_session(SessionKey(session), sequence, action))
            .collect();
        self.life.step(self.now, Tick(self.tick), TICK, 1.0, &mut commands, &mut self.frame);
        self.now += TICK;
        self.tick += 1;
        let snapshot = self.frame.snapshot.iter().flat_map(|part| &part.entities);
        let created = self.frame.changes.iter().filter_map(|change| match change {
            Change::Created(entity) => Some(entity),
            _ => None,
        });
        for entity in created.chain(snapshot) {
            self.here.insert(entity.avatar.session.0, entity.id);
        }
        for change in &self.frame.changes {
            if let Change::Removed(id) = change {
                self.here.retain(|_, here| here != id);
            }
        }
    }

    fn let_in(&mut self, session: u64) {
        self.step(vec![(session, enter_at(Vec3::splat(100.0)))]);
    }

    fn enter(&mut self, session: u64) -> LocalId {
        self.let_in(session);
        self.here[&session]
    }

    fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.step(Vec::new());
        }
    }

    /// The restart of a supervisor after a step that panicked, and the first step after it.
    fn begin_again(&mut self, in_a_row: u32) -> Beginning {
        // The step that failed.
        self.tick += 1;
        let (beginning, _) = self.life.begin_again(in_a_row);
        self.here.clear();
        self.step(Vec::new());
        beginning
    }
}

#[test]
fn a_checkpoint_says_what_a_snapshot_says() {
    let mut play = Play::begin(0.0);
    (1..5).for_each(|session| play.let_in(session));
    let world = play.life.world();
    let checkpoint = world.checkpoint();
    assert_eq!((checkpoint.encode(), checkpoint.n_avatars()), (world.snapshot(), 4));
    let resumed = World::resume(play.life.config().clone(), &checkpoint).unwrap();
    assert_eq!((resumed.state_hash(), resumed.snapshot()), (world.state_hash(), world.snapshot()));
}

#[test]
fn a_checkpoint_into_the_memory_of_another_is_as_one_of_its_own() {
    let mut play = Play::begin(0.0);
    (1..5).for_each(|session| play.let_in(session));
    let mut checkpoint = play.life.world().checkpoint();
    (5..8).for_each(|session| play.let_in(session));
    play.run(Duration::from_secs(1));
    for _ in 0..2 {
        play.life.world().checkpoint_into(&mut checkpoint);
        assert_eq!(checkpoint.encode(), play.life.world().snapshot());
        play.step(vec![(1, Action::Leave), (2, Action::Leave)]);
    }
}

#[test]
fn avatars_of_the_checkpoint_are_there_again_under_the_same_ids() {
    let mut play = Play::begin(0.0);
    let early = play.enter(1);
    play.run(Life::CHECKPOINT_PERIOD);
    let late = play.enter(2);
    assert_eq!(play.begin_again(1), Beginning::Newest);
    assert_eq!((play.here.get(&1), play.here.get(&2)), (Some(&early), None));
    assert!(play.enter(2) > late, "the id of a presence that is gone stands for no other");
}

#[test]
fn a_restarted_world_sends_its_whole_state_from_its_first_frame_on() {
    let mut play = Play::begin(0.0);
    play.enter(1);
    play.run(Life::CHECKPOINT_PERIOD);
    play.begin_again(1);
    let first = &play.frame;
    assert_eq!((first.epoch, first.sequence), (Epoch(2), 0));
    let part = first.snapshot.as_ref().unwrap();
    assert_eq!((part.index, part.count, part.entities.len()), (0, 1, 1));
}

#[test]
fn a_state_that_cannot_go_on_is_given_up_step_by_step() {
    let mut play = Play::begin(0.0);
    let first = play.enter(1);
    play.run(Life::CHECKPOINT_PERIOD);
    play.enter(2);
    play.run(Life::CHECKPOINT_PERIOD);
    assert_eq!((play.begin_again(1), play.here.len()), (Beginning::Newest, 2));
    assert_eq!((play.begin_again(2), play.here.len()), (Beginning::Older, 1));
    assert_eq!((play.begin_again(3), play.here.len()), (Beginning::Empty, 0));
    assert_eq!(play.frame.epoch, Epoch(4));
    assert!(play.enter(1) > first);
    assert_eq!(play.begin_again(1), Beginning::Empty, "an abandoned world does not come back");
}

#[test]
fn without_a_checkpoint_a_world_begins_empty_and_goes_on_with_its_ids() {
    let mut play = Play::begin(1.0);
    let id = play.enter(1);
    assert_eq!(play.begin_again(1), Beginning::Empty);
    assert!(play.frame.snapshot.is_some(), "replicas have to learn that the world is empty");
    assert!(play.enter(1) > id);
}

/// The tick in which each of two worlds takes checkpoints follows from the avatars that are there after a restart.
#[test]
fn worlds_take_their_checkpoints_in_different_ticks_and_often_enough() {
    let taken_in = |share: f32| {
        let period = (Life::CHECKPOINT_PERIOD.as_nanos() / TICK.as_nanos()) as u64;
        let knows = |steps: u64| {
            let mut play = Play::begin(share);
            // One more comes in every tick.
            (1..=3 * period + steps).for_each(|session| play.let_in(session));
            play.begin_again(1);
            play.here.len() as u64
        };
        let newest: Vec<u64> = (0..period).map(knows).collect();
        assert!(newest.iter().zip(3 * period..).all(|(known, now)| known + period >= now), "{newest:?}");
        newest.windows(2).position(|pair| pair[0] != pair[1])
    };
    assert_ne!(taken_in(0.0), taken_in(0.5));
}
