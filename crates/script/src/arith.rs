//! Operators of integers, floats, vectors and rotations.
//!
//! Integers wrap. Results of float operators are doubles in both dialects; [`Dialect::float`] rounds them where they are stored. Components are always
//! stored, so that vectors and rotations come rounded. Integers in float operators become doubles before the call.

use crate::dialect::Dialect;
use crate::error::RunError;
use crate::value::{Rotation, Vector};

/// `left / right` of integers, towards zero; −2³¹ / −1 is −2³¹.
///
/// # Errors
///
/// [`RunError::MathError`] by zero.
pub const fn divide_integers(left: i32, right: i32) -> Result<i32, RunError> {
    if right == 0 {
        return Err(RunError::MathError);
    }
    Ok(left.wrapping_div(right))
}

/// `left % right` of integers, with the sign of `left`; −2³¹ % −1 is 0.
///
/// # Errors
///
/// [`RunError::MathError`] by zero.
pub const fn remainder(left: i32, right: i32) -> Result<i32, RunError> {
    if right == 0 {
        return Err(RunError::MathError);
    }
    Ok(left.wrapping_rem(right))
}

/// `left << count`, the count modulo 32.
#[must_use]
pub const fn shift_left(left: i32, count: i32) -> i32 {
    left.wrapping_shl(count as u32)
}

/// `left >> count`, the count modulo 32; the sign is kept.
#[must_use]
pub const fn shift_right(left: i32, count: i32) -> i32 {
    left.wrapping_shr(count as u32)
}

/// `left / right` of floats.
///
/// # Errors
///
/// [`RunError::MathError`] by zero, or if the quotient is not a number.
pub fn divide_floats(left: f64, right: f64) -> Result<f64, RunError> {
    let quotient = left / right;
    if right == 0.0 || quotient.is_nan() {
        return Err(RunError::MathError);
    }
    Ok(quotient)
}

/// `integer *= float`: the product, truncated as by a cast.
#[must_use]
pub fn multiply_integer_by_float(left: i32, right: f64, dialect: Dialect) -> i32 {
    crate::convert::float_to_integer(f64::from(left) * right, dialect)
}

/// `-value`
#[must_use]
pub fn negate_vector(value: Vector) -> Vector {
    Vector::new(-value.x, -value.y, -value.z)
}

/// `left + right` of vectors.
#[must_use]
pub fn add_vectors(left: Vector, right: Vector, dialect: Dialect) -> Vector {
    dialect.vector(Vector::new(left.x + right.x, left.y + right.y, left.z + right.z))
}

/// `left - right` of vectors.
#[must_use]
pub fn subtract_vectors(left: Vector, right: Vector, dialect: Dialect) -> Vector {
    dialect.vector(Vector::new(left.x - right.x, left.y - right.y, left.z - right.z))
}

/// `vector * float` and `float * vector`.
#[must_use]
pub fn scale_vector(vector: Vector, by: f64, dialect: Dialect) -> Vector {
    let by = dialect.float(by);
    dialect.vector(Vector::new(vector.x * by, vector.y * by, vector.z * by))
}

/// `vector / float`.
///
/// # Errors
///
/// [`RunError::MathError`] by zero. In `opensim` also if a component is infinite or not a number afterwards; `sl` keeps such components.
pub fn divide_vector(vector: Vector, by: f64, dialect: Dialect) -> Result<Vector, RunError> {
    let by = dialect.float(by);
    let quotient = Vector::new(vector.x / by, vector.y / by, vector.z / by);
    let is_finite = [quotient.x, quotient.y, quotient.z].iter().all(|component| component.is_finite());
    if by == 0.0 || dialect == Dialect::OpenSim && !is_finite {
        return Err(RunError::MathError);
    }
    Ok(dialect.vector(quotient))
}

/// `left * right` of vectors: the scalar product.
#[must_use]
pub fn dot(left: Vector, right: Vector) -> f64 {
    left.x * right.x + left.y * right.y + left.z * right.z
}

