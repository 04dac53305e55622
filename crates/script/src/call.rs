//! A call of a library function: its arguments, and the parts of its script that it may read and change.

use crate::cell::{self, Objects};
use crate::clock::Clock;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::heap::Heap;
use crate::key::Key;
use crate::kind::Kind;
use crate::list::List;
use crate::random::Random;
use crate::string::Text;
use crate::value::{Rotation, Vector};

/// A call. Arguments are read one after the other, in order.
#[derive(Debug)]
pub struct Call<'a> {
    pub(crate) parameters: &'static [Kind],
    /// Cells of the arguments.
    pub(crate) cells: &'a mut [u64],
    /// Cell of the next argument.
    pub(crate) at: usize,
    /// Number of arguments read so far.
    pub(crate) n_read: usize,
    pub(crate) script: &'a mut CallScript,
    pub(crate) program: CallProgram<'a>,
    pub(crate) context: &'a [u8],
    /// Fuel beside that of the function's signature.
    pub(crate) spent: u32,
}

/// Parts of a script that a call may change.
#[derive(Clone, Debug)]
pub(crate) struct CallScript {
    pub(crate) heap: Heap,
    pub(crate) random: Random,
    pub(crate) clock: Clock,
    /// The highest limit of memory that a script may set.
    pub(crate) memory_max: usize,
}

/// Parts of a program that a call reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallProgram<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) constants: &'a [crate::heap::Object],
}

/// An argument that is read where it is.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    cell: usize,
    kind: Kind,
}

impl Call<'_> {
    /// The cell of the next argument.
    ///
    /// # Panics
    ///
    /// If the function has no such parameter: it does not match its own signature.
    fn next(&mut self, kind: Kind) -> usize {
        assert_eq!(self.parameters.get(self.n_read), Some(&kind), "kind of parameter {}", self.n_read);
        self.n_read += 1;
        let cell = self.at;
        self.at += kind.n_cells();
        cell
    }

    /// The next argument, an integer.
    ///
    /// # Panics
    ///
    /// If the function's signature has another parameter here. So do the others.
    pub fn integer(&mut self) -> i32 {
        let at = self.next(Kind::Integer);
        cell::integer(self.cells[at])
    }

    /// The next argument, a float as a parameter keeps it.
    pub fn float(&mut self) -> f64 {
        let at = self.next(Kind::Float);
        self.program.dialect.float(f64::from_bits(self.cells[at]))
    }

    /// The next argument, a string.
    pub fn text(&mut self) -> Text {
        let at = self.next(Kind::Text);
        self.objects().text(self.cells[at]).clone()
    }

    /// The next argument, a key.
    pub fn key(&mut self) -> Key {
        let at = self.next(Kind::Key);
        self.objects().key(self.cells[at]).clone()
    }

    /// The next argument, a list, which is taken: it is copied only if the script has it elsewhere, too.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] if a copy does not fit.
    pub fn list(&mut self) -> Result<List, RunError> {
        let at = self.next(Kind::List);
        cell::take_list(&mut self.script.heap, self.program.constants, &mut self.cells[at])
    }

    /// The next argument, a vector as a parameter keeps it.
    pub fn vector(&mut self) -> Vector {
        let at = self.next(Kind::Vector);
        self.program.dialect.vector(cell::vector(self.cells, at))
    }

    /// The next argument, a rotation as a parameter keeps it.
    pub fn rotation(&mut self) -> Rotation {
        let at = self.next(Kind::Rotation);
        self.program.dialect.rotation(cell::rotation(self.cells, at))
    }

    /// The next argument, a string, a key or a list that stays where it is.
    pub fn argument(&mut self) -> Argument {
        let kind = self.parameters.get(self.n_read).copied().unwrap_or(Kind::Integer);
        Argument { cell: self.next(kind), kind }
    }

    /// The string of an argument.
    #[must_use]
    pub fn text_at(&self, argument: Argument) -> &Text {
        assert_eq!(argument.kind, Kind::Text, "kind of an argument");
        self.objects().text(self.cells[argument.cell])
    }

    /// The key of an argument.
    #[must_use]
    pub fn key_at(&self, argument: Argument) -> &Key {
        assert_eq!(argument.kind, Kind::Key, "kind of an argument");
        self.objects().key(self.cells[argument.cell])
    }

    /// The list of an argument.
    #[must_use]
    pub fn list_at(&self, argument: Argument) -> &List {
        assert_eq!(argument.kind, Kind::List, "kind of an argument");
        self.objects().list(self.cells[argument.cell])
    }

    /// The script's dialect.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.program.dialect
    }

    /// Logical memory that is free.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.script.heap.room()
    }

    /// Logical memory in use.
    #[must_use]
    pub const fn memory_used(&self) -> usize {
        self.script.heap.used()
    }

    /// The limit of logical memory.
    #[must_use]
    pub const fn memory_limit(&self) -> usize {
        self.script.heap.limit()
    }

    /// Sets the limit of logical memory: true if the script fits into it, and may have as much.
    pub fn set_memory_limit(&mut self, limit: i32) -> bool {
        let limit = usize::try_from(limit).ok().filter(|&limit| limit <= self.script.memory_max);
        limit.is_some_and(|limit| self.script.heap.set_limit(limit).is_ok())
    }

    /// Timer and waits of the script.
    pub const fn clock(&mut self) -> &mut Clock {
        &mut self.script.clock
    }

    /// The world's knowledge of the event that is handled.
    #[must_use]
    pub const fn context(&self) -> &[u8] {
        self.context
    }

    /// Uses fuel beside that of the function's signature, for work that its arguments alone do not show.
    pub const fn spend(&mut self, fuel: u32) {
        self.spent = self.spent.saturating_add(fuel);
    }

    /// Draws 64 bits.
    pub const fn draw_bits(&mut self) -> u64 {
        self.script.random.bits()
    }

    /// Draws a number from 0 on and below 1.
    pub const fn draw_unit(&mut self) -> f64 {
        self.script.random.unit()
    }

    /// Draws a number below another. 0 for 0.
    pub const fn draw_below(&mut self, below: u32) -> u32 {
        self.script.random.below(below)
    }

    const fn objects(&self) -> Objects<'_> {
        Objects { heap: &self.script.heap, constants: self.program.constants }
    }
}
