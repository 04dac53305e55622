use super::*;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;
use std::f64::consts::PI;

const BOTH: [Dialect; 2] = [Sl, OpenSim];
const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Compares bits, so that zeros have signs and NaN is equal to itself.
#[track_caller]
fn same(actual: f64, expected: f64, of: &str) {
    assert_eq!(actual.to_bits(), expected.to_bits(), "{of}: {actual} is not {expected}");
}

#[test]
fn absolute_values_have_their_exceptions() {
    for (value, expected) in [(1, 1), (-1, 1), (0, 0), (i32::MIN, i32::MIN), (i32::MAX, i32::MAX)] {
        assert_eq!(abs(value), expected);
    }
    for (value, sl, opensim) in [
        (-1.5, 1.5, 1.5),
        (-0.0, -0.0, 0.0),
        (0.0, 0.0, 0.0),
        (-INFINITY, INFINITY, INFINITY),
        (NAN, NAN, NAN),
    ] {
        same(fabs(value, Sl), sl, "llFabs in sl");
        same(fabs(value, OpenSim), opensim, "llFabs in opensim");
    }
}

#[test]
fn floats_become_integers_in_three_directions() {
    const MIN: i32 = i32::MIN;
    for (value, down, up, near_sl, near_opensim) in [
        (1.4, 1, 2, 1, 1),
        (1.5, 1, 2, 2, 2),
        (-1.4, -2, -1, -1, -1),
        (-1.5, -2, -1, -1, -2),
        (0.5, 0, 1, 1, 1),
        (-0.5, -1, 0, 0, -1),
        (-0.0, 0, 0, 0, 0),
        (2_147_483_520.0, 2_147_483_520, 2_147_483_520, 2_147_483_520, 2_147_483_520),
        (2_147_483_648.0, MIN, MIN, MIN, MIN),
        (-2_147_483_648.0, MIN, MIN, MIN, MIN),
        (-3e9, MIN, MIN, MIN, MIN),
        (INFINITY, MIN, MIN, MIN, MIN),
        (-INFINITY, MIN, MIN, MIN, MIN),
        (NAN, MIN, MIN, MIN, MIN),
    ] {
        for dialect in BOTH {
            assert_eq!((floor(value, dialect), ceil(value, dialect)), (down, up), "{value} in {dialect:?}");
        }
        assert_eq!((round(value, Sl), round(value, OpenSim)), (near_sl, near_opensim), "{value}");
    }
    assert_eq!((round(8_388_609.0, Sl), round(8_388_609.0, OpenSim)), (8_388_610, 8_388_609));
    assert_eq!((floor(0.999_999_999, Sl), floor(0.999_999_999, OpenSim)), (1, 0), "through float32");
    assert_eq!((floor(2_147_483_647.0, Sl), floor(2_147_483_647.0, OpenSim)), (MIN, i32::MAX));
}

#[test]
fn powers_have_their_exceptions() {
    for (base, exponent, sl, opensim) in [
        (2.0, 10.0, 1_024.0, 1_024.0),
        (2.0, -1.0, 0.5, 0.5),
        (-2.0, 3.0, -8.0, -8.0),
        (-2.0, 0.5, NAN, NAN),
        (0.0, 0.0, 1.0, 1.0),
        (0.0, -1.0, INFINITY, INFINITY),
        (-0.0, -1.0, -INFINITY, -INFINITY),
        (-0.0, 3.0, 0.0, -0.0),
        (1.0, INFINITY, NAN, 1.0),
        (-1.0, -INFINITY, NAN, 1.0),
        (NAN, 0.0, NAN, 1.0),
        (1.0, NAN, NAN, 1.0),
        (2.0, 200.0, INFINITY, 1.606_938_044_258_990_3e60),
        (2.0, -200.0, 0.0, 6.223_015_277_861_142e-61),
    ] {
        same(pow(base, exponent, Sl), sl, &format!("{base} to the {exponent} in sl"));
        same(pow(base, exponent, OpenSim), opensim, &format!("{base} to the {exponent} in opensim"));
    }
}

#[test]
fn roots_and_logarithms_have_their_exceptions() {
    for (value, sl, opensim) in [(4.0, 2.0, 2.0), (0.0, 0.0, 0.0), (-0.0, -0.0, -0.0), (-1.0, NAN, NAN)] {
        same(sqrt(value, Sl), sl, "llSqrt in sl");
        same(sqrt(value, OpenSim), opensim, "llSqrt in opensim");
    }
    for (value, sl, opensim) in [
        (1.0, 0.0, 0.0),
        (0.0, 0.0, -INFINITY),
        (-1.0, 0.0, NAN),
        (NAN, 0.0, NAN),
        (INFINITY, INFINITY, INFINITY),
        (1e-50, 0.0, libm::log(1e-50)),
    ] {
        same(log(value, Sl), sl, "llLog in sl");
        same(log(value, OpenSim), opensim, "llLog in opensim");
    }
    same(log10(1_000.0, Sl), 3.0, "llLog10");
    same(log10(-1.0, Sl), 0.0, "llLog10");
    same(log10(0.0, OpenSim), -INFINITY, "llLog10");
}

