//! Instances that are created, saved, suspended, resumed and found again.

use super::*;
use std::collections::BTreeSet;
use world::Beginning;

#[test]
fn a_visited_instance_is_saved_when_suspended_and_resumed_under_its_number() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    assert_eq!(node.states([one, two]), ["active", "active"]);
    node.visit(one);
    node.instances.suspend(one).unwrap();
    node.instances.suspend(two).unwrap();
    node.instances.suspend(two).unwrap();
    assert_eq!(node.states([one, two]), ["suspended", "suspended"]);
    assert!(has_image(&data, one) && !has_image(&data, two), "the other one had no visitor");
    assert_eq!(node.counts(), (2, 0));
    let world = node.instances.get(one).unwrap().summary.world;
    let inbox_of = |world| node.worlds.inboxes.of(world);
    assert!(inbox_of(world).is_none());
    node.visit(one);
    assert_eq!(node.state(one), "active");
    assert!(inbox_of(world).is_some(), "it has its number still");
    for former in ["parked", "suspended"] {
        assert_eq!(node.metric(&format!("throng_instances_{former}_total")), 2.0);
    }
    for former in ["woken", "resumed"] {
        assert_eq!(node.metric(&format!("throng_instances_{former}_total")), 1.0);
    }
    assert_eq!(node.metric(r#"throng_instance_states_saved_total{what="image"}"#), 1.0);
}

#[test]
fn the_time_in_a_state_begins_with_the_state_and_not_with_an_attempt_to_leave_it() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let since = |node: &Node, id| node.get(id).summary.since;
    let one = node.create(1);
    let made_at = since(&node, one);
    assert!(made_at > Instant::ZERO);
    node.visit(one);
    node.fail(1);
    node.instances.suspend(one).unwrap_err();
    assert_eq!((node.state(one), since(&node, one)), ("active", made_at));
    node.instances.suspend(one).unwrap();
    let suspended_at = since(&node, one);
    assert!(suspended_at > made_at);
    node.instances.resume(one).unwrap();
    let active_at = since(&node, one);
    assert!(active_at > suspended_at);
    node.instances.resume(one).unwrap();
    assert_eq!((node.state(one), since(&node, one)), ("active", active_at), "there was nothing to do");
    assert_eq!(node.stop(Vec::new()), 0);
    let node = Node::start(&data, &config(&["Cave"], 5));
    assert_eq!((node.state(one), since(&node, one)), ("suspended", Instant::ZERO));
}

#[test]
fn they_are_there_again_after_the_process_has_ended() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave", "Cellar"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    let cellar =
        InstanceOrder { template: "Cellar".into(), name: Some("Ada's".into()), ..InstanceOrder::default() };
    let cellar = node.instances.create(cellar).unwrap().0;
    assert_eq!(node.stop(Vec::new()), 0);
    let node = Node::start(&data, &config(&["Cave"], 5));
    assert_eq!(node.list().len(), 3);
    assert_eq!(node.states([one, two, cellar]), ["suspended"; 3]);
    node.visit(one);
    node.visit(two);
    assert_eq!(node.states([one, two]), ["active", "active"]);
    let refusal = node.refusal(cellar);
    assert!(matches!(refusal, Refusal::Instance(InstanceRefusal::TemplateGone(_))), "{refusal}");
    assert_eq!(node.state(cellar), "suspended");
    node.instances.end(two).unwrap();
    drop(node);
    let node = Node::start(&data, &config(&["Cave", "Cellar"], 5));
    assert_eq!(node.list().len(), 2);
    node.visit(cellar);
    assert_eq!(&*node.get(cellar).summary.row.name, "Ada's");
}

#[test]
fn a_repeated_order_by_its_id_creates_one() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave", "Cellar"], 5));
    let order = |template: &str| InstanceOrder { template: template.into(), ..Node::order(1) };
    let id = Uuid::from_u128(1);
    assert_eq!(node.instances.create(order("Cave")).unwrap(), (id, true));
    assert_eq!(node.instances.create(order("cave")).unwrap(), (id, false));
    let refusal = node.instances.create(order("Cellar")).unwrap_err();
    assert!(matches!(refusal, Refusal::Instance(InstanceRefusal::Taken(_))), "{refusal}");
}

#[test]
fn an_instance_that_cannot_be_saved_continues_and_is_saved_later() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.fail(2);
    for _ in 0..2 {
        let refusal = node.instances.suspend(one).unwrap_err();
        assert!(is_unsaved(&refusal), "{refusal}");
        assert_eq!(node.state(one), "active");
        assert!(node.instance_store.trouble().is_some_and(|trouble| trouble.contains("ordered")));
    }
    node.with_stepper(one, |_| {});
    node.instances.suspend(one).unwrap();
    assert_eq!(node.instance_store.trouble(), None);
    assert!(has_image(&data, one));
    // Nor does one come into the world that would not be found again, or go that comes back.
    node.fail(1);
    assert!(node.try_to_create(2).is_err_and(|why| is_unsaved(&why)));
    node.fail(1);
    assert!(node.instances.end(one).is_err_and(|why| is_unsaved(&why)));
    node.fail(1);
    assert!(is_unsaved(&node.refusal(one)));
    assert_eq!((node.list().len(), node.state(one)), (1, "suspended"));
    node.visit(one);
}

