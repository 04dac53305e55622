//! Files of behaviours: whatever loads can be followed, through days of odd senses, and nobody visits more than the bound.
#![no_main]

#[path = "../../../crates/behavior/tests/behaviours/village.rs"]
#[expect(dead_code, reason = "the examples themselves are for other tests")]
mod village;

use behavior::{
    BehaviorId, BehaviorSet, Intent, Mind, NODES_MAX, Source, Vocabulary,
    senses::{Journey, KindId, MoveProgress, Senses, WorldTime},
};
use glam::Vec3;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static VOCABULARY: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary { entries: Vec::new(), ..village::vocabulary() });

fuzz_target!(|bytes: &[u8]| {
    let source = Source { file: "fuzz", bytes };
    let Ok(loaded) = BehaviorSet::load(&[source], &VOCABULARY) else { return };
    for behavior in (0..4).map(BehaviorId) {
        let mut mind = Mind::new(behavior, Vec3::ZERO);
        let mut intent = Intent::default();
        let mut random = 1u32;
        for step in 0..50u64 {
            let progress = if step % 3 == 0 { MoveProgress::Arrived } else { MoveProgress::Going };
            let senses = Senses {
                position: Vec3::ZERO,
                kind: KindId(1),
                health: step as f32 / 50.0,
                minute: (step * 30 % 1_440) as u16,
                journey: Journey { leg: intent.leg, progress },
                target_is_gone: false,
                is_refused: step % 7 == 0,
                seen: &[],
                heard: &[],
                hurt: None,
            };
            let mut draw = || {
                random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                random
            };
            let visits = mind.think(&loaded.set, &senses, WorldTime(step * 700), &mut draw, &mut intent);
            assert!(visits as usize <= 2 * NODES_MAX);
        }
    }
});
