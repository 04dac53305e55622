//! Templates whose files change, and what becomes of instances that sleep, are being created, or panic with what the files say now.

use super::*;
use crate::instances::workplace::InstanceWorkplace;
use crate::instances::workplace::{StartOrder, StartPlan};
use host::registry::SuspendTarget;
use ids::Epoch;
use schedule::{Task, TaskId};
use world::{Beginning, NpcCast, World};

const NPCS: &str = "\
behaviours = [\"cave.behaviour\"]
[[kind]]
name = \"dweller\"
[[npc]]
kind = \"dweller\"
behaviour = \"stroll\"
name = \"Dweller\"
position = [90, 90]
";

/// A node with a template whose files are beside its data.
fn node(data: &TempDir) -> Node {
    write(data, "wander within 9 m");
    let mut config = config(&["Cave"], 5);
    config.templates[0].npcs = Some(data.path().join("cave.toml"));
    Node::start(data, &config)
}

fn write(data: &TempDir, stroll_is: &str) {
    std::fs::write(data.path().join("cave.toml"), NPCS).unwrap();
    std::fs::write(data.path().join("cave.behaviour"), format!("behaviour stroll: {stroll_is}\n")).unwrap();
}

impl Node {
    /// The files change, and are read again; how many instances go over to that.
    fn reload(&self, data: &TempDir, stroll_is: &str) -> usize {
        write(data, stroll_is);
        self.instances.reload("Cave").unwrap().n_adopting
    }

    fn cast(&self) -> Arc<NpcCast> {
        self.workplace().catalog().template("Cave").unwrap().cast.clone().expect("the template has a cast")
    }

    fn begin_again(&self, id: Uuid, in_a_row: u32) -> Beginning {
        self.with_stepper(id, |stepper| stepper.begin_again(in_a_row, |_| Vec::new()).0)
    }

    /// A second of steps, which a world without visitors does not make by itself.
    fn pass_a_second(&self, id: Uuid) {
        self.with_stepper(id, |stepper| pass_a_second(&self.instances.clock, stepper));
    }
}

fn pass_a_second(clock: &Clock, stepper: &mut Stepper) {
    let step = |stepper: &mut Stepper| {
        stepper.step(&schedule::StepStart {
            id: TaskId(0),
            tick: stepper.next_tick(),
            dt: Duration::from_millis(50),
            dilation: 1.0,
            at: clock(),
            late_by: Duration::ZERO,
        });
    };
    (0..20).for_each(|_| step(stepper));
}

#[test]
fn a_sleeping_world_is_not_woken_for_a_reload() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let (one, two) = (node.create(1), node.create(2));
    // Worlds idle only after their replicas have the full state.
    node.pass_a_second(one);
    node.pass_a_second(two);
    assert_eq!(node.reload(&data, "sit"), 2);
    assert!(node.inbox(one).waiting.is_empty(), "it may go on sleeping");
    node.pass_a_second(one);
    assert!(node.inbox(one).waiting.take_reload().is_none(), "it was made");
    assert!(node.inbox(two).waiting.take_reload().is_some_and(|waits| Arc::ptr_eq(waits.to(), &node.cast())));
}

#[test]
fn an_instance_under_construction_gets_the_newest_files() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let workplace: &InstanceWorkplace = node.workplace();
    let world = WorldId(99);
    let order = StartOrder {
        is_first: true,
        world,
        id: Uuid::from_u128(99),
        template: "Cave".into(),
        name: "Cave".into(),
        local_ids: 1..10_000,
    };
    let plan = StartPlan::new(&workplace.catalog(), order, Epoch(1)).unwrap();
    // Neither waits for the other.
    assert_eq!(node.reload(&data, "sit"), 0);
    let made = World::new(plan.config.clone());
    workplace.found(plan, made, 0).unwrap();
    let inbox = node.worlds.inboxes.of(world).unwrap();
    assert!(inbox.waiting.has_cast(&node.cast()));
    let mut stepper = node.worlds.workplace().take_out(&inbox).unwrap();
    pass_a_second(&node.instances.clock, &mut stepper);
    assert!(inbox.waiting.take_reload().is_none(), "it was made");
    assert!(Arc::ptr_eq(stepper.cast().unwrap(), &node.cast()));
    // A later instance has it from the beginning.
    let other = node.create(2);
    assert!(node.inbox(other).waiting.has_cast(&node.cast()));
    assert!(node.inbox(other).waiting.take_reload().is_none());
}

#[test]
fn a_world_resumes_with_its_former_cast_until_the_files_change() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let (one, two) = (node.create(1), node.create(2));
    for id in [one, two] {
        node.visit(id);
        node.pass_a_second(id);
    }
    node.reload(&data, "sit");
    for id in [one, two] {
        node.pass_a_second(id);
        assert_eq!([1, 2].map(|n| node.begin_again(id, n)), [Beginning::Newest, Beginning::Former]);
        node.instances.suspend(id).unwrap();
    }
    let is_troubled = |id| node.get(id).trouble.is_some_and(|trouble| trouble.contains("gone back"));
    assert!(is_troubled(one) && node.state(one) == "suspended");
    node.visit(one);
    assert!(is_troubled(one));
    assert!(!node.inbox(one).waiting.has_cast(&node.cast()), "it is not tried again");
    assert_eq!(node.reload(&data, "sit"), 0, "the file is still faulty");
    node.pass_a_second(one);
    assert!(is_troubled(one));
    node.instances.suspend(one).unwrap();
    node.visit(one);
    assert!(is_troubled(one));

    assert_eq!(node.reload(&data, "wait 9 s"), 1, "the other one is suspended");
    node.pass_a_second(one);
    assert!(!is_troubled(one) && !is_troubled(two));
    node.visit(two);
    for id in [one, two] {
        assert!(node.inbox(id).waiting.has_cast(&node.cast()));
        assert!(node.with_stepper(id, |stepper| Arc::ptr_eq(stepper.cast().unwrap(), &node.cast())));
    }
    assert!(!is_troubled(two));
}

