use crate::builder::{Code, ProgramBuilder, Register};
use crate::dialect::Dialect::{OpenSim, Sl};
use crate::error::RunError;
use crate::event::EventKind;
use crate::instance::{Instance, Scratch, SliceEnd};
use crate::instruction::Op;
use crate::key::Key;
use crate::kind::{Kind, Value};
use crate::list::List;
use crate::program::Program;
use crate::testing::host::{Notes, library, run_all, said};
use crate::testing::sample::{entry, load, say};
use crate::value::{Rotation, Vector};
use std::sync::Arc;

/// Result of an instruction with these operands in a register of a kind, as text, in both dialects.
fn computed(op: Op, kind: Kind, operands: &[Value]) -> [String; 2] {
    [Sl, OpenSim].map(|dialect| {
        let program = entry(dialect, |code| {
            let to = code.register(kind);
            let from: Vec<Register> = operands.iter().map(|value| load(code, value.clone())).collect();
            match from[..] {
                [b] => code.op(op, [to, b]),
                [b, c] => code.op(op, [to, b, c]),
                _ => panic!("one or two operands"),
            }
            say(code, to);
        });
        let (mut said, instance) = said(program);
        assert_eq!(instance.failure(), None, "{op:?}");
        assert_eq!(instance.n_objects(), 0, "{op:?} keeps objects");
        said.pop().expect("a result")
    })
}

