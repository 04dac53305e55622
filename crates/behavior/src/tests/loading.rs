use super::*;

/// The problems of a text.
fn problems(text: &str) -> Vec<String> {
    match load(text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.list.iter().map(ToString::to_string).collect(),
    }
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(problems(text), expected, "{text}");
}

#[test]
fn units_and_ranges_are_minded() {
    check(
        "behaviour a: wander within 12 s",
        &["f:1:28: expected a length from 0.1 m to 1000 m, found `12 s`"],
    );
    check(
        "behaviour a: wander within 0.01 m",
        &["f:1:28: 0.01 is out of range: a length from 0.1 m to 1000 m"],
    );
    check(
        "behaviour a: wait 12",
        &["f:1:19: expected a duration from 0.1 s to 100 min, found `12` without a unit"],
    );
    check("behaviour a: wait 101 min", &["f:1:19: 101 is out of range: a duration from 0.1 s to 100 min"]);
    check("behaviour a: chase lost 31 s", &["f:1:25: 31 is out of range: a duration from 0.1 s to 30 s"]);
    check(
        "behaviour a: when time 24:00 to 6:00: sit",
        &["f:1:24: expected a time of day from `0:00` to `23:59`, found `24:00`"],
    );
    check("behaviour a: wait 100 min", &[]);
    check("behaviour a: wait 0.5s to 2min", &[]);
}

#[test]
fn the_nearest_word_is_offered() {
    check("behaviour a: wandr", &["f:1:14: unknown word `wandr`; did you mean `wander`?"]);
    check("behaviour a: go to squar", &["f:1:20: the template has no place `squar`; did you mean `square`?"]);
    check(
        "behaviour a: when sees theif within 5 m: sit",
        &["f:1:24: the template has no kind `theif`; did you mean `thief`?"],
    );
    check(
        "behaviour a: sit fro 5 s",
        &[
            "f:1:18: `sit` does not know `fro` (it takes `at`, `for`, `creep`, `walk`, `run`, `speed`); did you mean `for`?",
        ],
    );
    check(
        "behaviour alpha: use brvo\nbehaviour bravo: sit",
        &["f:1:22: there is no behaviour `brvo`; did you mean `bravo`?"],
    );
}

#[test]
fn circles_are_found_however_long() {
    check(
        "behaviour a: use b\nbehaviour b:\n    wait 1 s\n    use c\nbehaviour c: try: use a\nbehaviour d: use d",
        &["f:5:19: this goes in a circle: a → b → c → a", "f:6:14: this goes in a circle: d → d"],
    );
}

#[test]
fn unreachable_nodes_are_found() {
    check(
        "behaviour a:\n    select:\n        wander\n        sit",
        &["f:4:9: nothing leads here: `wander` above goes on for ever"],
    );
    check(
        "behaviour a:\n    select:\n        wander for 5 s\n        sit",
        &["f:4:9: nothing leads here: `wander` above never fails"],
    );
    check(
        "behaviour a:\n    wander\n    sit",
        &["f:3:5: nothing leads here: `wander` above goes on for ever"],
    );
    check(
        "behaviour a:\n    invert: wait 1 s\n    sit",
        &["f:3:5: nothing leads here: `invert` above never succeeds"],
    );
    check(
        "behaviour a:\n    use b\n    sit\nbehaviour b: repeat: wait 1 s",
        &["f:3:5: nothing leads here: `use` above goes on for ever"],
    );
    // One place is enough for all that lies behind it.
    check(
        "behaviour a:\n    wander\n    sit\n    wait 1 s",
        &["f:3:5: nothing leads here: `wander` above goes on for ever"],
    );
    // A node that may fail, or end, hides nothing.
    check(
        "behaviour a:\n    select:\n        when night: wander\n        timeout 9 s: wander\n        sit",
        &[],
    );
    check(
        "behaviour a:\n    patrol round once\n    sit at inn\n    wander",
        &["f:4:5: nothing leads here: `sit` above never succeeds"],
    );
}

