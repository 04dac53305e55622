//! Worn before is worn after: objects go along with their avatar through logins, teleports, faults of worlds and the database, and the end of the process.

mod node;

use node::{Deed, ITEMS, Node};
use proptest::prelude::*;
use store::Store;

/// A region's step, its frame, and a save.
fn round(n: usize) -> [Deed; 5] {
    [Deed::Step(n), Deed::Hear(n, false), Deed::Poll(n), Deed::Write(n), Deed::Answer(n, true)]
}

/// An avatar that goes into a region, which shows it.
fn arrival(n: usize) -> Vec<Deed> {
    vec![Deed::Go(n), Deed::Step(n), Deed::Hear(n, false), Deed::Arrive]
}

/// Two items are put on and one of them renamed; the avatar goes into the other region, where the other one is renamed, and back after a logout; one item is taken off.
fn journey() -> Vec<Deed> {
    let rounds = |n: usize| [round(n), round(n), round(n)].concat();
    [
        arrival(0),
        rounds(0),
        vec![Deed::PutOn(0), Deed::PutOn(2)],
        rounds(0),
        vec![Deed::Rename(0)],
        rounds(0),
        arrival(1),
        rounds(0),
        rounds(1),
        vec![Deed::Rename(2)],
        rounds(1),
        vec![Deed::LogOut],
        rounds(1),
        arrival(0),
        rounds(0),
        vec![Deed::TakeOff(0)],
        rounds(0),
    ]
    .concat()
}

#[test]
fn objects_go_along_and_keep_their_edits() {
    let store = Store::open_in_memory().expect("memory");
    let mut node = Node::new(&store);
    let before = node.assets();
    node.do_all(&journey());
    node.settle();
    let worn: Vec<String> = node.stored().into_iter().map(|(_, _, name)| name).collect();
    assert_eq!(worn, ["Name 2"]);
    let after = node.assets();
    let renewed: Vec<bool> = before.iter().zip(&after).map(|(before, after)| before != after).collect();
    assert_eq!(renewed, [true, false, true], "those that were changed and taken off have new assets");
}

#[test]
fn what_is_saved_of_an_edit_outlives_the_process() {
    let store = Store::open_in_memory().expect("memory");
    let mut node = Node::new(&store);
    node.do_all(&[arrival(0), vec![Deed::PutOn(0)]].concat());
    node.settle();
    node.do_deed(Deed::Rename(0));
    node.do_all(&[round(0), round(0)].concat());
    node.do_deed(Deed::Crash);
    node.settle();
    assert_eq!(node.stored()[0].2, "Name 1");
}

#[test]
fn an_edit_before_a_panic_is_saved_when_the_world_has_begun_again() {
    let store = Store::open_in_memory().expect("memory");
    let mut node = Node::new(&store);
    node.do_all(&[arrival(0), vec![Deed::PutOn(0)], round(0).into(), round(0).into()].concat());
    node.do_all(&[Deed::Rename(0), Deed::Step(0), Deed::Panic(0)]);
    node.settle();
    assert_eq!(node.stored()[0].2, "Name 1");
}

#[test]
fn what_is_taken_off_stays_off_though_the_world_refuses_it_or_the_avatar_leaves() {
    // The world gets the order to put it on before the avatar, and has let the avatar go before the order to take it off.
    let early = vec![Deed::Go(0), Deed::Arrive, Deed::PutOn(2), Deed::TakeOff(2)];
    let leaving = vec![Deed::Go(1), Deed::Step(0), Deed::TakeOff(2)];
    let late = [arrival(0), vec![Deed::PutOn(2)], round(0).into(), leaving].concat();
    for deeds in [early, late] {
        let store = Store::open_in_memory().expect("memory");
        let mut node = Node::new(&store);
        node.do_all(&deeds);
        node.settle();
        assert_eq!(node.stored(), [], "{deeds:?}");
    }
}

#[test]
fn an_order_that_goes_out_again_behind_its_taking_off_puts_nothing_on() {
    let store = Store::open_in_memory().expect("memory");
    let mut node = Node::new(&store);
    let hear = |is_lost| Deed::Hear(0, is_lost);
    let deeds = [
        arrival(0),
        round(0).into(),
        // A frame is lost, and the next but one has a snapshot.
        vec![Deed::Step(0), hear(true), Deed::Step(0), hear(false), Deed::Step(0)],
        // The avatar wears the item in one frame, and not in the next.
        vec![Deed::PutOn(0), Deed::Step(0), Deed::Detach(0), Deed::Step(0)],
        // The keeper knows the snapshot only: the order goes out again, and comes into a later step.
        vec![hear(false), Deed::Step(0), hear(false), hear(false), hear(false)],
    ];
    node.do_all(&deeds.concat());
    node.settle();
    assert_eq!(node.stored(), []);
}

#[test]
fn what_is_worn_survives_a_fault_at_every_boundary() {
    let mut faults = vec![vec![Deed::Crash]];
    for n in 0..2 {
        faults.extend([
            vec![Deed::Panic(n)],
            vec![Deed::Step(n), Deed::Hear(n, true)],
            vec![Deed::Write(n), Deed::Crash],
            vec![Deed::Write(n), Deed::Answer(n, false)],
        ]);
    }
    let journey = journey();
    for fault in faults {
        for at in (0..=journey.len()).step_by(2) {
            let store = Store::open_in_memory().expect("memory");
            let mut node = Node::new(&store);
            node.do_all(&journey[..at]);
            node.do_all(&fault);
            node.do_all(&journey[at..]);
            node.settle();
        }
    }
}

fn deed() -> impl Strategy<Value = Deed> {
    let (region, item) = (0..2_usize, 0..ITEMS);
    prop_oneof![
        4 => region.clone().prop_map(Deed::Go),
        5 => Just(Deed::Arrive),
        1 => Just(Deed::LogOut),
        5 => item.clone().prop_map(Deed::PutOn),
        3 => item.clone().prop_map(Deed::TakeOff),
        2 => item.clone().prop_map(Deed::Detach),
        4 => item.prop_map(Deed::Rename),
        20 => region.clone().prop_map(Deed::Step),
        1 => region.clone().prop_map(Deed::Panic),
        20 => (region.clone(), prop::bool::weighted(0.1)).prop_map(|(n, is_lost)| Deed::Hear(n, is_lost)),
        10 => region.clone().prop_map(Deed::Poll),
        8 => region.clone().prop_map(Deed::Write),
        8 => (region, prop::bool::weighted(0.8)).prop_map(|(n, is_true)| Deed::Answer(n, is_true)),
        1 => Just(Deed::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn worn_before_is_worn_after(deeds in prop::collection::vec(deed(), 1..200)) {
        let store = Store::open_in_memory().expect("memory");
        let mut node = Node::new(&store);
        node.do_all(&deeds);
        node.settle();
    }
}
