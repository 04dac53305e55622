//! Cells: 64 bits without a tag. The kind of a register says what its cell is.
//!
//! A vector is three cells and a rotation four, each a double: `opensim` computes in doubles, and in `sl` a component read into a float needs no
//! conversion, so that a component is a register like any other.
//!
//! A reference is empty (the empty string, key or list), a constant of the program, or an object of the heap. Only the last counts. Every register with a
//! reference owns it at any time: a write releases what was there, a move leaves an empty one. So who owns what follows from the kinds of registers
//! alone, at every instruction, and needs no analysis of the flow.

use crate::dialect::Dialect;
use crate::error::RunError;
use crate::heap::{Heap, Object, Ref};
use crate::key::Key;
use crate::kind::Value;
use crate::list::List;
use crate::string::Text;
use crate::value::{Rotation, Vector};
use std::sync::LazyLock;

/// Set in references to constants.
const CONSTANT: u64 = 1 << 63;

/// An empty string, key or list.
pub(crate) const EMPTY: u64 = 0;

static EMPTY_TEXT: LazyLock<Text> = LazyLock::new(Text::default);
static EMPTY_KEY: LazyLock<Key> = LazyLock::new(|| Key::from(""));
static EMPTY_LIST: LazyLock<List> = LazyLock::new(List::default);

/// The target of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Referent {
    Empty,
    Constant(u32),
    Object(Ref),
}

impl Referent {
    pub(crate) const fn of(cell: u64) -> Self {
        match cell {
            EMPTY => Self::Empty,
            cell if cell & CONSTANT != 0 => Self::Constant(cell as u32),
            cell => Self::Object(Ref::from_index(cell as u32 - 1)),
        }
    }

    pub(crate) const fn cell(self) -> u64 {
        match self {
            Self::Empty => EMPTY,
            Self::Constant(index) => CONSTANT | index as u64,
            Self::Object(of) => of.index() as u64 + 1,
        }
    }
}

/// Reads references: the heap of a script and the constants of its program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objects<'a> {
    pub(crate) heap: &'a Heap,
    pub(crate) constants: &'a [Object],
}

impl<'a> Objects<'a> {
    /// The object of a reference that is not empty.
    pub(crate) fn object(self, cell: u64) -> Option<&'a Object> {
        match Referent::of(cell) {
            Referent::Empty => None,
            Referent::Constant(index) => Some(&self.constants[index as usize]),
            Referent::Object(of) => Some(self.heap.get(of)),
        }
    }

    pub(crate) fn text(self, cell: u64) -> &'a Text {
        match self.object(cell) {
            None => &EMPTY_TEXT,
            Some(Object::Text(text)) => text,
            Some(_) => panic!("a register of strings has another object"),
        }
    }

    pub(crate) fn key(self, cell: u64) -> &'a Key {
        match self.object(cell) {
            None => &EMPTY_KEY,
            Some(Object::Key(key)) => key,
            Some(_) => panic!("a register of keys has another object"),
        }
    }

    pub(crate) fn list(self, cell: u64) -> &'a List {
        match self.object(cell) {
            None => &EMPTY_LIST,
            Some(Object::List(list)) => list,
            Some(_) => panic!("a register of lists has another object"),
        }
    }

    /// Logical memory behind a reference.
    pub(crate) fn bytes(self, cell: u64) -> usize {
        self.object(cell).map_or(0, Object::bytes)
    }
}

/// Releases what a reference owns.
pub(crate) fn release(heap: &mut Heap, cell: u64) {
    if let Referent::Object(of) = Referent::of(cell) {
        heap.release(of);
    }
}

/// Adds a reference to the same object.
pub(crate) fn retain(heap: &mut Heap, cell: u64) -> Result<(), RunError> {
    match Referent::of(cell) {
        Referent::Object(of) => heap.retain(of),
        Referent::Empty | Referent::Constant(_) => Ok(()),
    }
}

/// Puts an object into the heap, unless it is empty.
pub(crate) fn insert(heap: &mut Heap, object: Object) -> Result<u64, RunError> {
    let is_empty = match &object {
        Object::Text(text) => text.is_empty(),
        Object::Key(key) => *key == *EMPTY_KEY,
        Object::List(list) => list.is_empty(),
    };
    if is_empty {
        return Ok(EMPTY);
    }
    heap.insert(object).map(|of| Referent::Object(of).cell())
}

/// Takes the list out of a reference, which is empty afterwards: itself if it has no other reference, a copy otherwise.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if a copy does not fit.
pub(crate) fn take_list(heap: &mut Heap, constants: &[Object], cell: &mut u64) -> Result<List, RunError> {
    let list = match Referent::of(*cell) {
        Referent::Empty => return Ok(List::default()),
        Referent::Constant(index) => copied(heap, &constants[index as usize])?,
        Referent::Object(of) if heap.count(of) > 1 => {
            let copy = copied(heap, heap.get(of))?;
            heap.release(of);
            copy
        }
        Referent::Object(of) => heap.take(of),
    };
    *cell = EMPTY;
    match list {
        Object::List(list) => Ok(list),
        Object::Text(_) | Object::Key(_) => panic!("a register of lists has another object"),
    }
}

/// A copy, unless there is no room for it: it is made before the heap sees it.
fn copied(heap: &Heap, object: &Object) -> Result<Object, RunError> {
    if object.bytes() > heap.room() {
        return Err(RunError::StackHeapCollision);
    }
    Ok(object.clone())
}

