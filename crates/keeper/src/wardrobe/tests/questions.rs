//! Questions of the inventories, with saves that succeed, fail or come late.

use super::*;

const UNTIL: Instant = Instant::from_millis(5_000);

fn ask(node: &mut Node, now: Instant, number: u64, items: &[u128]) {
    let items = items.iter().map(|n| item(*n)).collect();
    node.order(now, WardrobeOrder::Ask(WornQuestion { number, agent: ADA, items, until: UNTIL }));
}

/// Answers since the last call.
fn states(node: &mut Node, now: Instant) -> Vec<(u64, WornState)> {
    node.wardrobe.answer_questions(now, &mut node.regions);
    std::iter::from_fn(|| node.wardrobe.poll_state()).collect()
}

fn take_off(n: u128) -> WardrobeOrder {
    WardrobeOrder::TakeOff { agent: ADA, items: WornItems::These(vec![item(n)]) }
}

/// Carries out the next batch of a region.
fn end_save(node: &mut Node, now: Instant, world: WorldId, is_saved: bool) {
    let keeper = keeper_of(&mut node.regions, world).expect("a region");
    let batch = keeper.poll_batch(now).expect("a batch is due");
    keeper.handle_saved(now, batch.id, is_saved);
    node.wardrobe.note_save(world, is_saved, &mut node.regions);
}

#[test]
fn worn_items_are_named_at_once_and_others_when_their_end_is_saved() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1, 2]));
    node.sent(ONE);
    ask(&mut node, ms(100), 1, &[1]);
    assert_eq!(states(&mut node, ms(100)), [(1, WornState::Worn)], "it is on the way to the avatar");
    node.frame(ms(150), ONE, vec![shown(1, 0.5), shown(2, 0.5)], Vec::new());
    ask(&mut node, ms(150), 2, &[1, 2]);
    assert_eq!(states(&mut node, ms(150)), [(2, WornState::Worn)]);

    node.order(ms(200), take_off(1));
    ask(&mut node, ms(200), 3, &[1]);
    assert_eq!(states(&mut node, ms(200)), [], "the world has the order");
    let off = node.transfer(1, WornChange::TakenOff, 0.5);
    node.frame(ms(250), ONE, vec![ObjectChange::Removed(temporary(1))], vec![off]);
    ask(&mut node, ms(260), 4, &[2, 1]);
    ask(&mut node, ms(260), 5, &[2]);
    assert_eq!(states(&mut node, ms(260)), [(5, WornState::Worn)], "the end of the other one is not saved");
    end_save(&mut node, ms(600), ONE, true);
    assert_eq!(states(&mut node, ms(600)), [(3, WornState::Free), (4, WornState::Free)]);
    ask(&mut node, ms(610), 6, &[1]);
    assert_eq!(states(&mut node, ms(610)), [(6, WornState::Free)], "the row was read before the save");

    // An item of a user that has not arrived.
    let question =
        WornQuestion { number: 7, agent: AgentId(Uuid::from_u128(2)), items: vec![item(1)], until: UNTIL };
    node.order(ms(620), WardrobeOrder::Ask(question));
    assert_eq!(states(&mut node, ms(620)), [(7, WornState::Worn)]);
    assert_eq!(node.wardrobe.users.len(), 1);
}

#[test]
fn an_end_in_no_region_waits_for_its_save_and_a_failure_is_reported() {
    let mut node = Node::new();
    node.order(ms(100), arrived(None, &[1, 2]));
    ask(&mut node, ms(100), 1, &[1]);
    assert_eq!(states(&mut node, ms(100)), [(1, WornState::Worn)], "in an instance");
    node.order(ms(150), take_off(1));
    ask(&mut node, ms(150), 2, &[1]);
    let batch = keeper_of(&mut node.regions, ONE).and_then(|keeper| keeper.poll_batch(ms(600)));
    let batch = batch.expect("the first region saves the end");
    ask(&mut node, ms(610), 3, &[1]);
    node.wardrobe.note_save(TWO, false, &mut node.regions);
    assert_eq!(states(&mut node, ms(610)), [], "the batch is under way");
    keeper_of(&mut node.regions, ONE).expect("a region").handle_saved(ms(620), batch.id, false);
    node.wardrobe.note_save(ONE, false, &mut node.regions);
    assert_eq!(states(&mut node, ms(620)), [(2, WornState::NotSaved), (3, WornState::NotSaved)]);
    // The next attempt.
    ask(&mut node, ms(630), 4, &[1]);
    assert_eq!(states(&mut node, ms(630)), []);
    end_save(&mut node, ms(1_200), ONE, true);
    assert_eq!(states(&mut node, ms(1_200)), [(4, WornState::Free)]);
}