/// `left % right` of vectors: the vector product.
#[must_use]
pub fn cross(left: Vector, right: Vector, dialect: Dialect) -> Vector {
    dialect.vector(Vector::new(
        left.y * right.z - left.z * right.y,
        left.z * right.x - left.x * right.z,
        left.x * right.y - left.y * right.x,
    ))
}

/// `vector * rotation`: the vector, turned. A rotation of another length than 1 also scales in `sl`; `opensim` expects length 1.
#[must_use]
pub fn rotate(vector: Vector, by: Rotation, dialect: Dialect) -> Vector {
    let (Vector { x, y, z }, Rotation { x: a, y: b, z: c, s }) = (vector, by);
    let rotated = match dialect {
        Dialect::Sl => Vector::new(
            x * (a * a - b * b - c * c + s * s) + y * (a * b - c * s) * 2.0 + z * (a * c + b * s) * 2.0,
            x * (a * b + c * s) * 2.0 + y * (b * b - a * a - c * c + s * s) + z * (b * c - a * s) * 2.0,
            x * (a * c - b * s) * 2.0 + y * (b * c + a * s) * 2.0 + z * (c * c - a * a - b * b + s * s),
        ),
        Dialect::OpenSim => {
            let (p, q, r) = (s * x + b * z - c * y, s * y + c * x - a * z, s * z + a * y - b * x);
            Vector::new(x + 2.0 * (r * b - q * c), y + 2.0 * (p * c - r * a), z + 2.0 * (q * a - p * b))
        }
    };
    dialect.vector(rotated)
}

/// `vector / rotation`: the vector, turned back.
#[must_use]
pub fn rotate_back(vector: Vector, by: Rotation, dialect: Dialect) -> Vector {
    rotate(vector, conjugate(by), dialect)
}

/// `-value`: all four components change their signs, so that it is the same rotation.
#[must_use]
pub fn negate_rotation(value: Rotation) -> Rotation {
    Rotation::new(-value.x, -value.y, -value.z, -value.s)
}

/// `left + right` of rotations, by components.
#[must_use]
pub fn add_rotations(left: Rotation, right: Rotation, dialect: Dialect) -> Rotation {
    let (l, r) = (left, right);
    dialect.rotation(Rotation::new(l.x + r.x, l.y + r.y, l.z + r.z, l.s + r.s))
}

/// `left - right` of rotations, by components.
#[must_use]
pub fn subtract_rotations(left: Rotation, right: Rotation, dialect: Dialect) -> Rotation {
    let (l, r) = (left, right);
    dialect.rotation(Rotation::new(l.x - r.x, l.y - r.y, l.z - r.z, l.s - r.s))
}

/// `left * right` of rotations: `left` first, then `right`. The products are stored before they are added.
#[must_use]
pub fn multiply_rotations(left: Rotation, right: Rotation, dialect: Dialect) -> Rotation {
    let product = |a: f64, b: f64| dialect.float(a * b);
    let (l, r) = (left, right);
    dialect.rotation(Rotation::new(
        product(l.x, r.s) + product(l.s, r.x) + product(l.z, r.y) - product(l.y, r.z),
        product(l.y, r.s) - product(l.z, r.x) + product(l.s, r.y) + product(l.x, r.z),
        product(l.z, r.s) + product(l.y, r.x) - product(l.x, r.y) + product(l.s, r.z),
        product(l.s, r.s) - product(l.x, r.x) - product(l.y, r.y) - product(l.z, r.z),
    ))
}

/// `left / right` of rotations: `left` first, then `right` backwards.
#[must_use]
pub fn divide_rotations(left: Rotation, right: Rotation, dialect: Dialect) -> Rotation {
    multiply_rotations(left, conjugate(right), dialect)
}

/// The rotation backwards, if it has length 1.
pub(crate) fn conjugate(rotation: Rotation) -> Rotation {
    Rotation::new(-rotation.x, -rotation.y, -rotation.z, rotation.s)
}

#[cfg(test)]
#[path = "arith/tests.rs"]
mod tests;