#[test]
fn only_the_last_of_parallel_may_take_time() {
    check(
        "behaviour a:\n    parallel:\n        wait 1 s\n        sit",
        &["f:3:9: only the last node under `parallel` may take time, and `wait` does"],
    );
    check(
        "behaviour a:\n    parallel:\n        cooldown 9 s: say \"a\"\n        when hurt: sound horn\n        sit",
        &[],
    );
}

#[test]
fn bounds_hold_with_all_that_is_used() {
    // Each uses the one before twice: doubled eleven times.
    let doubling: String =
        (1..12).map(|n| format!("behaviour b{n}:\n    use b{}\n    use b{}\n", n - 1, n - 1)).collect();
    let text = format!("behaviour b0: wait 1 s\n{doubling}");
    let found = problems(&text);
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[0], "f:23:1: more than 256 nodes in this behaviour with all that it uses");
    let deep: String = (1..30).map(|n| format!("behaviour d{n}: try: use d{}\n", n - 1)).collect();
    let found = problems(&format!("behaviour d0: wait 1 s\n{deep}"));
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found[0].ends_with("nested more than 24 deep"));
    // A chain that adds nothing is as long as it likes.
    let chain: String = (1..200).map(|n| format!("behaviour c{n}: use c{}\n", n - 1)).collect();
    assert_eq!(problems(&format!("behaviour c0: wait 1 s\n{chain}")), [""; 0]);
}

#[test]
fn timers_are_few_and_shared_where_they_can_be() {
    let cooldowns =
        |n: usize| format!("behaviour a:\n{}    sit", "    try: cooldown 1 s: wait 1 s\n".repeat(n));
    assert_eq!(problems(&cooldowns(6)), [""; 0]);
    assert_eq!(problems(&cooldowns(7)).len(), 1);
    let timeouts = format!("behaviour a:\n{}    sit", "    try: timeout 1 s: wait 1 s\n".repeat(50));
    assert_eq!(problems(&timeouts), [""; 0]);
    let nested = |n: usize| format!("behaviour a: {}wait 1 s", "timeout 1 s: ".repeat(n));
    assert_eq!(problems(&nested(6)), [""; 0]);
    assert_eq!(problems(&nested(7)).len(), 1);
}

#[test]
fn too_many_behaviours_files_and_lines_are_refused() {
    let many: String = (0..=BEHAVIORS_MAX).map(|n| format!("behaviour b{n}: sit\n")).collect();
    assert_eq!(problems(&many), ["f:257:1: more than 256 behaviours"]);
    let source = Source { file: "f", bytes: b"" };
    let found = BehaviorSet::load(&[source; FILES_MAX + 1], &vocabulary()).unwrap_err();
    assert_eq!(found.to_string(), "template: more than 64 files");
    let lines = "\"a\" ".repeat(SPEECH_LINES_MAX + 1);
    assert_eq!(problems(&format!("behaviour a: say {lines}")), ["f:1:18: more than 32 lines for one node"]);
    let long = "a".repeat(SPEECH_BYTES_MAX + 1);
    let found = problems(&format!("behaviour a: say \"{long}\""));
    assert_eq!(found, ["f:1:18: 1024 bytes, where 1023 are allowed"]);
}

#[test]
fn the_template_is_checked_too() {
    let mut vocabulary = vocabulary();
    vocabulary.kinds.push(Kind { name: "wolf".into(), enemies: names(&["sheep"]), friends: vec![] });
    vocabulary.kinds.push(Kind { name: "guard".into(), ..Kind::default() });
    vocabulary.places.push(NamedPlace { name: "home".into(), ..NamedPlace::default() });
    vocabulary.places.push(NamedPlace { name: "a b".into(), ..NamedPlace::default() });
    vocabulary.places.push(NamedPlace { name: "hole".into(), position: Vec3::NAN, radius_m: 0.0 });
    vocabulary.routes.push(Route { name: "round".into(), points: vec![] });
    vocabulary.sounds.push("chat".into());
    vocabulary.entries.push("a".into());
    vocabulary.entries.push("b".into());
    let source = Source { file: "f", bytes: b"behaviour a: sit" };
    let found = BehaviorSet::load(&[source], &vocabulary).unwrap_err().to_string();
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "template: `a b` cannot be the name of a place",
            "template: `chat` cannot be the name of a sound",
            "template: `home` cannot be the name of a place",
            "template: place `hole` has a position that is no number",
            "template: route `round` has no points",
            "template: the template has no kind `sheep`",
            "template: there are two with the name `guard` (a kind)",
            "template: there are two with the name `round` (a route)",
            "template: there is no behaviour `b`; did you mean `a`?",
        ]
    );
}