#[test]
fn an_unchanged_instance_leaves_memory_although_others_cannot_be_saved() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.fail(1_000);
    assert_eq!(node.stop(Vec::new()), 1);
    assert!(!has_image(&data, one) && !has_image(&data, two));
}

#[test]
fn a_damaged_state_admits_no_visitor_and_costs_no_other_instance() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.visit(two);
    assert_eq!(node.stop(Vec::new()), 0);
    {
        let store = Store::open(&url(&data)).unwrap();
        let image = store.instance_state(one).unwrap().image.unwrap().bytes;
        drop(store);
        damage(&path(&data), &image);
    }
    let node = Node::start(&data, &config(&["Cave"], 5));
    for _ in 0..2 {
        let refusal = node.refusal(one);
        assert!(refusal.to_string().contains("set aside"), "{refusal}");
        assert_eq!(node.state(one), "suspended");
    }
    assert_eq!(node.metric("throng_instances_damaged_total"), 1.0);
    node.visit(two);
    // Bytes that are as they were written and make no world.
    node.instances.suspend(two).unwrap();
    let state = store::State { id: two, sequence: node.instance_store.next_sequence(), bytes: vec![1, 0, 9] };
    node.instance_store.save(&[state]).unwrap();
    assert!(node.refusal(two).to_string().contains("left as it is"));
    assert_eq!(node.metric("throng_instances_damaged_total"), 2.0);
    assert_eq!(node.counts(), (2, 0));
    let n_troubled = |node: &Node| {
        node.instances.list().unwrap().into_iter().filter(|summary| summary.trouble.is_some()).count()
    };
    assert_eq!(n_troubled(&node), 2);
    drop(node);
    let node = Node::start(&data, &config(&["Cave"], 5));
    assert_eq!(n_troubled(&node), 1, "perhaps this build can read it");
    assert!(node.refusal(two).to_string().contains("left as it is"));
    assert!(has_image(&data, two), "no visitor enters a new world by mistake, and nothing is lost");
    node.instances.end(one).unwrap();
    let again = node.create(1);
    node.visit(again);
}

#[test]
fn a_state_of_another_version_is_left_alone() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.instances.suspend(one).unwrap();
    let sequence = node.instance_store.next_sequence();
    let state = store::State { id: one, sequence, bytes: b"THRI\x09\0\0\0".to_vec() };
    node.instance_store.save(&[state]).unwrap();
    for _ in 0..2 {
        assert!(matches!(node.refusal(one), Refusal::Instance(InstanceRefusal::Blocked(_))));
        assert!(node.get(one).trouble.is_some_and(|trouble| trouble.contains("version 9")));
    }
    assert!(has_image(&data, one));
}

#[test]
fn the_longest_empty_instance_makes_room_for_a_requested_one() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 2));
    let (one, two, three) = (node.create(1), node.create(2), node.create(3));
    assert_eq!(node.states([one, two, three]), ["active", "active", "suspended"]);
    // Instances without any visitor so far make room like others.
    node.instances.resume(three).unwrap();
    assert_eq!(node.states([one, two, three]), ["suspended", "active", "active"]);
    node.visit(two);
    node.instances.resume(one).unwrap();
    assert_eq!(node.states([one, two, three]), ["active", "suspended", "active"]);
    assert!(has_image(&data, two));
    // They are spared, since visitors are expected.
    let refusal = node.refusal(two);
    assert!(matches!(refusal, Refusal::Instance(InstanceRefusal::ActiveFull(2))), "{refusal}");
}

#[test]
fn an_instance_under_creation_is_acknowledged_when_it_is_on_the_disk() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let id = Uuid::from_u128(1);
    node.strike(FaultEffect::Slow, 300, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| node.create(1));
        node.wait_until("it is being created", |node| node.instances.get(id).is_ok());
        node.create(1);
        let kept = Store::open(&url(&data)).unwrap().instances().unwrap().instances;
        assert_eq!(kept.len(), 1, "it was acknowledged");
    });
}

#[test]
fn a_panic_costs_neither_a_world_that_is_being_suspended_nor_a_place_among_instances() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.strike(FaultEffect::Panic, 0, 1);
    assert!(is_unsaved(&node.instances.suspend(one).unwrap_err()));
    assert_eq!(node.state(one), "active");
    node.with_stepper(one, |_| {});
    // The report is on its way before the panic is counted.
    node.wait_until("it is counted", |node| node.metric("throng_instances_panics_total") == 1.0);
    let survives = |work: &dyn Fn()| node.workplace().survives("journal", work);
    assert!(survives(&|| {}) && !survives(&|| panic!("as ordered")));
    assert_eq!(node.metric("throng_instances_panics_total"), 2.0);
    node.instances.suspend(one).unwrap();
    assert!(has_image(&data, one));
    node.strike(FaultEffect::Panic, 0, 1);
    assert!(node.try_to_create(2).is_err_and(|why| is_unsaved(&why)));
    assert_eq!(node.list().len(), 1);
    node.create(2);
}

