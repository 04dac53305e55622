use super::*;

#[test]
fn a_sequence_goes_on_within_a_thought_and_remembers_where_it_was() {
    let mut npc = Npc::new("wait 1 s\nsay \"one\"\nsit for 1 s\nsay \"two\"\nwait 5 s");
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.think(1_000), "sit");
    assert_eq!(npc.said(), Some("one"));
    assert_eq!(npc.think(500), "sit");
    // Within three seconds of the first line.
    assert_eq!(npc.think(500), "wait");
    assert_eq!(npc.said(), None);
}

#[test]
fn an_npc_that_has_just_spoken_leaves_the_next_line_out() {
    let mut npc = Npc::new("say \"one\"\nwait 4 s\nsay \"two\"\nwait 4 s");
    assert_eq!(npc.live(9_000), ["one", "two", "one"]);
}

#[test]
fn a_higher_branch_interrupts_and_the_lower_one_begins_anew() {
    let mut npc =
        Npc::new("select:\n    when night: sit\n    sequence:\n        wait 2 s\n        work at inn");
    npc.think(250);
    assert_eq!(npc.think(2_000), "work");
    npc.minute = 23 * 60;
    assert_eq!(npc.think(250), "sit");
    assert_eq!(npc.intent.pose, Pose::Sit);
    npc.minute = 7 * 60;
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.intent.pose, Pose::Stand);
}

#[test]
fn a_guard_ends_its_guarded_node_and_a_condition_in_a_sequence_does_not() {
    let mut guarded = Npc::new("select:\n    when has target: sit\n    wander");
    let mut asked = Npc::new("select:\n    sequence:\n        has target\n        sit\n    wander");
    for npc in [&mut guarded, &mut asked] {
        let now = WorldTime(npc.now);
        npc.mind.set_target(id(7), KindId(2), Vec3::X, now);
        assert_eq!(npc.think(250), "sit");
    }
    assert_eq!(guarded.think(31_000), "wander");
    assert_eq!(asked.think(31_000), "sit");
}

#[test]
fn conditions_of_one_line_hold_together_or_any_of_them_does() {
    let mut npc = Npc::new(
        "select:\n    when night and health below 50 %: sit\n    when not daytime or health below 20 %: wait 1 s\n    wander",
    );
    let mut check = |minute: u16, health: f32, doing: &str| {
        (npc.minute, npc.health) = (minute, health);
        assert_eq!(npc.think(250), doing, "{minute} {health}");
    };
    check(12 * 60, 1.0, "wander");
    check(23 * 60, 1.0, "wait");
    check(23 * 60, 0.4, "sit");
    check(12 * 60, 0.4, "wander");
    check(12 * 60, 0.1, "wait");
    check(5 * 60 + 59, 0.1, "sit");
    check(6 * 60, 1.0, "wander");
    check(20 * 60, 1.0, "wait");
}

#[test]
fn parallel_does_its_asides_in_each_thought_and_ends_with_its_last() {
    let mut npc = Npc::new("parallel:\n    say \"a\"\n    invert: say \"b\"\n    wait 10 s");
    assert_eq!(npc.live(9_750), ["a", "a", "a", "a"], "one line in three seconds");
    assert_eq!(npc.mind.doing(&npc.set), Some("wait"));
}

#[test]
fn chance_chooses_by_weight_and_keeps_its_choice() {
    let mut npc =
        Npc::new("random:\n    weight 3: wait 10 s\n    weight 1: sit for 10 s\n    work at inn for 10 s");
    // Of 5: 0, 1 and 2 wait, 3 sits, 4 works.
    let mut counts = [0; 3];
    for drawn in 0..1_000u32 {
        npc.drawn = drawn * (u32::MAX / 1_000);
        npc.mind.switch(BehaviorId(0));
        let doing = npc.think(250);
        counts[["wait", "sit", "work"].iter().position(|word| *word == doing).unwrap()] += 1;
        npc.drawn = !npc.drawn;
        assert_eq!(npc.think(250), doing);
    }
    assert!(
        counts.iter().zip([600, 200, 200]).all(|(n, wanted): (&i32, i32)| (n - wanted).abs() < 5),
        "{counts:?}"
    );
}

