use super::*;
use crate::builder::ProgramBuilder;
use crate::cell;
use crate::instruction::Op;
use crate::kind::{Kind, Value};
use crate::testing::generator;
use crate::testing::host::{Notes, library, run_all};
use crate::testing::sample::{self, load, say};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn timer() -> Event {
    Event::new(EventKind::TIMER, vec![])
}

fn instance(program: Program) -> Instance {
    Instance::new(Arc::new(program), 64 << 10, 5)
}

#[test]
fn globals_keep_their_values_between_events() {
    let mut counter = instance(sample::counter());
    let mut notes = Notes::default();
    for tick in 0..3 {
        assert!(counter.push(timer()));
        assert!(!counter.push(timer()), "one timer event at most");
        assert_eq!(run_all(&mut counter, &mut notes, tick), SliceEnd::Idle);
    }
    assert_eq!(cell::integer(counter.globals[0]), 3);
    assert_eq!(counter.n_objects(), 1, "the list");
    assert_eq!(counter.memory_used(), counter.program().bytes() + 16 + 3 * 16);
}

#[test]
fn events_without_a_handler_are_not_queued() {
    let mut counter = instance(sample::counter());
    let touch = EventKind::named("touch_start").expect("an event");
    assert!(!counter.push(Event::new(touch, vec![1.into()])));
    assert_eq!((counter.queue().len(), counter.queue().n_dropped()), (0, 0));
    assert!(!counter.is_ready(0), "no state_entry");
}

#[test]
fn a_program_that_does_not_fit_has_failed() {
    let small = Instance::new(Arc::new(sample::counter()), 100, 1);
    assert_eq!(small.failure().map(|failure| failure.error), Some(RunError::StackHeapCollision));
    assert!(!small.is_ready(0));
}

/// Two states that say what begins and ends; `touch` changes the state, `timer` sleeps in the middle.
fn two_states() -> Program {
    let mut program = ProgramBuilder::new([9; 32], Dialect::Sl);
    let total = program.global(0.into());
    let states = ["default", "other"].map(|name| program.state(name));
    let touch = EventKind::named("touch").expect("an event");
    for (n, name) in ["default", "other"].into_iter().enumerate() {
        for event in [EventKind::STATE_ENTRY, EventKind::STATE_EXIT, EventKind::TIMER, touch] {
            let handler = program.handler(states[n], event);
            let mut code = program.code(handler);
            let text = load(&mut code, format!("{name}.{}", event.name()).as_str());
            say(&mut code, text);
            let count = code.register(Kind::Integer);
            code.get(count, total);
            code.add_small(count, count, 1);
            code.set(total, count);
            if event == EventKind::TIMER {
                let row = code.row(&[Kind::Float]);
                code.load(row[0], 10.0.into());
                code.call_library("llSleep", &row, None);
                say(&mut code, count);
            }
            if event == touch {
                code.change_state(states[1 - n]);
            } else if event == EventKind::STATE_EXIT {
                code.change_state(states[n]);
            } else if event == EventKind::STATE_ENTRY && n == 0 {
                let row = code.row(&[Kind::Float]);
                code.load(row[0], 50.0.into());
                code.call_library("llSetTimerEvent", &row, None);
            }
            code.op(Op::Return, []);
            code.finish();
        }
    }
    program.finish(&library()).expect("a program that fits")
}

#[test]
fn a_change_of_state_exits_clears_and_enters() {
    let mut script = instance(two_states());
    let mut notes = Notes::default();
    run_all(&mut script, &mut notes, 0);
    let touch = Event::new(EventKind::named("touch").expect("an event"), vec![1.into()]);
    for _ in 0..3 {
        assert!(script.push(touch.clone()));
    }
    assert_eq!(run_all(&mut script, &mut notes, 0), SliceEnd::Idle);
    assert_eq!(
        notes.said,
        ["default.state_entry", "default.touch", "default.state_exit", "other.state_entry"],
        "the other touches are gone"
    );
    assert_eq!((script.state(), notes.n_ended, notes.n_reset), (1, 1, 0));
    assert_eq!(script.next_due(), Some(50), "the timer continues");
}

