//! Templates whose files change, and what becomes of instances that sleep, are being made, or panic with what the files say now.

use super::*;
use crate::serve::instances::wake::Made;
use crate::serve::worlds::Stepper;
use schedule::{Task, TaskId};
use world::{Cast, World};

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
    config.template[0].npcs = data.path().join("cave.toml");
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

    fn cast(&self) -> Arc<Cast> {
        self.instances.table().template("Cave").unwrap().cast.clone().expect("somebody lives there")
    }

    fn inbox(&self, id: Uuid) -> Inbox {
        let world = self.instances.table().get(id).unwrap().world;
        self.instances.inboxes.of(world).expect("it is in the pool")
    }

    fn begin_again(&self, id: Uuid, in_a_row: u32) -> Beginning {
        self.with_stepper(id, |stepper| stepper.begin_again(in_a_row, |_| Vec::new()).0)
    }

    /// A second of steps, which a world without visitors does not make by itself.
    fn pass_a_second(&self, id: Uuid) {
        let clock = &self.instances.clock;
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
        self.with_stepper(id, |stepper| (0..20).for_each(|_| step(stepper)));
    }
}

#[test]
fn who_sleeps_is_left_alone_until_it_wakes() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let (one, two) = (node.create(1), node.create(2));
    // Until their replicas have been told who is there, they do not sleep.
    node.pass_a_second(one);
    node.pass_a_second(two);
    assert_eq!(node.reload(&data, "sit"), 2);
    assert!(node.inbox(one).waiting.is_empty(), "it may go on sleeping");
    node.pass_a_second(one);
    assert!(node.inbox(one).waiting.take_recast().is_none(), "it was made");
    assert!(node.inbox(two).waiting.take_recast().is_some_and(|waits| Arc::ptr_eq(waits.to(), &node.cast())));
}

#[test]
fn an_instance_that_was_being_made_is_told_what_the_files_say_by_now() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let id = Uuid::from_u128(1);
    let wanted = Wanted { id, template: "cave".into(), name: None, owner: None, created_s: 0 };
    let (row, turn) = node.instances.make(wanted).unwrap();
    node.instances.depot.create(&row).unwrap();
    let seated = node.instances.seat(turn.world).unwrap();
    // Neither waits for the other.
    assert_eq!(node.reload(&data, "sit"), 0);
    let made = Made { world: World::new(seated.config.clone()), kept_bytes: 0 };
    let room = node.instances.room_for(turn.world).unwrap();
    let active = node.instances.found(seated, made, room, Instant::ZERO).unwrap();
    turn.end(active);
    assert!(node.inbox(id).waiting.has_cast(&node.cast()));
    node.pass_a_second(id);
    assert!(node.inbox(id).waiting.take_recast().is_none(), "it was made");
    // One that is made after that has it from the beginning.
    let other = node.create(2);
    assert!(node.inbox(other).waiting.has_cast(&node.cast()));
    assert!(node.inbox(other).waiting.take_recast().is_none());
}

#[test]
fn what_it_has_gone_back_to_it_is_woken_with_until_the_files_say_something_else() {
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
        node.instances.park(id).unwrap();
    }
    let is_troubled =
        |id| node.instances.get(id).unwrap().trouble.is_some_and(|told| told.contains("gone back"));
    assert!(is_troubled(one) && node.state(one) == "parked");
    node.visit(one);
    assert!(is_troubled(one));
    assert!(!node.inbox(one).waiting.has_cast(&node.cast()), "it is not tried again");
    assert_eq!(node.reload(&data, "sit"), 0, "nobody has mended anything");
    node.pass_a_second(one);
    assert!(is_troubled(one));
    node.instances.park(one).unwrap();
    node.visit(one);
    assert!(is_troubled(one));

    assert_eq!(node.reload(&data, "wait 9 s"), 1, "the other one is parked");
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
fn what_it_has_gone_back_from_it_is_not_given_while_somebody_tries_to_park_it() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.pass_a_second(one);
    node.reload(&data, "sit");
    node.pass_a_second(one);
    assert_eq!([1, 2].map(|n| node.begin_again(one, n)), [Beginning::Newest, Beginning::Former]);
    let world = node.instances.table().get(one).unwrap().world;
    let turns = node.instances.begin_to_park(&[world], Patience::Over);
    assert_eq!(node.state(one), "parking");
    assert_eq!(node.reload(&data, "sit"), 0, "nobody has mended anything");
    // It could not be saved.
    drop(turns);
    assert_eq!(node.state(one), "active");
    assert!(node.inbox(one).waiting.take_recast().is_none());
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
        assert!(node.inbox(one).waiting.take_recast().is_some(), "it panics then");
        stepper.begin_again(1, |_| Vec::new()).0
    });
    assert_eq!(beginning, Beginning::Newest);
    assert!(!node.inbox(one).waiting.has_cast(&node.cast()));
    assert_eq!(node.reload(&data, "sit"), 1, "the other one has it");
    node.pass_a_second(one);
    assert!(node.with_stepper(one, |stepper| Arc::ptr_eq(stepper.cast().unwrap(), &node.cast())));
}

