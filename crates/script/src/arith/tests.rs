use super::*;
use Dialect::{OpenSim, Sl};
use RunError::MathError;

const BOTH: [Dialect; 2] = [Sl, OpenSim];

#[test]
fn integers_divide_towards_zero() {
    for (left, right, quotient, rest) in [
        (7, 2, Ok(3), Ok(1)),
        (-7, 2, Ok(-3), Ok(-1)),
        (7, -2, Ok(-3), Ok(1)),
        (-7, -2, Ok(3), Ok(-1)),
        (i32::MIN, -1, Ok(i32::MIN), Ok(0)),
        (i32::MIN, 1, Ok(i32::MIN), Ok(0)),
        (1, 0, Err(MathError), Err(MathError)),
        (0, 0, Err(MathError), Err(MathError)),
        (i32::MIN, 0, Err(MathError), Err(MathError)),
    ] {
        assert_eq!(divide_integers(left, right), quotient, "{left} / {right}");
        assert_eq!(remainder(left, right), rest, "{left} % {right}");
    }
    assert_eq!(MathError.to_string(), "Math error");
}

#[test]
fn shifts_are_arithmetic_and_count_modulo_32() {
    for (value, count, left, right) in [
        (1, 0, 1, 1),
        (1, 31, i32::MIN, 0),
        (1, 32, 1, 1),
        (1, 33, 2, 0),
        (1, -1, i32::MIN, 0),
        (-8, 1, -16, -4),
        (-1, 31, i32::MIN, -1),
        (-1, -32, -1, -1),
        (0x4000_0000, 1, i32::MIN, 0x2000_0000),
    ] {
        assert_eq!(shift_left(value, count), left, "{value} << {count}");
        assert_eq!(shift_right(value, count), right, "{value} >> {count}");
    }
}

#[test]
fn floats_divide_as_doubles() {
    for (left, right, expected) in [
        (1.0, 3.0, Ok(1.0 / 3.0)),
        (1.0, 0.0, Err(MathError)),
        (1.0, -0.0, Err(MathError)),
        (0.0, 0.0, Err(MathError)),
        (f64::NAN, 1.0, Err(MathError)),
        (1.0, f64::NAN, Err(MathError)),
        (f64::INFINITY, f64::INFINITY, Err(MathError)),
        (f64::INFINITY, 2.0, Ok(f64::INFINITY)),
        (1.0, f64::INFINITY, Ok(0.0)),
        (1e300, 1e-300, Ok(f64::INFINITY)),
    ] {
        assert_eq!(divide_floats(left, right), expected, "{left} / {right}");
    }
}

#[test]
fn integers_times_floats_are_truncated() {
    for (left, right, sl, opensim) in [
        (10, 0.75, 7, 7),
        (-10, 0.75, -7, -7),
        (i32::MAX, 1.0, i32::MIN, i32::MAX),
        (i32::MAX, 2.0, i32::MIN, i32::MIN),
        (1, f64::NAN, i32::MIN, i32::MIN),
        (16_777_217, 1.0, 16_777_216, 16_777_217),
    ] {
        assert_eq!(multiply_integer_by_float(left, right, Sl), sl, "{left} *= {right}");
        assert_eq!(multiply_integer_by_float(left, right, OpenSim), opensim, "{left} *= {right}");
    }
}

#[test]
fn vectors_divide_by_numbers() {
    let vector = Vector::new(1.0, -2.0, 0.0);
    for dialect in BOTH {
        assert_eq!(divide_vector(vector, 2.0, dialect), Ok(Vector::new(0.5, -1.0, 0.0)));
        assert_eq!(divide_vector(vector, 0.0, dialect), Err(MathError));
        assert_eq!(divide_vector(vector, -0.0, dialect), Err(MathError));
    }
    let infinite = Vector::new(f64::INFINITY, 1.0, 1.0);
    assert_eq!(divide_vector(infinite, 2.0, Sl), Ok(Vector::new(f64::INFINITY, 0.5, 0.5)));
    assert_eq!(divide_vector(infinite, 2.0, OpenSim), Err(MathError));
    let divided = divide_vector(infinite, f64::NAN, Sl).expect("no error in sl");
    assert!(divided.x.is_nan() && divided.y.is_nan());
}

