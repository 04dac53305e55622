use super::*;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, PI};

const BOTH: [Dialect; 2] = [Sl, OpenSim];

#[track_caller]
fn near(actual: &[f64], expected: &[f64]) {
    let is_near = actual.iter().zip(expected).all(|(left, right)| (left - right).abs() < 2e-6);
    assert!(is_near, "{actual:?} is not near {expected:?}");
}

fn of(vector: Vector) -> [f64; 3] {
    [vector.x, vector.y, vector.z]
}

fn quaternion(rotation: Rotation) -> [f64; 4] {
    [rotation.x, rotation.y, rotation.z, rotation.s]
}

#[test]
fn lengths_and_directions() {
    for dialect in BOTH {
        let vector = Vector::new(2.0, -3.0, 6.0);
        assert_eq!(magnitude(vector, dialect), 7.0);
        assert_eq!(distance(vector, Vector::new(2.0, 1.0, 3.0), dialect), 5.0);
        near(&of(normalize(vector, dialect)), &[2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0]);
        assert_eq!(normalize(Vector::ZERO, dialect), Vector::ZERO);
    }
    let third = normalize(Vector::new(1.0, 1.0, 1.0), Sl);
    assert_eq!(third.x, Sl.float(1.0 / 3.0_f64.sqrt()), "stored");
}