#[test]
fn instructions_compute() {
    use Kind::{Float, Integer, Text};
    let id = "01234567-89ab-cdef-0123-456789abcdef";
    let (v, w) = (Vector::new(1.0, 2.0, 3.0), Vector::new(4.0, 5.0, 6.0));
    let turn = Rotation::new(0.0, 0.0, 1.0, 0.0);
    let list = |n: i32| Value::from((0..n).map(crate::Element::from).collect::<List>());
    let cases: &[(Op, Kind, Vec<Value>, &str)] = &[
        (Op::AddInteger, Integer, vec![i32::MAX.into(), 1.into()], "-2147483648"),
        (Op::SubtractInteger, Integer, vec![3.into(), 5.into()], "-2"),
        (Op::MultiplyInteger, Integer, vec![65_536.into(), 65_536.into()], "0"),
        (Op::DivideInteger, Integer, vec![i32::MIN.into(), (-1).into()], "-2147483648"),
        (Op::RemainderInteger, Integer, vec![(-7).into(), 3.into()], "-1"),
        (Op::AndInteger, Integer, vec![6.into(), 3.into()], "2"),
        (Op::OrInteger, Integer, vec![6.into(), 3.into()], "7"),
        (Op::XorInteger, Integer, vec![6.into(), 3.into()], "5"),
        (Op::ShiftLeft, Integer, vec![1.into(), 33.into()], "2"),
        (Op::ShiftRight, Integer, vec![(-8).into(), 1.into()], "-4"),
        (Op::NegateInteger, Integer, vec![i32::MIN.into()], "-2147483648"),
        (Op::Complement, Integer, vec![0.into()], "-1"),
        (Op::Not, Integer, vec![0.into()], "1"),
        (Op::Both, Integer, vec![2.into(), 4.into()], "1"),
        (Op::Either, Integer, vec![0.into(), 0.into()], "0"),
        (Op::EqualInteger, Integer, vec![1.into(), 1.into()], "1"),
        (Op::UnequalInteger, Integer, vec![1.into(), 1.into()], "0"),
        (Op::LessInteger, Integer, vec![(-1).into(), 0.into()], "1"),
        (Op::LessOrEqualInteger, Integer, vec![1.into(), 0.into()], "0"),
        (Op::AddFloat, Float, vec![0.5.into(), 0.25.into()], "0.750000"),
        (Op::SubtractFloat, Float, vec![0.5.into(), 0.25.into()], "0.250000"),
        (Op::MultiplyFloat, Float, vec![0.5.into(), 0.25.into()], "0.125000"),
        (Op::DivideFloat, Float, vec![0.5.into(), 0.25.into()], "2.000000"),
        (Op::NegateFloat, Float, vec![0.5.into()], "-0.500000"),
        (Op::EqualFloat, Integer, vec![0.0.into(), (-0.0).into()], "1"),
        (Op::UnequalFloat, Integer, vec![f64::NAN.into(), f64::NAN.into()], "1"),
        (Op::LessFloat, Integer, vec![f64::NAN.into(), 1.0.into()], "0"),
        (Op::LessOrEqualFloat, Integer, vec![1.0.into(), 1.0.into()], "1"),
        (Op::IntegerToFloat, Float, vec![7.into()], "7.000000"),
        (Op::FloatToInteger, Integer, vec![(-1.9).into()], "-1"),
        (Op::MultiplyIntegerByFloat, Integer, vec![3.into(), 1.5.into()], "4"),
        (Op::DotVector, Float, vec![v.into(), w.into()], "32.000000"),
        (Op::EqualVector, Integer, vec![v.into(), v.into()], "1"),
        (Op::UnequalVector, Integer, vec![v.into(), v.into()], "0"),
        (Op::EqualRotation, Integer, vec![turn.into(), Rotation::ZERO.into()], "0"),
        (Op::UnequalRotation, Integer, vec![turn.into(), Rotation::ZERO.into()], "1"),
        (Op::ConcatText, Text, vec!["ab".into(), "ä".into()], "abä"),
        (Op::ConcatText, Text, vec!["".into(), "ä".into()], "ä"),
        (Op::EqualText, Integer, vec!["a".into(), "a".into()], "1"),
        (Op::UnequalText, Integer, vec!["a".into(), "b".into()], "1"),
        (Op::EqualKey, Integer, vec![Key::NULL.into(), Key::from("").into()], "0"),
        (Op::UnequalKey, Integer, vec![Key::NULL.into(), Key::NULL.into()], "0"),
        (Op::EqualList, Integer, vec![list(2), list(2)], "1"),
        (Op::UnequalList, Integer, vec![list(2), list(5)], "-3"),
        (Op::ConcatList, Kind::List, vec![list(2), list(3)], "01012"),
        (Op::ListLength, Integer, vec![list(4)], "4"),
        (Op::IntegerToText, Text, vec![(-4).into()], "-4"),
        (Op::KeyToText, Text, vec![Key::from(id).into()], id),
        (Op::ListToText, Text, vec![list(3)], "012"),
        (Op::TextToInteger, Integer, vec![" 0x10z".into()], "16"),
        (Op::TextToFloat, Float, vec!["1.5".into()], "1.500000"),
        (Op::TextToKey, Kind::Key, vec![id.into()], id),
        (Op::TestFloat, Integer, vec![0.1.into()], "1"),
        (Op::TestText, Integer, vec!["".into()], "0"),
        (Op::TestKey, Integer, vec![Key::NULL.into()], "0"),
        (Op::TestList, Integer, vec![list(1)], "1"),
        (Op::TestVector, Integer, vec![Vector::ZERO.into()], "0"),
        (Op::TestRotation, Integer, vec![turn.into()], "1"),
    ];
    for (op, kind, operands, expected) in cases {
        assert_eq!(computed(*op, *kind, operands), [*expected, *expected], "{op:?} {operands:?}");
    }
}

