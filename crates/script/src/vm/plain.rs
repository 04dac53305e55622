//! Instructions on numbers, vectors and rotations. They own nothing.

use crate::arith;
use crate::cell::{integer, of_integer, rotation, set_rotation, set_vector, vector};
use crate::convert;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::instruction::{Instruction, Op};

/// Executes an instruction on numbers, or a copy of several cells. False if it is another one: nothing is done.
#[inline(always)]
pub(super) fn execute(
    Instruction { op, a, b, c }: Instruction,
    cells: &mut [u64],
    globals: &mut [u64],
    floats: &[f64],
    dialect: Dialect,
) -> Result<bool, RunError> {
    let number = (u32::from(b) | u32::from(c) << 16) as usize;
    let (small, a, b, c) = (c.cast_signed(), usize::from(a), usize::from(b), usize::from(c));
    macro_rules! int {
        ($at:ident) => {
            integer(cells[$at])
        };
    }
    macro_rules! float {
        ($at:ident) => {
            f64::from_bits(cells[$at])
        };
    }
    macro_rules! set_int {
        ($value:expr) => {
            cells[a] = of_integer($value)
        };
    }
    macro_rules! set_bool {
        ($value:expr) => {
            cells[a] = u64::from($value)
        };
    }
    macro_rules! set_float {
        ($value:expr) => {
            cells[a] = f64::to_bits($value)
        };
    }
    match op {
        Op::CopyInteger | Op::CopyFloat => cells[a] = cells[b],
        Op::CopyVector => cells.copy_within(b..b + 3, a),
        Op::CopyRotation => cells.copy_within(b..b + 4, a),
        Op::LoadInteger => cells[a] = number as u64,
        Op::LoadFloat => set_float!(floats[number]),
        Op::LoadVector => {
            for n in 0..3 {
                cells[a + n] = floats[number + n].to_bits();
            }
        }
        Op::LoadRotation => {
            for n in 0..4 {
                cells[a + n] = floats[number + n].to_bits();
            }
        }
        Op::GetVector => cells[a..a + 3].copy_from_slice(&globals[b..b + 3]),
        Op::GetRotation => cells[a..a + 4].copy_from_slice(&globals[b..b + 4]),
        Op::SetVector => globals[b..b + 3].copy_from_slice(&cells[a..a + 3]),
        Op::SetRotation => globals[b..b + 4].copy_from_slice(&cells[a..a + 4]),

        Op::AddInteger => set_int!(int!(b).wrapping_add(int!(c))),
        Op::SubtractInteger => set_int!(int!(b).wrapping_sub(int!(c))),
        Op::MultiplyInteger => set_int!(int!(b).wrapping_mul(int!(c))),
        Op::DivideInteger => set_int!(arith::divide_integers(int!(b), int!(c))?),
        Op::RemainderInteger => set_int!(arith::remainder(int!(b), int!(c))?),
        Op::AddSmall => set_int!(int!(b).wrapping_add(i32::from(small))),
        Op::AndInteger => set_int!(int!(b) & int!(c)),
        Op::OrInteger => set_int!(int!(b) | int!(c)),
        Op::XorInteger => set_int!(int!(b) ^ int!(c)),
        Op::ShiftLeft => set_int!(arith::shift_left(int!(b), int!(c))),
        Op::ShiftRight => set_int!(arith::shift_right(int!(b), int!(c))),
        Op::NegateInteger => set_int!(int!(b).wrapping_neg()),
        Op::Complement => set_int!(!int!(b)),
        Op::Not => set_bool!(int!(b) == 0),
        Op::Both => set_bool!(int!(b) != 0 && int!(c) != 0),
        Op::Either => set_bool!(int!(b) | int!(c) != 0),
        Op::EqualInteger => set_bool!(int!(b) == int!(c)),
        Op::UnequalInteger => set_bool!(int!(b) != int!(c)),
        Op::LessInteger => set_bool!(int!(b) < int!(c)),
        Op::LessOrEqualInteger => set_bool!(int!(b) <= int!(c)),

        Op::AddFloat => set_float!(float!(b) + float!(c)),
        Op::SubtractFloat => set_float!(float!(b) - float!(c)),
        Op::MultiplyFloat => set_float!(float!(b) * float!(c)),
        Op::DivideFloat => set_float!(arith::divide_floats(float!(b), float!(c))?),
        Op::NegateFloat => set_float!(-float!(b)),
        Op::RoundFloat => set_float!(dialect.float(float!(b))),
        Op::EqualFloat => set_bool!(float!(b) == float!(c)),
        Op::UnequalFloat => set_bool!(float!(b) != float!(c)),
        Op::LessFloat => set_bool!(float!(b) < float!(c)),
        Op::LessOrEqualFloat => set_bool!(float!(b) <= float!(c)),
        Op::IntegerToFloat => set_float!(f64::from(int!(b))),
        Op::FloatToInteger => set_int!(convert::float_to_integer(float!(b), dialect)),
        Op::MultiplyIntegerByFloat => {
            set_int!(arith::multiply_integer_by_float(int!(b), float!(c), dialect));
        }
        Op::TestFloat => set_bool!(convert::float_is_true(float!(b))),
        Op::GetInteger | Op::GetFloat => cells[a] = globals[b],
        Op::SetInteger | Op::SetFloat => globals[b] = cells[a],
        _ => return Ok(false),
    }
    Ok(true)
}

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
