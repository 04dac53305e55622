use super::*;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const INFINITY: f64 = f64::INFINITY;

#[test]
fn integers_are_decimal_or_hexadecimal_and_wrap() {
    for (text, expected) in [
        ("", 0),
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        (" \t\n\u{b}\u{c}\r7", 7),
        ("7 apples", 7),
        ("apples", 0),
        ("1.9", 1),
        ("- 7", 0),
        ("--7", 0),
        ("0x10", 16),
        ("0XfF", 255),
        (" 0x10", 16),
        ("-0x10", 0),
        ("0x", 0),
        ("0xg", 0),
        ("010", 10),
        ("2147483647", i32::MAX),
        ("2147483648", i32::MIN),
        ("4294967295", -1),
        ("-4294967295", 1),
        ("4294967296", -1),
        ("-4294967296", -1),
        ("99999999999999999999999", -1),
        ("-99999999999999999999999", -1),
        ("0xFFFFFFFF", -1),
        ("0x80000000", i32::MIN),
        ("0x100000000", -1),
        ("0x100000001", -1),
        ("00000000000000000000000012", 12),
        ("٣", 0),
    ] {
        assert_eq!(string_to_integer(text), expected, "{text:?}");
    }
}

#[test]
fn floats_are_those_of_c() {
    for (text, expected) in [
        ("", 0.0),
        ("1", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        (".", 0.0),
        ("-.5", -0.5),
        ("-", 0.0),
        ("+2.5e1x", 25.0),
        ("1e", 1.0),
        ("1e+", 1.0),
        ("1e+1", 10.0),
        ("1E-1", 0.1),
        ("1e400", INFINITY),
        ("-1e400", -INFINITY),
        ("1e-400", 0.0),
        ("  3", 3.0),
        ("3 4", 3.0),
        ("1,5", 1.0),
        ("0x10", 16.0),
        ("0x1.8", 1.5),
        ("0x.8", 0.5),
        ("0x1p4", 16.0),
        ("0x1p", 1.0),
        ("0X1P-1", 0.5),
        ("-0x1.8p1", -3.0),
        ("0x", 0.0),
        ("0x.", 0.0),
        ("0x1p99999999999999999999", INFINITY),
        ("0x1p-99999999999999999999", 0.0),
        ("0x0p99999999999999999999", 0.0),
        ("inf", INFINITY),
        ("-INFinity", -INFINITY),
        ("infix", INFINITY),
        ("in", 0.0),
        ("one", 0.0),
        ("ö", 0.0),
    ] {
        assert_eq!(string_to_float(text, OpenSim), expected, "{text:?}");
        assert_eq!(string_to_float(text, Sl), Sl.float(expected), "{text:?}");
    }
    assert!(string_to_float("NaN", Sl).is_nan() && string_to_float("-nanny", OpenSim).is_nan());
    assert_eq!(string_to_float("-0", Sl).to_bits(), (-0.0_f64).to_bits());
    assert_eq!(string_to_float("0.1", Sl), f64::from(0.1_f32));
    assert_eq!(string_to_float("0.1", OpenSim), 0.1);
}

#[test]
fn hexadecimal_floats_round_once() {
    // 2^53 + 1 lies between two doubles; a digit far behind it decides.
    let tie = "0x20000000000001";
    assert_eq!(string_to_float(tie, OpenSim), 9_007_199_254_740_992.0);
    assert_eq!(string_to_float(&format!("{tie}.{}1", "0".repeat(100)), OpenSim), 9_007_199_254_740_994.0);
    let long = format!("0x{}p-4000", "f".repeat(1_000));
    assert_eq!(string_to_float(&long, OpenSim), 1.0);
}

#[test]
fn vectors_begin_at_the_first_character() {
    let vector = Vector::new(1.0, 2.0, 3.0);
    for (text, expected) in [
        ("<1, 2, 3>", vector),
        ("<1,2,3>", vector),
        ("< 1,\t2, 3 >", vector),
        ("<1, 2, 3", vector),
        ("<1, 2, 3> and more", vector),
        ("<0x1, 2e0, 3.>", vector),
        (" <1, 2, 3>", Vector::ZERO),
        ("1, 2, 3", Vector::ZERO),
        ("<1 , 2, 3>", Vector::ZERO),
        ("<1, 2>", Vector::ZERO),
        ("<1, 2, >", Vector::ZERO),
        ("<1, x, 3>", Vector::ZERO),
        ("", Vector::ZERO),
        ("<1, inf, infinity>", Vector::new(1.0, INFINITY, INFINITY)),
        ("<1, inf, info>", Vector::new(1.0, INFINITY, INFINITY)),
        ("<1, inf, infix>", Vector::ZERO),
    ] {
        for dialect in [Sl, OpenSim] {
            assert_eq!(string_to_vector(text, dialect), expected, "{text:?}");
        }
    }
    assert_eq!(string_to_vector("<0.1, 0, 0>", Sl).x, f64::from(0.1_f32));
    assert_eq!(string_to_vector("<0.1, 0, 0>", OpenSim).x, 0.1);
}

#[test]
fn rotations_have_four_numbers() {
    for (text, expected) in [
        ("<1, 2, 3, 4>", Rotation::new(1.0, 2.0, 3.0, 4.0)),
        ("<1, 2, 3>", Rotation::ZERO),
        ("<0, 0, 0, 0>", Rotation::new(0.0, 0.0, 0.0, 0.0)),
        ("", Rotation::ZERO),
    ] {
        for dialect in [Sl, OpenSim] {
            assert_eq!(string_to_rotation(text, dialect), expected, "{text:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "[-+0-9a-fx.pein<>, \u{e4}]{0,20}") {
        let _ = (string_to_integer(&text), string_to_float(&text, Sl), string_to_vector(&text, OpenSim));
    }

    #[test]
    fn printed_doubles_are_read_again(value in any::<f64>().prop_filter("a number", |value| !value.is_nan())) {
        prop_assert_eq!(string_to_float(&format!("{value:e}"), OpenSim), value);
        prop_assert_eq!(string_to_integer(&format!("{}", value as i32)), value as i32);
    }
}
