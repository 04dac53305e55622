use super::*;
use crate::senses::{Stamp, WorldTime};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

/// Words of the language and what may stand behind them, in no sense.
fn pieces() -> impl Strategy<Value = String> {
    let word = prop::sample::select(forms::FORMS.iter().map(|form| form.word).collect::<Vec<_>>());
    let key = prop::sample::select(forms::FORMS.iter().flat_map(|form| form.keys()).collect::<Vec<_>>());
    let other = prop::sample::select(vec![
        "behaviour",
        "a",
        "b",
        "inn",
        "round",
        "ore",
        "thief",
        "bow",
        "horn",
        "5 m",
        "3 s",
        "20 %",
        "6:00",
        "9",
        "\"x\"",
        ":",
        "and",
        "or",
        "not",
        "\n",
        "\n    ",
        "\n        ",
        "\n\t",
        "-1",
        "1e9",
        "99999999999999999999",
        "#",
        "\"",
    ]);
    prop_oneof![2 => word.prop_map(str::to_owned), 2 => key.prop_map(str::to_owned), 3 => other.prop_map(str::to_owned)]
}

/// A node that makes sense, at some depth.
fn node() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "wander within 9 m pause 1 s to 3 s",
        "wander for 3 s",
        "patrol round pause 1 s",
        "patrol round once",
        "guard inn",
        "guard here for 2 s",
        "flee from enemy until 20 m",
        "flee",
        "chase within 2 m leash 30 m lost 3 s",
        "follow",
        "gather ore amount 2 taking 1 s",
        "deliver to square",
        "talk \"a\" \"b\" pause 1 s",
        "sit for 2 s",
        "work at inn play dig",
        "go to square run",
        "go to last-seen",
        "wait 0.1 s to 4 s",
        "say \"hm\"",
        "play bow",
        "play dig for 1 s",
        "face target",
        "sound alarm",
        "forget target",
        "sees enemy within 20 m",
        "not sees player within 20 m in last 2 s",
        "hears alarm",
        "hurt",
        "health below 50 %",
        "night",
        "carries ore",
        "within 20 m of target",
    ]);
    let leaf = leaf.prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let many = (
            prop::sample::select(vec![
                "sequence",
                "select",
                "random",
                "try",
                "invert",
                "repeat",
                "repeat 2 times",
                "timeout 2 s",
                "when night",
                "when not hurt",
                "when sees enemy within 20 m or has target",
                "parallel",
            ]),
            prop::collection::vec(inner.clone(), 1..4),
        );
        let many = many.prop_map(|(head, under)| block(head, &under));
        let schedule = prop::collection::vec(inner, 1..4).prop_map(|under| {
            let from = (0..)
                .zip(&under)
                .map(|(n, node)| block(&format!("from {}:00", n * 7), std::slice::from_ref(node)));
            block("schedule", &from.collect::<Vec<_>>())
        });
        prop_oneof![4 => many, 1 => schedule]
    })
}

/// A node with others under it, each line indented once more.
fn block(head: &str, under: &[String]) -> String {
    let lines = under.iter().flat_map(|node| node.lines());
    let under: Vec<String> = lines.map(|line| format!("    {line}")).collect();
    format!("{head}:\n{}", under.join("\n"))
}

/// Loads a node as behaviour `b`. What nothing leads to is no matter here, so most are wrong; those are none.
fn loaded(node: &str) -> Option<BehaviorSet> {
    load(&block("behaviour b", &[node.to_owned()])).ok()
}

/// A world that is not one: everything changes by chance.
struct Chaos {
    random: u64,
    now: u64,
}

impl Chaos {
    fn draw(&mut self) -> u32 {
        self.random = state_hash::mix(self.random);
        (self.random >> 32) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.draw() % n
    }

    fn place(&mut self) -> Vec3 {
        Vec3::new(self.below(100) as f32, self.below(100) as f32, self.below(3) as f32)
    }

    /// Thinks this number of times; returns hashes of the mind and its intents.
    fn live(&mut self, set: &BehaviorSet, mind: &mut Mind, thoughts: u32) -> Vec<(u64, Intent)> {
        let mut intent = Intent::default();
        let mut all = Vec::new();
        for _ in 0..thoughts {
            self.now += u64::from(self.below(2_000));
            let now = WorldTime(self.now);
            let seen: Vec<Sighting> = (0..self.below(4))
                .map(|_| Sighting {
                    who: id(1 + self.below(5)),
                    kind: KindId(self.below(3) as u8),
                    is_fresh: self.below(3) > 0,
                    has_fallen: self.below(8) == 0,
                    seen_at: Stamp(now.stamp().0.wrapping_sub(self.below(5_000))),
                    place: self.place(),
                })
                .collect();
            let heard = [Heard {
                sound: SoundKind(self.below(5) as u8),
                strength: 9,
                by_kind: KindId(self.below(3) as u8),
                by: EntityId::new(self.below(5)),
                about: None,
                place: self.place(),
                heard_at: Stamp(now.stamp().0.wrapping_sub(self.below(9_000))),
            }];
            let hurt = Hurt {
                by: EntityId::new(self.below(3)),
                kind: KindId(2),
                place: self.place(),
                at: Stamp(now.stamp().0.wrapping_sub(self.below(20_000))),
            };
            let progress =
                [MoveProgress::Going, MoveProgress::Going, MoveProgress::Arrived, MoveProgress::Unreachable];
            let senses = Senses {
                position: self.place(),
                kind: KindId(1),
                health: self.below(100) as f32 / 100.0,
                minute: self.below(1_440) as u16,
                journey: Journey { leg: intent.leg, progress: progress[self.below(4) as usize] },
                target_is_gone: self.below(20) == 0,
                is_refused: self.below(10) == 0,
                seen: &seen,
                heard: &heard[..self.below(2) as usize],
                hurt: Some(hurt).filter(|_| self.below(4) == 0),
            };
            let mut random = self.random;
            let mut draw = || {
                random = state_hash::mix(random);
                random as u32
            };
            let visits = mind.think(set, &senses, now, &mut draw, &mut intent);
            let (nodes, _) = set.nodes(mind.behavior()).expect("is in the set");
            assert!(visits as usize <= 2 * nodes.len(), "{visits} visits of {} nodes", nodes.len());
            check(mind, &intent, nodes);
            all.push((mind.state_hash(), intent));
        }
        all
    }
}

