use super::*;

#[test]
fn wandering_stays_within_its_circle_and_pauses() {
    let mut npc = Npc::new("wander within 8 m around inn pause 2 s for 60 s\nsit");
    let inn = Vec3::new(100.0, 0.0, 0.0);
    let mut goals = Vec::new();
    let mut n_still = 0;
    for step in 0..200u32 {
        npc.drawn = step.wrapping_mul(0x9E37_79B9);
        npc.think(250);
        match npc.intent.go {
            Go::To(goal) => {
                assert!(goal.distance(inn) <= 8.01);
                npc.position = goal;
                goals.push(goal);
            }
            _ => n_still += 1,
        }
    }
    goals.dedup();
    assert!(goals.len() > 15, "{}", goals.len());
    // A quarter of a second to arrive, two to stand.
    assert!((150..190).contains(&n_still), "{n_still}");
    npc.live(11_000);
    assert_eq!(npc.mind.doing(&npc.set), Some("sit"));
}

#[test]
fn an_npc_that_cannot_arrive_wanders_elsewhere() {
    let mut npc = Npc::new("wander");
    npc.drawn = u32::MAX / 5;
    npc.think(250);
    let (goal, leg) = (npc.goal(), npc.intent.leg);
    npc.drawn = u32::MAX / 3;
    npc.think(250);
    assert_eq!((npc.goal(), npc.intent.leg), (goal, leg));
    npc.progress = MoveProgress::Unreachable;
    npc.think(250);
    assert_ne!(npc.goal(), goal);
    assert_ne!(npc.intent.leg, leg);
    let goal = npc.goal();
    npc.drawn = u32::MAX / 2;
    npc.think(119_999);
    assert_eq!(npc.goal(), goal);
    npc.think(1);
    assert_ne!(npc.goal(), goal, "two minutes are enough for any way");
}

#[test]
fn reports_on_an_earlier_leg_are_ignored() {
    let mut npc = Npc::new("go to inn\nsit");
    npc.think(250);
    let senses_leg = npc.intent.leg;
    npc.intent.leg = senses_leg.wrapping_sub(1);
    npc.progress = MoveProgress::Arrived;
    assert_eq!(npc.think(250), "go");
    npc.intent.leg = senses_leg;
    npc.progress = MoveProgress::Arrived;
    assert_eq!(npc.think(250), "sit");
}

#[test]
fn a_patrol_begins_at_the_nearest_point_goes_round_and_on_after_an_interruption() {
    let mut npc = Npc::new("select:\n    when night: wait 1 s\n    patrol round pause 1 s run");
    npc.position = Vec3::new(22.0, 1.0, 0.0);
    let mut points = Vec::new();
    for _ in 0..40 {
        npc.think(250);
        if let Go::To(goal) = npc.intent.go {
            assert_eq!(npc.intent.pace, Pace::Run);
            points.push((goal.x, goal.y));
            npc.position = goal;
        }
    }
    assert_eq!(points[..4], [(20.0, 0.0), (20.0, 10.0), (10.0, 0.0), (20.0, 0.0)]);
    while npc.think(250) != "patrol" || npc.intent.go == Go::Stay {}
    let goal = npc.goal();
    npc.minute = 0;
    assert_eq!(npc.think(250), "wait");
    npc.minute = 600;
    npc.position = Vec3::new(-50.0, -50.0, 0.0);
    npc.think(250);
    assert_eq!(npc.goal(), goal);
}

#[test]
fn a_patrol_of_one_round_ends() {
    let mut npc = Npc::new("patrol round once\nsit");
    npc.live(5_000);
    assert_eq!(npc.mind.doing(&npc.set), Some("sit"));
    assert_eq!(npc.position, Vec3::new(20.0, 10.0, 0.0));
}

#[test]
fn a_guard_goes_to_its_post_looks_about_and_comes_back_when_pushed() {
    let mut npc = Npc::new("guard inn for 30 s\nsit");
    npc.think(250);
    assert_eq!(npc.goal(), Vec3::new(100.0, 0.0, 0.0));
    // An hour's way does not count.
    npc.position = Vec3::new(100.0, 0.0, 0.0);
    npc.think(60_000);
    let mut headings = Vec::new();
    for step in 0..80u32 {
        npc.drawn = step.wrapping_mul(0x9E37_79B9);
        npc.think(250);
        let Facing::Heading(heading) = npc.intent.face else { panic!("{:?}", npc.intent) };
        headings.push(heading);
        assert_eq!(npc.intent.go, Go::Stay);
    }
    headings.dedup();
    assert!((3..=7).contains(&headings.len()), "{headings:?}");
    npc.position = Vec3::new(104.0, 0.0, 0.0);
    npc.think(250);
    assert_eq!(npc.goal(), Vec3::new(100.0, 0.0, 0.0));
    npc.position = Vec3::new(100.0, 0.0, 0.0);
    assert_eq!(npc.think(250), "guard");
    assert_eq!(npc.think(30_000), "sit");
}

