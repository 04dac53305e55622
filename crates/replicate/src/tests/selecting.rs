//! Whom a client is told about when not everybody fits.

use super::scene::{ME, PLENTY, Scene, Sent, along, room_for, send};
use crate::selection::Allowance;
use crate::{Known, Viewer};
use glam::Vec3;
use ids::SessionKey;
use proptest::prelude::*;
use world::Audience;

fn onlooker() -> Viewer {
    Viewer::new(ME, along(0.0))
}

/// A row of avatars that a viewer was shown and that all walk now.
fn walking_row(n: u32) -> (Scene, Viewer) {
    let (mut scene, mut viewer) = (Scene::row(n), onlooker());
    assert_eq!(send(&mut viewer, &scene, PLENTY).full.len(), n as usize);
    all_walk(&mut scene, n);
    (scene, viewer)
}

fn all_walk(scene: &mut Scene, n: u32) {
    for id in 1..=n {
        scene.walk(id, along(id as f32));
    }
    scene.tick();
}

#[test]
fn nothing_new_is_nothing_sent() {
    let (scene, mut viewer) = (Scene::row(10), onlooker());
    send(&mut viewer, &scene, PLENTY);
    assert_eq!(send(&mut viewer, &scene, PLENTY), Sent::default());
}

#[test]
fn the_own_avatar_comes_first_however_little_fits() {
    let mut scene = Scene::row(50);
    scene.enter(99, ME, Audience::All, along(0.5));
    scene.tick();
    let mut viewer = onlooker();
    let first = send(&mut viewer, &scene, Allowance { bytes: 300, full: 1 });
    assert_eq!(first.full, [99]);
    send(&mut viewer, &scene, PLENTY);
    for _ in 0..3 {
        all_walk(&mut scene, 50);
        scene.walk(99, along(200.0));
        scene.tick();
        assert_eq!(send(&mut viewer, &scene, room_for(1)).terse, [99]);
    }
}

#[test]
fn half_of_a_send_goes_to_the_nearest_and_half_goes_round_over_the_others() {
    let (mut scene, mut viewer) = walking_row(100);
    let mut others = Vec::new();
    for _ in 0..9 {
        let sent = send(&mut viewer, &scene, room_for(20)).terse;
        assert_eq!(sent[..10], (1..=10).collect::<Vec<u32>>(), "nearest first");
        others.extend_from_slice(&sent[10..]);
        all_walk(&mut scene, 100);
    }
    others.sort_unstable();
    assert_eq!(others, (11..=100).collect::<Vec<u32>>(), "each of the others once");
}

#[test]
fn the_nearest_are_those_around_the_own_avatar() {
    let (mut scene, mut viewer) = walking_row(100);
    scene.enter(200, ME, Audience::All, along(60.2));
    scene.tick();
    viewer.departed(&scene.replica);
    send(&mut viewer, &scene, Allowance { bytes: 300, full: 1 });
    all_walk(&mut scene, 100);
    let sent = send(&mut viewer, &scene, room_for(8)).terse;
    assert_eq!(sent[..4], [60, 61, 59, 62]);
}

#[test]
fn bytes_that_the_nearest_do_not_need_go_to_the_others() {
    let (scene, mut viewer) = walking_row(12);
    assert_eq!(send(&mut viewer, &scene, room_for(12)).terse.len(), 12);
}

#[test]
fn among_a_thousand_walkers_at_64_kib_per_second_nobody_is_older_than_three_seconds() {
    const N: u32 = 1_000;
    // Ten sends a second; 18 bytes of each datagram of 18 blocks are headers.
    const BYTES: usize = 65_536 / 10 * (18 * 63) / (18 * 63 + 18);
    const SENDS: usize = 100;
    let (mut scene, mut viewer) = walking_row(N);
    let mut newest = vec![0; N as usize + 1];
    let mut oldest_s: f32 = 0.0;
    for at in 1..=SENDS {
        all_walk(&mut scene, N);
        all_walk(&mut scene, N);
        let sent = send(&mut viewer, &scene, Allowance { bytes: BYTES, full: 24 });
        assert!(sent.bytes() <= BYTES);
        for id in sent.terse {
            oldest_s = oldest_s.max((at - newest[id as usize]) as f32 / 10.0);
            newest[id as usize] = at;
        }
    }
    let never_again = newest[1..].iter().map(|&at| (SENDS - at) as f32 / 10.0).fold(0.0, f32::max);
    assert!(oldest_s <= 3.0 && never_again <= 3.0, "{oldest_s} s and {never_again} s");
}

/// How often a slot's rest is sent until nothing more is due.
fn times_sent(viewer: &mut Viewer, scene: &Scene) -> usize {
    let mut times = 0;
    while send(viewer, scene, PLENTY).terse == [1] {
        times += 1;
        assert!(times < 100, "it never ends");
    }
    times
}

