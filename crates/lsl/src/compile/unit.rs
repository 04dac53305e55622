//! Facts that all functions of a script share while they are compiled.

use super::effects::Effects;
use crate::check::{Analysis, Checked, SymbolId};
use crate::constant;
use crate::syntax::{ExprId, ExprKind, Global, Name, Script};
use crate::types::Type;
use crate::{Dialect, Span};
use script::builder::{FunctionId, GlobalRegister, StateId};
use script::{Kind, Library, Value};
use std::collections::HashMap;

/// A declaration outside of functions, as the program has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Declared {
    Variable(GlobalRegister),
    Function(FunctionId),
    State(StateId),
}

/// A script under compilation.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    pub(super) source: &'a str,
    pub(super) checked: &'a Checked,
    pub(super) analysis: &'a Analysis,
    pub(super) library: &'a Library,
    /// Values of expressions that are known now; of those in a known one they are gone.
    pub(super) constants: Vec<Option<constant::Value>>,
    pub(super) effects: Effects,
    pub(super) declared: HashMap<SymbolId, Declared>,
    /// The state without a name of its own.
    pub(super) default_state: StateId,
}

impl<'a> Unit<'a> {
    pub(super) const fn script(&self) -> &'a Script {
        &self.analysis.script
    }

    /// The dialect of the source.
    pub(super) const fn dialect(&self) -> Dialect {
        self.checked.dialect
    }

    /// The rules of the program's values.
    pub(super) const fn rules(&self) -> script::Dialect {
        rules_of(self.checked.dialect)
    }

    /// The type of an expression.
    pub(super) fn type_of(&self, id: ExprId) -> Type {
        self.analysis.types[id.0 as usize].expect("expressions without faults have types")
    }

    /// The declaration behind a name that is none of the library.
    pub(super) fn symbol(&self, name: Name) -> SymbolId {
        *self.analysis.resolved.get(&name.span.start).expect("names without faults have declarations")
    }

    /// The type of a variable.
    pub(super) fn type_of_symbol(&self, symbol: SymbolId) -> Type {
        self.analysis.symbols[symbol.0 as usize].ty
    }

    /// The expression inside of parentheses. A constant keeps them: its value is known with them.
    pub(super) fn without_parens(&self, mut id: ExprId) -> ExprId {
        while !self.is_constant(id)
            && let ExprKind::Paren(inner) = self.script().expr(id).kind
        {
            id = inner;
        }
        id
    }

    /// Types of the parameters of a function of the script.
    pub(super) fn parameters(&self, function: SymbolId) -> Vec<Type> {
        let index = self.analysis.symbols[function.0 as usize].function;
        match index.map(|index| &self.script().globals[index]) {
            Some(Global::Function(function)) => {
                function.parameters.iter().map(|parameter| parameter.ty).collect()
            }
            _ => unreachable!("functions have a place among the globals"),
        }
    }

    /// Line and column of the beginning of a span.
    pub(super) fn place(&self, span: Span) -> (u32, u32) {
        self.checked.place(self.source, span.start)
    }

    /// True if the value of an expression is known.
    pub(super) fn is_constant(&self, id: ExprId) -> bool {
        self.constants[id.0 as usize].is_some()
    }

    /// The value of an expression, if it is known.
    pub(super) fn constant(&self, id: ExprId) -> Option<Value> {
        self.constants[id.0 as usize].as_ref().map(value_of)
    }
}

/// The rules of values in a dialect.
pub(super) const fn rules_of(dialect: Dialect) -> script::Dialect {
    match dialect {
        Dialect::Sl => script::Dialect::Sl,
        Dialect::Opensim => script::Dialect::OpenSim,
    }
}

/// The kind of registers with values of a type; `None` for no value.
pub(super) const fn kind_of(ty: Type) -> Option<Kind> {
    Some(match ty {
        Type::Integer => Kind::Integer,
        Type::Float => Kind::Float,
        Type::String => Kind::Text,
        Type::Key => Kind::Key,
        Type::Vector => Kind::Vector,
        Type::Rotation => Kind::Rotation,
        Type::List => Kind::List,
        Type::Void => return None,
    })
}

/// The kind of registers with values of a type.
pub(super) fn kind(ty: Type) -> Kind {
    kind_of(ty).expect("variables and operands have a value")
}

/// A value as programs have it.
pub(super) fn value_of(value: &constant::Value) -> Value {
    use constant::Value as Known;
    match value {
        Known::Integer(value) => Value::Integer(*value),
        Known::Float(value) => Value::Float(*value),
        Known::Text(text) => Value::Text(script::Text::from(&**text)),
        Known::Key(key) => Value::Key(script::Key::from(&**key)),
        Known::Vector([x, y, z]) => Value::Vector(script::Vector::new(*x, *y, *z)),
        Known::Rotation([x, y, z, s]) => Value::Rotation(script::Rotation::new(*x, *y, *z, *s)),
        Known::List(elements) => Value::List(elements.iter().map(element_of).collect()),
    }
}

fn element_of(value: &constant::Value) -> script::Element {
    match value_of(value) {
        Value::Integer(value) => value.into(),
        Value::Float(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::Key(key) => key.into(),
        Value::Vector(vector) => vector.into(),
        Value::Rotation(rotation) => rotation.into(),
        Value::List(_) => unreachable!("lists contain no lists"),
    }
}