pub(crate) const fn integer(cell: u64) -> i32 {
    (cell as u32).cast_signed()
}

pub(crate) const fn of_integer(value: i32) -> u64 {
    value.cast_unsigned() as u64
}

pub(crate) fn vector(cells: &[u64], at: usize) -> Vector {
    let cells = &cells[at..at + 3];
    Vector::new(f64::from_bits(cells[0]), f64::from_bits(cells[1]), f64::from_bits(cells[2]))
}

pub(crate) fn set_vector(cells: &mut [u64], at: usize, value: Vector) {
    let cells = &mut cells[at..at + 3];
    cells.copy_from_slice(&[value.x.to_bits(), value.y.to_bits(), value.z.to_bits()]);
}

pub(crate) fn rotation(cells: &[u64], at: usize) -> Rotation {
    let [x, y, z, s] = [0, 1, 2, 3].map(|n| f64::from_bits(cells[at + n]));
    Rotation::new(x, y, z, s)
}

pub(crate) fn set_rotation(cells: &mut [u64], at: usize, value: Rotation) {
    let bits = [value.x.to_bits(), value.y.to_bits(), value.z.to_bits(), value.s.to_bits()];
    cells[at..at + 4].copy_from_slice(&bits);
}

/// Writes a value as a variable keeps it into a register that owns nothing.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if its object does not fit.
pub(crate) fn write(
    cells: &mut [u64],
    at: usize,
    value: Value,
    heap: &mut Heap,
    dialect: Dialect,
) -> Result<(), RunError> {
    cells[at] = match value {
        Value::Integer(value) => of_integer(value),
        Value::Float(value) => dialect.float(value).to_bits(),
        Value::Text(text) => insert(heap, Object::Text(text))?,
        Value::Key(key) => insert(heap, Object::Key(key))?,
        Value::List(list) => insert(heap, Object::List(list))?,
        Value::Vector(value) => {
            set_vector(cells, at, dialect.vector(value));
            return Ok(());
        }
        Value::Rotation(value) => {
            set_rotation(cells, at, dialect.rotation(value));
            return Ok(());
        }
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    /// The value of a register.
    fn read(cells: &[u64], at: usize, kind: Kind, objects: Objects<'_>) -> Value {
        match kind {
            Kind::Integer => Value::Integer(integer(cells[at])),
            Kind::Float => Value::Float(f64::from_bits(cells[at])),
            Kind::Text => Value::Text(objects.text(cells[at]).clone()),
            Kind::Key => Value::Key(objects.key(cells[at]).clone()),
            Kind::List => Value::List(objects.list(cells[at]).clone()),
            Kind::Vector => Value::Vector(vector(cells, at)),
            Kind::Rotation => Value::Rotation(rotation(cells, at)),
        }
    }

    #[test]
    fn references_are_cells() {
        for referent in [
            Referent::Empty,
            Referent::Constant(0),
            Referent::Constant(u32::MAX),
            Referent::Object(Ref::from_index(0)),
            Referent::Object(Ref::from_index(u32::MAX - 2)),
        ] {
            assert_eq!(Referent::of(referent.cell()), referent);
        }
    }

    #[test]
    fn values_survive_cells_and_empty_ones_take_no_memory() {
        let mut heap = Heap::new(1_000);
        let values = [
            Value::from(-7),
            Value::from(0.5),
            Value::from("abc"),
            Value::from(Key::NULL),
            Value::from(List::from(vec![1.into()])),
            Value::from(Vector::new(1.0, 2.0, 3.0)),
            Value::from(Rotation::new(1.0, 2.0, 3.0, 4.0)),
        ];
        for value in values {
            let kind = value.kind();
            let mut cells = vec![EMPTY; kind.n_cells()];
            write(&mut cells, 0, value.clone(), &mut heap, Dialect::Sl).expect("room");
            let objects = Objects { heap: &heap, constants: &[] };
            assert_eq!(read(&cells, 0, kind, objects), value);
            if kind.is_reference() {
                release(&mut heap, cells[0]);
                write(&mut cells, 0, Value::zero(kind), &mut heap, Dialect::Sl).expect("nothing");
                assert_eq!(cells[0], EMPTY);
                assert_eq!(read(&cells, 0, kind, Objects { heap: &heap, constants: &[] }), Value::zero(kind));
            }
        }
        assert_eq!((heap.used(), heap.n_objects()), (0, 0));
    }

    #[test]
    fn lists_are_taken_or_copied_within_the_limit() {
        let list = List::from(vec![1.into(); 20]);
        let constants = [Object::List(list.clone())];
        let mut heap = Heap::new(list.bytes() * 2 - 1);
        let mut cell = insert(&mut heap, Object::List(list.clone())).expect("room");
        retain(&mut heap, cell).expect("a count");
        let other = cell;
        assert_eq!(take_list(&mut heap, &constants, &mut cell), Err(RunError::StackHeapCollision));
        assert_eq!(cell, other, "a collision changes nothing");
        release(&mut heap, other);
        assert_eq!(take_list(&mut heap, &constants, &mut cell), Ok(list.clone()));
        assert_eq!((cell, heap.used()), (EMPTY, 0));
        cell = Referent::Constant(0).cell();
        assert_eq!(take_list(&mut heap, &constants, &mut cell), Ok(list));
    }
}