#[test]
fn a_stop_is_sent_and_repeated_in_the_next_three_sends() {
    let (mut scene, mut viewer) = walking_row(1);
    assert_eq!(times_sent(&mut viewer, &scene), 1, "a walk is not repeated");
    scene.rest(1, along(5.0));
    scene.tick();
    assert_eq!(times_sent(&mut viewer, &scene), 1 + usize::from(Known::REST_REPEATS));
    assert_eq!(Known::REST_REPEATS, 3);
    scene.rest(1, along(6.0));
    scene.tick();
    assert_eq!(times_sent(&mut viewer, &scene), 4, "another rest is another stop");
}

#[test]
fn a_walker_who_goes_on_is_not_said_to_rest() {
    let (mut scene, mut viewer) = walking_row(1);
    scene.rest(1, along(5.0));
    scene.tick();
    send(&mut viewer, &scene, PLENTY);
    scene.walk(1, along(5.1));
    scene.tick();
    assert_eq!(times_sent(&mut viewer, &scene), 1);
}

#[test]
fn repeats_wait_when_there_is_no_room() {
    let (mut scene, mut viewer) = walking_row(1);
    scene.rest(1, along(5.0));
    scene.tick();
    send(&mut viewer, &scene, PLENTY);
    for _ in 0..5 {
        assert_eq!(send(&mut viewer, &scene, room_for(0)), Sent::default());
    }
    assert_eq!(times_sent(&mut viewer, &scene), 3);
}

#[test]
fn avatars_that_may_not_be_shown_yet_do_not_hold_up_those_that_were() {
    let (mut scene, mut viewer) = walking_row(10);
    for id in 11..=60 {
        scene.enter(id, SessionKey(u64::from(id)), Audience::All, along(0.1));
    }
    scene.tick();
    let sent = send(&mut viewer, &scene, Allowance { bytes: 10_000, full: 3 });
    assert_eq!((sent.full.len(), sent.terse.len()), (3, 10));
    all_walk(&mut scene, 10);
    assert_eq!(send(&mut viewer, &scene, Allowance { bytes: 700, full: 0 }).terse.len(), 10);
}

#[test]
fn a_newcomer_is_shown_even_to_the_slowest_client_in_a_walking_crowd() {
    let (mut scene, mut viewer) = walking_row(100);
    scene.enter(500, SessionKey(500), Audience::All, along(250.0));
    let mut saved = 0;
    for _ in 0..40 {
        all_walk(&mut scene, 100);
        // 5,100 bytes a second are the floor of a circuit's throttle; it saves up a datagram at most.
        saved = (saved + 510).min(1_200);
        let sent = send(&mut viewer, &scene, Allowance { bytes: saved, full: 24 });
        saved -= sent.bytes();
        if sent.full == [500] {
            return;
        }
    }
    panic!("not shown in four seconds");
}

#[test]
fn what_is_private_is_shown_to_its_session_only() {
    let mut scene = Scene::new();
    scene.enter(1, ME, Audience::Session(ME), along(1.0));
    scene.tick();
    assert_eq!(send(&mut onlooker(), &scene, PLENTY).full, [1]);
    let mut stranger = Viewer::new(SessionKey(5), along(0.0));
    assert_eq!(send(&mut stranger, &scene, PLENTY), Sent::default());
}

#[test]
fn who_left_is_killed_once_and_who_has_its_slot_is_shown() {
    let (mut scene, mut viewer) = (Scene::row(5), onlooker());
    send(&mut viewer, &scene, PLENTY);
    scene.leave(3);
    scene.leave(5);
    scene.tick();
    scene.enter(6, SessionKey(6), Audience::All, along(3.0));
    scene.tick();
    let sent = send(&mut viewer, &scene, PLENTY);
    assert_eq!((sent.killed, sent.full, sent.terse), (vec![3, 5], vec![6], vec![]));
    assert_eq!(send(&mut viewer, &scene, PLENTY), Sent::default());
    assert_eq!(viewer.n_shown(), 4);
}

#[test]
fn who_came_and_went_unseen_is_not_killed() {
    let (mut scene, mut viewer) = (Scene::row(2), onlooker());
    send(&mut viewer, &scene, PLENTY);
    scene.enter(9, SessionKey(9), Audience::All, along(9.0));
    scene.tick();
    send(&mut viewer, &scene, room_for(0));
    scene.leave(9);
    scene.tick();
    assert_eq!(send(&mut viewer, &scene, PLENTY), Sent::default());
}

#[test]
fn a_full_update_that_got_lost_is_made_anew() {
    let (scene, mut viewer) = (Scene::row(3), onlooker());
    send(&mut viewer, &scene, PLENTY);
    viewer.lost(ids::LocalId(2), &scene.replica);
    assert_eq!(send(&mut viewer, &scene, PLENTY).full, [2]);
}