#[test]
fn vectors_and_rotations_are_computed_in_their_cells() {
    use Kind::{Rotation as Quaternion, Vector as Arrow};
    let (v, w) = (Vector::new(1.0, 2.0, 3.0), Vector::new(4.0, 5.0, 6.0));
    let turn = Rotation::new(0.0, 0.0, 1.0, 0.0);
    let sl = |op, kind, operands: &[Value]| computed(op, kind, operands)[0].replace(".00000", "");
    for (op, kind, operands, expected) in [
        (Op::AddVector, Arrow, vec![v.into(), w.into()], "<5, 7, 9>"),
        (Op::SubtractVector, Arrow, vec![v.into(), w.into()], "<-3, -3, -3>"),
        (Op::ScaleVector, Arrow, vec![v.into(), 2.0.into()], "<2, 4, 6>"),
        (Op::DivideVector, Arrow, vec![w.into(), 0.5.into()], "<8, 10, 12>"),
        (Op::NegateVector, Arrow, vec![v.into()], "<-1, -2, -3>"),
        (Op::CrossVector, Arrow, vec![v.into(), w.into()], "<-3, 6, -3>"),
        (Op::RotateVector, Arrow, vec![v.into(), turn.into()], "<-1, -2, 3>"),
        (Op::RotateVectorBack, Arrow, vec![v.into(), turn.into()], "<-1, -2, 3>"),
        (Op::AddRotation, Quaternion, vec![turn.into(), turn.into()], "<0, 0, 2, 0>"),
        (Op::SubtractRotation, Quaternion, vec![turn.into(), Rotation::ZERO.into()], "<0, 0, 1, -1>"),
        (Op::MultiplyRotation, Quaternion, vec![turn.into(), turn.into()], "<0, 0, 0, -1>"),
        (Op::DivideRotation, Quaternion, vec![turn.into(), turn.into()], "<0, 0, 0, 1>"),
        (Op::NegateRotation, Quaternion, vec![Rotation::new(1.0, 2.0, 3.0, 4.0).into()], "<-1, -2, -3, -4>"),
        (Op::TextToVector, Arrow, vec!["<1,2,3>".into()], "<1, 2, 3>"),
        (Op::TextToRotation, Quaternion, vec!["<1,2,3,4>".into()], "<1, 2, 3, 4>"),
        (Op::CopyVector, Arrow, vec![v.into()], "<1, 2, 3>"),
        (Op::CopyRotation, Quaternion, vec![turn.into()], "<0, 0, 1, 0>"),
    ] {
        assert_eq!(sl(op, kind, &operands), expected, "{op:?}");
    }
}

#[test]
fn locals_are_rounded_and_intermediate_results_are_not() {
    for (dialect, expected) in [(Sl, ["0", "1"]), (OpenSim, ["1", "1"])] {
        let program = entry(dialect, |code| {
            let (exact, stored) = (load(code, 0.1), code.register(Kind::Float));
            code.op(Op::RoundFloat, [stored, exact]);
            let equal = code.register(Kind::Integer);
            code.op(Op::EqualFloat, [equal, exact, stored]);
            say(code, equal);
            code.op(Op::EqualFloat, [equal, exact, exact]);
            say(code, equal);
        });
        assert_eq!(said(program).0, expected);
    }
}

#[test]
fn components_are_registers() {
    let program = entry(Sl, |code| {
        let vector = load(code, Vector::ZERO);
        let half = load(code, 0.5);
        code.op(Op::RoundFloat, [vector.component(1), half]);
        code.op(Op::AddFloat, [vector.component(2), vector.component(1), half]);
        say(code, vector);
    });
    assert_eq!(said(program).0, ["<0.00000, 0.50000, 1.00000>"]);
}

/// `f(n)` = n < 2 ? n : f(n − 1) + f(n − 2)
fn fibonacci() -> Program {
    let mut program = ProgramBuilder::new([2; 32], Sl);
    let f = program.function("f", &[Kind::Integer], Some(Kind::Integer));
    let mut code = program.code(f);
    let n = code.parameters()[0];
    let two = load(&mut code, 2);
    let is_less = code.register(Kind::Integer);
    let otherwise = code.label();
    code.op(Op::LessInteger, [is_less, n, two]);
    code.jump_if_not(is_less, otherwise);
    code.op(Op::ReturnValue, [n]);
    code.bind(otherwise);
    let row = code.row(&[Kind::Integer]);
    let (left, right) = (code.register(Kind::Integer), code.register(Kind::Integer));
    code.add_small(row[0], n, -2);
    code.call(f, &row, Some(right));
    code.add_small(row[0], n, -1);
    code.call(f, &row, Some(left));
    code.op(Op::AddInteger, [left, left, right]);
    code.op(Op::ReturnValue, [left]);
    code.finish();
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let row = code.row(&[Kind::Integer]);
    code.load(row[0], 15.into());
    let result = code.register(Kind::Integer);
    code.call(f, &row, Some(result));
    say(&mut code, result);
    code.op(Op::Return, []);
    code.finish();
    program.finish(&library()).expect("a program that fits")
}

