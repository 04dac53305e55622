//! Orders that wait, on virtual time.

use super::*;
use ids::Uuid;

const START: Instant = Instant::from_millis(7);
const ADA: AgentId = AgentId(Uuid::from_u128(0xA));
const ITEM: Uuid = Uuid::from_u128(0x17E1);

fn worn() -> InventoryReplies {
    let refusal = Some("your avatar wears it".to_owned());
    InventoryReplies { worn: vec![ITEM], refusal, ..InventoryReplies::default() }
}

/// The question of an attempt that waits.
fn question<T: std::fmt::Debug>(judged: Judged<T>) -> WornQuestion {
    match judged {
        Judged::Waits(question) => question,
        answer @ Judged::Answer(..) => panic!("{answer:?}"),
    }
}

/// The alert of an attempt that is answered.
fn alert<T: std::fmt::Debug>(judged: Judged<T>) -> Option<String> {
    match judged {
        Judged::Answer(_, replies) => replies.refusal,
        waits @ Judged::Waits(_) => panic!("{waits:?}"),
    }
}

#[test]
fn an_order_waits_for_the_answer_and_is_carried_out_again_at_once() {
    let mut waits = WornWaits::default();
    let free = waits.judge(START, ADA, Attempt::first(START, "take"), InventoryReplies::default());
    assert_eq!(free, Judged::Answer("take", InventoryReplies::default()), "for nothing that is worn");

    let asked = question(waits.judge(START, ADA, Attempt::first(START, "rez"), worn()));
    let until = START + WORN_WAIT_MAX;
    assert_eq!(asked, WornQuestion { number: 0, agent: ADA, items: vec![ITEM], until });
    assert_eq!((waits.poll_due(START), waits.poll_timeout()), (None, Some(until)));
    waits.handle_answer(asked.number + 1, WornState::Free);
    assert_eq!(waits.poll_due(START), None, "the answer to another question");
    let later = START + Duration::from_millis(300);
    waits.handle_answer(asked.number, WornState::Free);
    let attempt = waits.poll_due(later).expect("it has its answer");
    assert_eq!((waits.poll_timeout(), waits.poll_due(later)), (None, None));
    let done = waits.judge(later, ADA, attempt, InventoryReplies::default());
    assert_eq!(done, Judged::Answer("rez", InventoryReplies::default()));
}

#[test]
fn an_order_for_an_item_that_is_worn_has_the_replies_of_its_last_attempt() {
    let mut waits = WornWaits::default();
    let asked = question(waits.judge(START, ADA, Attempt::first(START, "give"), worn()));
    waits.handle_answer(asked.number, WornState::Worn);
    let attempt = waits.poll_due(START).expect("it has its answer");
    assert_eq!(waits.judge(START, ADA, attempt, worn()), Judged::Answer("give", worn()));

    // Its rows stay, although no region has it.
    let mut attempt = Attempt::first(START, "give");
    for _ in 0..WORN_TRIES {
        let asked = question(waits.judge(START, ADA, attempt, worn()));
        waits.handle_answer(asked.number, WornState::Free);
        attempt = waits.poll_due(START).expect("it has its answer");
    }
    assert_eq!(waits.judge(START, ADA, attempt, worn()), Judged::Answer("give", worn()));
}

#[test]
fn an_order_ends_with_a_refusal_after_a_failed_save_and_at_its_time() {
    let mut waits = WornWaits::default();
    let asked = question(waits.judge(START, ADA, Attempt::first(START, 1), worn()));
    waits.handle_answer(asked.number, WornState::NotSaved);
    let attempt = waits.poll_due(START).expect("it has its answer");
    assert_eq!(alert(waits.judge(START, ADA, attempt, worn())).as_deref(), Some(NOT_SAVED));

    // A second wait has the time of the first attempt.
    let asked = question(waits.judge(START, ADA, Attempt::first(START, 2), worn()));
    let later = START + WORN_WAIT_MAX / 2;
    waits.handle_answer(asked.number, WornState::Free);
    let attempt = waits.poll_due(later).expect("it has its answer");
    let asked = question(waits.judge(later, ADA, attempt, worn()));
    let until = START + WORN_WAIT_MAX;
    assert_eq!((asked.until, waits.poll_timeout()), (until, Some(until)));
    assert_eq!(waits.poll_due(later), None);
    let attempt = waits.poll_due(until).expect("its time is over");
    assert_eq!(alert(waits.judge(until, ADA, attempt, worn())).as_deref(), Some(NOT_SAVED));
    waits.handle_answer(asked.number, WornState::Free);
    assert_eq!((waits.poll_due(until), waits.poll_timeout()), (None, None), "too late");

    // The last attempt may find the item free.
    question(waits.judge(START, ADA, Attempt::first(START, 3), worn()));
    let attempt = waits.poll_due(until).expect("its time is over");
    assert_eq!(alert(waits.judge(until, ADA, attempt, InventoryReplies::default())), None);
}

#[test]
fn orders_beyond_the_bound_are_refused() {
    let mut waits = WornWaits::default();
    for n in 0..WORN_WAITS_MAX {
        question(waits.judge(START, ADA, Attempt::first(START, n), worn()));
    }
    let refused = alert(waits.judge(START, ADA, Attempt::first(START, 9_999), worn()));
    assert_eq!(refused.as_deref(), Some(NO_ROOM));
    waits.handle_answer(1, WornState::Free);
    question(waits.judge(START, ADA, Attempt::first(START, 9_999), worn()));
    let mut left: Vec<usize> = waits.drain().collect();
    left.sort_unstable();
    assert!(left.iter().copied().eq((0..WORN_WAITS_MAX).chain([9_999])));
    assert_eq!((waits.poll_due(START + WORN_WAIT_MAX), waits.poll_timeout()), (None, None));
}
