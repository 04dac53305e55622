use super::*;
use crate::builder::ProgramBuilder;
use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::instruction::Op;
use crate::kind::Value;
use crate::testing::host::{Notes, library, run_all};
use crate::testing::sample::say;

/// Says its globals, and appends to one of them. `n_more` instructions and a constant in front make a different program of the same source.
fn program(hash: u8, n_more: usize, states: [&str; 2]) -> Arc<Program> {
    let mut program = ProgramBuilder::new([hash; 32], Dialect::Sl);
    let text = program.global("hello".into());
    let list = program.global(Value::zero(Kind::List));
    for name in states {
        let state = program.state(name);
        for event in [EventKind::STATE_ENTRY, EventKind::TIMER] {
            let handler = program.handler(state, event);
            let mut code = program.code(handler);
            let said = code.register(Kind::Text);
            for n in 0..n_more {
                code.load(said, format!("more {n}").as_str().into());
            }
            code.get(said, text);
            say(&mut code, said);
            let all = code.register(Kind::List);
            code.take(all, list);
            code.op(Op::PushText, [all, said]);
            say(&mut code, all);
            code.put(list, all);
            code.op(Op::Return, []);
            code.finish();
        }
    }
    Arc::new(program.finish(&library()).expect("a program that fits"))
}

fn begun() -> (Instance, Notes) {
    let mut script = Instance::new(program(1, 0, ["default", "other"]), 64 << 10, 1);
    let mut notes = Notes::default();
    run_all(&mut script, &mut notes, 0);
    assert!(script.push(Event::new(EventKind::TIMER, vec![])));
    (script, notes)
}

#[test]
fn a_script_goes_on_with_its_values_and_events() {
    for states in [["default", "other"], ["other", "default"]] {
        let (mut script, mut notes) = begun();
        let newer = program(2, 200, states);
        script.migrate(Arc::clone(&newer)).expect("the same source");
        run_all(&mut script, &mut notes, 1);
        assert_eq!(notes.said, ["hello", "hello", "hello", "hellohello"]);
        assert_eq!(script.program().hash(), [2; 32]);
        let list = 16 + 2 * (18 + 2 * 5);
        assert_eq!(script.memory_used(), newer.bytes() + list);
        let back = Instance::from_bytes(&script.to_bytes(), newer).expect("a state of the newer program");
        assert_eq!(back.to_bytes(), script.to_bytes());
    }
}

#[test]
fn a_constant_that_the_other_program_lacks_becomes_an_object() {
    let other = |initial: &str| {
        let mut program = ProgramBuilder::new([3; 32], Dialect::Sl);
        program.global(initial.into());
        program.state("default");
        Arc::new(program.finish(&library()).expect("a program that fits"))
    };
    let mut script = Instance::new(other("old"), 64 << 10, 1);
    assert_eq!(script.n_objects(), 0);
    script.migrate(other("new")).expect("the same source");
    assert_eq!((script.n_objects(), script.memory_used()), (1, script.program().bytes() + 24));
}

#[test]
fn a_program_that_does_not_fit_changes_nothing() {
    let (mut script, _) = begun();
    let before = script.to_bytes();
    let refused = [
        (program(2, 0, ["other", "another"]), MigrationError::OtherSource),
        (program(2, 6_000, ["default", "other"]), MigrationError::Memory),
        (Arc::new(crate::testing::sample::counter()), MigrationError::OtherSource),
    ];
    for (program, expected) in refused {
        assert_eq!(script.migrate(program), Err(expected));
        assert_eq!(script.to_bytes(), before);
    }
}

#[test]
fn an_interrupted_handler_ends_in_its_program() {
    let mut script = crate::testing::generator::interrupted(64 << 10);
    let same = Arc::clone(script.program());
    assert_eq!(script.migrate(same), Err(MigrationError::Interrupted));
}