#[test]
fn a_change_that_nobody_else_has_is_not_freed_in_a_step() {
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
        (beginning, node.inbox(one).waiting.take_recast())
    });
    assert_eq!(beginning, Beginning::Former);
    let made = made.expect("it leads on from there");
    assert_eq!(Arc::strong_count(&made), 2, "what waited has it still");
}

#[test]
fn what_a_world_that_is_down_goes_back_to_is_saved_at_last_although_the_first_attempt_fails() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.pass_a_second(one);
    node.reload(&data, "sit");
    node.pass_a_second(one);
    let stepper = node.instances.workplace.take_out(&node.inbox(one)).expect("it is in the pool");
    node.fail(1);
    assert_eq!(node.instances.save_at_last(vec![Down::of(stepper, 2)]), 0);
    assert!(has_image(&data, one));
}

#[test]
fn one_that_panics_with_what_the_files_say_goes_back_and_tries_what_they_say_next() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.pass_a_second(one);
    let trouble = || node.instances.get(one).unwrap().trouble;
    node.reload(&data, "sit");
    node.pass_a_second(one);
    assert_eq!((node.begin_again(one, 1), trouble()), (Beginning::Newest, None));
    assert_eq!(node.begin_again(one, 2), Beginning::Former);
    assert!(trouble().is_some_and(|trouble| trouble.contains("gone back")));
    assert!(!node.inbox(one).waiting.has_cast(&node.cast()));
    node.pass_a_second(one);
    assert!(trouble().is_some(), "nobody has mended anything");

    assert_eq!(node.reload(&data, "wait 9 s"), 1);
    node.pass_a_second(one);
    assert_eq!(trouble(), None, "it has gone over to that");

    // They are mended before it has gone back.
    assert_eq!(node.begin_again(one, 3), Beginning::Newest);
    // Until it has told who is there, which is nobody, it does not sleep.
    node.pass_a_second(one);
    assert_eq!(node.reload(&data, "wait 8 s"), 1);
    let again = |stepper: &mut Stepper| (stepper.begin_again(4, |_| Vec::new()).0, trouble());
    let (beginning, told) = node.with_stepper(one, again);
    assert_eq!(beginning, Beginning::Former);
    assert!(told.is_some());
    assert!(node.inbox(one).waiting.has_cast(&node.cast()), "this waits for it");
    node.pass_a_second(one);
    assert_eq!(trouble(), None, "it has gone over to that");
    node.instances.park(one).unwrap();
    assert!(has_image(&data, one), "nothing of it was given up");
}

#[test]
fn what_does_not_fit_the_files_says_so_and_is_woken_once_they_fit_again() {
    let data = tempfile::tempdir().unwrap();
    let node = node(&data);
    let one = node.create(1);
    node.visit(one);
    node.instances.park(one).unwrap();
    let write_one_more = |npcs: String| {
        write(&data, "wander within 9 m");
        std::fs::write(data.path().join("cave.toml"), npcs).unwrap();
        assert!(node.instances.reload("Cave").unwrap().has_changed);
    };
    write_one_more(NPCS.replace("name = \"Dweller\"", "name = \"Miner\""));
    for _ in 0..2 {
        let refusal = node.refusal(one);
        assert!(matches!(refusal, Refusal::Unfit(_)), "{refusal}");
        assert_eq!(node.instances.get(one).unwrap().trouble, Some(refusal.to_string()));
        assert_eq!(node.state(one), "parked");
    }
    write_one_more(NPCS.to_owned());
    assert_eq!(node.instances.get(one).unwrap().trouble, None);
    node.visit(one);
}
