//! The innermost loop: instructions of one frame, one after the other.
//!
//! Fuel is not counted for each instruction. Weights are summed up when a program is read (`FrameLayout::weights`), and the loop takes the
//! difference between two sums at jumps and at places where the code may be left. Code without any of these is left behind the next operation that
//! is not plain arithmetic (`UNCOUNTED_MAX`): a long function without a loop would overrun its slice otherwise.

use super::{Exit, Machine, Stop, objects};
use crate::arith;
use crate::cell::{integer, of_integer};
use crate::convert;
use crate::error::RunError;
use crate::instruction::{Instruction, Op};

/// Fuel that an operation on objects, vectors or rotations leaves uncounted at most.
const UNCOUNTED_MAX: u32 = 4_096;

impl Machine<'_> {
    /// Executes the top frame up to a call, its end or a stop. The frame's place is then behind the last instruction.
    pub(super) fn run_frame(&mut self, fuel: &mut i64) -> Exit {
        let Self { program, state, .. } = *self;
        let globals = &mut *self.globals;
        let top = self.stack.frames.last_mut().expect("a handler that has begun");
        let code: &[Instruction] = &program.source.functions[usize::from(top.function)].code;
        let layout = &program.layouts[usize::from(top.function)];
        let weights = &layout.weights[..];
        let base = self.stack.cells.len() - layout.n_cells;
        let cells = &mut self.stack.cells[base..];
        let (floats, dialect) = (&program.source.floats[..], program.source.dialect);
        let mut pc = top.pc as usize;
        // The sum of weights before the first instruction that has not been counted yet.
        let mut counted = weights[pc];
        macro_rules! jump {
            ($target:expr) => {{
                *fuel -= i64::from(weights[pc].wrapping_sub(counted));
                pc = $target as usize;
                counted = weights[pc];
                // Behind jumps forward, too: what they count is not seen again.
                if *fuel <= 0 {
                    break Exit::Stop(Stop::Spent);
                }
            }};
        }
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
        macro_rules! unless_failed {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => break Exit::Stop(Stop::Fail(error)),
                }
            };
        }
        let exit = loop {
            let instruction = code[pc];
            let (a, b, c) =
                (usize::from(instruction.a), usize::from(instruction.b), usize::from(instruction.c));
            pc += 1;
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
            match instruction.op {
                Op::Jump => jump!(instruction.jump_target()),
                Op::JumpIf => {
                    if int!(a) != 0 {
                        jump!(instruction.number());
                    }
                }
                Op::JumpIfNot => {
                    if int!(a) == 0 {
                        jump!(instruction.number());
                    }
                }
                Op::Call => break Exit::Call(instruction),
                Op::CallImport => break Exit::CallImport(instruction),
                Op::Return => break Exit::Return(None),
                Op::ReturnValue => break Exit::Return(Some(instruction.a)),
                Op::ChangeState if instruction.a == state => break Exit::Return(None),
                Op::ChangeState => break Exit::Stop(Stop::ChangeState(instruction.a)),
                Op::FailNoValue => break Exit::Stop(Stop::Fail(RunError::NoValue)),
                Op::CopyInteger | Op::CopyFloat => cells[a] = cells[b],
                Op::CopyVector => cells.copy_within(b..b + 3, a),
                Op::CopyRotation => cells.copy_within(b..b + 4, a),
                Op::LoadInteger => cells[a] = u64::from(instruction.number()),
                Op::LoadFloat => set_float!(floats[instruction.number() as usize]),
                Op::LoadVector => {
                    for n in 0..3 {
                        cells[a + n] = floats[instruction.number() as usize + n].to_bits();
                    }
                }
                Op::LoadRotation => {
                    for n in 0..4 {
                        cells[a + n] = floats[instruction.number() as usize + n].to_bits();
                    }
                }
                Op::GetVector => cells[a..a + 3].copy_from_slice(&globals[b..b + 3]),
                Op::GetRotation => cells[a..a + 4].copy_from_slice(&globals[b..b + 4]),
                Op::SetVector => globals[b..b + 3].copy_from_slice(&cells[a..a + 3]),
                Op::SetRotation => globals[b..b + 4].copy_from_slice(&cells[a..a + 4]),

                Op::AddInteger => set_int!(int!(b).wrapping_add(int!(c))),
                Op::SubtractInteger => set_int!(int!(b).wrapping_sub(int!(c))),
                Op::MultiplyInteger => set_int!(int!(b).wrapping_mul(int!(c))),
                Op::DivideInteger => set_int!(unless_failed!(arith::divide_integers(int!(b), int!(c)))),
                Op::RemainderInteger => set_int!(unless_failed!(arith::remainder(int!(b), int!(c)))),
                Op::AddSmall => set_int!(int!(b).wrapping_add(i32::from(instruction.c.cast_signed()))),
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
                Op::DivideFloat => set_float!(unless_failed!(arith::divide_floats(float!(b), float!(c)))),
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
                _ => {
                    let mut memory = objects::Memory {
                        cells,
                        globals,
                        heap: &mut self.script.heap,
                        constants: &program.source.objects,
                        dialect,
                    };
                    let more = unless_failed!(memory.execute(instruction));
                    let uncounted = weights[pc].wrapping_sub(counted);
                    if more > 0 || uncounted > UNCOUNTED_MAX {
                        *fuel -= more + i64::from(uncounted);
                        counted = weights[pc];
                        if *fuel <= 0 {
                            break Exit::Stop(Stop::Spent);
                        }
                    }
                }
            }
        };
        // After a jump that has been counted this is nothing.
        *fuel -= i64::from(weights[pc].wrapping_sub(counted));
        top.pc = pc as u32;
        exit
    }
}
