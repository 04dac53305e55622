//! Two buffers that take turns show what one would.

use super::source::{Follower, Source, empty, portraits};
use crate::{EncodedFrame, Intake, Publisher, Replica};
use link::{Action, ControlFlags};
use proptest::prelude::*;
use std::sync::Arc;

/// Events of one tick.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Enter(u64),
    Leave(u64),
    Walk(u64, u8),
    Stop(u64),
    Sit(u64),
    Appear(u64),
    Say,
    /// The replica's thread misses the frame.
    Lose,
    /// A reader takes the newest state and keeps it.
    Hold,
    Release,
}

fn deed() -> impl Strategy<Value = Deed> {
    let who = 1_u64..12;
    prop_oneof![
        4 => who.clone().prop_map(Deed::Enter),
        2 => who.clone().prop_map(Deed::Leave),
        4 => (who.clone(), any::<u8>()).prop_map(|(who, way)| Deed::Walk(who, way)),
        2 => who.clone().prop_map(Deed::Stop),
        1 => who.clone().prop_map(Deed::Sit),
        2 => who.prop_map(Deed::Appear),
        1 => Just(Deed::Say),
        1 => Just(Deed::Lose),
        2 => Just(Deed::Hold),
        2 => Just(Deed::Release),
    ]
}

fn act(source: &mut Source, deed: Deed) {
    match deed {
        Deed::Enter(who) => source.enter(who),
        Deed::Leave(who) => source.command(who, Action::Leave),
        Deed::Walk(who, way) => source.control(who, ControlFlags::AT_POS, f32::from(way) / 40.0),
        Deed::Stop(who) => source.control(who, ControlFlags::default(), 0.0),
        Deed::Sit(who) => source.control(who, ControlFlags::SIT_ON_GROUND, 0.0),
        Deed::Appear(who) => source.appear(who, 1.2 + who as f32 / 20.0),
        Deed::Say | Deed::Lose | Deed::Hold | Deed::Release => {}
    }
}

fn assert_same(published: &Replica, single: &Replica) {
    assert_eq!((published.sequence, published.tick), (single.sequence, single.tick));
    assert_eq!(published.hot(), single.hot(), "slots and serials");
    assert_eq!(portraits(published), portraits(single));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_publisher_shows_the_same_as_a_single_replica_to_every_reader(
        deeds in prop::collection::vec(deed(), 1..120),
    ) {
        let (mut source, mut witness, mut single) = (Source::new(), Follower::new(), Follower::new());
        let mut publisher = Publisher::new(empty());
        let mut held: Option<(Arc<Replica>, Vec<crate::Hot>)> = None;
        let mut spent = EncodedFrame::default();
        let mut is_lagging = false;
        let quiet = std::iter::repeat_n(Deed::Say, 3);
        for deed in deeds.into_iter().chain(quiet) {
            act(&mut source, deed);
            let frame = source.step();
            prop_assert_eq!(witness.follow(&frame), Intake::Ready);
            match deed {
                Deed::Lose => continue,
                Deed::Hold => held = Some((publisher.current().clone(), publisher.current().hot().to_vec())),
                Deed::Release => held = None,
                _ => {}
            }
            match single.encoder.encode(&frame, &mut spent) {
                Intake::Ready => {
                    single.replica.apply(&spent);
                    spent = publisher.publish(spent);
                    is_lagging = false;
                }
                Intake::NeedsSnapshot => {
                    source.resync();
                    is_lagging = true;
                }
                Intake::Waiting => {}
            }
            assert_same(publisher.current(), &single.replica);
            if let Some((replica, hot)) = &held {
                prop_assert_eq!(replica.hot(), hot.as_slice(), "what a reader holds stays as it was");
            }
        }
        prop_assert!(!is_lagging, "three quiet frames are enough for a snapshot");
        prop_assert_eq!(portraits(publisher.current()), portraits(&witness.replica));
    }
}

#[test]
#[should_panic(expected = "is not brought forward by frame")]
fn a_frame_that_was_left_out_is_noticed() {
    let (mut source, mut encoder) = (Source::new(), Follower::new().encoder);
    let mut publisher = Publisher::new(empty());
    for n in 0..3 {
        let mut encoded = EncodedFrame::default();
        assert_eq!(encoder.encode(&source.step(), &mut encoded), Intake::Ready);
        if n != 1 {
            publisher.publish(encoded);
        }
    }
}

fn publish_next(source: &mut Source, follower: &mut Follower, publisher: &mut Publisher) {
    let mut encoded = EncodedFrame::default();
    assert_eq!(follower.encoder.encode(&source.step(), &mut encoded), Intake::Ready);
    publisher.publish(encoded);
}

#[test]
fn readers_that_let_go_in_time_cost_no_copy() {
    let (mut source, mut follower) = (Source::new(), Follower::new());
    let mut publisher = Publisher::new(empty());
    source.enter(1);
    for _ in 0..10 {
        // As a feed does: the newest state is held until there is a newer one.
        let shown = publisher.current().clone();
        publish_next(&mut source, &mut follower, &mut publisher);
        drop(shown);
    }
    assert_eq!(publisher.copies, 0);
}

#[test]
fn a_reader_that_holds_a_state_over_two_frames_costs_one_copy() {
    let (mut source, mut follower) = (Source::new(), Follower::new());
    let mut publisher = Publisher::new(empty());
    source.enter(1);
    publish_next(&mut source, &mut follower, &mut publisher);
    let held = publisher.current().clone();
    for _ in 0..6 {
        publish_next(&mut source, &mut follower, &mut publisher);
    }
    assert_eq!(publisher.copies, 1);
    let objects = [&held, publisher.current()].map(|replica| replica.scenery().objects());
    assert!(Arc::ptr_eq(objects[0], objects[1]), "what stands is in no copy");
    assert_eq!(held.sequence, 0);
    assert_eq!(publisher.current().sequence, 6);
}

#[test]
fn a_slot_that_became_free_is_used_again() {
    let mut source = Source::new();
    let mut follower = Follower::new();
    for session in 1..=3 {
        source.enter(session);
    }
    follower.follow(&source.step());
    source.command(2, Action::Leave);
    follower.follow(&source.step());
    assert_eq!(follower.replica.n_entities(), 2);
    source.enter(4);
    follower.follow(&source.step());
    assert_eq!(follower.replica.hot().len(), 3, "no slot was added");
    assert_eq!(follower.replica.hot()[1].id, 4, "local ids go on");
}

#[test]
fn memory_for_all_that_may_move_is_taken_when_they_come() {
    let mut source = Source::new();
    let mut follower = Follower::new();
    let mut publisher = Publisher::new(empty());
    (1..=20).for_each(|who| source.enter(who));
    let mut spent = EncodedFrame::default();
    // The frame in which they come, and the next one: by then both buffers have been filled once. Each may move and be animated.
    for _ in 0..2 {
        assert_eq!(follower.encoder.encode(&source.step(), &mut spent), Intake::Ready);
        assert!(spent.changes.capacity() >= 40, "{}", spent.changes.capacity());
        spent = publisher.publish(spent);
    }
}