#[test]
fn a_schedule_changes_with_the_time_and_reaches_over_midnight() {
    let mut npc =
        Npc::new("schedule:\n    from 6:00: wander\n    from 8:00: work at inn\n    from 22:30: sit");
    let mut check = |hour: u16, minute: u16, doing: &str| {
        npc.minute = hour * 60 + minute;
        assert_eq!(npc.think(250), doing, "{hour}:{minute}");
    };
    check(5, 59, "sit");
    check(6, 0, "wander");
    check(7, 59, "wander");
    check(8, 0, "work");
    check(22, 29, "work");
    check(22, 30, "sit");
    check(0, 0, "sit");
}

#[test]
fn invert_and_try_turn_outcomes_round() {
    let mut npc = Npc::new("select:\n    invert: night\n    sit");
    assert_eq!(npc.think(250), "nothing");
    npc.minute = 0;
    assert_eq!(npc.think(250), "sit");
    let mut npc = Npc::new("sequence:\n    try: night\n    sit");
    assert_eq!(npc.think(250), "sit");
}

#[test]
fn repeat_counts_its_rounds_and_ends_with_a_failure() {
    let mut npc = Npc::new("repeat 3 times:\n    say \"a\"\n    wait 4 s\nsit");
    assert_eq!(npc.live(20_000), ["a", "a", "a"]);
    assert_eq!(npc.mind.doing(&npc.set), Some("sit"));
    let mut npc = Npc::new("select:\n    repeat:\n        daytime\n        wait 1 s\n    sit");
    npc.live(10_000);
    assert_eq!(npc.mind.doing(&npc.set), Some("wait"));
    npc.minute = 0;
    npc.live(1_500);
    assert_eq!(npc.mind.doing(&npc.set), Some("sit"));
}

#[test]
fn a_round_without_time_takes_a_thought() {
    let mut npc = Npc::new("repeat 3 times: face home\nsit");
    let doing: Vec<&str> = (0..4).map(|_| npc.think(250)).collect();
    assert_eq!(doing, ["repeat", "repeat", "sit", "sit"]);
}

#[test]
fn nested_rounds_count_by_themselves() {
    let mut npc = Npc::new(
        "repeat 2 times:\n    repeat 2 times:\n        say \"a\"\n        wait 4 s\n    wait 1 s\nsit",
    );
    assert_eq!(npc.live(30_000).len(), 4);
    assert_eq!(npc.mind.doing(&npc.set), Some("sit"));
}

#[test]
fn a_round_that_fails_does_not_disturb_the_count_of_another() {
    let mut npc = Npc::new(
        "select:\n    repeat 9 times: flee\n    sequence:\n        repeat 3 times: wait 1 s\n        sit",
    );
    npc.live(3_500);
    assert_eq!(npc.mind.doing(&npc.set), Some("sit"));
}

#[test]
fn a_cooldown_counts_from_the_beginning_and_not_from_an_immediate_failure() {
    let mut npc =
        Npc::new("select:\n    cooldown 10 s:\n        health below 50 %\n        wait 2 s\n    sit");
    assert_eq!(npc.think(250), "sit");
    npc.health = 0.1;
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.think(1_999), "wait");
    // It ends and may not begin again.
    assert_eq!(npc.think(1), "sit");
    assert_eq!(npc.think(7_900), "sit");
    assert_eq!(npc.think(100), "wait");
}

#[test]
fn a_timeout_fails_an_overlong_node_and_no_sooner() {
    let mut npc = Npc::new("select:\n    timeout 3 s: timeout 1 min: wander\n    sit");
    assert_eq!(npc.think(250), "wander");
    assert_eq!(npc.think(2_999), "wander");
    assert_eq!(npc.think(1), "sit");
    // An interrupted NPC continues with another node in the same thought.
    let mut npc = Npc::new("timeout 1 s: wander");
    assert_eq!(npc.think(250), "wander");
    assert_eq!(npc.think(1_000), "wander");
    // A failed attempt does not disturb the timers of running nodes.
    let mut npc = Npc::new("select:\n    timeout 9 s: flee\n    timeout 3 s: wander\n    sit");
    assert_eq!(npc.think(250), "wander");
    for _ in 0..2 {
        assert_eq!(npc.think(1_000), "wander");
    }
    assert_eq!(npc.think(1_000), "sit");
}

