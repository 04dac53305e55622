//! Instances with visitors on their way in.

use super::*;

#[test]
fn an_instance_is_neither_parked_nor_ended_under_a_visitor_on_its_way_in() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 3));
    let one = node.create(1);
    let admitting = node.instances.admit(one).unwrap();
    let world = admitting.scene.world;
    assert!(node.instances.longest_empty().is_err(), "it is no candidate");
    for patience in [Patience::None, Patience::Over] {
        assert!(node.instances.begin_to_park(&[world], patience).is_empty());
    }
    let begin_to_end = || node.instances.begin_turn(&mut node.instances.table(), world, Work::Ending);
    assert!(begin_to_end().is_none(), "its end waits for the answer of the hub");
    node.write();
    assert_eq!(node.state(one), "active");
    std::thread::scope(|scope| {
        let end = scope.spawn(|| node.instances.end(one));
        drop(admitting);
        end.join().expect("no panic").expect("it ends once the hub has answered");
    });
    assert!(node.instances.get(one).is_err());
}

#[test]
fn a_census_from_before_an_admission_says_nothing_of_the_instance() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 3));
    let one = node.create(1);
    let is_occupied = |census: &Census| {
        let mut table = node.instances.table();
        let world = table.get(one).unwrap().world;
        let active = table.entry_mut(world).and_then(Entry::active_mut).unwrap();
        census.is_occupied(world, active)
    };
    let before = node.instances.census();
    assert!(!is_occupied(&before));
    let admitting = node.instances.admit(one).unwrap();
    let during = node.instances.census();
    assert!(is_occupied(&before) && is_occupied(&during));
    drop(admitting);
    assert!(is_occupied(&before) && is_occupied(&during), "the visitor may be in neither");
    assert!(!is_occupied(&node.instances.census()), "the hub knows of no visitor");
}

#[test]
fn a_passage_that_panics_ends_its_admission() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 3));
    let one = node.create(1);
    catch_unwind(AssertUnwindSafe(|| node.instances.enter_as(one, None, |_| panic!("as it might"))))
        .unwrap_err();
    node.instances.park(one).unwrap();
    assert_eq!(node.state(one), "parked");
}
