//! Frames that got lost, and the snapshots that make up for them.

use super::scene::Scene;
use super::source::{Follower, Source, portraits};
use crate::viewer::LIST_TICKS;
use crate::{Encoder, EntityHistory, Hot, Intake, Lister, Shown, Viewer};
use glam::Vec3;
use ids::{Epoch, LocalId, SessionKey};
use link::{Action, Appearance, ControlFlags, Frame};
use wire::object_update;

/// Enough for three parts of a snapshot.
const CROWD: u64 = 600;

/// A world with a walking crowd, and two followers: one sees every frame, the other up to now, too.
fn crowd(n: u64) -> (Source, Follower, Follower) {
    let (mut source, mut witness, mut follower) = (Source::new(), Follower::new(), Follower::new());
    for session in 1..=n {
        source.enter(session);
        source.control(session, ControlFlags::AT_POS, session as f32);
    }
    for _ in 0..5 {
        let frame = source.step();
        assert_eq!(witness.follow(&frame), Intake::Ready);
        assert_eq!(follower.follow(&frame), Intake::Ready);
    }
    (source, witness, follower)
}

/// Shows a viewer all missing entities; returns the ids killed before.
fn show_all(viewer: &mut Viewer, follower: &Follower) -> Vec<LocalId> {
    let gone = viewer.update_visible_set(&follower.replica, &mut Lister::default()).to_vec();
    let tick = follower.replica.tick.0 as u32;
    for at in 0..viewer.shown().len() {
        let shown = viewer.shown()[at];
        let hot = follower.replica.hot()[shown.slot as usize];
        if !shown.is_sent() {
            viewer.mark_shown(at as u32, &hot, tick);
            viewer.history_mut(at as u32).animation_serial = hot.animation_serial;
        }
    }
    gone
}

/// A viewer's record of a session's avatar, and its present state.
fn of_session(viewer: &Viewer, follower: &Follower, session: u64) -> (Shown, EntityHistory, Hot) {
    let slot = follower.replica.of_session(SessionKey(session)).expect("is here");
    let at = viewer.shown().iter().position(|shown| shown.slot == slot).expect("is shown");
    (viewer.shown()[at], viewer.histories()[at], follower.replica.hot()[slot as usize])
}

/// A frame that only the witness sees.
fn lose_one(source: &mut Source, witness: &mut Follower) {
    assert_eq!(witness.follow(&source.step()), Intake::Ready);
}

/// A frame that both see; what the follower makes of it.
fn step(source: &mut Source, witness: &mut Follower, follower: &mut Follower) -> (Frame, Intake) {
    let frame = source.step();
    assert_eq!(witness.follow(&frame), Intake::Ready);
    let intake = follower.follow(&frame);
    (frame, intake)
}

#[test]
fn a_gap_is_healed_by_a_snapshot_in_parts_among_changes_that_go_on() {
    let (mut source, mut witness, mut follower) = crowd(CROWD);
    source.command(3, Action::Leave);
    lose_one(&mut source, &mut witness);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    assert_eq!(follower.encoder.resyncs, 1);
    let stale = portraits(&follower.replica);

    source.resync();
    for round in 0..2_u64 {
        // Sessions in a received part, in a missing one, or in none.
        for session in [4, 300, CROWD] {
            source.control(session + round, ControlFlags::FLY, 0.5);
        }
        source.appear(8 + round, 1.5);
        source.command(6 + 400 * round, Action::Leave);
        source.enter(1_000 + round);
        assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Waiting);
        assert_eq!(portraits(&follower.replica), stale, "nothing is shown of half a snapshot");
    }
    let (frame, intake) = step(&mut source, &mut witness, &mut follower);
    assert_eq!(frame.snapshot.expect("the last part").count, 3);
    assert_eq!(intake, Intake::Ready);
    assert_eq!(portraits(&follower.replica), portraits(&witness.replica));

    source.control(1, ControlFlags::STOP, 0.0);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(portraits(&follower.replica), portraits(&witness.replica));
}

