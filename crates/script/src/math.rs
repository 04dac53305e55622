//! Functions of numbers.
//!
//! Arguments and results are stored by [`Dialect::float`], as those of any function. Functions of vectors and rotations are in [`crate::rotation`].

use crate::dialect::Dialect;
use crate::value::Vector;

/// The smallest normal float32. `llFrand` knows no range below.
const FLOAT32_MIN: f64 = f32::MIN_POSITIVE as f64;

/// `llAbs`: −2³¹ remains.
#[must_use]
pub const fn abs(value: i32) -> i32 {
    value.wrapping_abs()
}

/// `llFabs`: −0 remains in `sl`.
#[must_use]
pub fn fabs(value: f64, dialect: Dialect) -> f64 {
    let value = dialect.float(value);
    if value == 0.0 && dialect == Dialect::Sl { value } else { value.abs() }
}

/// `llFloor`: −2³¹ for results beyond 32 bits, and for NaN.
#[must_use]
pub fn floor(value: f64, dialect: Dialect) -> i32 {
    to_integer(libm::floor(dialect.float(value)))
}

/// `llCeil`: −2³¹ for results beyond 32 bits, and for NaN.
#[must_use]
pub fn ceil(value: f64, dialect: Dialect) -> i32 {
    to_integer(libm::ceil(dialect.float(value)))
}

/// `llRound`: −2³¹ for results beyond 32 bits, and for NaN. Halves go up in `sl`, away from zero in `opensim`.
#[must_use]
pub fn round(value: f64, dialect: Dialect) -> i32 {
    let value = dialect.float(value);
    to_integer(match dialect {
        // The sum is a float32: 8,388,609 + 0.5 is even.
        Dialect::Sl => libm::floor(dialect.float(value + 0.5)),
        Dialect::OpenSim => libm::round(value),
    })
}

fn to_integer(value: f64) -> i32 {
    let is_inside = value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX);
    if is_inside { value as i32 } else { i32::MIN }
}

/// `llPow`. `sl` has no −0, and no number for ±1 to the power of ±∞ and for NaN to the power of 0.
#[must_use]
pub fn pow(base: f64, exponent: f64, dialect: Dialect) -> f64 {
    let (base, exponent) = (dialect.float(base), dialect.float(exponent));
    let is_undefined = base.is_nan() || exponent.is_nan() || base.abs() == 1.0 && exponent.is_infinite();
    if dialect == Dialect::Sl && is_undefined {
        return f64::NAN;
    }
    let power = dialect.float(libm::pow(base, exponent));
    if dialect == Dialect::Sl && power == 0.0 { 0.0 } else { power }
}

/// `llSqrt`: NaN for negative numbers.
#[must_use]
pub fn sqrt(value: f64, dialect: Dialect) -> f64 {
    through(libm::sqrt, value, dialect)
}

/// `llLog`: the natural logarithm. In `sl` 0 for what has none.
#[must_use]
pub fn log(value: f64, dialect: Dialect) -> f64 {
    logarithm(libm::log, value, dialect)
}

/// `llLog10`: the logarithm to base 10. In `sl` 0 for what has none.
#[must_use]
pub fn log10(value: f64, dialect: Dialect) -> f64 {
    logarithm(libm::log10, value, dialect)
}

fn logarithm(function: fn(f64) -> f64, value: f64, dialect: Dialect) -> f64 {
    let has_none = value.is_nan() || dialect.float(value) <= 0.0;
    if dialect == Dialect::Sl && has_none { 0.0 } else { through(function, value, dialect) }
}

/// `llSin`
#[must_use]
pub fn sin(value: f64, dialect: Dialect) -> f64 {
    through(libm::sin, value, dialect)
}

/// `llCos`
#[must_use]
pub fn cos(value: f64, dialect: Dialect) -> f64 {
    through(libm::cos, value, dialect)
}

/// `llTan`
#[must_use]
pub fn tan(value: f64, dialect: Dialect) -> f64 {
    through(libm::tan, value, dialect)
}

/// `llAsin`: NaN beyond ±1.
#[must_use]
pub fn asin(value: f64, dialect: Dialect) -> f64 {
    through(libm::asin, value, dialect)
}

/// `llAcos`: NaN beyond ±1.
#[must_use]
pub fn acos(value: f64, dialect: Dialect) -> f64 {
    through(libm::acos, value, dialect)
}

/// `llAtan2`
#[must_use]
pub fn atan2(y: f64, x: f64, dialect: Dialect) -> f64 {
    dialect.float(libm::atan2(dialect.float(y), dialect.float(x)))
}

fn through(function: fn(f64) -> f64, value: f64, dialect: Dialect) -> f64 {
    dialect.float(function(dialect.float(value)))
}

/// `llModPow`: `base` to the power of `exponent`, modulo `modulus`, all three without sign; 0 for a modulus of 0 or 1.
#[must_use]
pub fn mod_pow(base: i32, exponent: i32, modulus: i32) -> i32 {
    if modulus == 0 || modulus == 1 {
        return 0;
    }
    let modulus = u64::from(modulus.cast_unsigned());
    let mut square = u64::from(base.cast_unsigned()) % modulus;
    let mut exponent = exponent.cast_unsigned();
    let mut power = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    (power as u32).cast_signed()
}

/// `llFrand`: a random number from 0 on and below `range`, with its sign. `unit` is random, from 0 on and below 1.
#[must_use]
pub fn frand(range: f64, unit: f64, dialect: Dialect) -> f64 {
    let range = dialect.float(range);
    if range.is_infinite() || range.abs() < FLOAT32_MIN {
        return if range.is_infinite() { 0.0 } else { 0.0_f64.copysign(range) };
    }
    let drawn = range * unit;
    match dialect {
        Dialect::Sl => towards_zero(drawn),
        Dialect::OpenSim => dialect.float(drawn),
    }
}

/// A double as the next float32 towards zero: a rounded one could reach the end of its range.
fn towards_zero(value: f64) -> f64 {
    let near = value as f32;
    let near = if f64::from(near).abs() > value.abs() { f32::from_bits(near.to_bits() - 1) } else { near };
    Dialect::Sl.float(f64::from(near))
}

/// `llsRGB2Linear`: components of a colour from the transfer function of sRGB to light.
#[must_use]
pub fn srgb_to_linear(colour: Vector, dialect: Dialect) -> Vector {
    let linear = |value: f64| {
        if value <= f64::from(0.040_45_f32) { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
    };
    dialect.vector(Vector::new(linear(colour.x), linear(colour.y), linear(colour.z)))
}

/// `llLinear2sRGB`: components of a colour from light to the transfer function of sRGB.
#[must_use]
pub fn linear_to_srgb(colour: Vector, dialect: Dialect) -> Vector {
    let coded = |value: f64| {
        if value <= f64::from(0.003_130_8_f32) {
            value * 12.92
        } else {
            1.055 * libm::pow(value, 1.0 / 2.4) - 0.055
        }
    };
    dialect.vector(Vector::new(coded(colour.x), coded(colour.y), coded(colour.z)))
}

#[cfg(test)]
#[path = "math/tests.rs"]
mod tests;