/// Maybe only the ack was lost (found by the simulator: avatars that stayed for ever under 10 % loss).
#[test]
fn who_leaves_before_a_lost_full_update_was_made_anew_is_killed() {
    let (mut scene, mut viewer) = (Scene::row(3), onlooker());
    send(&mut viewer, &scene, PLENTY);
    viewer.lost(ids::LocalId(2), &scene.replica);
    scene.leave(2);
    scene.tick();
    assert_eq!(send(&mut viewer, &scene, PLENTY).killed, [2]);
}

/// A burst of losses outlasts any number of repetitions (found by the simulator: avatars shown where they had been).
#[test]
fn the_last_repetition_of_a_rest_comes_again_until_it_was_not_missed() {
    let (mut scene, mut viewer) = (Scene::row(3), onlooker());
    send(&mut viewer, &scene, PLENTY);
    scene.rest(2, along(50.0));
    scene.tick();
    let slot = scene.replica.of_id(ids::LocalId(2)).expect("is here");
    let is_last =
        |viewer: &Viewer, scene: &Scene| viewer.is_last_rest(slot, &scene.replica.hot()[slot as usize]);
    for repetition in 0..=Known::REST_REPEATS {
        assert_eq!(is_last(&viewer, &scene), repetition == Known::REST_REPEATS);
        assert_eq!(send(&mut viewer, &scene, PLENTY).terse, [2]);
    }
    assert_eq!(send(&mut viewer, &scene, PLENTY), Sent::default());
    viewer.missed_rest(ids::LocalId(2), &scene.replica);
    assert!(is_last(&viewer, &scene));
    assert_eq!(send(&mut viewer, &scene, PLENTY).terse, [2]);
    assert_eq!(send(&mut viewer, &scene, PLENTY), Sent::default());
}

#[test]
fn a_viewer_without_an_avatar_looks_from_where_it_was_last() {
    let mut scene = Scene::new();
    scene.enter(1, ME, Audience::All, Vec3::new(77.0, 66.0, 22.0));
    scene.tick();
    let mut viewer = onlooker();
    viewer.look_from(&scene.replica);
    scene.leave(1);
    scene.tick();
    assert_eq!(viewer.look_from(&scene.replica), Vec3::new(77.0, 66.0, 22.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_send_keeps_to_its_allowance_and_repeats_nobody_and_equal_histories_send_alike(
        steps in prop::collection::vec((0_usize..6_000, 0_usize..8, any::<u32>()), 1..30),
    ) {
        let run = || {
            let (mut scene, mut viewer) = (Scene::row(60), onlooker());
            let mut history = Vec::new();
            for &(bytes, full, who) in &steps {
                for id in 1..=60 {
                    match who.rotate_left(id) % 4 {
                        0 => scene.walk(id, along((who % 251) as f32)),
                        1 => scene.rest(id, along((who % 250) as f32)),
                        _ => {}
                    }
                }
                scene.tick();
                history.push((bytes, full, send(&mut viewer, &scene, Allowance { bytes, full })));
            }
            history
        };
        let history = run();
        for (bytes, full, sent) in &history {
            prop_assert!(sent.bytes() <= *bytes && sent.full.len() <= *full);
            let mut ids = [sent.full.as_slice(), &sent.terse].concat();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), sent.full.len() + sent.terse.len());
        }
        prop_assert_eq!(run(), history);
    }

    /// Skipping what is quiet is an economy, not a choice: a viewer that looks at every slot anew is sent the same.
    #[test]
    fn skipped_blocks_hold_nothing_that_is_due(
        steps in prop::collection::vec((0_usize..20_000, 0_usize..8, any::<u32>(), 0_u32..12), 1..60),
    ) {
        let (mut scene, mut viewer, mut thorough) = (Scene::row(200), onlooker(), onlooker());
        for &(bytes, full, who, what) in &steps {
            let id = who % 200 + 1;
            match what {
                0 => scene.leave(id),
                1 => scene.enter(id, SessionKey(u64::from(id)), Audience::All, along(id as f32)),
                2 => scene.enter(200 + id, ME, Audience::Session(ME), along(id as f32)),
                3 => scene.walk(id, along((who % 251) as f32)),
                4 => scene.rest(id, along((who % 250) as f32)),
                5 => for viewer in [&mut viewer, &mut thorough] {
                    viewer.lost(ids::LocalId(id), &scene.replica);
                },
                6 => for viewer in [&mut viewer, &mut thorough] {
                    viewer.missed_rest(ids::LocalId(id), &scene.replica);
                },
                _ => {}
            }
            scene.tick();
            thorough.quiet.fill(0);
            let allowance = Allowance { bytes, full };
            prop_assert_eq!(send(&mut viewer, &scene, allowance), send(&mut thorough, &scene, allowance));
        }
    }
}