#[test]
fn angles_are_stored() {
    for dialect in BOTH {
        same(sin(0.0, dialect), 0.0, "llSin");
        same(cos(0.0, dialect), 1.0, "llCos");
        same(tan(0.0, dialect), 0.0, "llTan");
        same(sin(INFINITY, dialect), NAN, "llSin");
        same(asin(1.5, dialect), NAN, "llAsin");
        same(acos(-1.5, dialect), NAN, "llAcos");
        same(atan2(0.0, -1.0, dialect), dialect.float(PI), "llAtan2");
        same(atan2(NAN, 1.0, dialect), NAN, "llAtan2");
        same(acos(-1.0, dialect), dialect.float(PI), "llAcos");
    }
    same(sin(1.0, OpenSim), 0.841_470_984_807_896_5, "llSin");
    same(sin(1.0, Sl), f64::from(0.841_470_96_f32), "llSin");
    assert!((sin(PI, Sl) + 8.742_278e-8).abs() < 1e-13, "the sine of float32 π: {}", sin(PI, Sl));
}

#[test]
fn modular_powers_have_no_sign() {
    for (base, exponent, modulus, expected) in [
        (3, 4, 5, 1),
        (2, 31, -1, i32::MIN),
        (2, 10, 1, 0),
        (2, 10, 0, 0),
        (7, 0, 13, 1),
        (0, 0, 13, 1),
        (-1, 1, 10, 5),
        (-1, -1, -1, 0),
        (5, -1, 7, 6),
        (65_537, 65_537, 2_147_483_647, 1_186_462_834),
    ] {
        let unsigned = |value: i32| value as u32;
        let mut slow = 1_u64;
        let in_steps = unsigned(exponent) < 100_000 && modulus != 0;
        if in_steps {
            for _ in 0..unsigned(exponent) {
                slow = slow * u64::from(unsigned(base)) % u64::from(unsigned(modulus));
            }
            slow %= u64::from(unsigned(modulus));
            assert_eq!(mod_pow(base, exponent, modulus), slow as u32 as i32, "{base} {exponent} {modulus}");
        } else {
            assert_eq!(mod_pow(base, exponent, modulus), expected, "{base} {exponent} {modulus}");
        }
    }
}

#[test]
fn random_numbers_stay_below_their_range() {
    let largest = 1.0 - f64::EPSILON / 2.0;
    for (range, unit, sl, opensim) in [
        (10.0, 0.0, 0.0, 0.0),
        (10.0, 0.5, 5.0, 5.0),
        (-10.0, 0.5, -5.0, -5.0),
        (0.0, 0.5, 0.0, 0.0),
        (-0.0, 0.5, -0.0, -0.0),
        (1e-40, 0.5, 0.0, 0.0),
        (INFINITY, 0.5, 0.0, 0.0),
        (-INFINITY, 0.5, 0.0, 0.0),
        (NAN, 0.5, NAN, NAN),
        (1.0, largest, f64::from(1.0_f32 - f32::EPSILON / 2.0), largest),
    ] {
        same(frand(range, unit, Sl), sl, &format!("llFrand({range}) in sl"));
        same(frand(range, unit, OpenSim), opensim, &format!("llFrand({range}) in opensim"));
    }
    assert_eq!(frand(1e300, 0.5, OpenSim), 5e299);
}

#[test]
fn colours_are_converted_both_ways() {
    let colour = Vector::new(0.0, 0.02, 0.5);
    for dialect in BOTH {
        let linear = srgb_to_linear(colour, dialect);
        assert!((linear.z - 0.214_041_14).abs() < 1e-6, "{linear:?}");
        let back = linear_to_srgb(linear, dialect);
        for (left, right) in [(back.x, 0.0), (back.y, 0.02), (back.z, 0.5)] {
            assert!((left - right).abs() < 1e-6, "{back:?}");
        }
    }
}

/// Equal on all machines: every processor and system that runs these tests folds the same bits.
#[test]
fn results_have_the_same_bits_everywhere() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut fold = |value: f64| hash = (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3);
    for n in -400..400 {
        let x = f64::from(n) * 0.37 + f64::from(n * n * n) * 1e-5;
        for dialect in BOTH {
            for function in [sin, cos, tan, asin, acos, sqrt, log, log10, fabs] {
                fold(function(x, dialect));
                fold(function(x / 200.0, dialect));
            }
            fold(pow(x, 1.7, dialect));
            fold(pow(1.1, x, dialect));
            fold(atan2(x, 3.0 - x, dialect));
            let rotation = crate::rotation::from_euler(Vector::new(x, 1.0 - x, x * 0.3), dialect);
            for component in [rotation.x, rotation.y, rotation.z, rotation.s] {
                fold(component);
            }
            let angles = crate::rotation::to_euler(rotation, dialect);
            fold(angles.x + angles.y * 3.0 + angles.z * 7.0);
        }
    }
    assert_eq!(hash, 2_433_575_190_836_872_093);
}

proptest! {
    #[test]
    fn drawn_numbers_are_below_any_range(range in any::<f32>(), unit in 0.0..1.0_f64) {
        prop_assume!(range.is_normal());
        for dialect in BOTH {
            let drawn = frand(f64::from(range), unit, dialect);
            prop_assert!(drawn.abs() < f64::from(range).abs());
            prop_assert_eq!(drawn, dialect.float(drawn));
        }
    }
}