#[test]
fn functions_call_themselves() {
    assert_eq!(said(fibonacci()).0, ["610"]);
}

#[test]
fn the_size_of_slices_changes_nothing_but_their_number() {
    let program = Arc::new(fibonacci());
    let run = |fuel: u64| {
        let mut instance = Instance::new(Arc::clone(&program), 64 << 10, 1);
        let (mut notes, mut scratch) = (Notes::default(), Scratch::default());
        let (mut used, mut n_slices) = (0, 0);
        loop {
            let slice = instance.run(&mut scratch, &mut notes, 0, fuel);
            used += slice.fuel;
            match slice.end {
                SliceEnd::Done => return (notes.said, used, n_slices),
                _ => n_slices += 1,
            }
        }
    };
    let (whole, pieces) = (run(u64::MAX), run(1));
    assert_eq!((&whole.0, whole.1), (&pieces.0, pieces.1));
    assert_eq!(whole.2, 0);
    assert!(pieces.2 > 3_000, "{}", pieces.2);
}

/// `f(text) = f(text)`
fn recursion() -> Arc<Program> {
    let mut program = ProgramBuilder::new([3; 32], Sl);
    let f = program.function("f", &[Kind::Text], None);
    let mut code = program.code(f);
    code.at(4, 2);
    let row = code.row(&[Kind::Text]);
    let text = code.parameters()[0];
    code.op(Op::CopyReference, [row[0], text]);
    code.call(f, &row, None);
    code.op(Op::Return, []);
    code.finish();
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let row = code.row(&[Kind::Text]);
    code.call(f, &row, None);
    code.op(Op::Return, []);
    code.finish();
    Arc::new(program.finish(&library()).expect("a program that fits"))
}

#[test]
fn endless_recursion_is_a_collision_and_depth_costs_memory() {
    let mut instance = Instance::new(recursion(), 64 << 10, 1);
    let idle = instance.memory_used();
    let end = run_all(&mut instance, &mut Notes::default(), 0);
    let SliceEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!(failure.error, RunError::StackHeapCollision);
    assert_eq!(failure.place.map(|place| (place.line, place.column)), Some((4, 2)));
    assert_eq!((instance.memory_used(), instance.n_objects()), (idle, 0), "all frames are gone");
}

#[test]
fn errors_name_their_place() {
    let failing = |op: Op, operands: [Value; 2]| {
        let program = entry(Sl, |code| {
            code.at(2, 9);
            let [b, c] = operands.map(|value| load(code, value));
            let to = code.register(b.kind());
            code.at(3, 5);
            code.op(op, [to, b, c]);
            code.at(4, 1);
            say(code, to);
        });
        let (said, instance) = said(program);
        assert_eq!((said.len(), instance.n_objects()), (0, 0));
        let failure = instance.failure().expect("a failure");
        let place = failure.place.map(|place| (place.line, place.column));
        (failure.error, failure.event.name(), place)
    };
    let expected = (RunError::MathError, "state_entry", Some((3, 5)));
    assert_eq!(failing(Op::DivideInteger, [1.into(), 0.into()]), expected);
    assert_eq!(failing(Op::RemainderInteger, [1.into(), 0.into()]), expected);
    assert_eq!(failing(Op::DivideFloat, [1.0.into(), 0.0.into()]), expected);
    assert_eq!(failing(Op::DivideVector, [Vector::ZERO.into(), 0.0.into()]), expected);
    let program = entry(Sl, |code| code.op(Op::FailNoValue, []));
    assert_eq!(said(program).1.failure().map(|failure| failure.error), Some(RunError::NoValue));
}

#[test]
fn strings_that_double_are_a_collision() {
    let program = entry(Sl, |code| {
        let text = load(code, "0123456789");
        let again = code.label();
        code.bind(again);
        code.at(5, 1);
        code.op(Op::ConcatText, [text, text, text]);
        code.jump(again);
    });
    let (_, instance) = said(program);
    let failure = instance.failure().expect("a failure");
    assert_eq!(
        (failure.error, failure.place.map(|place| place.line)),
        (RunError::StackHeapCollision, Some(5))
    );
    assert_eq!(instance.n_objects(), 0);
}