#[test]
fn the_first_frames_of_a_world_that_is_already_running_are_no_whole_story() {
    let (mut source, mut witness, _) = crowd(3);
    let mut late = Follower::new();
    assert_eq!(step(&mut source, &mut witness, &mut late).1, Intake::NeedsSnapshot);
    source.resync();
    assert_eq!(step(&mut source, &mut witness, &mut late).1, Intake::Ready);
    assert_eq!(portraits(&late.replica), portraits(&witness.replica));
}

#[test]
fn a_later_epoch_begins_with_a_snapshot_even_at_its_first_frame() {
    let (mut source, _, mut follower) = crowd(3);
    let frame = Frame { epoch: Epoch(1), sequence: 0, ..source.step() };
    assert_eq!(follower.follow(&frame), Intake::NeedsSnapshot);
    let mut newcomer = Follower::new();
    assert_eq!(newcomer.follow(&frame), Intake::NeedsSnapshot);
}

/// Restarted worlds begin with a snapshot, which need not be asked for.
#[test]
fn a_snapshot_that_begins_in_the_frame_that_shows_a_gap_heals_it() {
    let (mut source, mut witness, mut follower) = crowd(CROWD);
    lose_one(&mut source, &mut witness);
    source.resync();
    for _ in 0..2 {
        assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Waiting);
    }
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(portraits(&follower.replica), portraits(&witness.replica));
}

#[test]
fn a_world_that_begins_again_is_followed_across_the_epoch() {
    let (mut source, _, mut follower) = crowd(40);
    let mut viewer = Viewer::new(SessionKey(1), Vec3::ZERO, 100);
    show_all(&mut viewer, &follower);
    let stander = |follower: &Follower| {
        let index = follower.replica.of_session(SessionKey(30)).expect("is here");
        (index, follower.replica.hot()[index as usize])
    };
    let (slot, before) = stander(&follower);
    let late = source.checkpoint();
    source.enter(99);
    // Until the viewer computes the near set again.
    for _ in 0..LIST_TICKS {
        assert_eq!(follower.follow(&source.step()), Intake::Ready);
    }
    let lost = follower.replica.of_session(SessionKey(99)).expect("is here");
    let lost_hot = follower.replica.hot()[lost as usize];
    show_all(&mut viewer, &follower);

    source.begin_again(&late);
    assert_eq!(follower.follow(&source.step()), Intake::Ready);
    assert_eq!(follower.replica.epoch, Epoch(1));
    assert_eq!(show_all(&mut viewer, &follower), [LocalId(lost_hot.id)], "came after the checkpoint");
    let (slot_after, after) = stander(&follower);
    assert_eq!((slot_after, after.id), (slot, before.id), "who stays keeps slot and id");
    let (shown, _, hot) = of_session(&viewer, &follower, 30);
    assert!(shown.is_behind(&hot), "where it was put back to is due");

    source.enter(99);
    assert_eq!(follower.follow(&source.step()), Intake::Ready);
    let back = follower.replica.of_session(SessionKey(99)).expect("is back");
    assert!(
        follower.replica.hot()[back as usize].id > lost_hot.id,
        "under an id that no viewer was shown yet"
    );
}

#[test]
fn a_snapshot_that_does_not_come_is_asked_for_again() {
    let (mut source, mut witness, mut follower) = crowd(3);
    lose_one(&mut source, &mut witness);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    for _ in 0..Encoder::RESYNC_FRAMES_MAX {
        assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Waiting);
    }
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    source.resync();
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(portraits(&follower.replica), portraits(&witness.replica));
}

#[test]
fn a_gap_inside_a_snapshot_begins_it_again() {
    let (mut source, mut witness, mut follower) = crowd(CROWD);
    lose_one(&mut source, &mut witness);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    source.resync();
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Waiting);
    lose_one(&mut source, &mut witness);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    source.resync();
    for _ in 0..2 {
        assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Waiting);
    }
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(portraits(&follower.replica), portraits(&witness.replica));
}

#[test]
fn the_tail_of_another_snapshot_is_not_taken_for_ones_own() {
    let (mut source, mut witness, mut follower) = crowd(CROWD);
    source.resync();
    lose_one(&mut source, &mut witness);
    // The gap appears during part 1 of a snapshot for another replica; part 2 follows, then ours.
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    source.resync();
    for part in [2, 0, 1] {
        let (frame, intake) = step(&mut source, &mut witness, &mut follower);
        assert_eq!(frame.snapshot.expect("a part").index, part);
        assert_eq!(intake, Intake::Waiting);
    }
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(portraits(&follower.replica), portraits(&witness.replica));
}

