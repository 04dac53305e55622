use super::*;
use crate::event::EventKind;
use crate::testing::generator;
use crate::testing::host::library;
use proptest::prelude::*;

fn refusal(change: impl FnOnce(&mut ProgramSource)) -> String {
    let mut source = generator::source(2);
    change(&mut source);
    verify(source, &library()).expect_err("a program that does not fit").to_string()
}

fn set(source: &mut ProgramSource, op: Op, [a, b, c]: [u16; 3]) {
    source.functions[0].code[0] = Instruction { op, a, b, c };
}

/// Cells of the first function with registers of its own: two of each kind, in the order of the kinds.
fn plain(source: &mut ProgramSource) {
    let function = &mut source.functions[0];
    function.registers =
        vec![Kind::Integer, Kind::Float, Kind::Text, Kind::Key, Kind::List, Kind::Vector, Kind::Rotation];
    (function.n_parameters, function.result) = (0, None);
    function.code = vec![Instruction { op: Op::Return, a: 0, b: 0, c: 0 }; 2];
    function.lines.clear();
    // Calls of the function have other arguments now.
    let end = Instruction { op: Op::Return, a: 0, b: 0, c: 0 };
    for function in &mut source.functions[1..] {
        (function.code, function.result) = (vec![end], None);
        function.lines.clear();
    }
}

#[test]
fn operands_have_to_fit() {
    let cases: &[(Op, [u16; 3], &str)] = &[
        (Op::AddInteger, [0, 0, 1], "register of another type"),
        (Op::AddInteger, [0, 0, 999], "register of another type"),
        (Op::AddFloat, [0, 1, 1], "register of another type"),
        (Op::AddVector, [5, 5, 6], "register of another type"),
        (Op::CopyReference, [2, 3, 0], "references of different types"),
        (Op::CopyReference, [0, 0, 0], "a register or global of another type"),
        (Op::CopyReference, [2, 2, 1], "an operand without meaning"),
        (Op::LoadReference, [2, 2, 0], "references of different types"),
        (Op::LoadReference, [2, 99, 0], "a constant that does not exist"),
        (Op::LoadReference, [2, 0, 1], "a constant that does not exist"),
        (Op::LoadFloat, [1, 8, 0], "a constant that does not exist"),
        (Op::LoadRotation, [8, 5, 0], "a constant that does not exist"),
        (Op::GetInteger, [0, 1, 0], "a global of another type"),
        (Op::GetReference, [2, 3, 0], "references of different types"),
        (Op::Jump, [2, 0, 0], "a jump out of the function"),
        (Op::JumpIf, [0, 0, 1], "a jump out of the function"),
        (Op::JumpIf, [1, 0, 0], "register of another type"),
        (Op::Call, [0, 99, 0], "a function that does not exist"),
        (Op::Call, [1, 0, 0], "arguments of a function without any"),
        (Op::Call, [0, 0, 1], "a result of a function without one"),
        (Op::CallImport, [0, 9_999, 0], "an import that does not exist"),
        (Op::ReturnValue, [0, 0, 0], "a result of another type"),
        (Op::ChangeState, [2, 0, 0], "a state that does not exist"),
    ];
    for (op, operands, expected) in cases {
        let message = refusal(|source| {
            plain(source);
            set(source, *op, *operands);
        });
        assert!(message.contains(expected), "{op:?} {operands:?}: {message}");
    }
}

#[test]
fn components_are_floats() {
    let mut source = generator::source(2);
    plain(&mut source);
    set(&mut source, Op::AddFloat, [5, 7, 11]);
    verify(source, &library()).expect("components are registers");
}

#[test]
fn other_parts_have_to_fit() {
    type Change = fn(&mut ProgramSource);
    let cases: &[(Change, &str)] = &[
        (|source| source.states.clear(), "there is none"),
        (|source| source.states[0].handlers[0].1 = 0, "other parameters"),
        (|source| source.states[0].handlers[0].1 = 999, "a handler does not exist"),
        (|source| source.states[0].handlers.push((EventKind::STATE_ENTRY, 0)), "not in order"),
        (|source| source.functions[0].code.clear(), "no end"),
        (|source| source.functions[0].n_parameters = 999, "more parameters than registers"),
        (|source| source.functions[0].registers = vec![Kind::Rotation; 20_000], "too many cells"),
        (|source| source.functions[0].lines.reverse(), "lines are not in order"),
        (|source| source.globals[0] = Global::Constant(99), "an initial value"),
        (|source| source.globals[0] = Global::Empty(Kind::Integer), "an initial value"),
        (|source| source.globals[0] = Global::Plain("text".into()), "an initial value"),
        (|source| source.globals[1] = Global::Plain(0.1.into()), "more bits"),
        (|source| source.imports[0].name = "llNothing".to_owned(), "`llNothing` with these types is unknown"),
        (|source| source.imports[0].parameters = vec![Kind::List; 9], "is unknown"),
    ];
    for (n, (change, expected)) in cases.iter().enumerate() {
        let message = refusal(change);
        assert!(message.contains(expected), "{n}: {message}");
    }
}

#[test]
fn the_check_is_bounded() {
    let message = refusal(|source| {
        plain(source);
        let end = Instruction { op: Op::Return, a: 0, b: 0, c: 0 };
        let callee = &mut source.functions[0];
        (callee.registers, callee.n_parameters) = (vec![Kind::Integer; 60_000], 60_000);
        (callee.code, callee.lines) = (vec![Instruction { op: Op::Call, a: 0, b: 0, c: 0 }; 100], vec![]);
        callee.code.push(end);
    });
    assert!(message.contains("too many arguments of calls"), "{message}");
}

#[test]
fn an_end_needs_the_result() {
    let message = refusal(|source| {
        plain(source);
        source.functions[0].result = Some(Kind::Integer);
    });
    assert!(message.contains("an end without the result"), "{message}");
}

proptest! {
    /// An instruction with any numbers is refused or harmless.
    #[test]
    fn any_instruction_is_checked(seed in 0_u64..50, at in any::<prop::sample::Index>(), op in 0..Op::ALL.len(), a in 0_u16..80, b in 0_u16..80, c in 0_u16..80) {
        let mut source = generator::source(seed);
        let function = source.functions.last_mut().expect("functions");
        let n = function.code.len();
        function.code[at.index(n)] = Instruction { op: Op::ALL[op], a, b, c };
        if let Ok(program) = verify(source, &library()) {
            let mut script = crate::Instance::new(std::sync::Arc::new(program), 64 << 10, seed);
            let (mut notes, mut scratch) = Default::default();
            let notes: &mut crate::testing::host::Notes = &mut notes;
            for tick in 0..60 {
                script.run(&mut scratch, notes, tick, 3_000);
                script.poll_timer(tick);
            }
        }
    }
}