#[test]
fn a_guard_without_a_way_to_its_post_guards_where_it_is() {
    let mut npc = Npc::new("guard inn");
    npc.think(250);
    npc.progress = MoveProgress::Unreachable;
    npc.think(250);
    npc.think(250);
    assert_eq!(npc.intent.go, Go::Stay);
}

#[test]
fn fleeing_leads_away_from_the_nearest_until_it_is_far_or_long_ago() {
    let mut npc = Npc::new("select:\n    flee from enemy until 20 m\n    sit");
    npc.see(3, 1, 1.0);
    assert_eq!(npc.think(250), "sit", "guards are no enemies of guards");
    npc.see(4, 2, 8.0);
    npc.see(5, 2, 5.0);
    assert_eq!(npc.think(250), "flee");
    assert_eq!(npc.intent.go, Go::Away { from: Vec3::new(5.0, 0.0, 0.0) });
    assert_eq!((npc.intent.pace, npc.mind.target()), (Pace::Run, Some(id(5))));
    npc.lose_sight();
    assert_eq!(npc.think(7_000), "flee");
    npc.position = Vec3::new(-15.1, 0.0, 0.0);
    assert_eq!(npc.think(250), "sit");
    npc.position = Vec3::ZERO;
    assert_eq!(npc.think(250), "flee");
    assert_eq!(npc.think(1_000), "sit", "eight seconds without a sign");
}

#[test]
fn a_chase_goes_to_where_the_target_was_seen_and_gives_up() {
    let mut npc = Npc::new("select:\n    when has target: chase target within 2 m lost 4 s creep\n    sit");
    npc.mind.set_target(id(4), KindId(2), Vec3::X, WorldTime(npc.now));
    npc.see(4, 2, 30.0);
    assert_eq!(npc.think(250), "chase");
    assert_eq!(npc.intent.go, Go::Toward { who: id(4), within_m: 2.0 });
    assert_eq!(npc.intent.pace, Pace::Creep);
    npc.lose_sight();
    npc.think(250);
    assert_eq!(npc.goal(), Vec3::new(30.0, 0.0, 0.0));
    npc.position = npc.goal();
    npc.think(250);
    assert_eq!(npc.intent.go, Go::Stay);
    // It comes back into view.
    npc.see(4, 2, 40.0);
    npc.think(250);
    assert_eq!(npc.intent.go, Go::Toward { who: id(4), within_m: 2.0 });
    npc.lose_sight();
    assert_eq!(npc.think(3_500), "chase");
    assert_eq!(npc.think(1_000), "sit");
    assert_eq!(npc.mind.target(), None);
}

#[test]
fn a_leash_holds_until_half_of_the_way_back() {
    let mut npc = Npc::new("select:\n    when sees enemy within 50 m: chase leash 40 m\n    sit");
    let mut check = |x: f32, doing: &str| {
        npc.position = Vec3::new(x, 0.0, 0.0);
        npc.see(4, 2, x + 10.0);
        assert_eq!(npc.think(250), doing, "at {x}");
    };
    for (x, doing) in
        [(0.0, "chase"), (40.0, "chase"), (40.1, "sit"), (30.0, "sit"), (20.1, "sit"), (20.0, "chase")]
    {
        check(x, doing);
    }
    check(39.0, "chase");
}

#[test]
fn following_never_ends_while_there_is_a_target() {
    let mut npc = Npc::new("select:\n    when has target: follow target within 3 m\n    sit");
    npc.mind.set_target(id(4), KindId(0), Vec3::X, WorldTime(npc.now));
    npc.see(4, 0, 2.0);
    assert_eq!(npc.think(250), "follow");
    assert_eq!((npc.intent.go, npc.intent.face), (Go::Stay, Facing::Toward(id(4))));
    npc.see(4, 0, 9.0);
    assert_eq!(npc.think(250), "follow");
    assert_eq!(npc.intent.go, Go::Toward { who: id(4), within_m: 3.0 });
}

