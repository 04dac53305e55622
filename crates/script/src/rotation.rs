//! Functions of vectors and rotations.
//!
//! They are computed in doubles and stored by the dialect. Where OpenSimulator's formula gives the same rotation with other rounding, both dialects
//! have the one here.

use crate::arith::{cross, divide_rotations, dot, rotate};
use crate::dialect::Dialect;
use crate::value::{Rotation, Vector};

/// Cosine from which on two directions are one: the second float32 below 1.
const ALIGNED: f64 = 1.0 - 2.0 * (f32::EPSILON as f64 / 2.0);

/// Square below which a vector of two factors of length 1 is zero.
const SQUARE_MIN: f64 = 1e-10;

/// Squares of lengths within which a rotation is taken as it is.
const NORMAL: std::ops::Range<f64> = 0.999_997_98..1.000_002_1;

/// Sine of the second angle from which on the first and the third turn about the same axis.
const POLE: f64 = 0.999_99;

/// `llVecMag`: the length.
#[must_use]
pub fn magnitude(vector: Vector, dialect: Dialect) -> f64 {
    dialect.float(length(vector))
}

/// `llVecDist`: the distance of two places.
#[must_use]
pub fn distance(left: Vector, right: Vector, dialect: Dialect) -> f64 {
    dialect.float(length(Vector::new(left.x - right.x, left.y - right.y, left.z - right.z)))
}

/// `llVecNorm`: the direction, with length 1; zero remains.
#[must_use]
pub fn normalize(vector: Vector, dialect: Dialect) -> Vector {
    dialect.vector(direction(vector))
}

fn length(vector: Vector) -> f64 {
    libm::sqrt(dot(vector, vector))
}

fn direction(vector: Vector) -> Vector {
    let length = length(vector);
    if length == 0.0 {
        return vector;
    }
    Vector::new(vector.x / length, vector.y / length, vector.z / length)
}

/// `llEuler2Rot`: turns about the third, the second and the first axis of space, in this order. `sl` chooses the sign by which the largest component is
/// positive.
#[must_use]
pub fn from_euler(angles: Vector, dialect: Dialect) -> Rotation {
    let [(s1, c1), (s2, c2), (s3, c3)] =
        [angles.x, angles.y, angles.z].map(|angle| libm::sincos(angle * 0.5));
    let rotation = Rotation::new(
        s1 * c2 * c3 + c1 * s2 * s3,
        c1 * s2 * c3 - s1 * c2 * s3,
        c1 * c2 * s3 + s1 * s2 * c3,
        c1 * c2 * c3 - s1 * s2 * s3,
    );
    if dialect == Dialect::OpenSim {
        return rotation;
    }
    // The diagonal of the matrix decides which component is the largest.
    let [(s1, c1), (s2, c2), (s3, c3)] = [angles.x, angles.y, angles.z].map(libm::sincos);
    let (d1, d2, d3) = (c2 * c3, c1 * c3 - s1 * s2 * s3, c1 * c2);
    let largest = if d1 + d2 + d3 > 0.0 {
        rotation.s
    } else if d1 < d3 && d2 < d3 {
        rotation.z
    } else if d2 > d1 {
        rotation.y
    } else {
        rotation.x
    };
    let rotation = if largest < 0.0 { crate::arith::negate_rotation(rotation) } else { rotation };
    dialect.rotation(rotation)
}

/// `llRot2Euler`: the angles of [`from_euler`]. Where the first and the third turn about the same axis, the first is 0.
#[must_use]
pub fn to_euler(rotation: Rotation, dialect: Dialect) -> Vector {
    let Rotation { x, y, z, s } = of_length_1(rotation);
    let sine = 2.0 * (x * z + y * s);
    if sine.abs() > POLE {
        let angle = libm::asin(sine.clamp(-1.0, 1.0));
        return dialect.vector(Vector::new(0.0, angle, libm::atan2(z * s + x * y, 0.5 - (x * x + z * z))));
    }
    dialect.vector(Vector::new(
        libm::atan2(x * s - y * z, 0.5 - (x * x + y * y)),
        libm::asin(sine),
        libm::atan2(z * s - x * y, 0.5 - (z * z + y * y)),
    ))
}

fn square(rotation: Rotation) -> f64 {
    rotation.x * rotation.x + rotation.y * rotation.y + rotation.z * rotation.z + rotation.s * rotation.s
}

/// The rotation without length 0: no rotation.
fn or_zero(rotation: Rotation) -> Rotation {
    if square(rotation) == 0.0 { Rotation::ZERO } else { rotation }
}

fn of_length_1(rotation: Rotation) -> Rotation {
    let rotation = or_zero(rotation);
    let square = square(rotation);
    if NORMAL.contains(&square) {
        return rotation;
    }
    let length = libm::sqrt(square);
    Rotation::new(rotation.x / length, rotation.y / length, rotation.z / length, rotation.s / length)
}

