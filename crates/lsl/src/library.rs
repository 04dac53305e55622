//! Functions, events and constants of the language, with their types: functions from [`script::table`], the others from the tables in `library/*.txt`.

use crate::Dialect;
use crate::lexer;
use crate::types::Type;
use script::Kind;
use script::table::{self, Service};
use std::collections::HashMap;
use std::sync::LazyLock;

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let mut library = Library::default();
    table::functions().iter().for_each(|function| library.add_function(function));
    lines(include_str!("library/events.txt")).for_each(|line| library.add_event(line));
    lines(include_str!("library/constants.txt")).for_each(|line| library.add_constant(line));
    library
});

/// A parameter of a function or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryParameter {
    /// Type of its value.
    pub ty: Type,
    /// Name in documents.
    pub name: &'static str,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryFunction {
    /// Name, as scripts call it.
    pub name: &'static str,
    /// Type of its value.
    pub returns: Type,
    /// Its parameters.
    pub parameters: Vec<LibraryParameter>,
    /// Its line of the table: costs, needs, and what carries it out.
    pub line: &'static table::Function,
    /// The only dialect that has it.
    pub dialect: Option<Dialect>,
}

impl LibraryFunction {
    /// True if calls have an effect or a result, here or in a world.
    #[must_use]
    pub const fn is_served(&self) -> bool {
        !matches!(self.line.service, Service::Later(_))
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name of its handlers.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: Vec<LibraryParameter>,
    /// The only dialect that has it.
    pub dialect: Option<Dialect>,
}

/// Value of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantValue {
    /// 32 bits.
    Integer(i32),
    /// As a double.
    Float(f64),
    /// Text, or an id.
    Text(String),
    /// Three components.
    Vector([f64; 3]),
    /// Four components.
    Rotation([f64; 4]),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Name, as scripts write it.
    pub name: &'static str,
    /// Type of its value.
    pub ty: Type,
    /// Its value.
    pub value: ConstantValue,
    /// The only dialect that has it.
    pub dialect: Option<Dialect>,
}

/// All functions, events and constants.
#[derive(Debug, Default)]
pub struct Library {
    functions: Vec<LibraryFunction>,
    events: Vec<Event>,
    constants: Vec<Constant>,
    /// Indexes of all entries of a name: two, where the dialects differ.
    functions_by_name: HashMap<&'static str, Vec<usize>>,
    events_by_name: HashMap<&'static str, Vec<usize>>,
    constants_by_name: HashMap<&'static str, Vec<usize>>,
}