#[test]
fn an_object_that_leaves_or_is_dropped_before_its_end_is_saved_is_waited_for() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1, 2]));
    node.frame(ms(150), ONE, vec![shown(1, 0.5), shown(2, 0.5)], Vec::new());
    node.order(ms(200), take_off(1));
    ask(&mut node, ms(200), 1, &[1]);
    // The avatar leaves before its world has the order; the question comes from the other region.
    node.order(ms(210), arrived(Some(TWO), &[1, 2]));
    let left = node.transfer(1, WornChange::Left, 0.5);
    let down = node.transfer(2, WornChange::PutDown, 0.5);
    let gone = [1, 2].map(|n| ObjectChange::Removed(temporary(n)));
    node.frame(ms(250), ONE, gone.into(), vec![left, down]);
    ask(&mut node, ms(260), 2, &[2]);
    assert_eq!((states(&mut node, ms(260)), node.sent(TWO)), (vec![], vec![]));
    end_save(&mut node, ms(600), ONE, true);
    assert_eq!(states(&mut node, ms(600)), [(1, WornState::Free), (2, WornState::Free)]);
}

#[test]
fn a_question_is_forgotten_after_its_time_and_a_late_end_is_known_longer() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1]));
    node.frame(ms(150), ONE, vec![shown(1, 0.5)], Vec::new());
    let off = node.transfer(1, WornChange::TakenOff, 0.5);
    node.order(ms(160), take_off(1));
    node.frame(ms(200), ONE, vec![ObjectChange::Removed(temporary(1))], vec![off]);
    ask(&mut node, ms(210), 1, &[1]);
    node.wardrobe.is_look_due = true;
    assert_eq!(states(&mut node, ms(4_999)), []);
    assert_eq!(node.wardrobe.questions.len(), 1);
    node.wardrobe.is_look_due = true;
    assert_eq!(states(&mut node, UNTIL), []);
    assert_eq!(node.wardrobe.questions, []);

    node.order(ms(6_000), WardrobeOrder::Gone { agent: ADA, session: SESSION });
    let later = ms(6_000) + 2 * MEMORY;
    node.wardrobe.drive(later, &mut node.regions);
    let question = WornQuestion { number: 2, agent: ADA, items: vec![item(1)], until: later + MEMORY };
    node.order(later, WardrobeOrder::Ask(question));
    assert_eq!(states(&mut node, later), [], "its save has not come yet");
    end_save(&mut node, later, ONE, true);
    assert_eq!(states(&mut node, later), [(2, WornState::Free)]);
}

#[test]
fn a_take_off_that_is_undone_ends_the_wait() {
    let mut node = Node::new();
    node.order(ms(100), arrived(Some(ONE), &[1]));
    node.frame(ms(150), ONE, vec![shown(1, 0.5)], Vec::new());
    node.order(ms(160), take_off(1));
    let off = node.transfer(1, WornChange::TakenOff, 0.5);
    node.frame(ms(200), ONE, vec![ObjectChange::Removed(temporary(1))], vec![off]);
    ask(&mut node, ms(210), 1, &[1]);
    assert_eq!(states(&mut node, ms(210)), []);
    // The world goes back to a time when it was worn.
    node.wardrobe.take_news(ms(300), ONE, WornNews::Lost(worn(1)), &mut node.regions);
    assert_eq!(states(&mut node, ms(300)), [(1, WornState::Worn)]);
}