#[test]
fn angles_become_rotations() {
    let half = FRAC_1_SQRT_2;
    for (angles, expected) in [
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
        ([FRAC_PI_2, 0.0, 0.0], [half, 0.0, 0.0, half]),
        ([0.0, FRAC_PI_2, 0.0], [0.0, half, 0.0, half]),
        ([0.0, 0.0, FRAC_PI_2], [0.0, 0.0, half, half]),
        ([0.0, 0.0, -FRAC_PI_2], [0.0, 0.0, -half, half]),
        ([FRAC_PI_2, FRAC_PI_2, 0.0], [0.5, 0.5, 0.5, 0.5]),
    ] {
        for dialect in BOTH {
            let rotation = from_euler(Vector::new(angles[0], angles[1], angles[2]), dialect);
            near(&quaternion(rotation), &expected);
        }
    }
    // A turn of 3π/2: `sl` makes the largest component positive.
    let three_quarters = Vector::new(0.0, 0.0, 1.5 * PI);
    near(&quaternion(from_euler(three_quarters, Sl)), &[0.0, 0.0, -half, half]);
    near(&quaternion(from_euler(three_quarters, OpenSim)), &[0.0, 0.0, half, -half]);
    near(&quaternion(from_euler(Vector::new(-PI, 0.0, 0.0), Sl)), &[1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn rotations_become_angles() {
    for (rotation, expected) in [
        ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
        ([0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2], [FRAC_PI_2, 0.0, 0.0]),
        ([0.0, 0.0, 2.0, 2.0], [0.0, 0.0, FRAC_PI_2]),
        ([0.5, 0.5, 0.5, 0.5], [0.0, FRAC_PI_2, FRAC_PI_2]),
        ([0.5, -0.5, 0.5, 0.5], [FRAC_PI_2, 0.0, FRAC_PI_2]),
        ([-0.5, -0.5, 0.5, 0.5], [0.0, -FRAC_PI_2, FRAC_PI_2]),
    ] {
        for dialect in BOTH {
            let [x, y, z, s] = rotation;
            near(&of(to_euler(Rotation::new(x, y, z, s), dialect)), &expected);
        }
    }
}

#[test]
fn axes_become_rotations() {
    let (x, y, z) = (Vector::new(1.0, 0.0, 0.0), Vector::new(0.0, 1.0, 0.0), Vector::new(0.0, 0.0, 1.0));
    let minus = crate::arith::negate_vector;
    for (forward, left, up, expected) in [
        (x, y, z, [0.0, 0.0, 0.0, 1.0]),
        (y, minus(x), z, [0.0, 0.0, FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
        // Half turns about each axis.
        (x, minus(y), minus(z), [1.0, 0.0, 0.0, 0.0]),
        (minus(x), y, minus(z), [0.0, 1.0, 0.0, 0.0]),
        (minus(x), minus(y), z, [0.0, 0.0, 1.0, 0.0]),
    ] {
        for dialect in BOTH {
            near(&quaternion(from_axes(forward, left, up, dialect)), &expected);
        }
    }
    let nothing = from_axes(Vector::ZERO, Vector::ZERO, Vector::ZERO, Sl);
    near(&[magnitude(Vector::new(nothing.x, nothing.y, nothing.z), Sl)], &[1.0]);
}

#[test]
fn turns_have_an_axis_and_an_angle() {
    let axis = Vector::new(0.0, 0.0, 5.0);
    for dialect in BOTH {
        let rotation = from_axis(axis, FRAC_PI_2, dialect);
        near(&quaternion(rotation), &[0.0, 0.0, FRAC_1_SQRT_2, FRAC_1_SQRT_2]);
        near(&[to_angle(rotation, dialect)], &[FRAC_PI_2]);
        near(&of(to_axis(rotation, dialect)), &[0.0, 0.0, 1.0]);
        let backwards = crate::arith::negate_rotation(rotation);
        near(&[to_angle(backwards, dialect)], &[FRAC_PI_2]);
        near(&of(to_axis(backwards, dialect)), &[0.0, 0.0, 1.0]);
        assert_eq!(from_axis(Vector::ZERO, 1.0, dialect), Rotation::ZERO);
        near(&[angle_between(rotation, Rotation::ZERO, dialect)], &[FRAC_PI_2]);
        assert_eq!(angle_between(rotation, rotation, dialect), 0.0);
        let nothing = Rotation::new(0.0, 0.0, 0.0, 0.0);
        assert_eq!(angle_between(nothing, Rotation::ZERO, dialect), 0.0);
    }
}

#[test]
fn rotations_have_three_directions() {
    for dialect in BOTH {
        let rotation = from_axis(Vector::new(0.0, 0.0, 1.0), FRAC_PI_2, dialect);
        near(&of(forward(rotation, dialect)), &[0.0, 1.0, 0.0]);
        near(&of(left(rotation, dialect)), &[-1.0, 0.0, 0.0]);
        near(&of(up(rotation, dialect)), &[0.0, 0.0, 1.0]);
        near(&of(forward(Rotation::new(0.0, 0.0, 0.0, 0.0), dialect)), &[1.0, 0.0, 0.0]);
    }
}

#[test]
fn turns_between_directions_are_the_shortest() {
    let vector = Vector::new;
    for (from, to, expected) in [
        (vector(1.0, 0.0, 0.0), vector(0.0, 3.0, 0.0), [0.0, 0.0, FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
        (vector(2.0, 0.0, 0.0), vector(5.0, 0.0, 0.0), [0.0, 0.0, 0.0, 1.0]),
        (vector(1.0, 0.0, 0.0), vector(-1.0, 0.0, 0.0), [0.0, 0.0, 1.0, 0.0]),
        (vector(0.0, 1.0, 0.0), vector(0.0, -1.0, 0.0), [1.0, 0.0, 0.0, 0.0]),
        (vector(0.0, 0.0, 1.0), vector(0.0, 0.0, -1.0), [1.0, 0.0, 0.0, 0.0]),
        (Vector::ZERO, vector(1.0, 0.0, 0.0), [0.0, 0.0, 0.0, 1.0]),
    ] {
        for dialect in BOTH {
            near(&quaternion(between(from, to, dialect)), &expected);
        }
    }
    near(&[to_angle(between(vector(1.0, 0.0, 0.0), vector(1.0, 1.0, 0.0), Sl), Sl)], &[FRAC_PI_4]);
}

/// Three angles within the ranges that [`to_euler`] returns, away from the poles.
fn angles() -> impl Strategy<Value = Vector> {
    (-3.1..3.1_f64, -1.5..1.5_f64, -3.1..3.1_f64).prop_map(|(x, y, z)| Vector::new(x, y, z))
}

proptest! {
    #[test]
    fn angles_come_back(angles in angles()) {
        for dialect in BOTH {
            let back = to_euler(from_euler(angles, dialect), dialect);
            for (left, right) in of(back).into_iter().zip(of(angles)) {
                prop_assert!((left - right).abs() < 1e-4, "{:?} {:?}", back, angles);
            }
        }
    }

    #[test]
    fn axes_come_back(angles in angles()) {
        for dialect in BOTH {
            let rotation = from_euler(angles, dialect);
            let axes = (forward(rotation, dialect), left(rotation, dialect), up(rotation, dialect));
            let back = from_axes(axes.0, axes.1, axes.2, dialect);
            prop_assert!(angle_between(rotation, back, dialect) < 1e-3, "{:?} {:?}", rotation, back);
        }
    }

    #[test]
    fn turns_lead_from_one_direction_to_the_other(from in angles(), to in angles()) {
        prop_assume!(magnitude(from, OpenSim) > 0.1 && magnitude(to, OpenSim) > 0.1);
        for dialect in BOTH {
            let turned = rotate(normalize(from, dialect), between(from, to, dialect), dialect);
            prop_assert!(distance(turned, normalize(to, dialect), dialect) < 1e-3);
        }
    }
}