/// Fights for a minute, thinking so often: all blows.
fn blows_in_a_minute(every_ms: u64) -> u32 {
    let mut npc = Npc::new("attack target range 2 m every 1.5 s damage 7 play bow");
    npc.mind.set_target(id(4), KindId(2), Vec3::X, WorldTime(npc.now));
    let mut blows = 0;
    for _ in 0..60_000 / every_ms {
        npc.see(4, 2, 1.5);
        npc.think(every_ms);
        if let Some(attack) = npc.intent.attack {
            assert_eq!((attack.who, attack.damage), (id(4), 7));
            assert_eq!(npc.intent.gesture, Some(AnimationId(0)));
            blows += u32::from(attack.blows);
        }
        assert_eq!(npc.intent.face, Facing::Toward(id(4)));
    }
    blows
}

#[test]
fn blows_are_counted_by_time_and_not_by_thoughts() {
    for every_ms in [50, 125, 333, 1_000, 2_000, 4_000] {
        let blows = blows_in_a_minute(every_ms);
        assert!((38..=40).contains(&blows), "{blows} blows with a thought in {every_ms} ms");
    }
}

#[test]
fn a_long_sleep_is_no_volley() {
    let mut npc = Npc::new("attack target range 2 m every 1.5 s damage 1");
    let mut blows = |after_ms: u64| {
        npc.now += after_ms;
        let now = WorldTime(npc.now);
        npc.mind.set_target(id(4), KindId(2), Vec3::X, now);
        npc.see(4, 2, 1.5);
        npc.think(0);
        npc.intent.attack.map_or(0, |attack| attack.blows)
    };
    assert_eq!([0, 60_000, 1_499, 1, 1_500].map(&mut blows), [1, 8, 0, 1, 1]);
}

#[test]
fn an_interrupted_fighter_strikes_no_sooner() {
    let mut npc = Npc::new(
        "select:\n    when night: sit\n    attack target range 2 m every 2 s damage 1\n    wait 1 s",
    );
    npc.mind.set_target(id(4), KindId(2), Vec3::X, WorldTime(npc.now));
    let mut blows = 0;
    for step in 0..80 {
        npc.minute = if step % 2 == 0 { 600 } else { 0 };
        npc.see(4, 2, 1.5);
        npc.think(250);
        blows += npc.intent.attack.map_or(0, |attack| attack.blows);
    }
    assert!((9..=10).contains(&blows), "{blows} in 20 s");
}

#[test]
fn a_fight_ends_out_of_reach_or_with_a_fall() {
    let mut npc = Npc::new("select:\n    attack target range 2 m every 2 s damage 1\n    sit");
    npc.mind.set_target(id(4), KindId(2), Vec3::X, WorldTime(npc.now));
    npc.see(4, 2, 2.1);
    assert_eq!(npc.think(250), "sit");
    npc.see(4, 2, 1.9);
    assert_eq!(npc.think(250), "attack");
    npc.see(4, 2, 2.4);
    assert_eq!(npc.think(250), "attack", "a step back is no escape");
    npc.see(4, 2, 2.6);
    assert_eq!(npc.think(250), "sit");
    npc.see(4, 2, 1.0);
    npc.seen[0].has_fallen = true;
    npc.think(250);
    assert_eq!(npc.mind.target(), None);
}

#[test]
fn gathering_goes_to_the_nearest_and_carries_home() {
    let mut npc = Npc::new("gather ore amount 3 taking 2 s play dig\ndeliver to square\nwait 1 min");
    npc.think(250);
    assert_eq!(npc.goal(), Vec3::new(0.0, 30.0, 0.0));
    let log = npc.live(20_000);
    let gathered = "Gathered { resource: ResourceId(0), amount: 1 }";
    let delivered = "Delivered { resource: ResourceId(0), amount: 3, place: Some(NamedPlaceId(1)) }";
    assert_eq!(log, [gathered, gathered, gathered, delivered]);
    assert!(npc.position.distance(Vec3::new(0.0, 100.0, 0.0)) <= 5.0);
    assert_eq!(npc.mind.load(), None);
}

#[test]
fn an_npc_that_thinks_seldom_gathers_no_less() {
    let mut npc = Npc::new("gather wood amount 200 taking 1 s\nwait 1 min");
    npc.think(250);
    npc.position = npc.goal();
    let mut amount = 0;
    for _ in 0..31 {
        npc.think(2_000);
        if let Some(Deed::Gathered { amount: n, .. }) = npc.intent.deed {
            amount += u32::from(n);
        }
    }
    assert_eq!(amount, 60);
}

