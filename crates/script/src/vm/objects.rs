//! Instructions on strings, keys and lists.
//!
//! A register that is written releases what it had after the new value is there; without room for the new value nothing changes.

use crate::cell::{self, EMPTY, Objects, Referent, integer};
use crate::convert;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::heap::{Heap, Object};
use crate::instruction::{Instruction, Op};
use crate::key::Key;
use crate::list::List;
use crate::string::Text;
use crate::text;
use crate::value::Element;

/// Logical bytes that are copied for one fuel.
const COPY_SHIFT: u32 = 3;
/// Logical bytes that are compared for one fuel.
const COMPARE_SHIFT: u32 = 6;

/// Characters of numbers, vectors and rotations in the weight of their casts.
const SHORT_CHARS: usize = 64;

/// Data of instructions on objects.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    pub(super) cells: &'a mut [u64],
    pub(super) globals: &'a mut [u64],
    pub(super) heap: &'a mut Heap,
    pub(super) constants: &'a [Object],
    pub(super) dialect: Dialect,
}

impl Memory<'_> {
    /// Executes an instruction. Returns the fuel of its length.
    pub(super) fn execute(&mut self, instruction: Instruction) -> Result<i64, RunError> {
        let Instruction { op, a, b, c } = instruction;
        let number = u32::from(b) | u32::from(c) << 16;
        let (a, b, c) = (usize::from(a), usize::from(b), usize::from(c));
        match op {
            Op::CopyReference => {
                cell::retain(self.heap, self.cells[b])?;
                self.set(a, self.cells[b]);
            }
            Op::MoveReference => {
                let moved = std::mem::replace(&mut self.cells[b], EMPTY);
                self.set(a, moved);
            }
            Op::ClearReference => self.set(a, EMPTY),
            Op::LoadReference => self.set(a, Referent::Constant(number).cell()),
            Op::GetReference => {
                cell::retain(self.heap, self.globals[b])?;
                self.set(a, self.globals[b]);
            }
            Op::TakeReference => {
                let moved = std::mem::replace(&mut self.globals[b], EMPTY);
                self.set(a, moved);
            }
            Op::SetReference => {
                cell::retain(self.heap, self.cells[a])?;
                let old = std::mem::replace(&mut self.globals[b], self.cells[a]);
                cell::release(self.heap, old);
            }
            Op::PutReference => {
                let moved = std::mem::replace(&mut self.cells[a], EMPTY);
                let old = std::mem::replace(&mut self.globals[b], moved);
                cell::release(self.heap, old);
            }
            Op::ConcatText | Op::ConcatList | Op::AppendList => return self.concat(op, a, b, c),
            Op::EqualText | Op::UnequalText => {
                let (left, right) = (self.text(b), self.text(c));
                let fuel = left.bytes().min(right.bytes()) >> COMPARE_SHIFT;
                let is_equal = left == right;
                self.cells[a] = u64::from(is_equal == (op == Op::EqualText));
                return Ok(fuel as i64);
            }
            Op::EqualKey | Op::UnequalKey => {
                let (left, right) = (self.key(b), self.key(c));
                // Keys may be any text.
                let fuel = left.bytes().min(right.bytes()).saturating_sub(Key::BYTES) >> COMPARE_SHIFT;
                let is_equal = left == right;
                self.cells[a] = u64::from(is_equal == (op == Op::EqualKey));
                return Ok(fuel as i64);
            }
            Op::EqualList => self.cells[a] = u64::from(self.list(b).has_length_of(self.list(c))),
            Op::UnequalList => {
                self.cells[a] = cell::of_integer(self.list(b).length_difference(self.list(c)));
            }
            Op::ListLength => self.cells[a] = self.list(b).len() as u64,
            Op::PushInteger => return self.push(a, Element::Integer(integer(self.cells[b]))),
            Op::PushFloat => {
                return self.push(a, Element::Float(self.dialect.float(f64::from_bits(self.cells[b]))));
            }
            Op::PushText => return self.push(a, Element::Text(self.text(b).clone())),
            Op::PushKey => return self.push(a, Element::Key(self.key(b).clone())),
            Op::PushVector => return self.push(a, self.dialect.vector(cell::vector(self.cells, b)).into()),
            Op::PushRotation => {
                return self.push(a, self.dialect.rotation(cell::rotation(self.cells, b)).into());
            }
            Op::TestText => self.cells[a] = u64::from(!self.text(b).is_empty()),
            Op::TestKey => self.cells[a] = u64::from(self.key(b).is_true()),
            Op::TestList => self.cells[a] = u64::from(!self.list(b).is_empty()),
            _ if super::composed::compute(instruction, self.cells, self.dialect)? => {}
            op => return self.cast(op, a, b),
        }
        Ok(0)
    }

    fn concat(&mut self, op: Op, a: usize, b: usize, c: usize) -> Result<i64, RunError> {
        let room = self.heap.room();
        let (object, n_bytes) = match op {
            Op::ConcatText if self.cells[b] == EMPTY || self.cells[c] == EMPTY => {
                let whole = if self.cells[b] == EMPTY { self.cells[c] } else { self.cells[b] };
                cell::retain(self.heap, whole)?;
                self.set(a, whole);
                return Ok(0);
            }
            Op::ConcatText => {
                let sum = text::concat(self.text(b), self.text(c), room)?;
                let n_bytes = sum.bytes();
                (Object::Text(sum), n_bytes)
            }
            Op::ConcatList => {
                let (left, right) = (self.list(b), self.list(c));
                let n_bytes = left.bytes() + right.bytes();
                if n_bytes > room + List::BASE_BYTES {
                    return Err(RunError::StackHeapCollision);
                }
                let sum: List = left.iter().chain(right).cloned().collect();
                (Object::List(sum), n_bytes)
            }
            _ => {
                let (n_left, n_right) = (self.list(a).bytes(), self.list(b).bytes());
                let reclaimed = self.reclaimed(a);
                if n_left + n_right > room + reclaimed + List::BASE_BYTES {
                    return Err(RunError::StackHeapCollision);
                }
                // A list that has other references is copied, too.
                let n_bytes = n_right + if reclaimed == 0 { n_left } else { 0 };
                let right = self.list(b).clone();
                let left = cell::take_list(self.heap, self.constants, &mut self.cells[a])?;
                let room = self.heap.room();
                (Object::List(left.concat(right, room)?), n_bytes)
            }
        };
        let sum = cell::insert(self.heap, object)?;
        self.set(a, sum);
        Ok((n_bytes >> COPY_SHIFT) as i64)
    }

    /// Logical memory that becomes free when the list of a register is taken.
    fn reclaimed(&self, at: usize) -> usize {
        match Referent::of(self.cells[at]) {
            Referent::Object(of) if self.heap.count(of) == 1 => self.heap.get(of).bytes(),
            _ => 0,
        }
    }

    fn push(&mut self, at: usize, element: Element) -> Result<i64, RunError> {
        let mut element = element;
        if let Referent::Object(of) = Referent::of(self.cells[at]) {
            match self.heap.push_in_place(of, element)? {
                None => return Ok(0),
                Some(back) => element = back,
            }
        }
        let n_bytes = self.list(at).bytes();
        let mut list = cell::take_list(self.heap, self.constants, &mut self.cells[at])?;
        list.push_within(self.heap.room(), element)?;
        self.cells[at] = cell::insert(self.heap, Object::List(list))?;
        Ok((n_bytes >> COPY_SHIFT) as i64)
    }

    fn cast(&mut self, op: Op, a: usize, b: usize) -> Result<i64, RunError> {
        let dialect = self.dialect;
        let float = f64::from_bits(self.cells[b]);
        let text: Text = match op {
            Op::IntegerToText => convert::integer_to_string(integer(self.cells[b])),
            Op::FloatToText => convert::float_to_string(float, 6, dialect).into(),
            Op::VectorToText => convert::vector_to_string(cell::vector(self.cells, b), dialect),
            Op::RotationToText => convert::rotation_to_string(cell::rotation(self.cells, b), dialect),
            Op::KeyToText => self.key(b).to_text(),
            Op::ListToText => convert::list_to_string(self.list(b), dialect),
            Op::TextToKey => {
                let key = Key::from(self.text(b).clone());
                let key = cell::insert(self.heap, Object::Key(key))?;
                self.set(a, key);
                return Ok(0);
            }
            op => return Ok(self.parse(op, a, b)),
        };
        // Each character is formatted; the weight of other casts includes those of short strings. Floats of `opensim` have up to 309 digits.
        let fuel = match op {
            Op::ListToText => text.bytes() * 4,
            Op::KeyToText => 0,
            _ => text.n_chars().saturating_sub(SHORT_CHARS) * 8,
        };
        let text = cell::insert(self.heap, Object::Text(text))?;
        self.set(a, text);
        Ok(fuel as i64)
    }

    fn parse(&mut self, op: Op, a: usize, b: usize) -> i64 {
        let text = self.text(b);
        let fuel = (text.bytes() >> 1) as i64;
        match op {
            Op::TextToInteger => {
                self.cells[a] = cell::of_integer(convert::string_to_integer(text.as_str()));
            }
            Op::TextToFloat => {
                self.cells[a] = convert::string_to_float(text.as_str(), self.dialect).to_bits();
            }
            Op::TextToVector => {
                let value = convert::string_to_vector(text.as_str(), self.dialect);
                cell::set_vector(self.cells, a, value);
            }
            Op::TextToRotation => {
                let value = convert::string_to_rotation(text.as_str(), self.dialect);
                cell::set_rotation(self.cells, a, value);
            }
            _ => unreachable!("a plain instruction, a call or a jump"),
        }
        fuel
    }

    /// Writes a reference that is owned, and releases what was there.
    fn set(&mut self, at: usize, cell: u64) {
        let old = std::mem::replace(&mut self.cells[at], cell);
        cell::release(self.heap, old);
    }

    fn text(&self, at: usize) -> &Text {
        self.objects().text(self.cells[at])
    }

    fn key(&self, at: usize) -> &Key {
        self.objects().key(self.cells[at])
    }

    fn list(&self, at: usize) -> &List {
        self.objects().list(self.cells[at])
    }

    const fn objects(&self) -> Objects<'_> {
        Objects { heap: self.heap, constants: self.constants }
    }
}