#[test]
fn components_are_stored() {
    let (third, tenth) = (Vector::new(1.0, 2.0, 3.0), 0.1);
    assert_eq!(scale_vector(third, tenth, OpenSim), Vector::new(0.1, 0.2, 0.1 * 3.0));
    let sl = scale_vector(third, tenth, Sl);
    assert_eq!(sl.x, f64::from(0.1_f32));
    assert_eq!(sl.z, f64::from((f64::from(0.1_f32) * 3.0) as f32));
    let big = Vector::new(16_777_216.0, 0.0, 0.0);
    let one = Vector::new(1.0, 1.0, 1.0);
    assert_eq!(add_vectors(big, one, Sl), Vector::new(16_777_216.0, 1.0, 1.0));
    assert_eq!(add_vectors(big, one, OpenSim), Vector::new(16_777_217.0, 1.0, 1.0));
    assert_eq!(subtract_vectors(one, big, OpenSim), Vector::new(-16_777_215.0, 1.0, 1.0));
}

#[test]
fn products_of_vectors_are_a_float_and_a_vector() {
    let (left, right) = (Vector::new(1.0, 2.0, 3.0), Vector::new(4.0, 5.0, 6.0));
    assert_eq!(dot(left, right), 32.0);
    for dialect in BOTH {
        assert_eq!(cross(left, right, dialect), Vector::new(-3.0, 6.0, -3.0));
    }
}

/// A quarter turn about the third axis.
fn quarter() -> Rotation {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    Rotation::new(0.0, 0.0, half, half)
}

fn is_near(left: Vector, right: Vector) -> bool {
    [left.x - right.x, left.y - right.y, left.z - right.z].iter().all(|difference| difference.abs() < 1e-6)
}

#[test]
fn rotations_turn_vectors() {
    let east = Vector::new(1.0, 0.0, 0.0);
    for dialect in BOTH {
        let north = rotate(east, quarter(), dialect);
        assert!(is_near(north, Vector::new(0.0, 1.0, 0.0)), "{north:?}");
        assert!(is_near(rotate_back(north, quarter(), dialect), east));
        assert_eq!(rotate(east, Rotation::ZERO, dialect), east);
    }
    // Twice the length: `sl` scales by its square.
    let double = Rotation::new(0.0, 0.0, 0.0, 2.0);
    assert_eq!(rotate(east, double, Sl), Vector::new(4.0, 0.0, 0.0));
    assert_eq!(rotate(east, double, OpenSim), east);
}

#[test]
fn products_of_rotations_are_applied_from_left_to_right() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let about_x = Rotation::new(half, 0.0, 0.0, half);
    let vector = Vector::new(1.0, 2.0, 3.0);
    for dialect in BOTH {
        let product = multiply_rotations(quarter(), about_x, dialect);
        let in_turn = rotate(rotate(vector, quarter(), dialect), about_x, dialect);
        assert!(is_near(rotate(vector, product, dialect), in_turn), "{dialect:?}");
        let back = divide_rotations(product, about_x, dialect);
        assert!(is_near(rotate(vector, back, dialect), rotate(vector, quarter(), dialect)));
    }
}

#[test]
fn sums_of_rotations_are_those_of_their_components() {
    let (left, right) = (Rotation::new(1.0, 2.0, 3.0, 4.0), Rotation::new(0.5, 0.5, 0.5, 0.5));
    for dialect in BOTH {
        assert_eq!(add_rotations(left, right, dialect), Rotation::new(1.5, 2.5, 3.5, 4.5));
        assert_eq!(subtract_rotations(left, right, dialect), Rotation::new(0.5, 1.5, 2.5, 3.5));
    }
    assert_eq!(negate_rotation(left), Rotation::new(-1.0, -2.0, -3.0, -4.0));
    assert_eq!(negate_vector(Vector::new(1.0, -2.0, 0.0)), Vector::new(-1.0, 2.0, -0.0));
}