#[test]
fn items_that_the_world_refuses_are_not_carried() {
    let mut npc = Npc::new("select:\n    gather wood amount 2 taking 1 s\n    sit");
    npc.live(1_500);
    assert_eq!(npc.mind.load(), Some((ResourceId(1), 1)));
    npc.is_refused = true;
    assert_eq!(npc.think(250), "sit");
    assert_eq!(npc.mind.load(), None);
}

#[test]
fn an_npc_gathers_no_item_while_carrying_another() {
    let mut npc = Npc::new(
        "select:\n    sequence:\n        carries wood at least 2\n        gather ore\n    gather wood amount 2\n    sit",
    );
    let log = npc.live(15_000);
    assert_eq!(log.len(), 2, "{log:?}");
    assert_eq!(npc.mind.load(), Some((ResourceId(1), 2)));
}

#[test]
fn talk_says_its_lines_in_turn_to_the_present_target() {
    let mut npc = Npc::new("select:\n    when has target: talk \"a\" \"b\" pause 5 s\n    sit");
    npc.mind.set_target(id(4), KindId(0), Vec3::X, WorldTime(npc.now));
    assert_eq!(npc.think(250), "sit", "no target is in view");
    npc.see(4, 0, 3.0);
    assert_eq!(npc.think(250), "talk");
    assert_eq!((npc.said(), npc.intent.face), (Some("a"), Facing::Toward(id(4))));
    assert_eq!(npc.think(4_900), "talk");
    assert_eq!(npc.said(), None);
    npc.think(100);
    assert_eq!(npc.said(), Some("b"));
    npc.see(4, 0, 8.1);
    assert_eq!(npc.think(250), "sit");
}

#[test]
fn sitting_working_and_going_end_as_they_say() {
    let mut npc = Npc::new(
        "sit at inn for 5 s\nwork at home play dig for 5 s\ngo to square within 3 m speed 2.5 m/s\nwait 1 min",
    );
    npc.think(250);
    assert_eq!(npc.intent.pose, Pose::Stand);
    npc.position = npc.goal();
    npc.think(30_000);
    assert_eq!((npc.intent.pose, npc.intent.go), (Pose::Sit, Go::Stay));
    assert_eq!(npc.think(5_000), "work");
    npc.position = npc.goal();
    npc.think(250);
    assert_eq!(npc.intent.animation, Some(AnimationId(1)));
    assert_eq!(npc.think(5_000), "go");
    assert_eq!(npc.intent.pace, Pace::Speed(25));
    npc.position = npc.goal() + Vec3::X * 2.9;
    assert_eq!(npc.think(250), "wait");
    let mut npc = Npc::new("select:\n    go to inn\n    sit");
    npc.think(250);
    npc.progress = MoveProgress::Unreachable;
    assert_eq!(npc.think(250), "sit");
}

#[test]
fn an_npc_below_a_goal_has_not_arrived() {
    let mut npc = Npc::new("go to inn\nsit");
    npc.position = Vec3::new(100.0, 0.0, -5.0);
    assert_eq!(npc.think(250), "go");
    npc.position.z = -2.0;
    assert_eq!(npc.think(250), "sit");
}

#[test]
fn gestures_sounds_and_turns_happen_once() {
    let mut npc = Npc::new("play bow\nface inn\nsound horn within 30 m\nplay dig for 2 s\nwait 1 s");
    assert_eq!(npc.think(250), "play");
    assert_eq!(npc.intent.gesture, Some(AnimationId(0)));
    assert_eq!(npc.intent.face, Facing::At(Vec3::new(100.0, 0.0, 0.0)));
    assert_eq!(npc.intent.sound, Some(SoundMade { kind: SoundKind(4), reach_dm: 300 }));
    npc.think(250);
    assert_eq!((npc.intent.gesture, npc.intent.sound), (None, None));
    assert_eq!(npc.intent.animation, Some(AnimationId(1)));
    assert_eq!(npc.think(2_000), "wait");
}

#[test]
fn conditions_find_the_target() {
    let mut npc = Npc::new("select:\n    when sees all within 20 m: wait 1 s\n    sit");
    npc.see(4, 2, 12.0);
    npc.see(5, 1, 19.0);
    npc.think(250);
    assert_eq!(npc.mind.target(), Some(id(4)));
    // It keeps its target.
    npc.see(5, 1, 2.0);
    npc.think(250);
    assert_eq!(npc.mind.target(), Some(id(4)));
    npc.see(4, 2, 21.0);
    npc.think(250);
    assert_eq!(npc.mind.target(), Some(id(5)));
    let mut npc = Npc::new(
        "select:\n    when sees enemy within 20 m and night: wait 1 s\n    when not sees player within 9 m: sit\n    wander",
    );
    npc.see(4, 2, 12.0);
    npc.see(6, 0, 12.0);
    assert_eq!(npc.think(250), "sit");
    assert_eq!(npc.mind.target(), None, "only a condition that holds as a whole finds a target");
}