impl Chaos {
    /// Thinks a few times, to see that nothing breaks.
    fn blunder(&mut self, set: &BehaviorSet, mind: &mut Mind) {
        let mut intent = Intent::default();
        for _ in 0..10 {
            let senses = Senses {
                position: self.place(),
                kind: KindId(self.draw() as u8),
                health: f32::NAN,
                minute: self.draw() as u16,
                journey: Journey { leg: self.draw() as u8, progress: MoveProgress::Arrived },
                target_is_gone: false,
                is_refused: self.below(2) == 0,
                seen: &[],
                heard: &[],
                hurt: None,
            };
            self.now += u64::from(self.below(9_000));
            let drawn = self.draw();
            mind.think(set, &senses, WorldTime(self.now), &mut || drawn, &mut intent);
        }
    }
}

/// Invariants after every thought.
fn check(mind: &Mind, intent: &Intent, nodes: &[node::TreeNode]) {
    use node::Op;
    if mind.leaf != mind::NONE {
        let op = nodes[usize::from(mind.leaf)].op;
        assert!(matches!(op, Op::Do(_) | Op::Repeat { .. }), "{op:?} cannot run");
    } else {
        assert_eq!((intent.go, intent.pose, intent.animation), (Go::Stay, Pose::Stand, None));
    }
    if let Go::To(place) | Go::Away { from: place } = intent.go {
        assert!(place.is_finite());
    }
    assert_eq!(mind.load().is_none(), mind.amount == 0);
}

proptest! {
    #[test]
    fn no_text_breaks_the_loader(text in "\\PC{0,300}") {
        let _ = load(&text);
    }

    #[test]
    fn no_bytes_break_the_loader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = BehaviorSet::load(&[Source { file: "f", bytes: &bytes }], &vocabulary());
    }

    #[test]
    fn no_heap_of_words_breaks_the_loader(pieces in prop::collection::vec(pieces(), 0..60)) {
        let text = format!("behaviour a:\n    {}", pieces.join(" "));
        if let Err(problems) = load(&text) {
            prop_assert!(!problems.list.is_empty());
            for problem in &problems.list {
                prop_assert!(problem.line as usize <= text.lines().count());
                prop_assert!(!problem.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn any_behaviour_thinks_in_bounds_and_equally(node in node(), seed in any::<u64>(), start in any::<u32>()) {
        let Some(set) = loaded(&node) else { return Ok(()) };
        let run = || {
            let mut mind = Mind::new(BehaviorId(0), Vec3::ZERO);
            Chaos { random: seed, now: u64::from(start) << 2 }.live(&set, &mut mind, 60)
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn a_damaged_mind_does_no_harm(node in node(), bytes in prop::collection::vec(any::<u8>(), 96..200)) {
        let Some(set) = loaded(&node) else { return Ok(()) };
        // Most of such bytes are a mind of some kind; half of them in this behaviour.
        if let Ok(mut mind) = postcard::from_bytes::<Mind>(&bytes) {
            if bytes[0] % 2 == 0 {
                let (leaf, timers) = (mind.leaf, mind.timers);
                mind.switch(BehaviorId(0));
                (mind.leaf, mind.timers) = (leaf % 40, timers);
            }
            Chaos { random: 7, now: 1_000_000 }.blunder(&set, &mut mind);
        }
    }

    #[test]
    fn a_mind_goes_on_from_a_snapshot(node in node(), seed in any::<u64>()) {
        let Some(set) = loaded(&node) else { return Ok(()) };
        let mut mind = Mind::new(BehaviorId(0), Vec3::ZERO);
        Chaos { random: seed, now: 5_000 }.live(&set, &mut mind, 20);
        let bytes = postcard::to_allocvec(&mind).expect("plain data");
        let mut restored: Mind = postcard::from_bytes(&bytes).expect("was written just now");
        prop_assert_eq!(restored.state_hash(), mind.state_hash());
        let on = |mind: &mut Mind| Chaos { random: !seed, now: 90_000 }.live(&set, mind, 20);
        prop_assert_eq!(on(&mut mind), on(&mut restored));
    }
}

#[test]
fn enough_behaviours_by_chance_are_good() {
    let mut runner = TestRunner::deterministic();
    let n_good = (0..400)
        .filter(|_| {
            let node = node().new_tree(&mut runner).expect("no filters").current();
            loaded(&node).is_some_and(|set| set.n_nodes() > 4)
        })
        .count();
    assert!(n_good > 100, "only {n_good} of 400 are not trivial and load");
}

#[test]
fn every_field_of_a_mind_counts_in_its_hash() {
    let mind = Mind::new(BehaviorId(0), Vec3::ZERO);
    let bytes = postcard::to_allocvec(&mind).expect("plain data");
    let mut n_changed = 0;
    for index in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[index] ^= 1;
        if let Ok(other) = postcard::from_bytes::<Mind>(&changed)
            && other != mind
        {
            assert_ne!(other.state_hash(), mind.state_hash(), "byte {index}");
            n_changed += 1;
        }
    }
    assert!(n_changed > 40, "{n_changed}");
}