#[test]
fn unused_behaviours_are_a_warning() {
    let mut vocabulary = vocabulary();
    vocabulary.entries = names(&["a"]);
    let source = Source {
        file: "f",
        bytes: b"behaviour a: use b\nbehaviour b: sit\nbehaviour c: use d\nbehaviour d: sit",
    };
    let loaded = BehaviorSet::load(&[source], &vocabulary).unwrap();
    let warnings: Vec<String> = loaded.warnings.list.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "f:3:1: behaviour `c` is not used: no NPC of the template has it, and no behaviour uses it",
            "f:4:1: behaviour `d` is not used: no NPC of the template has it, and no behaviour uses it",
        ]
    );
}

#[test]
fn a_set_s_fingerprint_follows_its_content() {
    let fingerprint = |text: &str| load(text).unwrap().fingerprint();
    let first = fingerprint("behaviour a: wander within 5 m");
    assert_eq!(first, fingerprint("# Only a comment.\nbehavior a:\n\twander within 5.0m\n"));
    assert_ne!(first, fingerprint("behaviour b: wander within 5 m"));
    assert_ne!(first, fingerprint("behaviour a: wander within 5.1 m"));
    let mut moved = vocabulary();
    moved.places[0].position.z += 1.0;
    let source = Source { file: "f", bytes: b"behaviour a: wander within 5 m" };
    assert_ne!(first, BehaviorSet::load(&[source], &moved).unwrap().set.fingerprint());
}

#[test]
fn files_use_each_other_and_their_lines_are_kept_once() {
    let sources = [
        Source { file: "one", bytes: b"behaviour a:\n    say \"x\" \"y\"\n    use b" },
        Source { file: "two", bytes: b"behaviour b:\n    say \"x\" \"y\"\n    say \"x\"" },
    ];
    let set = BehaviorSet::load(&sources, &vocabulary()).unwrap().set;
    assert_eq!(set.lines.len(), 3);
    assert_eq!(set.n_nodes(), 6);
    assert_eq!(set.behavior("b").and_then(|b| set.name(b)), Some("b"));
}

#[test]
fn a_set_knows_the_targets_of_its_behaviours() {
    let set = load("behaviour a:\n    hears horn\n    when sees enemy within 9 m or sees player within 5 m: sit\nbehaviour b: sit").unwrap();
    let (a, b) = (set.behavior("a").unwrap(), set.behavior("b").unwrap());
    let kinds = |kind: u8| set.interest(a, KindId(kind)).0;
    // Kinds: 0 player, 1 guard, 2 thief.
    assert_eq!([kinds(1), kinds(2), kinds(77)], [0b101, 0b011, 0b001]);
    assert_eq!(set.interest(b, KindId(1)).0, 0);
    assert_eq!((set.hearing(a).0, set.hearing(b).0), (1 << 4, 0));

    let mut vocabulary = vocabulary();
    vocabulary.kinds[0].friends = names(&["player"]);
    let source =
        Source { file: "f", bytes: b"behaviour a:\n    sees friend within 9 m\n    flee from thief" };
    let set = BehaviorSet::load(&[source], &vocabulary).unwrap().set;
    assert_eq!([1, 2].map(|kind| set.interest(BehaviorId(0), KindId(kind)).0), [0b101, 0b100]);
}

#[test]
fn nodes_are_small_and_one_after_the_other() {
    let set = load("behaviour a:\n    select:\n        when night: sit\n        wander").unwrap();
    let (nodes, n_timers) = set.nodes(BehaviorId(0)).unwrap();
    let ends: Vec<u16> = nodes.iter().map(|node| node.end).collect();
    assert_eq!((ends, n_timers), (vec![5, 4, 3, 4, 5], 0));
    assert_eq!(size_of::<Mind>(), 96);
}