#[test]
fn viewers_see_a_snapshot_as_changes_and_not_as_departures() {
    let (mut source, mut witness, mut follower) = crowd(40);
    let mut viewer = Viewer::new(SessionKey(1), Vec3::ZERO, 100);
    assert!(show_all(&mut viewer, &follower).is_empty());
    let gone = follower.replica.of_session(SessionKey(20)).expect("is here");
    let gone = LocalId(follower.replica.hot()[gone as usize].id);

    source.command(20, Action::Leave);
    source.control(30, ControlFlags::SIT_ON_GROUND, 0.0);
    lose_one(&mut source, &mut witness);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    source.resync();
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);

    assert_eq!(show_all(&mut viewer, &follower), [gone]);
    assert_eq!(viewer.n_shown(), 39);
    let (sitter, history, hot) = of_session(&viewer, &follower, 30);
    assert!(sitter.is_behind(&hot), "its new motion is due");
    assert_ne!(history.animation_serial, hot.animation_serial, "and that it sits");
}

#[test]
fn a_full_update_has_the_newest_motion_advanced_to_the_time_of_its_datagram() {
    let (mut source, mut witness, mut follower) = crowd(1);
    let shown = |follower: &Follower, lead_s: f32| {
        let (_, _, slot) = follower.replica.entities().next().expect("one");
        let mut message = Vec::new();
        object_update::write_prefix(&mut message, ids::RegionHandle(1), 1.0, 1);
        slot.write_full(lead_s, &mut message);
        assert_eq!(message.len(), 1 + 8 + 2 + 1 + slot.full_len());
        let (_, seen) = object_update::decode(&message[1..]).expect("our own block");
        (seen[0].motion.position, slot.motion)
    };
    for (flags, is_moving) in [(ControlFlags::AT_POS, true), (ControlFlags(0), false)] {
        source.control(1, flags, 0.0);
        for _ in 0..20 {
            let frame = source.step();
            assert_eq!((witness.follow(&frame), follower.follow(&frame)), (Intake::Ready, Intake::Ready));
        }
        let (position, newest) = shown(&follower, 0.05);
        assert_eq!(newest.velocity.length() > 1.0, is_moving, "{newest:?}");
        assert!(position.abs_diff_eq(newest.position + newest.velocity * 0.05, 1e-4), "{position}");
    }
}

#[test]
fn a_full_update_has_the_size_of_the_newest_appearance() {
    let (mut source, mut witness, mut follower) = crowd(1);
    let height = |follower: &Follower| {
        let (_, _, slot) = follower.replica.entities().next().expect("one");
        let mut message = Vec::new();
        object_update::write_prefix(&mut message, ids::RegionHandle(1), 1.0, 1);
        slot.write_full(0.0, &mut message);
        let (_, seen) = object_update::decode(&message[1..]).expect("our own block");
        seen[0].scale.z
    };
    assert_eq!(height(&follower), 1.9);
    source.appear(1, 1.4);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(height(&follower), 1.4);

    lose_one(&mut source, &mut witness);
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::NeedsSnapshot);
    source.resync();
    assert_eq!(step(&mut source, &mut witness, &mut follower).1, Intake::Ready);
    assert_eq!(height(&follower), 1.4);
}

#[test]
fn late_viewers_see_a_cloud_in_place_of_an_avatar_without_appearance() {
    let mut scene = Scene::row(1);
    let looks = |scene: &Scene| {
        let (_, hot, slot) = scene.replica.entities().next().expect("one");
        (slot.appearance.is_some(), hot.appearance_serial)
    };
    assert_eq!(looks(&scene), (false, 0));
    let worn =
        Appearance { texture_entry: vec![1], visual_params: vec![2; 218], cof_version: 0, height_m: 1.9 };
    for (appearance, expected) in
        [(Some(worn.clone()), (true, 1)), (None, (false, 2)), (Some(worn), (true, 3))]
    {
        scene.appear(1, appearance);
        scene.tick();
        assert_eq!(looks(&scene), expected, "and it differs from the one sent before");
    }
}
