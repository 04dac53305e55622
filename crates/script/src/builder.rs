//! Construction of programs: an assembler with registers and labels, for compilers and tests.
//!
//! # Rules for compilers
//!
//! - The order of evaluation is the compiler's: the right operand of a binary operator first, arguments, elements and
//!   components from left to right.
//! - A register has one kind for the whole function. [`Code::register`] hands one out, [`Code::release`] returns it for later use with the same kind. A
//!   register that is handed out again has its old value.
//! - Cells of a new frame are zero: integers, floats and vectors are zero, strings, keys and lists empty. A rotation has to be loaded.
//! - Registers with references own them. `CopyReference` adds a reference, `MoveReference` leaves an empty register. A list whose only reference is in the
//!   register is changed in place by `Push…`, `AppendList` and the functions of the library; so take a list out of a global (`TakeReference`),
//!   change it, and put it back (`PutReference`).
//! - Float operators yield doubles. `RoundFloat` makes of a double what a variable, parameter, result, component or list element is (float32 in `sl`); it has to
//!   precede each store, call and return. Arguments of library functions, elements by `PushFloat`, and vector operators are rounded by the machine.
//! - A vector is built by `RoundFloat` into its components ([`Register::component`]), an assigned component is one of these, too.
//! - `>` and `>=` are `<` and `<=` with exchanged registers; `&&` and `||` are `Both` and `Either` of integers, after `Test…`.
//! - Arguments of a call are a row of registers ([`Code::row`]). References among them are moved into the callee, so that the row can be used again.
//! - Fuel is checked at jumps, calls, returns and operations on lengths. Every loop has a jump backwards, so that no other check is needed.

mod code;

pub use code::Code;

use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::heap::Object;
use crate::kind::{Kind, Value, fold_object};
use crate::library::{Import, Library};
use crate::program::{Function, Global, Program, ProgramSource, State};
use crate::verify::{ProgramError, verify};
use state_hash::StateHasher;
use std::collections::BTreeMap;

/// A program under construction.
#[derive(Clone, Debug)]
pub struct ProgramBuilder {
    source: ProgramSource,
    n_global_cells: usize,
    /// Indexes of the objects among the constants, by their digests: a long source has many.
    objects: BTreeMap<u64, Vec<u32>>,
    /// Indexes of the first ones of float constants, by their bits.
    floats: BTreeMap<Vec<u64>, u32>,
}

/// A register of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    cell: u16,
    kind: Kind,
}

/// A global variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalRegister(Register);

/// A function, which may be called before it has code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionId(u16);

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(u16);

/// A place in a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

impl Register {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// A component of a vector or a rotation, from 0, as a register.
    ///
    /// # Panics
    ///
    /// If it has no such component.
    #[must_use]
    pub fn component(self, n: u16) -> Self {
        assert!(
            usize::from(n) < self.kind.n_cells() && self.kind.n_cells() > 1,
            "a component of {:?}",
            self.kind
        );
        Self { cell: self.cell.wrapping_add(n), kind: Kind::Float }
    }
}

impl From<Register> for u16 {
    fn from(register: Register) -> Self {
        register.cell
    }
}

impl GlobalRegister {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.0.kind
    }

    /// A component of a vector or a rotation, from 0.
    ///
    /// # Panics
    ///
    /// If it has no such component.
    #[must_use]
    pub fn component(self, n: u16) -> Self {
        Self(self.0.component(n))
    }
}

impl ProgramBuilder {
    /// An empty program. `hash` is that of source, dialect and compiler.
    #[must_use]
    pub const fn new(hash: [u8; 32], dialect: Dialect) -> Self {
        let source = ProgramSource {
            hash,
            dialect,
            floats: Vec::new(),
            objects: Vec::new(),
            globals: Vec::new(),
            imports: Vec::new(),
            functions: Vec::new(),
            states: Vec::new(),
        };
        Self { source, n_global_cells: 0, objects: BTreeMap::new(), floats: BTreeMap::new() }
    }

    /// Adds a global variable with its initial value.
    pub fn global(&mut self, initial: Value) -> GlobalRegister {
        let kind = initial.kind();
        // Beyond the limit the cell's number is wrong, and the program is refused at the end.
        let register = Register { cell: self.n_global_cells as u16, kind };
        self.n_global_cells += kind.n_cells();
        let global = match initial.stored(self.source.dialect) {
            value if value == Value::zero(kind) && kind.is_reference() => Global::Empty(kind),
            Value::Text(text) => Global::Constant(self.object(Object::Text(text))),
            Value::Key(key) => Global::Constant(self.object(Object::Key(key))),
            Value::List(list) => Global::Constant(self.object(Object::List(list))),
            value => Global::Plain(value),
        };
        self.source.globals.push(global);
        GlobalRegister(register)
    }

    /// Adds a function without code.
    pub fn function(&mut self, name: &str, parameters: &[Kind], result: Option<Kind>) -> FunctionId {
        let id = FunctionId(self.source.functions.len() as u16);
        self.source.functions.push(Function {
            name: name.to_owned(),
            registers: parameters.to_vec(),
            n_parameters: parameters.len() as u16,
            result,
            code: Vec::new(),
            lines: Vec::new(),
        });
        id
    }

    /// Adds a state. The first one is that in which scripts begin.
    pub fn state(&mut self, name: &str) -> StateId {
        let id = StateId(self.source.states.len() as u16);
        self.source.states.push(State { name: name.to_owned(), handlers: Vec::new() });
        id
    }

    /// Adds a handler to a state: a function with the event's parameters and without a result.
    pub fn handler(&mut self, state: StateId, event: EventKind) -> FunctionId {
        let name = format!("{}.{}", self.source.states[usize::from(state.0)].name, event.name());
        let id = self.function(&name, event.parameters(), None);
        let handlers = &mut self.source.states[usize::from(state.0)].handlers;
        let at = handlers.partition_point(|(kind, _)| *kind < event);
        handlers.insert(at, (event, id.0));
        id
    }

    /// Begins the code of a function. It ends with [`Code::finish`].
    #[must_use]
    pub fn code(&mut self, of: FunctionId) -> Code<'_> {
        Code::new(self, of)
    }

    /// The program, checked.
    ///
    /// # Errors
    ///
    /// If it does not fit together, or the library lacks a function.
    pub fn finish(self, library: &Library) -> Result<Program, ProgramError> {
        verify(self.source, library)
    }

    fn object(&mut self, object: Object) -> u32 {
        let mut digest = StateHasher::new();
        fold_object(&object, &mut digest);
        let alike = self.objects.entry(digest.finish()).or_default();
        let objects = &mut self.source.objects;
        if let Some(&found) = alike.iter().find(|&&index| objects[index as usize] == object) {
            return found;
        }
        objects.push(object);
        let index = objects.len() as u32 - 1;
        alike.push(index);
        index
    }

    fn floats(&mut self, floats: &[f64]) -> u32 {
        let bits = floats.iter().map(|float| float.to_bits()).collect();
        let constants = &mut self.source.floats;
        *self.floats.entry(bits).or_insert_with(|| {
            constants.extend_from_slice(floats);
            (constants.len() - floats.len()) as u32
        })
    }

    fn import(&mut self, import: Import) -> u16 {
        let found = self.source.imports.iter().position(|other| *other == import);
        let index = found.unwrap_or_else(|| {
            self.source.imports.push(import);
            self.source.imports.len() - 1
        });
        index as u16
    }
}

#[cfg(test)]
mod tests;