fn list_loop(code: &mut Code<'_>, list: Register, n_rounds: i32, body: impl FnOnce(&mut Code<'_>, Register)) {
    let counter = load(code, n_rounds);
    let again = code.label();
    code.bind(again);
    code.op(Op::PushInteger, [list, counter]);
    body(code, list);
    code.add_small(counter, counter, -1);
    code.jump_if(counter, again);
}

/// Appending to a list in place costs the same for each element, to a shared one its length.
#[test]
fn unique_lists_grow_in_place_and_shared_ones_are_copied() {
    let fuel = |is_shared: bool| {
        let program = entry(Sl, |code| {
            let list = code.register(Kind::List);
            let other = code.register(Kind::List);
            list_loop(code, list, 1_000, |code, list| {
                if is_shared {
                    code.op(Op::CopyReference, [other, list]);
                }
            });
            let (n, m) = (code.register(Kind::Integer), code.register(Kind::Integer));
            code.op(Op::ListLength, [n, list]);
            code.op(Op::ListLength, [m, other]);
            say(code, n);
            say(code, m);
        });
        let mut instance = Instance::new(Arc::new(program), 64 << 10, 1);
        let mut notes = Notes::default();
        let slice = instance.run(&mut Scratch::default(), &mut notes, 0, u64::MAX);
        assert_eq!((slice.end, instance.n_objects()), (SliceEnd::Done, 0));
        (slice.fuel, notes.said)
    };
    let (unique, said) = fuel(false);
    assert_eq!(said, ["1000", "0"]);
    assert!(unique < 20_000, "{unique}");
    let (shared, said) = fuel(true);
    assert_eq!(said, ["1000", "1000"]);
    assert!(shared > 500_000, "{shared}");
}

