//! Functions of numbers, vectors and rotations that only OpenSimulator has. They compute in doubles.

use crate::arith::{cross, dot};
use crate::dialect::Dialect;
use crate::value::{Rotation, Vector};

/// Powers of ten by which digits behind the point are kept.
const POWERS: [f64; 16] =
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// From here on doubles have no digits behind the point.
const WHOLE_MIN: f64 = 1e16;

/// Distance from a cosine of 1 below which rotations are mixed like numbers.
const PARALLEL: f64 = 0.0005;

/// `osMax`: NaN if one is NaN. The positive zero is the greater.
#[must_use]
pub fn max(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() {
        f64::NAN
    } else if left > right || left == right && right.is_sign_negative() {
        left
    } else {
        right
    }
}

/// `osMin`: NaN if one is NaN. The negative zero is the lesser.
#[must_use]
pub fn min(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() {
        f64::NAN
    } else if left < right || left == right && left.is_sign_negative() {
        left
    } else {
        right
    }
}

/// `osRound`: to at most 15 digits behind the point, half away from zero. To a whole number if `digits` is 0 or less.
#[must_use]
pub fn round(value: f64, digits: i32) -> f64 {
    let digits = usize::try_from(digits).unwrap_or(0);
    if digits == 0 {
        return libm::round(value);
    }
    if value.abs() >= WHOLE_MIN {
        return value;
    }
    let power = POWERS[digits.min(POWERS.len() - 1)];
    let scaled = value * power;
    let whole = libm::trunc(scaled);
    let fraction = scaled - whole;
    let rounded = if fraction.abs() >= 0.5 { whole + 1.0_f64.copysign(fraction) } else { whole };
    rounded / power
}

/// `osIsNotValidNumber`: 0 for a number, 1 for NaN, 2 for −∞, 3 for ∞.
#[must_use]
pub fn fault_of(value: f64) -> i32 {
    if value.is_nan() {
        1
    } else if value.is_infinite() {
        if value < 0.0 { 2 } else { 3 }
    } else {
        0
    }
}

/// `osVecMagSquare`: the square of the length.
#[must_use]
pub fn square(vector: Vector) -> f64 {
    dot(vector, vector)
}

/// `osAngleBetween`: of two directions, from 0 to π.
#[must_use]
pub fn angle_between(left: Vector, right: Vector) -> f64 {
    let across = cross(left, right, Dialect::OpenSim);
    libm::atan2(libm::sqrt(square(across)), dot(left, right))
}

/// `osApproxEquals`: true if no component differs by more than a margin, the sign of which does not matter.
#[must_use]
pub fn is_near(left: Vector, right: Vector, margin: f64) -> bool {
    let margin = margin.abs();
    let is_far = |left: f64, right: f64| left > right + margin || left < right - margin;
    !(is_far(left.x, right.x) || is_far(left.y, right.y) || is_far(left.z, right.z))
}

/// `osSlerp`: the rotation that is `amount`, from 0 to 1, of the way from one to another.
#[must_use]
pub fn slerp(from: Rotation, to: Rotation, amount: f64) -> Rotation {
    let amount = amount.clamp(0.0, 1.0);
    let (mut from, to) = (of_length_1(from), of_length_1(to));
    let mut cosine = from.x * to.x + from.y * to.y + from.z * to.z + from.s * to.s;
    // Of both rotations that are one, the nearer.
    if cosine < 0.0 {
        from = Rotation::new(-from.x, -from.y, -from.z, -from.s);
        cosine = -cosine;
    }
    let (keep, take) = if 1.0 - cosine >= PARALLEL {
        let angle = libm::acos(cosine);
        let sine = libm::sin(angle);
        (libm::sin(angle * (1.0 - amount)) / sine, libm::sin(angle * amount) / sine)
    } else {
        (1.0 - amount, amount)
    };
    Rotation::new(
        from.x * keep + to.x * take,
        from.y * keep + to.y * take,
        from.z * keep + to.z * take,
        from.s * keep + to.s * take,
    )
}

fn of_length_1(Rotation { x, y, z, s }: Rotation) -> Rotation {
    let square = x * x + y * y + z * z + s * s;
    if square < f64::from(f32::from_bits(1)) {
        return Rotation::ZERO;
    }
    let by = 1.0 / libm::sqrt(square);
    Rotation::new(x * by, y * by, z * by, s * by)
}

