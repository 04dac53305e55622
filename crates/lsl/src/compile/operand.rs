//! Operands: values of expressions where they are.

use script::builder::{GlobalRegister, Register};
use script::{Kind, Value};

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// Of what has no value.
    Nothing,
    /// Not loaded yet. A float may have more bits than a variable.
    Constant(Value),
    /// A local variable, not read yet.
    Local(Register),
    /// A component of a local variable, not read yet.
    Component(Register),
    /// A global variable or a component of one, not read yet.
    Global(GlobalRegister),
    /// In a register of its own.
    Temporary {
        register: Register,
        /// True for floats as variables have them, and for all other values.
        is_rounded: bool,
    },
    /// In the register of the [`Goal`].
    Placed {
        /// As for a temporary one.
        is_rounded: bool,
    },
}

/// The register in which a value is wanted. An expression that cannot use it has its value elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) register: Register,
    /// The expression may read it, so that only the last instruction may write it.
    pub(super) is_variable: bool,
}

impl Goal {
    /// A register that nothing reads before the value is there.
    pub(super) const fn fresh(register: Register) -> Self {
        Self { register, is_variable: false }
    }

    /// The register of a variable.
    pub(super) const fn variable(register: Register) -> Self {
        Self { register, is_variable: true }
    }
}

/// Owner of a register that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A variable, which keeps it.
    Variable,
    /// One operand; a reference in it is given up with the register.
    Operand,
    /// One operand; its value belongs to the program, so that no reference has to be given up.
    Constant,
}

/// A register with the value of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) register: Register,
    pub(super) owner: Owner,
}

impl Held {
    pub(super) const fn kind(self) -> Kind {
        self.register.kind()
    }
}