#[test]
fn a_rejected_cast_is_not_offered_during_a_suspension() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.pass_a_second(one);
    node.reload(&data, "sit");
    node.pass_a_second(one);
    assert_eq!([1, 2].map(|n| node.begin_again(one, n)), [Beginning::Newest, Beginning::Former]);
    let target = SuspendTarget { world: node.world(one), is_changed: true };
    let leaving = node.workplace().take_out(&target);
    assert!(leaving.is_some());
    assert_eq!(node.reload(&data, "sit"), 0, "the file is still faulty");
    // It could not be saved.
    drop(leaving);
    node.with_stepper(one, |_| {});
    assert!(node.inbox(one).waiting.take_reload().is_none());
}

#[test]
fn a_change_that_a_world_has_taken_and_not_made_is_offered_again_when_the_files_are_read() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let (one, two) = (node.create(1), node.create(2));
    [one, two].into_iter().for_each(|id| node.pass_a_second(id));
    // Out of the pool, whose next step would make the change.
    let beginning = node.with_stepper(one, |stepper| {
        assert_eq!(node.reload(&data, "sit"), 2);
        assert!(node.inbox(one).waiting.take_reload().is_some(), "it panics then");
        stepper.begin_again(1, |_| Vec::new()).0
    });
    assert_eq!(beginning, Beginning::Newest);
    assert!(!node.inbox(one).waiting.has_cast(&node.cast()));
    assert_eq!(node.reload(&data, "sit"), 1, "the other one has it");
    node.pass_a_second(one);
    assert!(node.with_stepper(one, |stepper| Arc::ptr_eq(stepper.cast().unwrap(), &node.cast())));
}

#[test]
fn the_last_reference_to_a_change_is_not_freed_in_a_step() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.pass_a_second(one);
    node.reload(&data, "sit");
    node.pass_a_second(one);
    node.begin_again(one, 1);
    // Out of the pool, whose next step would make the change.
    let (beginning, made) = node.with_stepper(one, |stepper| {
        node.reload(&data, "wait 9 s");
        let (beginning, _) = stepper.begin_again(2, |_| Vec::new());
        (beginning, node.inbox(one).waiting.take_reload())
    });
    assert_eq!(beginning, Beginning::Former);
    let made = made.expect("it leads on from there");
    assert_eq!(Arc::strong_count(&made), 2, "what waited has it still");
}

#[test]
fn the_former_cast_of_a_world_that_is_down_is_saved_although_the_first_attempt_fails() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.pass_a_second(one);
    node.reload(&data, "sit");
    node.pass_a_second(one);
    let (_, stepper) = node.take_down(one);
    node.fail(1);
    assert_eq!(node.stop(vec![Down::of(stepper, 2)]), 0);
    assert!(has_image(&data, one));
}

#[test]
fn a_world_that_panics_with_new_files_goes_back_and_tries_the_next_ones() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.pass_a_second(one);
    let trouble = || node.get(one).trouble;
    node.reload(&data, "sit");
    node.pass_a_second(one);
    assert_eq!((node.begin_again(one, 1), trouble()), (Beginning::Newest, None));
    assert_eq!(node.begin_again(one, 2), Beginning::Former);
    assert!(trouble().is_some_and(|trouble| trouble.contains("gone back")));
    assert!(!node.inbox(one).waiting.has_cast(&node.cast()));
    node.pass_a_second(one);
    assert!(trouble().is_some(), "the file is still faulty");

    assert_eq!(node.reload(&data, "wait 9 s"), 1);
    node.pass_a_second(one);
    assert_eq!(trouble(), None, "it has gone over to that");

    // They are mended before it has gone back.
    assert_eq!(node.begin_again(one, 3), Beginning::Newest);
    // A world idles only after it has sent its state, even an empty one.
    node.pass_a_second(one);
    assert_eq!(node.reload(&data, "wait 8 s"), 1);
    let again = |stepper: &mut Stepper| (stepper.begin_again(4, |_| Vec::new()).0, trouble());
    let (beginning, told) = node.with_stepper(one, again);
    assert_eq!(beginning, Beginning::Former);
    assert!(told.is_some());
    assert!(node.inbox(one).waiting.has_cast(&node.cast()), "this waits for it");
    node.pass_a_second(one);
    assert_eq!(trouble(), None, "it has gone over to that");
    node.instances.suspend(one).unwrap();
    assert!(has_image(&data, one), "nothing of it was given up");
}

#[test]
fn a_state_that_does_not_fit_the_files_is_reported_and_resumes_once_they_fit_again() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.instances.suspend(one).unwrap();
    let write_one_more = |npcs: String| {
        write(&data, "wander within 9 m");
        std::fs::write(data.path().join("cave.toml"), npcs).unwrap();
        assert!(node.instances.reload("Cave").unwrap().has_changed);
    };
    write_one_more(NPCS.replace("name = \"Dweller\"", "name = \"Miner\""));
    for _ in 0..2 {
        let refusal = node.refusal(one);
        assert!(matches!(refusal, Refusal::Instance(InstanceRefusal::Blocked(_))), "{refusal}");
        assert_eq!(node.get(one).trouble, Some(refusal.to_string()));
        assert_eq!(node.state(one), "suspended");
    }
    write_one_more(NPCS.to_owned());
    assert_eq!(node.get(one).trouble, None);
    node.visit(one);
}