/// `osTemperature2sRGB`: the colour of a black body of a temperature in kelvin, by OpenSimulator's polynomials and powers in float32.
#[must_use]
pub fn colour_of_temperature(kelvin: f64) -> Vector {
    let kelvin = kelvin as f32;
    if kelvin <= 1_000.0 {
        return Vector::new(1.0, 0.0401, 0.0);
    }
    if kelvin >= 40_000.0 {
        return Vector::new(0.3277, 0.5022, 1.0);
    }
    let part = |value: f32| f64::from(value.clamp(0.0, 1.0));
    if kelvin < 6_600.0 {
        let t = kelvin - 1_000.0;
        let green = ((-7.873_08e-13 * t - 7.100_85e-9) * t + 0.000_226_93) * t + 0.037_424_9;
        let t = kelvin - 1_900.0;
        let blue = ((-5.97e-12 * t + 5.49e-8) * t + 8.854_65e-5) * t - 0.005_895_9;
        return Vector::new(1.0, part(green), part(blue));
    }
    let t = 0.01 * (kelvin - 6_000.0);
    let red = 1.897_315 * libm::powf(t, -0.346_837) + 0.062_204_4;
    let green = 1.261_989 * libm::powf(t, -0.251_708) + 0.200_836;
    Vector::new(part(red), part(green), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    #[test]
    fn the_greater_and_the_lesser_number() {
        for (left, right, lesser, greater) in [
            (1.0, 2.0, 1.0, 2.0),
            (2.0, -3.0, -3.0, 2.0),
            (f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY, 0.0),
            (-0.0, 0.0, -0.0, 0.0),
            (0.0, -0.0, -0.0, 0.0),
        ] {
            assert_eq!(min(left, right).to_bits(), f64::to_bits(lesser), "{left} {right}");
            assert_eq!(max(left, right).to_bits(), f64::to_bits(greater), "{left} {right}");
        }
        assert!(max(f64::NAN, 1.0).is_nan() && min(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn numbers_are_rounded_half_away_from_zero() {
        for (value, digits, expected) in [
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (2.5, -4, 3.0),
            (1.25, 1, 1.3),
            (-1.25, 1, -1.3),
            (1.234_567, 3, 1.235),
            (0.125, 2, 0.13),
            (1e300, 5, 1e300),
            (1.5, 100, 1.5),
        ] {
            assert_eq!(round(value, digits), expected, "{value} {digits}");
        }
        assert!(round(f64::NAN, 2).is_nan());
        for (value, fault) in [(0.0, 0), (f64::NAN, 1), (f64::NEG_INFINITY, 2), (f64::INFINITY, 3)] {
            assert_eq!(fault_of(value), fault, "{value}");
        }
    }

    #[test]
    fn vectors_have_squares_angles_and_margins() {
        let (x, y) = (Vector::new(2.0, 0.0, 0.0), Vector::new(0.0, 3.0, 0.0));
        assert_eq!(square(Vector::new(1.0, 2.0, -2.0)), 9.0);
        assert_eq!(angle_between(x, y), FRAC_PI_2);
        assert_eq!(angle_between(x, Vector::new(-1.0, 0.0, 0.0)), PI);
        assert_eq!(angle_between(x, x), 0.0);
        assert_eq!(angle_between(x, Vector::ZERO), 0.0);
        let near = Vector::new(2.5, 0.0, -0.25);
        for (margin, expected) in [(0.5, true), (-0.5, true), (0.4, false), (0.0, false)] {
            assert_eq!(is_near(x, near, margin), expected, "{margin}");
        }
    }

    #[test]
    fn rotations_are_mixed_along_the_shorter_way() {
        let turn = |angle: f64| Rotation::new(0.0, 0.0, libm::sin(angle / 2.0), libm::cos(angle / 2.0));
        let is_turn = |rotation: Rotation, angle: f64| {
            let Rotation { x, y, z, s } = turn(angle);
            let cosine = rotation.x * x + rotation.y * y + rotation.z * z + rotation.s * s;
            assert!((cosine.abs() - 1.0).abs() < 1e-5, "{rotation:?} is no turn by {angle}");
        };
        for (amount, angle) in [(0.0, 0.0), (0.5, 0.5), (0.25, 0.25), (1.0, 1.0), (7.0, 1.0), (-7.0, 0.0)] {
            is_turn(slerp(turn(0.0), turn(1.0), amount), angle);
        }
        let Rotation { z, s, .. } = turn(1.0);
        is_turn(slerp(turn(0.0), Rotation::new(0.0, 0.0, -z, -s), 0.5), 0.5);
        is_turn(slerp(turn(0.0), turn(0.01), 0.5), 0.005);
        is_turn(slerp(Rotation::new(0.0, 0.0, 0.0, 0.0), turn(1.0), 0.5), 0.5);
        is_turn(slerp(Rotation::new(0.0, 0.0, 0.0, 9.0), turn(1.0), 0.5), 0.5);
    }

    #[test]
    fn bodies_glow_from_red_to_blue() {
        assert_eq!(colour_of_temperature(-5.0), Vector::new(1.0, 0.0401, 0.0));
        assert_eq!(colour_of_temperature(f64::INFINITY), Vector::new(0.3277, 0.5022, 1.0));
        assert_eq!(colour_of_temperature(1_500.0).z, 0.0);
        let day = colour_of_temperature(6_500.0);
        assert!(day.x == 1.0 && (0.93..=1.0).contains(&day.y) && (0.9..=1.0).contains(&day.z), "{day:?}");
        let blue = colour_of_temperature(20_000.0);
        assert!(blue.x < blue.y && blue.y < 1.0 && blue.z == 1.0, "{blue:?}");
    }
}
