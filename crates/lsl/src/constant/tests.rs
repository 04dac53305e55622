//! Operators and casts of constants, as tables.

use super::*;
use Dialect::{Opensim, Sl};

const MIN: i32 = i32::MIN;
const MAX: i32 = i32::MAX;

fn binary(op: BinaryOp, left: &Value, right: &Value, dialect: Dialect) -> Option<Value> {
    Calculator::new(dialect).binary(op, left, right)
}

fn cast(value: &Value, to: Type, dialect: Dialect) -> Option<Value> {
    Calculator::new(dialect).cast(value, to)
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn key(text: &str) -> Value {
    Value::Key(text.into())
}

fn list(elements: &[Value]) -> Value {
    Value::List(elements.into())
}

/// The float of a literal.
fn float(value: f64, dialect: Dialect) -> Value {
    Value::Float(Calculator::new(dialect).stored(value))
}

#[test]
fn integers_wrap() {
    use BinaryOp as Op;
    for (left, op, right, expected) in [
        (MAX, Op::Add, 1, Some(MIN)),
        (MIN, Op::Subtract, 1, Some(MAX)),
        (65_536, Op::Multiply, 65_537, Some(65_536)),
        (7, Op::Divide, -2, Some(-3)),
        (MIN, Op::Divide, -1, Some(MIN)),
        (1, Op::Divide, 0, None),
        (-7, Op::Remainder, 3, Some(-1)),
        (MIN, Op::Remainder, -1, Some(0)),
        (1, Op::Remainder, 0, None),
        (1, Op::ShiftLeft, 33, Some(2)),
        (1, Op::ShiftLeft, -1, Some(MIN)),
        (-8, Op::ShiftRight, 1, Some(-4)),
        (-8, Op::ShiftRight, 32, Some(-8)),
        (6, Op::BitAnd, 3, Some(2)),
        (6, Op::BitOr, 3, Some(7)),
        (6, Op::BitXor, 3, Some(5)),
        (2, Op::And, 4, Some(1)),
        (2, Op::And, 0, Some(0)),
        (0, Op::Or, -1, Some(1)),
        (3, Op::Equal, 3, Some(1)),
        (3, Op::NotEqual, 3, Some(0)),
        (3, Op::Less, 4, Some(1)),
        (3, Op::LessEqual, 3, Some(1)),
        (3, Op::Greater, 3, Some(0)),
        (3, Op::GreaterEqual, 4, Some(0)),
    ] {
        for dialect in [Sl, Opensim] {
            let found = binary(op, &Value::Integer(left), &Value::Integer(right), dialect);
            assert_eq!(found, expected.map(Value::Integer), "{left} {} {right}", op.as_str());
        }
    }
}

#[test]
fn floats_are_single_where_they_are_stored_and_double_between() {
    let sum = |dialect| {
        let of = |value| float(value, dialect);
        binary(BinaryOp::Add, &of(0.1), &of(0.2), dialect).expect("a sum")
    };
    assert_eq!(sum(Sl), Value::Float(f64::from(0.1_f32) + f64::from(0.2_f32)));
    assert_eq!(sum(Opensim), Value::Float(0.1 + 0.2));
    let in_list = |dialect| Calculator::new(dialect).element(sum(dialect));
    assert_eq!(in_list(Sl), Value::Float(f64::from((f64::from(0.1_f32) + f64::from(0.2_f32)) as f32)));
    assert_eq!(in_list(Opensim), sum(Opensim));
    let third = binary(BinaryOp::Divide, &Value::Integer(1), &float(3.0, Sl), Sl);
    assert_eq!(third, Some(Value::Float(1.0 / 3.0)), "no float32 in between");
    let big = Value::Integer(16_777_217);
    assert_eq!(binary(BinaryOp::Equal, &big, &float(16_777_217.0, Sl), Sl), Some(Value::Integer(0)));
    assert_eq!(
        binary(BinaryOp::Equal, &big, &float(16_777_217.0, Opensim), Opensim),
        Some(Value::Integer(1))
    );
    let mut of = Calculator::new(Sl);
    let in_variable = of.variable(&big, Type::Float);
    assert_eq!(in_variable, Some(Value::Float(16_777_216.0)));
}

#[test]
fn what_stops_a_script_has_no_value() {
    let infinite = Value::Float(f64::INFINITY);
    let vector = Value::Vector([1.0, 2.0, 3.0]);
    for (left, right) in [
        (Value::Float(1.0), Value::Integer(0)),
        (Value::Integer(1), Value::Float(-0.0)),
        (vector.clone(), Value::Float(0.0)),
        (vector, Value::Integer(0)),
        (infinite.clone(), infinite.clone()),
        (Value::Vector([f64::INFINITY, 0.0, 0.0]), infinite),
    ] {
        assert_eq!(binary(BinaryOp::Divide, &left, &right, Sl), None, "{left:?} / {right:?}");
    }
    assert_eq!(float(1e-50, Sl), Value::Float(0.0), "too small for float32");
    assert!(!float(1e-50, Opensim).is_zero());
}

#[test]
fn vectors_and_rotations_have_their_operators() {
    let (left, right) = (Value::Vector([1.0, 2.0, 3.0]), Value::Vector([4.0, 5.0, 6.0]));
    let of = |op| binary(op, &left, &right, Sl).expect("a value");
    assert_eq!(of(BinaryOp::Add), Value::Vector([5.0, 7.0, 9.0]));
    assert_eq!(of(BinaryOp::Subtract), Value::Vector([-3.0, -3.0, -3.0]));
    assert_eq!(of(BinaryOp::Multiply), Value::Float(32.0));
    assert_eq!(of(BinaryOp::Remainder), Value::Vector([-3.0, 6.0, -3.0]));
    assert_eq!(of(BinaryOp::Equal), Value::Integer(0));
    assert_eq!(of(BinaryOp::NotEqual), Value::Integer(1));
    let two = Value::Integer(2);
    assert_eq!(binary(BinaryOp::Multiply, &two, &left, Sl), Some(Value::Vector([2.0, 4.0, 6.0])));
    assert_eq!(binary(BinaryOp::Divide, &left, &two, Sl), Some(Value::Vector([0.5, 1.0, 1.5])));
    let third = binary(BinaryOp::Divide, &left, &Value::Float(3.0), Sl);
    let expected = [1.0, 2.0, 3.0].map(|part: f64| f64::from((part / 3.0) as f32));
    assert_eq!(third, Some(Value::Vector(expected)), "components are float32");
    let turn = Value::Rotation([1.0, 0.0, 0.0, 2.0]);
    assert_eq!(binary(BinaryOp::Add, &turn, &turn, Sl), Some(Value::Rotation([2.0, 0.0, 0.0, 4.0])));
    assert_eq!(binary(BinaryOp::Subtract, &turn, &turn, Sl), Some(Value::Rotation([0.0; 4])));
    assert_eq!(binary(BinaryOp::Multiply, &left, &turn, Sl), None);
    assert_eq!(binary(BinaryOp::Divide, &turn, &turn, Sl), None);
    let negated = Calculator::new(Sl).unary(UnaryOp::Negate, &turn);
    assert_eq!(negated, Some(Value::Rotation([-1.0, -0.0, -0.0, -2.0])));
    assert_eq!(left.component("y"), Some(Value::Float(2.0)));
    assert_eq!(left.component("s"), None);
    assert_eq!(turn.component("s"), Some(Value::Float(2.0)));
}

#[test]
fn texts_and_lists_are_joined_and_compared() {
    let int = Value::Integer;
    for (op, left, right, expected) in [
        (BinaryOp::Add, text("a"), text("b"), Some(text("ab"))),
        (BinaryOp::Add, text("a"), key("b"), None),
        (BinaryOp::Equal, text("a"), key("a"), Some(int(1))),
        (BinaryOp::NotEqual, text("a"), text("c"), Some(int(1))),
        (BinaryOp::NotEqual, text("a"), text("a"), Some(int(0))),
        (BinaryOp::Add, list(&[int(1)]), list(&[int(2)]), Some(list(&[int(1), int(2)]))),
        (BinaryOp::Add, int(1), list(&[int(2)]), Some(list(&[int(1), int(2)]))),
        (BinaryOp::Add, list(&[int(1)]), text("a"), Some(list(&[int(1), text("a")]))),
        (BinaryOp::Equal, list(&[int(1)]), list(&[int(2)]), Some(int(1))),
        (BinaryOp::NotEqual, list(&[]), list(&[int(1), int(2)]), Some(int(-2))),
    ] {
        assert_eq!(binary(op, &left, &right, Sl), expected, "{left:?} {} {right:?}", op.as_str());
    }
    let sum = binary(BinaryOp::Add, &list(&[]), &Value::Float(0.1), Sl);
    assert_eq!(sum, Some(list(&[float(0.1, Sl)])));
}

#[test]
fn joins_end_at_a_bound() {
    let mut calculator = Calculator::new(Sl);
    let (mut long, mut wide) = (text("ab"), list(&[Value::Integer(1)]));
    let mut joins = 0;
    while let Some(longer) = calculator.binary(BinaryOp::Add, &long, &long) {
        long = longer;
        joins += 1;
        assert!(joins < 30, "texts double without an end");
    }
    let mut calculator = Calculator::new(Sl);
    while let Some(wider) = calculator.binary(BinaryOp::Add, &wide, &wide) {
        wide = wider;
        joins += 1;
        assert!(joins < 60, "lists double without an end");
    }
    assert_eq!(calculator.binary(BinaryOp::Equal, &long, &long), None, "nothing is left for comparisons");
    assert_eq!(calculator.cast(&wide, Type::String), None);
}

#[test]
fn casts_are_those_that_are_exact() {
    let int = Value::Integer;
    for (value, to, sl, opensim) in [
        (Value::Float(-3.9), Type::Integer, Some(int(-3)), Some(int(-3))),
        (Value::Float(2_147_483_647.0), Type::Integer, Some(int(MIN)), Some(int(MAX))),
        (Value::Float(-2_147_483_648.0), Type::Integer, Some(int(MIN)), Some(int(MIN))),
        (Value::Float(3e9), Type::Integer, Some(int(MIN)), Some(int(MIN))),
        (Value::Float(f64::NAN), Type::Integer, Some(int(MIN)), Some(int(MIN))),
        (Value::Float(16_777_217.0), Type::Integer, Some(int(16_777_216)), Some(int(16_777_217))),
        (int(16_777_217), Type::Float, Some(Value::Float(16_777_217.0)), Some(Value::Float(16_777_217.0))),
        (int(-5), Type::String, Some(text("-5")), Some(text("-5"))),
        (text("a"), Type::Key, Some(key("a")), Some(key("a"))),
        (key("a"), Type::String, Some(text("a")), Some(text("a"))),
        (int(1), Type::List, Some(list(&[int(1)])), Some(list(&[int(1)]))),
        (Value::Float(0.1), Type::List, Some(list(&[float(0.1, Sl)])), Some(list(&[Value::Float(0.1)]))),
        (list(&[int(1), text("a"), key("b")]), Type::String, Some(text("1ab")), Some(text("1ab"))),
        (list(&[Value::Float(1.0)]), Type::String, None, None),
        (Value::Float(1.0), Type::String, None, None),
        (text("1.0"), Type::Float, None, None),
        (text("<1, 2, 3>"), Type::Vector, None, None),
    ] {
        assert_eq!(cast(&value, to, Sl), sl, "({to}){value:?}");
        assert_eq!(cast(&value, to, Opensim), opensim, "({to}){value:?}");
    }
    for (written, value) in [
        ("12", 12),
        (" \t\n-7 apples", -7),
        ("+3", 3),
        ("0x1f", 31),
        ("-0X10", -16),
        ("0x", 0),
        ("010", 10),
        ("", 0),
        ("a1", 0),
        ("- 1", 0),
        ("2147483648", MIN),
        ("4294967295", -1),
        ("-4294967295", 1),
        ("4294967296", -1),
        ("-4294967296", -1),
        ("99999999999999999999999999", -1),
    ] {
        assert_eq!(cast(&text(written), Type::Integer, Sl), Some(int(value)), "{written:?}");
    }
}

#[test]
fn truth_is_that_of_conditions() {
    let canonical = "01234567-89ab-cdef-0123-456789ABCDEF";
    for (value, truth) in [
        (Value::Integer(-1), Some(true)),
        (Value::Integer(0), Some(false)),
        (Value::Float(-0.0), Some(false)),
        (Value::Float(f64::NAN), Some(true)),
        (text(""), Some(false)),
        (text(NULL_KEY), Some(true)),
        (key(canonical), Some(true)),
        (key(NULL_KEY), Some(false)),
        (key("01234567-89ab-cdef-0123-456789ABCDEG"), Some(false)),
        (key("0123456789abcdef0123456789ABCDEF"), Some(false)),
        (Value::Vector([0.0, -0.0, 0.0]), Some(false)),
        (Value::Vector([0.0, 0.0, 0.1]), Some(true)),
        (Value::Rotation([0.0, 1.0, 0.0, 0.0]), Some(true)),
        (Value::Rotation([0.0, 0.0, 0.0, 1.0]), None),
        (list(&[]), Some(false)),
        (list(&[Value::Integer(0)]), Some(true)),
    ] {
        assert_eq!(value.truth(), truth, "{value:?}");
    }
}