impl Library {
    /// The tables of this build.
    #[must_use]
    pub fn get() -> &'static Self {
        &LIBRARY
    }

    /// The function of a name.
    #[must_use]
    pub fn function(&self, name: &str, dialect: Dialect) -> Option<&LibraryFunction> {
        let mut named = self.functions_by_name.get(name)?.iter().map(|&index| &self.functions[index]);
        named.find(|function| is_of(function.dialect, dialect))
    }

    /// The event of a name.
    #[must_use]
    pub fn event(&self, name: &str, dialect: Dialect) -> Option<&Event> {
        let mut named = self.events_by_name.get(name)?.iter().map(|&index| &self.events[index]);
        named.find(|event| is_of(event.dialect, dialect))
    }

    /// The constant of a name.
    #[must_use]
    pub fn constant(&self, name: &str, dialect: Dialect) -> Option<&Constant> {
        let mut named = self.constants_by_name.get(name)?.iter().map(|&index| &self.constants[index]);
        named.find(|constant| is_of(constant.dialect, dialect))
    }

    /// All functions, by name.
    #[must_use]
    pub fn functions(&self) -> &[LibraryFunction] {
        &self.functions
    }

    /// All events, by name.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// All constants.
    #[must_use]
    pub fn constants(&self) -> &[Constant] {
        &self.constants
    }

    fn add_function(&mut self, line: &'static table::Function) {
        let name = line.name();
        let kinds = line.signature.parameters.iter();
        let parameters = line.parameters.iter().zip(kinds);
        let dialect = line.only.map(|only| match only {
            script::Dialect::Sl => Dialect::Sl,
            script::Dialect::OpenSim => Dialect::Opensim,
        });
        self.functions_by_name.entry(name).or_default().push(self.functions.len());
        self.functions.push(LibraryFunction {
            name,
            returns: line.signature.result.map_or(Type::Void, type_of_kind),
            parameters: parameters
                .map(|(&name, &kind)| LibraryParameter { ty: type_of_kind(kind), name })
                .collect(),
            line,
            dialect,
        });
    }

    /// `NAME(TYPE NAME, …) FLAG…`.
    fn add_event(&mut self, line: &'static str) {
        let (name, parameters, flags) = split(line);
        let dialect = flags.split_whitespace().next().map(dialect_of);
        self.events_by_name.entry(name).or_default().push(self.events.len());
        self.events.push(Event { name, parameters, dialect });
    }

    /// `TYPE NAME = VALUE FLAG…`.
    fn add_constant(&mut self, line: &'static str) {
        let (head, rest) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}: no value"));
        let (ty, name) = head.split_once(' ').unwrap_or_else(|| panic!("{line}: no type"));
        let ty = type_of(ty);
        let end = match ty {
            Type::Vector | Type::Rotation => rest.find('>').map(|at| at + 1),
            Type::String => rest.rfind('"').map(|at| at + 1),
            _ => rest.find(' '),
        };
        let (value, flags) = rest.split_at(end.unwrap_or(rest.len()));
        let flags = flags.split_whitespace().filter(|flag| !flag.starts_with("deprecated"));
        let dialect = flags.map(dialect_of).next();
        self.constants_by_name.entry(name).or_default().push(self.constants.len());
        self.constants.push(Constant { name, ty, value: constant_value(ty, value), dialect });
    }
}

fn is_of(only: Option<Dialect>, dialect: Dialect) -> bool {
    only.is_none_or(|only| only == dialect)
}

/// The lines of a table without comments.
fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#'))
}

/// The parts before, within and behind the parentheses.
fn split(line: &'static str) -> (&'static str, Vec<LibraryParameter>, &'static str) {
    let (head, rest) = line.split_once('(').unwrap_or_else(|| panic!("{line}: no parameters"));
    let (parameters, flags) = rest.split_once(')').unwrap_or_else(|| panic!("{line}: no parameters"));
    let parameters = parameters.split(", ").filter(|parameter| !parameter.is_empty()).map(|parameter| {
        let (ty, name) = parameter.split_once(' ').unwrap_or_else(|| panic!("{line}: no type"));
        LibraryParameter { ty: type_of(ty), name }
    });
    (head, parameters.collect(), flags)
}

const fn type_of_kind(kind: Kind) -> Type {
    match kind {
        Kind::Integer => Type::Integer,
        Kind::Float => Type::Float,
        Kind::Text => Type::String,
        Kind::Key => Type::Key,
        Kind::List => Type::List,
        Kind::Vector => Type::Vector,
        Kind::Rotation => Type::Rotation,
    }
}

fn type_of(word: &str) -> Type {
    match word {
        "integer" => Type::Integer,
        "float" => Type::Float,
        "string" => Type::String,
        "key" => Type::Key,
        "vector" => Type::Vector,
        "rotation" => Type::Rotation,
        "list" => Type::List,
        _ => panic!("{word} is no type"),
    }
}

fn dialect_of(word: &str) -> Dialect {
    match word {
        "sl" => Dialect::Sl,
        "opensim" => Dialect::Opensim,
        _ => panic!("{word} is no flag"),
    }
}

