//! Orders to give items of prims other content: answered once it is on the disk, and again on their way after lost frames.

use super::escrow::orders;
use super::*;
use crate::testing::body_with_contents;
use crate::{Order, OrderKey, RestoreError, RestoreOutcome};
use ids::SessionKey;
use link::{Action, ContentReplacement, EditRefusal, Event};

fn replacement(asset: u128) -> ContentReplacement {
    let (object, item) = (Uuid::from_u128(2), Uuid::from_u128(1 << 64));
    ContentReplacement { session: SessionKey(5), object, item, asset_type: 10, asset: Uuid::from_u128(asset) }
}

fn outcome(asset: u128, refusal: Option<EditRefusal>) -> RestoreOutcome {
    RestoreOutcome { order: OrderKey::Copy(Uuid::from_u128(asset)), refusal }
}

/// A frame with an answer.
fn answered(sequence: u64, objects: Vec<ObjectChange>, asset: u128, refusal: Option<EditRefusal>) -> Frame {
    let events = vec![Event::Rezzed { order: Uuid::from_u128(asset), refusal }];
    Frame { events, ..frame(sequence, objects) }
}

/// Assets of the orders that go out.
fn sent(keeper: &mut Keeper) -> Vec<u128> {
    let assets = orders(keeper).into_iter().filter_map(|action| match action {
        Action::ReplaceContent(order) => Some(order.asset.as_u128()),
        _ => None,
    });
    assets.collect()
}

/// A keeper of an object that is on the disk, with orders for these assets on their way.
fn ordered(assets: &[u128]) -> Keeper {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body_with_contents(1))]]);
    save(&mut keeper, ms(250));
    for asset in assets {
        keeper.order(Order::Content(replacement(*asset))).unwrap();
    }
    assert_eq!(sent(&mut keeper), assets);
    assert_eq!(sent(&mut keeper), [0; 0]);
    keeper
}

/// The object with another version.
fn changed() -> ObjectChange {
    let VersionedBody { version, body } = body_with_contents(1);
    set(kept(1), at(1.0), VersionedBody { version: version + 1, body })
}

#[test]
fn content_is_answered_when_the_batch_with_it_is_saved() {
    let mut keeper = ordered(&[7]);
    keeper.handle_frame(ms(300), &answered(1, vec![changed()], 7, None));
    assert_eq!((keeper.poll_outcome(), keeper.poll_timeout()), (None, Some(ms(550))));
    let batch = poll(&mut keeper, ms(550));
    assert_eq!((keeper.poll_outcome(), batch.since), (None, Some(ms(300))));
    // A batch that fails, and the next.
    keeper.handle_saved(ms(600), batch.id, false);
    assert_eq!(keeper.poll_outcome(), None);
    save(&mut keeper, ms(1_100));
    assert_eq!((keeper.poll_outcome(), keeper.poll_outcome()), (Some(outcome(7, None)), None));
    assert_eq!((keeper.poll_timeout(), keeper.unsaved_since()), (None, None));
}

#[test]
fn a_refusal_is_answered_at_once() {
    let mut keeper = ordered(&[7, 8]);
    keeper.handle_frame(ms(300), &answered(1, Vec::new(), 8, Some(EditRefusal::Rights)));
    assert_eq!(keeper.poll_outcome(), Some(outcome(8, Some(EditRefusal::Rights))));
    assert_eq!((keeper.poll_outcome(), keeper.poll_timeout()), (None, None));
}

#[test]
fn content_of_a_later_frame_waits_for_the_next_batch() {
    let mut keeper = ordered(&[7, 8]);
    keeper.handle_frame(ms(300), &answered(1, vec![changed()], 7, None));
    let batch = poll(&mut keeper, ms(550));
    keeper.handle_frame(ms(560), &answered(2, Vec::new(), 8, None));
    keeper.handle_saved(ms(600), batch.id, true);
    assert_eq!((keeper.poll_outcome(), keeper.poll_outcome()), (Some(outcome(7, None)), None));
    // The rows have it already; a batch without them answers it.
    assert_eq!(save(&mut keeper, ms(810)), (vec![], vec![], vec![]));
    assert_eq!(keeper.poll_outcome(), Some(outcome(8, None)));
}

#[test]
fn orders_go_out_again_after_a_gap_also_those_whose_content_was_shown() {
    let mut keeper = ordered(&[7, 8]);
    keeper.handle_frame(ms(300), &answered(1, vec![changed()], 7, None));
    let batch = poll(&mut keeper, ms(550));
    // The world panics, and goes back to before the first order.
    let gap = Frame { epoch: Epoch(1), ..frame(0, Vec::new()) };
    assert_eq!(keeper.handle_frame(ms(600), &gap), Following::NeedsSnapshot);
    let whole = snapshot(1, vec![(kept(1), at(1.0), body_with_contents(1))]);
    assert_eq!(keeper.handle_frame(ms(650), &Frame { epoch: Epoch(1), ..whole }), Following::Current);
    assert_eq!(sent(&mut keeper), [7, 8]);
    keeper.handle_saved(ms(700), batch.id, true);
    assert_eq!(keeper.poll_outcome(), None, "the batch has content that the world has lost");
    let again = Frame { epoch: Epoch(1), ..answered(2, vec![changed()], 7, None) };
    keeper.handle_frame(ms(700), &again);
    let batch = poll(&mut keeper, ms(1_000));
    keeper.handle_saved(ms(1_000), batch.id, true);
    assert_eq!((keeper.poll_outcome(), keeper.poll_outcome()), (Some(outcome(7, None)), None));
}

#[test]
fn an_order_that_comes_twice_and_one_too_many_are_refused() {
    let mut keeper = empty();
    for asset in 0..256 {
        keeper.order(Order::Content(replacement(asset))).unwrap();
    }
    let refused = |keeper: &mut Keeper, asset| keeper.order(Order::Content(replacement(asset))).unwrap_err();
    assert!(matches!(refused(&mut keeper, 3), RestoreError::Twice));
    assert!(matches!(refused(&mut keeper, 256), RestoreError::Busy));
}
