use super::*;
use crate::builder::ProgramBuilder;
use crate::dialect::Dialect;
use crate::instance::{Scratch, SliceEnd};
use crate::kind::Value;
use crate::string::Text;
use crate::testing::generator;
use crate::testing::host::{Notes, library, run_all};
use crate::testing::sample;
use proptest::prelude::*;

const MEMORY: usize = 64 << 10;

fn restored(instance: &Instance) -> Instance {
    let program = Arc::clone(instance.program());
    Instance::from_bytes(&instance.to_bytes(), program).expect("a state that fits")
}

fn timer() -> Event {
    Event::new(EventKind::TIMER, vec![])
}

fn counting() -> Instance {
    let mut counter = Instance::new(Arc::new(sample::counter()), MEMORY, 3);
    for tick in 0..4 {
        counter.push(timer());
        run_all(&mut counter, &mut Notes::default(), tick);
    }
    counter.push(timer());
    counter
}

#[test]
fn a_state_survives_bytes() {
    let counter = counting();
    let back = restored(&counter);
    assert_eq!(back.to_bytes(), counter.to_bytes());
    assert_eq!((back.digest(), back.memory_used()), (counter.digest(), counter.memory_used()));
    assert_eq!(back.queue(), counter.queue());
}

#[test]
fn a_state_belongs_to_its_program() {
    let bytes = counting().to_bytes();
    assert_eq!(program_hash(&bytes).ok(), Some([1; 32]));
    let error = Instance::from_bytes(&bytes, Arc::new(generator::program(2))).expect_err("another program");
    assert!(matches!(error, StateError::OtherProgram), "{error}");
}

#[test]
fn changed_bytes_are_refused() {
    let counter = counting();
    let bytes = counter.to_bytes();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            assert!(Instance::from_bytes(&changed, Arc::clone(counter.program())).is_err(), "byte {at}");
        }
        assert!(Instance::from_bytes(&bytes[..at], Arc::clone(counter.program())).is_err(), "{at} bytes");
    }
}

#[test]
fn a_later_version_is_refused() {
    let mut later = RecordBuffer::new(&FORMAT);
    later.push_version(&PART, PART.version() + 1, &[]);
    let error =
        Instance::from_bytes(&later.finish(), Arc::new(sample::counter())).expect_err("a later version");
    assert!(matches!(error, StateError::Bytes(RecordError::Newer { .. })), "{error}");
}

/// The script of a state with another body and a right checksum.
fn changed(script: &Instance, change: impl FnOnce(&mut StateSource)) -> Result<Instance, StateError> {
    let bytes = script.to_bytes();
    let records = Records::parse(&FORMAT, &bytes, &[&PART]).expect("a record");
    let mut source: StateSource = records.decode(&PART).expect("a state");
    change(&mut source);
    let mut buffer = RecordBuffer::new(&FORMAT);
    buffer.push(&PART, &source);
    Instance::from_bytes(&buffer.finish(), Arc::clone(script.program()))
}

#[test]
fn parts_have_to_fit() {
    type Change = fn(&mut StateSource);
    let cases: &[(Change, &str)] = &[
        (|source| source.state = 9, "a state that does not exist"),
        (|source| source.next_state = Some(9), "a state that does not exist"),
        (|source| source.memory_limit = source.memory_max + 1, "a limit of memory"),
        (|source| source.memory_max = u64::MAX, "a limit of memory"),
        (|source| source.memory_limit = 600, "more memory than the limit"),
        (|source| source.events.extend([timer(), timer()]), "more events"),
        (|source| source.globals.truncate(1), "another number of registers"),
        (|source| source.globals[0] = SavedCell::Empty, "a register of another type"),
        (|source| source.globals[1] = SavedCell::Object(1), "objects are not in order"),
        (|source| source.globals[2] = SavedCell::Object(0), "a register of another type"),
        (|source| source.globals[2] = SavedCell::Constant(99), "a register of another type"),
        (|source| source.objects.clear(), "an object that does not exist"),
        (|source| source.objects.push(Object::Text("more".into())), "without a reference"),
        (|source| source.clock.sleep_until(9), "a sleep without a handler"),
        (|source| source.clock = endless(), "a timer without a period"),
    ];
    for (n, (change, expected)) in cases.iter().enumerate() {
        let error = changed(&counting(), change).expect_err("a state that does not fit").to_string();
        assert!(error.contains(expected), "{n}: {error}");
    }
}

/// A timer that is always due.
fn endless() -> Clock {
    postcard::from_bytes(&[1, 0, 5, 0, 0, 0]).expect("a period of 0, and the tick at which it is due")
}

#[test]
fn parts_of_a_handler_have_to_fit() {
    type Change = fn(&mut SavedHandler);
    let cases: &[(Change, &str)] = &[
        (|handler| handler.frames.clear(), "a handler of another event"),
        (|handler| handler.frames[0].function = 0, "a handler of another event"),
        (|handler| handler.event = EventKind::TIMER, "a handler of another event"),
        (|handler| handler.frames[0].pc = u32::MAX, "a place behind a function's end"),
        (|handler| handler.frames.extend(handler.frames.clone()), "a frame that no call has made"),
        (|handler| handler.cells.clear(), "another number of registers"),
        (|handler| handler.context = vec![0_u8; QUEUE_BYTES_MAX + 1].into(), "a longer context"),
    ];
    let script = generator::interrupted(MEMORY);
    for (n, (change, expected)) in cases.iter().enumerate() {
        let restored = changed(&script, |source| change(source.handler.as_mut().expect("a handler")));
        let error = restored.expect_err("a state that does not fit").to_string();
        assert!(error.contains(expected), "{n}: {error}");
    }
    let error = changed(&script, |source| source.next_state = Some(0)).expect_err("a change of state");
    assert!(error.to_string().contains("a change of state during a handler"), "{error}");
}