fn constant_value(ty: Type, text: &str) -> ConstantValue {
    let float = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("{text} is no number"));
    let floats = || text.trim_matches(['<', '>']).split(',').map(float).collect::<Vec<f64>>();
    match ty {
        Type::Integer => match text.strip_prefix('-') {
            Some(digits) => ConstantValue::Integer(lexer::integer_value(digits).wrapping_neg()),
            None => ConstantValue::Integer(lexer::integer_value(text)),
        },
        Type::Float => ConstantValue::Float(float(text)),
        Type::Vector => ConstantValue::Vector(floats().try_into().expect("three components")),
        Type::Rotation => ConstantValue::Rotation(floats().try_into().expect("four components")),
        _ => ConstantValue::Text(unescaped(text.trim_matches('"'))),
    }
}

/// `\n` and `\u{FDD0}` as characters.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut value = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        if let Some(rest) = piece.strip_prefix('n') {
            value.push('\n');
            value.push_str(rest);
        } else {
            let code = piece.strip_prefix("u{").and_then(|rest| rest.split_once('}'));
            let (code, rest) = code.unwrap_or_else(|| panic!("\\{piece} is no escape"));
            let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
            value.push(code.unwrap_or_else(|| panic!("\\{piece} is no character")));
            value.push_str(rest);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> &'static Library {
        Library::get()
    }

    #[test]
    fn all_functions_events_and_constants_are_known() {
        let n_named = |start| library().functions().iter().filter(|one| one.name.starts_with(start)).count();
        // Two functions have another form in each dialect.
        assert_eq!((n_named("ll"), n_named("os"), n_named("ls")), (526 + 2, 255, 4));
        assert_eq!(library().events().len(), 43 + 1);
        assert_eq!(library().constants().len(), 1_028 + 142 + 6);
    }

    #[test]
    fn names_are_those_of_a_dialect() {
        let parameters = |name, dialect| library().function(name, dialect).map(|one| one.parameters.len());
        assert_eq!(parameters("llLinkPlaySound", Dialect::Sl), Some(4));
        assert_eq!(parameters("llLinkPlaySound", Dialect::Opensim), Some(3));
        assert_eq!(parameters("osMax", Dialect::Sl), None);
        assert_eq!(parameters("osMax", Dialect::Opensim), Some(2));
        for name in library().functions_by_name.keys() {
            let n = [Dialect::Sl, Dialect::Opensim]
                .map(|dialect| usize::from(library().function(name, dialect).is_some()));
            assert!(n[0] + n[1] > 0, "{name}");
        }
    }

    #[test]
    fn values_and_flags_are_read() {
        let value = |name| library().constant(name, Dialect::Sl).map(|one| one.value.clone()).expect(name);
        assert_eq!(value("EOF"), ConstantValue::Text("\n\n\n".to_owned()));
        assert_eq!(value("NAK"), ConstantValue::Text("\n\u{15}\n".to_owned()));
        assert_eq!(value("JSON_ARRAY"), ConstantValue::Text("\u{FDD2}".to_owned()));
        assert_eq!(value("ZERO_ROTATION"), ConstantValue::Rotation([0.0, 0.0, 0.0, 1.0]));
        assert_eq!(value("TOUCH_INVALID_TEXCOORD"), ConstantValue::Vector([-1.0, -1.0, 0.0]));
        assert_eq!(value("ALL_SIDES"), ConstantValue::Integer(-1));
        assert_eq!(value("TRUE"), ConstantValue::Integer(1));
        let function = |name| library().function(name, Dialect::Sl).expect(name);
        let types = |name| function(name).parameters.iter().map(|parameter| parameter.ty).collect::<Vec<_>>();
        assert_eq!(types("llSay"), [Type::Integer, Type::String]);
        assert_eq!(types("llSetText"), [Type::String, Type::Vector, Type::Float]);
        assert_eq!((function("llSay").returns, function("llGetOwner").returns), (Type::Void, Type::Key));
        assert_eq!(function("llSay").parameters[1].name, "msg");
        assert!(function("llSay").is_served() && !function("llSetVehicleType").is_served());
    }
}