/// `llAxes2Rot`: the rotation that turns the three axes into these directions.
#[must_use]
pub fn from_axes(forward: Vector, left: Vector, up: Vector, dialect: Dialect) -> Rotation {
    let trace = forward.x + left.y + up.z;
    if trace > 0.0 {
        let root = libm::sqrt(1.0 + trace);
        let by = 0.5 / root;
        return dialect.rotation(Rotation::new(
            by * (left.z - up.y),
            by * (up.x - forward.z),
            by * (forward.y - left.x),
            root * 0.5,
        ));
    }
    // The largest component is computed by a root, so that nothing is divided by a small number.
    let rotation = if left.y <= forward.x && forward.x >= up.z {
        let root = libm::sqrt(1.0 + forward.x - left.y - up.z);
        let by = 0.5 / root;
        Rotation::new(root * 0.5, by * (forward.y + left.x), by * (up.x + forward.z), by * (left.z - up.y))
    } else if forward.x <= left.y && left.y >= up.z {
        let root = libm::sqrt(1.0 - forward.x + left.y - up.z);
        let by = 0.5 / root;
        Rotation::new(by * (forward.y + left.x), root * 0.5, by * (left.z + up.y), by * (up.x - forward.z))
    } else {
        let root = libm::sqrt(1.0 - forward.x - left.y + up.z);
        let by = 0.5 / root;
        Rotation::new(by * (up.x + forward.z), by * (left.z + up.y), root * 0.5, by * (forward.y - left.x))
    };
    let rotation = or_zero(rotation);
    let length = libm::sqrt(square(rotation));
    dialect.rotation(Rotation::new(
        rotation.x / length,
        rotation.y / length,
        rotation.z / length,
        rotation.s / length,
    ))
}

/// `llAxisAngle2Rot`: a turn about an axis; none about an axis without length.
#[must_use]
pub fn from_axis(axis: Vector, angle: f64, dialect: Dialect) -> Rotation {
    let axis = direction(axis);
    let angle = if axis == Vector::ZERO { 0.0 } else { dialect.float(angle) };
    let (sine, cosine) = libm::sincos(angle * 0.5);
    dialect.rotation(Rotation::new(axis.x * sine, axis.y * sine, axis.z * sine, cosine))
}

/// `llRot2Axis`: the axis of a turn by 0 to π.
#[must_use]
pub fn to_axis(rotation: Rotation, dialect: Dialect) -> Vector {
    let Rotation { x, y, z, s } = rotation;
    let axis = if s < 0.0 { Vector::new(-x, -y, -z) } else { Vector::new(x, y, z) };
    normalize(axis, dialect)
}

/// `llRot2Angle`: the angle of a turn, 0 to π.
#[must_use]
pub fn to_angle(rotation: Rotation, dialect: Dialect) -> f64 {
    let Rotation { x, y, z, s } = rotation;
    dialect.float(2.0 * libm::atan2(length(Vector::new(x, y, z)), s.abs()))
}

/// `llAngleBetween`: the angle of the turn from one rotation to another, 0 to π.
#[must_use]
pub fn angle_between(left: Rotation, right: Rotation, dialect: Dialect) -> f64 {
    // In doubles: float32 products would give an angle between a rotation and itself.
    to_angle(divide_rotations(or_zero(left), or_zero(right), Dialect::OpenSim), dialect)
}

/// `llRot2Fwd`: the direction of the first axis.
#[must_use]
pub fn forward(rotation: Rotation, dialect: Dialect) -> Vector {
    turned(Vector::new(1.0, 0.0, 0.0), rotation, dialect)
}

/// `llRot2Left`: the direction of the second axis.
#[must_use]
pub fn left(rotation: Rotation, dialect: Dialect) -> Vector {
    turned(Vector::new(0.0, 1.0, 0.0), rotation, dialect)
}

/// `llRot2Up`: the direction of the third axis.
#[must_use]
pub fn up(rotation: Rotation, dialect: Dialect) -> Vector {
    turned(Vector::new(0.0, 0.0, 1.0), rotation, dialect)
}

fn turned(axis: Vector, rotation: Rotation, dialect: Dialect) -> Vector {
    normalize(rotate(axis, of_length_1(rotation), Dialect::OpenSim), dialect)
}

/// `llRotBetween`: the shortest turn from one direction to another. Between opposite ones it is about an axis that is perpendicular to the first axis of
/// space, or about the third.
#[must_use]
pub fn between(from: Vector, to: Vector, dialect: Dialect) -> Rotation {
    let (from, to) = (normalize(from, dialect), normalize(to, dialect));
    let cosine = dot(from, to);
    if cosine.abs() <= ALIGNED {
        let axis = cross(from, to, Dialect::OpenSim);
        let length = libm::sqrt(dot(axis, axis) + (cosine + 1.0) * (cosine + 1.0));
        let rotation =
            Rotation::new(axis.x / length, axis.y / length, axis.z / length, (cosine + 1.0) / length);
        return dialect.rotation(rotation);
    }
    if cosine > 0.0 {
        return Rotation::ZERO;
    }
    let across = cross(from, Vector::new(1.0, 0.0, 0.0), Dialect::OpenSim);
    let axis = cross(across, from, Dialect::OpenSim);
    if dot(axis, axis) < SQUARE_MIN {
        return Rotation::new(0.0, 0.0, 1.0, 0.0);
    }
    // Adding zero removes the sign of zeros.
    let axis = direction(axis);
    dialect.rotation(Rotation::new(axis.x + 0.0, axis.y + 0.0, axis.z + 0.0, 0.0))
}

#[cfg(test)]
#[path = "rotation/tests.rs"]
mod tests;