#[test]
fn a_sleep_goes_on_at_its_tick() {
    let mut script = instance(two_states());
    let mut notes = Notes::default();
    run_all(&mut script, &mut notes, 0);
    assert_eq!(run_all(&mut script, &mut notes, 50), SliceEnd::Sleeps(60));
    assert_eq!((script.next_due(), script.is_ready(59), script.is_ready(60)), (Some(60), false, true));
    assert_eq!(run_all(&mut script, &mut notes, 59), SliceEnd::Idle);
    assert_eq!(run_all(&mut script, &mut notes, 60), SliceEnd::Idle);
    assert_eq!(notes.said, ["default.state_entry", "default.timer", "2"]);
    assert_eq!(script.next_due(), Some(100));
}

#[test]
fn a_reset_begins_anew_and_stops_the_timer() {
    let mut script = instance(two_states());
    let mut notes = Notes::default();
    run_all(&mut script, &mut notes, 0);
    run_all(&mut script, &mut notes, 50);
    let digest = script.digest();
    script.reset(&mut notes);
    assert_eq!((script.next_due(), script.is_interrupted(), notes.n_reset), (Some(0), false, 1));
    assert_eq!(script.digest(), digest);
    notes.said.clear();
    run_all(&mut script, &mut notes, 60);
    assert_eq!(notes.said, ["default.state_entry"]);
    assert_eq!(cell::integer(script.globals[0]), 1);
}

#[test]
fn events_keep_their_distance() {
    let mut script = instance(sample::counter());
    script.script.clock.set_event_gap(10);
    let mut notes = Notes::default();
    script.push(timer());
    run_all(&mut script, &mut notes, 5);
    script.push(timer());
    assert_eq!((script.is_ready(14), script.next_due(), script.is_ready(15)), (false, Some(15), true));
}

#[test]
fn a_script_that_has_failed_waits_for_its_reset() {
    let program = sample::entry(Dialect::Sl, |code| code.op(Op::FailNoValue, []));
    let mut script = instance(program);
    let mut notes = Notes::default();
    run_all(&mut script, &mut notes, 0);
    assert!(script.failure().is_some() && !script.is_ready(9) && script.next_due().is_none());
    assert!(!script.push(Event::new(EventKind::STATE_ENTRY, vec![])));
    script.reset(&mut notes);
    assert!(script.is_ready(9) && script.failure().is_none());
}

#[test]
fn memory_is_reported_and_limited_by_the_script() {
    let program = sample::entry(Dialect::Sl, |code| {
        let n = code.register(Kind::Integer);
        code.call_library("llGetMemoryLimit", &[], Some(n));
        say(code, n);
        code.call_library("llGetUsedMemory", &[], Some(n));
        say(code, n);
        code.call_library("llGetFreeMemory", &[], Some(n));
        say(code, n);
        let row = code.row(&[Kind::Integer]);
        for limit in [70_000, 100, 4_000] {
            code.load(row[0], limit.into());
            code.call_library("llSetMemoryLimit", &row, Some(n));
            say(code, n);
        }
        code.call_library("llGetMemoryLimit", &[], Some(n));
        say(code, n);
    });
    let n_cells = 1 + 1 + 1;
    let used = program.bytes() + crate::vm::FRAME_BYTES + n_cells * crate::program::CELL_BYTES;
    let mut script = instance(program);
    let mut notes = Notes::default();
    run_all(&mut script, &mut notes, 0);
    let expected = ["65536", &used.to_string(), &(65_536 - used).to_string(), "0", "0", "1", "4000"];
    assert_eq!(notes.said, expected);
}

