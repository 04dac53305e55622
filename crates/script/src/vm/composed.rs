//! Instructions on vectors and rotations.

use crate::arith;
use crate::cell::{rotation, set_rotation, set_vector, vector};
use crate::convert;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::instruction::{Instruction, Op};

/// Executes an instruction on vectors and rotations. False if it is another one: nothing is done.
pub(super) fn compute(
    Instruction { op, a, b, c }: Instruction,
    cells: &mut [u64],
    dialect: Dialect,
) -> Result<bool, RunError> {
    let (a, b, c) = (usize::from(a), usize::from(b), usize::from(c));
    let float = |cells: &[u64], at: usize| f64::from_bits(cells[at]);
    let result = match op {
        Op::AddVector => arith::add_vectors(vector(cells, b), vector(cells, c), dialect),
        Op::SubtractVector => arith::subtract_vectors(vector(cells, b), vector(cells, c), dialect),
        Op::ScaleVector => arith::scale_vector(vector(cells, b), float(cells, c), dialect),
        Op::DivideVector => arith::divide_vector(vector(cells, b), float(cells, c), dialect)?,
        Op::NegateVector => arith::negate_vector(vector(cells, b)),
        Op::CrossVector => arith::cross(vector(cells, b), vector(cells, c), dialect),
        Op::RotateVector => arith::rotate(vector(cells, b), rotation(cells, c), dialect),
        Op::RotateVectorBack => arith::rotate_back(vector(cells, b), rotation(cells, c), dialect),
        Op::DotVector => {
            cells[a] = arith::dot(vector(cells, b), vector(cells, c)).to_bits();
            return Ok(true);
        }
        Op::EqualVector => return Ok(set(cells, a, vector(cells, b) == vector(cells, c))),
        Op::UnequalVector => return Ok(set(cells, a, vector(cells, b) != vector(cells, c))),
        Op::TestVector => return Ok(set(cells, a, convert::vector_is_true(vector(cells, b)))),
        Op::EqualRotation => return Ok(set(cells, a, rotation(cells, b) == rotation(cells, c))),
        Op::UnequalRotation => return Ok(set(cells, a, rotation(cells, b) != rotation(cells, c))),
        Op::TestRotation => return Ok(set(cells, a, convert::rotation_is_true(rotation(cells, b)))),
        op => return Ok(turn(op, [a, b, c], cells, dialect)),
    };
    set_vector(cells, a, result);
    Ok(true)
}

/// Executes an instruction whose result is a rotation.
fn turn(op: Op, [a, b, c]: [usize; 3], cells: &mut [u64], dialect: Dialect) -> bool {
    let result = match op {
        Op::AddRotation => arith::add_rotations(rotation(cells, b), rotation(cells, c), dialect),
        Op::SubtractRotation => arith::subtract_rotations(rotation(cells, b), rotation(cells, c), dialect),
        Op::MultiplyRotation => arith::multiply_rotations(rotation(cells, b), rotation(cells, c), dialect),
        Op::DivideRotation => arith::divide_rotations(rotation(cells, b), rotation(cells, c), dialect),
        Op::NegateRotation => arith::negate_rotation(rotation(cells, b)),
        _ => return false,
    };
    set_rotation(cells, a, result);
    true
}

fn set(cells: &mut [u64], at: usize, value: bool) -> bool {
    cells[at] = u64::from(value);
    true
}