#[test]
fn fallen_targets_are_ignored() {
    let mut npc = Npc::new("select:\n    when sees thief within 20 m: wait 1 s\n    sit");
    npc.see(4, 2, 5.0);
    npc.seen[0].has_fallen = true;
    assert_eq!(npc.think(250), "sit");
    npc.see(5, 2, 9.0);
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.mind.target(), Some(id(5)));
}

#[test]
fn hidden_targets_count_only_where_that_is_stated() {
    let mut npc = Npc::new(
        "select:\n    when sees thief within 20 m: wait 1 s\n    when sees thief within 20 m in last 5 s: sit\n    wander",
    );
    npc.see(4, 2, 12.0);
    assert_eq!(npc.think(250), "wait");
    npc.lose_sight();
    assert_eq!(npc.think(250), "sit");
    assert_eq!(npc.think(5_000), "wander");
}

#[test]
fn sounds_lead_to_where_they_came_from() {
    let mut npc = Npc::new(
        "select:\n    sequence:\n        hears horn from thief within 30 m\n        go to last-seen\n    sit",
    );
    npc.hear(SoundKind(4), 0, 31.0);
    assert_eq!(npc.think(250), "sit");
    npc.hear(SoundKind::CHAT, 0, 20.0);
    assert_eq!(npc.think(250), "sit");
    npc.hear(SoundKind(4), 0, 20.0);
    assert_eq!(npc.think(3_001), "sit", "three seconds ago");
    npc.hear(SoundKind(4), 0, 20.0);
    assert_eq!(npc.think(2_000), "go");
    assert_eq!((npc.goal(), npc.mind.target()), (Vec3::new(20.0, 0.0, 0.0), None));
}

#[test]
fn an_alarm_names_its_target() {
    let mut npc = Npc::new("select:\n    when hears alarm: chase\n    sit");
    npc.hear(SoundKind::ALARM, 9, 20.0);
    let place = Vec3::new(25.0, 5.0, 0.0);
    npc.heard[0].about = Some(SoundSubject { who: id(4), kind: KindId(2), place });
    assert_eq!(npc.think(250), "chase");
    assert_eq!((npc.goal(), npc.mind.target()), (place, Some(id(4))));
    assert_eq!(npc.mind.about(), npc.heard[0].about);
    // A sighting of its own is newer.
    npc.now += 500;
    npc.see(4, 2, 60.0);
    npc.lose_sight();
    npc.think(250);
    assert_eq!(npc.goal(), Vec3::new(60.0, 0.0, 0.0));
}

#[test]
fn blows_point_to_the_attacker_and_falls_to_no_one() {
    let mut npc = Npc::new("select:\n    when hurt in last 4 s: wait 1 s\n    sit");
    let at = WorldTime(npc.now).stamp();
    npc.hurt = Some(Hurt { by: Some(id(4)), kind: KindId(2), place: Vec3::X, at });
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.mind.target(), Some(id(4)));
    assert_eq!(npc.think(4_000), "sit");
    let at = WorldTime(npc.now).stamp();
    npc.hurt = Some(Hurt { by: None, kind: KindId(0), place: Vec3::X, at });
    assert_eq!(npc.think(250), "wait");
    assert_eq!(npc.mind.target(), Some(id(4)));
}

#[test]
fn places_targets_and_loads_can_be_asked_for() {
    let mut npc = Npc::new(
        "select:\n    when within 5 m of inn: wait 1 s\n    when beyond 50 m of home: wander\n    when target is thief and carries nothing: sit\n    work at home",
    );
    npc.position = Vec3::new(97.0, 0.0, 0.0);
    assert_eq!(npc.think(250), "wait");
    npc.position = Vec3::new(60.0, 0.0, 0.0);
    assert_eq!(npc.think(250), "wander");
    npc.position = Vec3::ZERO;
    assert_eq!(npc.think(250), "work");
    npc.mind.set_target(id(4), KindId(2), Vec3::X, WorldTime(npc.now));
    assert_eq!(npc.think(250), "sit");
    npc.mind.amount = 1;
    assert_eq!(npc.think(250), "work");
}