/// An endless loop below 100 calls.
fn deep() -> Program {
    let mut program = ProgramBuilder::new([6; 32], Dialect::Sl);
    let f = program.function("f", &[Kind::Integer], None);
    let mut code = program.code(f);
    let depth = code.parameters()[0];
    let (row, again) = (code.row(&[Kind::Integer]), code.label());
    code.add_small(row[0], depth, -1);
    code.bind(again);
    code.jump_if_not(depth, again);
    code.call(f, &row, None);
    code.op(Op::Return, []);
    code.finish();
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let row = code.row(&[Kind::Integer]);
    code.load(row[0], 100.into());
    code.call(f, &row, None);
    code.op(Op::Return, []);
    code.finish();
    program.finish(&library()).expect("a program that fits")
}

/// A copy at each slice would cost the depth of calls, for which a slice pays no fuel.
#[test]
fn an_interrupted_handler_keeps_its_frames_where_they_are() {
    let mut script = instance(deep());
    let (mut notes, mut scratch) = (Notes::default(), Scratch::default());
    for _ in 0..200 {
        assert_eq!(script.run(&mut scratch, &mut notes, 0, 100).end, SliceEnd::Spent);
    }
    let stack = |script: &Instance| {
        let stack = &script.handler.as_ref().expect("a handler").stack;
        (stack.frames.len(), stack.cells.capacity())
    };
    let cells = &mut script.handler.as_mut().expect("a handler").stack.cells;
    cells.reserve_exact(cells.len());
    let before = stack(&script);
    assert_eq!(before.0, 102);
    script.run(&mut scratch, &mut notes, 0, 100);
    assert_eq!(stack(&script), before);
    // Frames that have ended keep no memory.
    let handler = script.handler.as_mut().expect("a handler");
    handler.stack.cells.reserve_exact(10_000);
    script.run(&mut scratch, &mut notes, 0, 100);
    assert!(stack(&script).1 < 1_000, "{:?}", stack(&script));
}

#[test]
fn a_panic_in_a_slice_leaves_nothing_to_the_next_script() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let mut scratch = Scratch::default();
    let mut broken = instance(sample::entry(Dialect::Sl, |code| {
        let row = code.row(&[Kind::Text, Kind::Integer]);
        code.call_library("llPanic", &[], None);
        code.load(row[0], "never".into());
    }));
    let slice = catch_unwind(AssertUnwindSafe(|| {
        broken.run(&mut scratch, &mut Notes::default(), 0, 1_000);
    }));
    assert!(slice.is_err());
    let program = sample::entry(Dialect::Sl, |code| {
        let text = load(code, "said");
        say(code, text);
    });
    let (mut script, mut notes) = (instance(program), Notes::default());
    let slice = script.run(&mut scratch, &mut notes, 0, 1_000);
    assert_eq!((slice.end, notes.said), (SliceEnd::Done, vec!["said".to_owned()]));
    assert_eq!(script.n_objects(), 0);
}

#[test]
fn events_and_changes_of_state_take_fuel() {
    let mut script = instance(two_states());
    let mut notes = Notes::default();
    let mut scratch = Scratch::default();
    let touch = Event::new(EventKind::named("touch").expect("an event"), vec![1.into()]);
    run_all(&mut script, &mut notes, 0);
    script.push(touch);
    for _ in 0..3 {
        assert!(script.run(&mut scratch, &mut notes, 0, u64::MAX).fuel > 100);
    }
    let mut counter = instance(sample::counter());
    counter.next_state = Some(0);
    let slice = counter.run(&mut scratch, &mut notes, 0, u64::MAX);
    assert_eq!((slice.end, slice.fuel, notes.n_ended), (SliceEnd::Done, 100, 2));
}