/// Fuel of the code in a handler of a program.
fn fuel(dialect: crate::Dialect, code: impl FnOnce(&mut Code<'_>)) -> u64 {
    let mut instance = Instance::new(Arc::new(entry(dialect, code)), 1 << 20, 1);
    let slice = instance.run(&mut Scratch::default(), &mut Notes::default(), 0, u64::MAX);
    assert_eq!((slice.end, instance.n_objects()), (SliceEnd::Done, 0));
    slice.fuel
}

#[test]
fn work_that_grows_with_lengths_takes_fuel_by_them() {
    let long_list = || Value::from((0..1_000).map(crate::Element::from).collect::<List>());
    let long_key = || Value::from(Key::from(&*"x".repeat(10_000)));
    let shared = fuel(Sl, |code| {
        let (list, none) = (load(code, long_list()), load(code, List::from(vec![1.into()])));
        code.op(Op::AppendList, [list, none]);
    });
    assert!(shared > 2_000, "a constant is copied: {shared}");
    let key = fuel(Sl, |code| {
        let (left, right, equal) =
            (load(code, long_key()), load(code, long_key()), code.register(Kind::Integer));
        code.op(Op::EqualKey, [equal, left, right]);
    });
    assert!(key > 300, "all characters are compared: {key}");
    let digits = fuel(OpenSim, |code| {
        let (float, text) = (load(code, 1e300), code.register(Kind::Text));
        code.op(Op::FloatToText, [text, float]);
    });
    assert!(digits > 2_000, "301 digits are printed: {digits}");
    let said = |n: usize| {
        fuel(Sl, |code| {
            let row = code.row(&[Kind::Text]);
            code.load(row[0], "x".repeat(n).as_str().into());
            code.call_library("llOwnerSay", &row, None);
        })
    };
    assert!(said(10_000) > said(0) + 2_000, "calls are digested: {}", said(10_000));
}

#[test]
fn frames_take_fuel_by_their_registers() {
    let with = |n: usize| {
        fuel(Sl, |code| {
            for _ in 0..n {
                code.register(Kind::Text);
            }
        })
    };
    assert!(with(1_000) > with(0) + 500, "{} {}", with(1_000), with(0));
}

/// Milliseconds without a jump backwards, a call or a long string.
#[test]
fn code_without_loops_is_left_when_its_fuel_is_used_up() {
    for has_jumps in [false, true] {
        let program = entry(Sl, |code| {
            let (rotation, text) = (load(code, Rotation::ZERO), code.register(Kind::Text));
            for _ in 0..5_000 {
                code.op(Op::RotationToText, [text, rotation]);
                if has_jumps {
                    let next = code.label();
                    code.jump(next);
                    code.bind(next);
                }
            }
        });
        let mut instance = Instance::new(Arc::new(program), 64 << 10, 1);
        let slice = instance.run(&mut Scratch::default(), &mut Notes::default(), 0, 100);
        assert_eq!(slice.end, SliceEnd::Spent);
        assert!(slice.fuel < 10_000, "{}", slice.fuel);
    }
}

#[test]
fn lists_are_appended_and_shared_without_effects_on_each_other() {
    let program = entry(Sl, |code| {
        let list = load(code, List::from(vec![1.into(), "a".into()]));
        let copy = code.register(Kind::List);
        code.op(Op::CopyReference, [copy, list]);
        let (key, vector) = (load(code, Key::from("k")), load(code, Vector::ZERO));
        let (rotation, float, text) = (load(code, Rotation::ZERO), load(code, 0.5), load(code, "t"));
        code.op(Op::PushKey, [list, key]);
        code.op(Op::PushVector, [list, vector]);
        code.op(Op::PushRotation, [list, rotation]);
        code.op(Op::PushFloat, [list, float]);
        code.op(Op::PushText, [list, text]);
        code.op(Op::AppendList, [list, copy]);
        code.op(Op::AppendList, [copy, copy]);
        let row = code.row(&[Kind::List, Kind::Integer]);
        let n = code.register(Kind::Integer);
        for from in [list, copy] {
            code.op(Op::CopyReference, [row[0], from]);
            code.call_library("llSayList", &row, Some(n));
        }
    });
    let (said, instance) = said(program);
    assert_eq!(said[1], "0 [Integer(1), Text(\"a\"), Integer(1), Text(\"a\")]");
    assert!(said[0].ends_with("Float(0.5), Text(\"t\"), Integer(1), Text(\"a\")]"), "{}", said[0]);
    assert_eq!(instance.n_objects(), 0);
}

#[test]
fn a_library_that_breaks_its_word_stops_the_script() {
    let program = entry(Sl, |code| {
        let n = code.register(Kind::Integer);
        code.call_library("llLie", &[], Some(n));
    });
    assert_eq!(said(program).1.failure().map(|failure| failure.error), Some(RunError::LibraryFault));
}

/// The sign of a NaN differs between processors: neither lists nor the library see it.
#[test]
fn a_nan_has_no_sign_in_lists() {
    let program = entry(OpenSim, |code| {
        let nan = load(code, Rotation::new(f64::NAN, 1.0, 1.0, 1.0));
        code.op(Op::NegateRotation, [nan, nan]);
        let row = code.row(&[Kind::List, Kind::Integer]);
        code.op(Op::PushRotation, [row[0], nan]);
        let global = code.register(Kind::Integer);
        code.call_library("llSayBits", &row, Some(global));
    });
    assert_eq!(said(program).0, [format!("{:x}", f64::NAN.to_bits())]);
}

#[test]
fn interrupted_recursion_takes_no_more_memory_than_it_counts() {
    let mut instance = Instance::new(recursion(), 64 << 10, 1);
    let (mut notes, mut scratch) = (Notes::default(), Scratch::default());
    let mut n_slices = 0;
    while instance.run(&mut scratch, &mut notes, 0, 1).end == SliceEnd::Spent {
        n_slices += 1;
        let bound = crate::heap::FOOTPRINT_BASE + crate::heap::FOOTPRINT_FACTOR * instance.memory_used();
        assert!(instance.footprint() <= bound, "{} > {bound}", instance.footprint());
    }
    assert!(n_slices > 1_000, "{n_slices}");
}