#[test]
fn chance_draws_once_in_its_period_however_often_it_is_asked() {
    let mut npc = Npc::new("select:\n    chance 30 % every 10 s: wait 1 s\n    sit");
    npc.drawn = u32::MAX / 2;
    assert_eq!(npc.think(250), "sit");
    npc.drawn = 0;
    assert_eq!(npc.think(9_900), "sit");
    assert_eq!(npc.think(100), "wait");
    assert_eq!(npc.think(1_000), "sit");
    assert_eq!(npc.think(8_900), "sit");
    assert_eq!(npc.think(100), "wait");
}

#[test]
fn a_behaviour_that_ended_begins_again_in_the_same_thought_once() {
    let mut npc = Npc::new("wait 1 s\nface home");
    npc.think(250);
    assert_eq!(npc.think(1_000), "wait");
    let mut npc = Npc::new("face home");
    assert_eq!(npc.think(250), "nothing");
    assert_eq!(npc.intent.face, Facing::At(Vec3::ZERO));
}

#[test]
fn a_used_behaviour_stands_in_its_place() {
    let text = "behaviour a:\n    select:\n        use c\n        use b\nbehaviour b:\n    wait 1 s\n    use d\nbehaviour c: when night: sit\nbehaviour d: work at inn\n";
    let mut npc = Npc::of(load(text).unwrap());
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.think(1_000), "work");
    npc.minute = 0;
    assert_eq!(npc.think(250), "sit");
}

#[test]
fn timers_hold_where_time_s_low_half_begins_anew() {
    let mut npc = Npc::new("select:\n    cooldown 10 s: wait 1 s\n    sit for 1 s");
    for start in [(1u64 << 32) - 10_500, (1 << 32) - 9_999, (1 << 32) - 5_000] {
        npc.mind.switch(BehaviorId(0));
        npc.now = start;
        assert_eq!(npc.think(0), "wait");
        assert_eq!(npc.think(1_000), "sit");
        assert_eq!(npc.think(8_999), "sit");
        assert_eq!(npc.think(1), "wait");
    }
    // No thought for 20 days: timers that were due are due.
    assert_eq!(npc.think(20 * 86_400_000), "wait");
}

#[test]
fn minds_under_changed_files_keep_the_nodes_that_still_exist() {
    let mut npc = Npc::new("patrol round");
    npc.live(2_000);
    npc.mind.set_target(id(7), KindId(2), Vec3::X, WorldTime(npc.now));
    (npc.mind.carried, npc.mind.amount) = (1, 5);
    let waypoint = npc.mind.waypoint;

    let mut vocabulary = vocabulary();
    vocabulary.routes.insert(0, Route { name: "new".into(), points: vec![Vec3::ONE] });
    vocabulary.resources.remove(0);
    let source =
        Source { file: "f", bytes: b"behaviour x: sit\nbehaviour b:\n    wait 1 s\n    patrol round" };
    let new = BehaviorSet::load(&[source], &vocabulary).unwrap().set;
    assert_ne!(new.fingerprint(), npc.set.fingerprint());
    let old = std::mem::replace(&mut npc.set, new);
    assert!(npc.mind.adopt(&Adoption::new(old.names(), &npc.set)));
    assert_eq!(npc.set.name(npc.mind.behavior()), Some("b"));
    assert_eq!((npc.mind.route, npc.mind.waypoint), (1, waypoint));
    assert_eq!(npc.mind.load(), Some((ResourceId(0), 5)));
    assert_eq!(npc.mind.target(), Some(id(7)));
    assert_eq!(npc.think(250), "wait");

    let gone = load("behaviour other: sit").unwrap();
    assert!(!npc.mind.adopt(&Adoption::new(npc.set.names(), &gone)));
    npc.set = gone;
    assert_eq!(npc.think(250), "nothing");
    assert_eq!(npc.intent, Intent { leg: npc.intent.leg, ..Intent::default() });
    npc.mind.switch(BehaviorId(0));
    assert_eq!(npc.think(250), "sit");
}