#[test]
fn arguments_of_events_take_fuel_by_their_length() {
    let fuel = |n: usize| {
        let mut program = ProgramBuilder::new([4; 32], Dialect::Sl);
        let state = program.state("default");
        let handler = program.handler(state, generator::link_message());
        let mut code = program.code(handler);
        code.op(Op::Return, []);
        code.finish();
        let mut script = instance(program.finish(&library()).expect("a program that fits"));
        let text = "x".repeat(n);
        let arguments: Vec<Value> = vec![0.into(), 0.into(), text.as_str().into(), crate::Key::NULL.into()];
        script.push(Event::new(generator::link_message(), arguments));
        script.run(&mut Scratch::default(), &mut Notes::default(), 0, u64::MAX).fuel
    };
    assert!(fuel(10_000) > fuel(0) + 2_000, "{}", fuel(10_000));
}

#[test]
fn idle_scripts_are_small() {
    assert!(size_of::<Instance>() <= 400, "{}", size_of::<Instance>());
}

/// Objects that globals refer to, and their logical memory: all that may exist between events.
fn owned(instance: &Instance) -> (usize, usize) {
    let heap = &instance.script.heap;
    let places = &instance.program.global_places;
    let references = places.iter().filter(|(kind, _)| kind.is_reference());
    let objects: BTreeSet<Ref> = references
        .filter_map(|(_, at)| match cell::Referent::of(instance.globals[usize::from(*at)]) {
            cell::Referent::Object(of) => Some(of),
            _ => None,
        })
        .collect();
    (objects.len(), objects.iter().map(|&of| heap.get(of).bytes()).sum())
}

use crate::heap::Ref;

fn events(seed: u64) -> Vec<Event> {
    vec![timer(), Event::new(generator::link_message(), generator::message(seed)), timer()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 5_000 }))]

    /// Counts of references are exact: what is left after a handler is what globals refer to.
    #[test]
    fn nothing_is_left_of_a_handler(seed in any::<u64>()) {
        let mut script = instance(generator::program(seed));
        let (mut notes, mut scratch) = (Notes::default(), Scratch::default());
        for (n, event) in events(seed).into_iter().enumerate() {
            for _ in 0..300 {
                match script.run(&mut scratch, &mut notes, n as u64 * 1_000, 5_000).end {
                    SliceEnd::Idle => break,
                    SliceEnd::Spent | SliceEnd::Sleeps(_) => continue,
                    SliceEnd::Done | SliceEnd::Failed(_) => {}
                }
                let (n_objects, bytes) = owned(&script);
                prop_assert_eq!(script.n_objects(), n_objects);
                prop_assert_eq!(script.memory_used(), script.program().bytes() + bytes);
            }
            script.push(event);
        }
    }

    /// The digest is that of what happens: another seed of random numbers, or another event, and it differs.
    #[test]
    fn equal_scripts_have_equal_digests(seed in any::<u64>()) {
        let program = Arc::new(generator::program(seed));
        let run = || {
            let mut script = Instance::new(Arc::clone(&program), 64 << 10, seed);
            let (mut notes, mut scratch) = (Notes::default(), Scratch::default());
            for event in events(seed) {
                for _ in 0..20 {
                    script.run(&mut scratch, &mut notes, 7, 5_000);
                }
                script.push(event);
            }
            (script.digest(), notes.said)
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn the_digest_depends_on_arguments_of_events() {
    let digests = ["a", "b"].map(|text| {
        let mut program = ProgramBuilder::new([4; 32], Dialect::Sl);
        let state = program.state("default");
        let handler = program.handler(state, generator::link_message());
        let mut code = program.code(handler);
        code.op(Op::Return, []);
        code.finish();
        let mut script = instance(program.finish(&library()).expect("a program that fits"));
        let arguments: Vec<Value> = vec![0.into(), 0.into(), text.into(), crate::Key::NULL.into()];
        script.push(Event::new(generator::link_message(), arguments));
        run_all(&mut script, &mut Notes::default(), 0);
        script.digest()
    });
    assert_ne!(digests[0], digests[1]);
}
