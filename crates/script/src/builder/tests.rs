use super::*;
use crate::instruction::Op;
use crate::testing::host::library;
use crate::testing::sample;

#[test]
fn registers_are_used_again_with_the_same_kind() {
    let program = sample::entry(Dialect::Sl, |code| {
        let first = code.register(Kind::Vector);
        code.release(first);
        let other = code.register(Kind::Float);
        let again = code.register(Kind::Vector);
        assert_eq!(again, first);
        assert_ne!(u16::from(other), u16::from(first));
        let row = code.row(&[Kind::Text, Kind::Rotation]);
        code.release_row(&row);
        assert_eq!(code.row(&[Kind::Text, Kind::Rotation]), row);
        assert_eq!(u16::from(row[1]), u16::from(row[0]) + 1);
    });
    assert_eq!(program.functions()[0].registers, [Kind::Vector, Kind::Float, Kind::Text, Kind::Rotation]);
}

#[test]
fn constants_and_imports_are_shared() {
    let program = sample::entry(Dialect::Sl, |code| {
        let registers = [(); 3].map(|()| code.register(Kind::Text));
        code.load(registers[0], "a".into());
        code.load(registers[1], "b".into());
        code.load(registers[2], "a".into());
        let rows = [(); 2].map(|()| code.row(&[Kind::Text]));
        for row in &rows {
            code.call_library("llOwnerSay", row, None);
        }
    });
    assert_eq!((program.constants().len(), program.imports().len()), (2, 1));
    assert_eq!(program.imports()[0].name, "llOwnerSay");
}

/// A source of 1 MiB has more constants than can be compared with each other.
#[test]
fn constants_of_equal_text_and_another_kind_are_different() {
    let program = sample::entry(Dialect::Sl, |code| {
        for n in 0..50_000 {
            sample::load(code, format!("{}", n % 20_000).as_str());
            let float = code.register(Kind::Float);
            code.load(float, f64::from(n % 20_000).into());
            code.release(float);
        }
        sample::load(code, crate::Key::from("7"));
    });
    assert_eq!(program.constants().len(), 20_001);
    assert_eq!(program.source.floats.len(), 20_000);
}

#[test]
fn jumps_go_to_labels_before_and_behind() {
    let program = sample::entry(Dialect::Sl, |code| {
        let condition = code.register(Kind::Integer);
        let (start, end) = (code.label(), code.label());
        code.bind(start);
        code.jump_if_not(condition, end);
        assert!(code.is_open());
        code.jump(start);
        assert!(!code.is_open());
        code.bind(end);
        assert!(code.is_open());
    });
    let code = &program.functions()[0].code;
    assert_eq!((code[0].number(), code[1].jump_target()), (2, 0));
}

#[test]
fn lines_are_noted_once() {
    let program = sample::entry(Dialect::Sl, |code| {
        let integer = code.register(Kind::Integer);
        code.at(1, 1);
        code.at(2, 1);
        code.load(integer, 1.into());
        code.at(2, 1);
        code.load(integer, 2.into());
        code.at(3, 4);
    });
    let lines: Vec<(u32, u32)> =
        program.functions()[0].lines.iter().map(|entry| (entry.from, entry.place.line)).collect();
    assert_eq!(lines, [(0, 2), (2, 3)]);
}

#[test]
fn too_many_registers_are_refused() {
    let mut program = ProgramBuilder::new([0; 32], Dialect::Sl);
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let mut last = code.register(Kind::Rotation);
    for _ in 0..20_000 {
        last = code.register(Kind::Rotation);
    }
    code.load(last, crate::Rotation::ZERO.into());
    code.op(Op::Return, []);
    code.finish();
    let error = program.finish(&library()).expect_err("too many registers");
    assert!(error.to_string().contains("too many cells"), "{error}");
}

#[test]
fn handlers_are_in_order_and_globals_rounded() {
    let mut program = ProgramBuilder::new([0; 32], Dialect::Sl);
    let float = program.global(0.1.into());
    let vector = program.global(crate::Vector::ZERO.into());
    assert_eq!((float.kind(), vector.component(2).kind()), (Kind::Float, Kind::Float));
    let state = program.state("default");
    for event in [EventKind::TIMER, EventKind::STATE_ENTRY] {
        let handler = program.handler(state, event);
        let mut code = program.code(handler);
        code.op(Op::Return, []);
        code.finish();
    }
    let program = program.finish(&library()).expect("a program that fits");
    assert_eq!(program.globals[0], f64::from(0.1_f32).to_bits());
    let state = &program.states()[0];
    assert_eq!((state.handler(EventKind::STATE_ENTRY), state.handler(EventKind::TIMER)), (Some(1), Some(0)));
    assert_eq!((program.state_named("default"), program.state_named("other")), (Some(0), None));
}
