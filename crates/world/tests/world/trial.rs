//! Behaviours that make their world panic are given up for those before, with what the world was then.

use super::cast_reload::{cast_of, patrol, reload_of, with_behavior};
use super::stage::{STANDING, TICK, enter_at};
use super::village::{GROUND_M, setting};
use glam::Vec3;
use ids::{Instant, SessionKey, Tick};
use link::{Change, Command, Frame};
use std::{sync::Arc, time::Duration};
use world::{Beginning, CastReload, Life, NpcCast};

/// A life in which a visitor watches an NPC that patrols.
struct Play {
    life: Life,
    tick: u64,
    commands: Vec<Command>,
    frame: Frame,
}

impl Play {
    fn begin() -> Self {
        let enter = enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING));
        let mut play = Self {
            life: Life::new(setting(patrol()), 0.0),
            tick: 0,
            commands: vec![Command::by_session(SessionKey(1), 1, enter)],
            frame: Frame::empty(),
        };
        play.run(Duration::from_secs(10));
        play
    }

    /// Runs for a time. Returns the number of moves in its frames.
    fn run(&mut self, time: Duration) -> usize {
        let mut moves = 0;
        for _ in 0..time.as_nanos() / TICK.as_nanos() {
            let now = Instant(self.tick * TICK.as_nanos() as u64);
            self.life.step(now, Tick(self.tick), TICK, 1.0, &mut self.commands, &mut self.frame);
            self.tick += 1;
            moves += self.frame.changes.iter().filter(|change| matches!(change, Change::Moved(..))).count();
        }
        moves
    }

    fn cast(&self) -> Arc<NpcCast> {
        Arc::clone(cast_of(self.life.config()))
    }

    /// Goes over to a patrol that is something else.
    fn go_over(&mut self, patrol_is: &str) -> Arc<CastReload> {
        let change =
            reload_of(&self.cast(), with_behavior(patrol(), "patrol", patrol_is)).expect("the same NPC");
        self.life.offer_reload(Arc::clone(&change));
        self.commands.push(change.command(0));
        self.run(TICK);
        assert!(Arc::ptr_eq(&self.cast(), change.to()));
        change
    }

    fn panic(&mut self, in_a_row: u32) -> Beginning {
        self.life.begin_again(in_a_row).0
    }
}

const MOMENT: Duration = Duration::from_secs(3);

#[test]
fn a_cast_with_which_a_world_panics_twice_is_given_up_for_the_one_before() {
    let mut play = Play::begin();
    let good = play.cast();
    let change = play.go_over("sit");
    play.run(MOMENT);
    // It may have been an accident.
    assert_eq!(play.panic(1), Beginning::Newest);
    assert!(Arc::ptr_eq(&play.cast(), change.to()));
    assert_eq!(play.run(MOMENT), 0, "it sits");
    assert_eq!(play.panic(2), Beginning::Former);
    assert!(Arc::ptr_eq(&play.cast(), &good));
    assert_eq!(play.life.world().n_avatars(), 1, "who was there before the change");
    assert!(play.run(Life::CHECKPOINT_PERIOD) > 0, "it patrols");

    // The next panic is another case.
    assert_eq!(play.panic(3), Beginning::Newest);
    assert!(Arc::ptr_eq(&play.cast(), &good));
    assert_eq!(play.life.world().n_avatars(), 1);
    assert_eq!((play.panic(4), play.panic(5)), (Beginning::Older, Beginning::Empty));
    assert!(Arc::ptr_eq(&play.cast(), &good));
}

#[test]
fn there_is_something_to_go_back_to_before_the_first_checkpoint() {
    let mut play = Play::begin();
    play.life = Life::new(setting(patrol()), 1.0);
    let good = play.cast();
    play.go_over("sit");
    assert_eq!((play.panic(1), play.panic(2)), (Beginning::Newest, Beginning::Former));
    assert!(Arc::ptr_eq(&play.cast(), &good));
}

#[test]
fn a_cast_that_has_lasted_is_not_given_up() {
    let mut play = Play::begin();
    let change = play.go_over("sit");
    play.run(MOMENT);
    assert_eq!(play.panic(1), Beginning::Newest);
    // A panic begins the trial anew.
    play.run(Life::TRIAL - TICK);
    assert_eq!(play.panic(1), Beginning::Newest);
    play.run(Life::TRIAL + Life::CHECKPOINT_PERIOD);
    assert_eq!(play.panic(2), Beginning::Older);
    assert!(Arc::ptr_eq(&play.cast(), change.to()));
    assert_eq!(play.run(MOMENT), 0, "it sits");
    assert_eq!(play.panic(3), Beginning::Empty);
    assert!(Arc::ptr_eq(&play.cast(), change.to()));
}

#[test]
fn two_changes_in_a_row_are_given_up_together() {
    let mut play = Play::begin();
    let good = play.cast();
    play.go_over("sit");
    play.run(MOMENT);
    assert_eq!(play.panic(1), Beginning::Newest);
    play.go_over("wait 100 s");
    assert_eq!(play.panic(2), Beginning::Newest, "the panic before was not its");
    play.run(MOMENT);
    assert_eq!(play.panic(3), Beginning::Former);
    assert!(Arc::ptr_eq(&play.cast(), &good));
    assert!(play.run(MOMENT) > 0, "it patrols");
}

#[test]
fn panics_of_long_ago_do_not_spare_a_cast() {
    let mut play = Play::begin();
    assert_eq!((play.panic(1), play.panic(2)), (Beginning::Newest, Beginning::Older));
    let good = play.cast();
    play.run(MOMENT);
    play.go_over("sit");
    // A good while lies between, so that the caller counts from one again.
    assert_eq!((play.panic(1), play.panic(2)), (Beginning::Newest, Beginning::Former));
    assert!(Arc::ptr_eq(&play.cast(), &good));
}

#[test]
fn checkpoints_go_on_in_the_memory_that_there_is() {
    let mut play = Play::begin();
    for patrol_is in ["sit", "wait 100 s", "sit", "wait 50 s"] {
        play.go_over(patrol_is);
        play.run(Life::TRIAL + MOMENT);
        let was = play.life.world().n_avatars();
        assert_eq!(play.panic(1), Beginning::Newest);
        assert_eq!(play.life.world().n_avatars(), was);
        // The next change comes when this one is trusted.
        play.run(Life::TRIAL);
    }
    assert_eq!(play.panic(2), Beginning::Older);
}