#[test]
fn an_instance_that_begins_empty_after_panics_keeps_its_saved_state() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.instances.suspend(one).unwrap();
    let saved = image(&data, one).expect("it was visited");
    node.visit(one);
    assert_eq!(node.with_stepper(one, |stepper| stepper.begin_again(3, |_| Vec::new()).0), Beginning::Empty);
    let trouble = || node.get(one).trouble;
    assert!(trouble().is_some_and(|trouble| trouble.contains("begun anew")));
    node.visit(one);
    // The save that the visit calls for is over at once, since nothing is to be kept.
    node.wait_until("nothing is to be saved", |node| {
        node.write();
        node.instances.query(|registry| registry.unsaved().count()).unwrap() == 0
    });
    node.instances.suspend(one).unwrap();
    assert_eq!(image(&data, one).as_ref(), Some(&saved));
    node.visit(one);
    assert_eq!(trouble(), None, "it has gone on from there");
    // One life that was cut short is no reason for that.
    assert_eq!(node.with_stepper(one, |stepper| stepper.begin_again(1, |_| Vec::new()).0), Beginning::Newest);
    node.instances.suspend(one).unwrap();
    assert!(image(&data, one).is_some_and(|image| image.sequence > saved.sequence));
}

#[test]
fn a_failure_before_the_next_attempt_does_not_prolong_the_pause() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.fail(20);
    let pauses: BTreeSet<Instant> = (0..20)
        .filter_map(|_| {
            node.instances.suspend(one).unwrap_err();
            node.instance_store.rests_until()
        })
        .collect();
    assert!(pauses.len() < 5, "{pauses:?}");
}

#[test]
fn worlds_that_are_down_at_the_stop_have_their_last_checkpoint_saved() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.visit(two);
    let (_, stepper) = node.take_down(one);
    node.fail(1);
    assert_eq!(node.stop(vec![Down::of(stepper, 1)]), 0);
    assert!(has_image(&data, one) && has_image(&data, two));
}

#[test]
fn each_of_many_concurrent_requests_finds_the_instance() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    for _ in 0..5 {
        node.visit(one);
        std::thread::scope(|scope| {
            scope.spawn(|| node.instances.suspend(one).unwrap());
            for _ in 0..4 {
                scope.spawn(|| node.instances.resume(one).unwrap());
            }
        });
        assert!(matches!(node.state(one), "active" | "suspended"));
    }
}

#[test]
fn the_journal_saves_a_left_instance_and_an_empty_one_is_suspended() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    let saved = |node: &Node| node.metric(r#"throng_instance_states_saved_total{what="image"}"#);
    let n_unsaved = |node: &Node| node.instances.query(|registry| registry.unsaved().count()).unwrap();
    let is_saved = |node: &Node| {
        node.write();
        n_unsaved(node) == 0
    };
    node.wait_until("it is saved", is_saved);
    assert_eq!((node.state(one), has_image(&data, one), saved(&node)), ("active", true, 1.0));
    (0..3).for_each(|_| node.write());
    assert_eq!(saved(&node), 1.0, "it had no visitor since");
    node.visit(one);
    node.fail(1);
    node.wait_until("it is saved although the first attempt fails", is_saved);
    assert_eq!((saved(&node), node.metric("throng_instance_save_failures_total")), (2.0, 1.0));
    node.instances.suspend(one).unwrap();
    assert_eq!(saved(&node), 2.0, "it was saved already");
    drop(node);
    let mut config = config(&["Cave"], 5);
    config.limits.suspend_after = Duration::ZERO;
    let node = Node::start(&data, &config);
    node.occupy(one);
    node.crowd.sent().occupants.clear();
    node.wait_until("it is suspended by itself", |node| node.state(one) == "suspended");
}

#[test]
fn an_instance_is_neither_suspended_nor_left_behind_with_visitors() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.occupy(one);
    assert!(matches!(node.instances.suspend(one), Err(Refusal::Instance(InstanceRefusal::InUse))));
    assert_eq!(node.state(one), "active");
    let world = node.world(one);
    node.instances.end(one).unwrap();
    assert_eq!(node.crowd.sent().occupants.get(&world), None, "they were sent back");
    node.wait_until("its world is gone", |node| node.worlds.inboxes.of(world).is_none());
}

#[test]
fn a_passage_that_panics_ends_its_admission() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 3));
    let one = node.create(1);
    node.crowd.sent().panics = true;
    assert!(matches!(node.try_to_enter(one), Err(Refusal::Passage(_))));
    node.instances.suspend(one).unwrap();
    assert_eq!(node.state(one), "suspended");
}