/// Its program does not count, so that a migration would take more away than there is.
#[test]
fn a_script_that_has_not_begun_has_no_objects() {
    let failed = Instance::new(Arc::new(sample::counter()), 100, 1);
    assert!(failed.failure().is_some());
    let with_object = changed(&failed, |source| {
        source.objects.push(Object::Text("more".into()));
        source.globals[2] = SavedCell::Object(0);
    });
    let error = with_object.expect_err("an object").to_string();
    assert!(error.contains("a script that has not begun"), "{error}");
    let mut back = restored(&failed);
    back.migrate(Arc::new(sample::counter())).expect_err("no room");
}

/// Three quarters of the highest limit, in characters that take the most bytes.
#[test]
fn a_script_with_much_memory_is_restored() {
    let mut program = ProgramBuilder::new([5; 32], Dialect::Sl);
    let global = program.global(Value::zero(Kind::Text));
    let list = program.global(Value::zero(Kind::List));
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let text = sample::load(&mut code, "😀");
    for _ in 0..(MEMORY_MAX / 4 / Text::CHAR_BYTES).ilog2() {
        code.op(Op::ConcatText, [text, text, text]);
    }
    code.set(global, text);
    let all = code.register(Kind::List);
    code.op(Op::PushText, [all, text]);
    code.op(Op::PushText, [all, text]);
    code.put(list, all);
    code.op(Op::Return, []);
    code.finish();
    let program = Arc::new(program.finish(&library()).expect("a program that fits"));
    let mut script = Instance::new(program, MEMORY_MAX, 1);
    run_all(&mut script, &mut Notes::default(), 0);
    assert!(script.memory_used() > MEMORY_MAX / 4 * 3 && script.to_bytes().len() > MEMORY_MAX);
    assert_eq!(restored(&script).memory_used(), script.memory_used());
}

#[test]
fn an_idle_script_takes_few_bytes() {
    let idle = Instance::new(Arc::new(sample::counter()), MEMORY, 3);
    let n_bytes = idle.to_bytes().len();
    assert!(n_bytes < 160, "{n_bytes}");
}

/// One step of a script's life: a slice, and an event if it rests.
fn step(instance: &mut Instance, notes: &mut Notes, n: u64, fuel: u64) -> crate::instance::Slice {
    let slice = instance.run(&mut Scratch::default(), notes, n, fuel);
    if slice.end == SliceEnd::Idle {
        let event = if n.is_multiple_of(2) {
            timer()
        } else {
            Event::new(generator::link_message(), generator::message(n))
        };
        instance.push(event);
    }
    slice
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 2_000 }))]

    /// With a fuel of 1 a slice ends wherever one can end.
    #[test]
    fn a_script_restored_after_every_slice_does_the_same(seed in any::<u64>(), fuel in prop::sample::select(vec![1_u64, 1, 30, 2_000])) {
        let program = Arc::new(generator::program(seed));
        let mut whole = Instance::new(Arc::clone(&program), MEMORY, seed);
        let mut again = whole.clone();
        let (mut notes, mut notes_again) = (Notes::default(), Notes::default());
        for n in 0..400 {
            let slice = step(&mut whole, &mut notes, n, fuel);
            prop_assert_eq!(step(&mut again, &mut notes_again, n, fuel), slice);
            again = restored(&again);
            prop_assert_eq!(again.digest(), whole.digest());
            prop_assert_eq!(again.memory_used(), whole.memory_used());
            prop_assert_eq!(again.n_objects(), whole.n_objects());
            prop_assert_eq!(again.to_bytes(), whole.to_bytes());
        }
        prop_assert_eq!(notes_again, notes);
    }

    /// Bytes with a right checksum and a wrong body: an error, or a script that runs.
    #[test]
    fn wrong_bodies_do_no_harm(
        seed in 0_u64..200,
        n_slices in 0_u64..60,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let program = Arc::new(generator::program(seed));
        let mut script = Instance::new(Arc::clone(&program), MEMORY, seed);
        let mut notes = Notes::default();
        for n in 0..n_slices {
            step(&mut script, &mut notes, n, 20);
        }
        let bytes = script.to_bytes();
        let records = Records::parse(&FORMAT, &bytes, &[&PART]).expect("a record");
        let mut body = records.need(&PART).and_then(|record| record.body()).expect("a body").into_owned();
        for (index, value) in &changes {
            // The hash at the beginning would be refused at once.
            let at = 32 + index.index(body.len() - 32);
            body[at] = *value;
        }
        let mut buffer = RecordBuffer::new(&FORMAT);
        buffer.push_bytes(&PART, &body);
        if let Ok(mut script) = Instance::from_bytes(&buffer.finish(), program) {
            for n in 0..50 {
                step(&mut script, &mut notes, 1_000 + n, 100);
            }
            let _ = restored(&script);
        }
    }
}
