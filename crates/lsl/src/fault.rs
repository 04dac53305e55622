//! Faults of scripts: errors, which Second Life refuses, and warnings, for code that does not do what it seems to.

use crate::Span;
use crate::types::Type;
use outline::suggestion;

/// Importance of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The script does not compile.
    Error,
    /// It compiles.
    Warning,
}

/// A fault at one place of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The bytes at fault.
    pub span: Span,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a script.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A source that is longer than a source may be.
    #[error("{bytes} bytes, of which a script may have {max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The greatest length.
        max: usize,
    },
    /// A first line `//#dialect NAME`.
    #[error("there is no dialect `{}`; there are `sl` and `opensim`", outline::shown(.0))]
    UnknownDialect(String),
    /// Another token has to stand here.
    #[error("expected {wanted}, found {found}")]
    Syntax {
        /// Description of what may stand here.
        wanted: &'static str,
        /// Description of the token.
        found: String,
    },
    /// `(string)-x`.
    #[error("the value of this cast needs parentheses")]
    CastNeedsParens,
    /// A script without `default`.
    #[error("the script has no state `default`")]
    NoDefault,
    /// A state without event handlers.
    #[error("state `{0}` has no event handler")]
    EmptyState(String),
    /// A second declaration of a name in one scope.
    #[error("`{name}` is declared already, in line {line}")]
    Duplicate {
        /// The name.
        name: String,
        /// Line of the first declaration, from 1.
        line: u32,
    },
    /// An unknown name.
    #[error("`{name}` is not declared{}", suggestion(.nearest.as_deref()))]
    Undeclared {
        /// The name.
        name: String,
        /// A known one like it.
        nearest: Option<String>,
    },
    /// A name of another kind.
    #[error("`{name}` is {found}, not {wanted}")]
    WrongKind {
        /// The name.
        name: String,
        /// The kind of what it names.
        found: &'static str,
        /// The kind that may stand here.
        wanted: &'static str,
    },
    /// `x.w`, or a component of a constant.
    #[error("`{name}.{component}` does not exist: {reason}")]
    Component {
        /// The variable.
        name: String,
        /// The component.
        component: String,
        /// The reason.
        reason: &'static str,
    },
    /// Operands without such an operator.
    #[error("there is no operator `{left} {op} {right}`")]
    Operator {
        /// Type on the left.
        left: Type,
        /// The operator.
        op: &'static str,
        /// Type on the right.
        right: Type,
    },
    /// An operand without such an operator.
    #[error("there is no operator `{op} {value}`")]
    UnaryOperator {
        /// The operator.
        op: &'static str,
        /// The operand's type.
        value: Type,
    },
    /// A cast that does not exist.
    #[error("{from} cannot be cast to {to}")]
    Cast {
        /// Type of the value.
        from: Type,
        /// Type of the cast.
        to: Type,
    },
    /// A value of a wrong type for its variable.
    #[error("`{name}` is of type {wanted}, the value of type {found}")]
    Assignment {
        /// The variable.
        name: String,
        /// Its type.
        wanted: Type,
        /// The value's type.
        found: Type,
    },
    /// An argument of a wrong type.
    #[error("argument {number} of `{function}` is `{wanted} {parameter}`, not {found}")]
    Argument {
        /// The function.
        function: String,
        /// From 1.
        number: usize,
        /// The parameter.
        parameter: String,
        /// Its type.
        wanted: Type,
        /// The argument's type.
        found: Type,
    },
    /// Too many or too few arguments.
    #[error("`{function}` takes {wanted} arguments, not {found}")]
    ArgumentCount {
        /// The function.
        function: String,
        /// Its parameters.
        wanted: usize,
        /// The arguments.
        found: usize,
    },
    /// An event handler with other parameters than its event's.
    #[error("parameter {number} of event `{event}` is of type {wanted}, not {found}")]
    EventParameter {
        /// The event.
        event: String,
        /// From 1.
        number: usize,
        /// Type of the event's parameter.
        wanted: Type,
        /// Type of the handler's.
        found: Type,
    },
    /// An event handler with too many or too few parameters.
    #[error("event `{event}` has {wanted} parameters, not {found}")]
    EventParameterCount {
        /// The event.
        event: String,
        /// Its parameters.
        wanted: usize,
        /// The handler's.
        found: usize,
    },
    /// An unknown event.
    #[error("there is no event `{name}`{}", suggestion(.nearest.as_deref()))]
    UnknownEvent {
        /// The name.
        name: String,
        /// An event of a name like it.
        nearest: Option<String>,
    },
    /// Two handlers of one event.
    #[error("state `{state}` has a handler of `{event}` already, in line {line}")]
    DuplicateHandler {
        /// The state.
        state: String,
        /// The event.
        event: String,
        /// Line of the first handler.
        line: u32,
    },
    /// A global name or a parameter that is an event's.
    #[error("`{0}` is the name of an event")]
    EventName(String),
    /// A declaration of a name of the library.
    #[error("`{0}` is a name of the library and cannot be declared")]
    LibraryName(String),
    /// An assignment to a constant.
    #[error("`{0}` is a constant")]
    ConstantAssigned(String),
    /// A component of a wrong type.
    #[error("component {number} of this {whole} is of type {found}, not a number")]
    ComponentType {
        /// Vector or rotation.
        whole: Type,
        /// From 1.
        number: usize,
        /// The component's type.
        found: Type,
    },
    /// `[[1]]`.
    #[error("a list cannot contain a list")]
    ListInList,
    /// A call without a value in a list.
    #[error("this call has no value")]
    NoValue,
    /// A condition without a value.
    #[error("this condition has no value")]
    VoidCondition,
    /// `return x` in an event handler.
    #[error("an event handler returns no value")]
    ReturnInHandler,
    /// A value of a wrong type, or none.
    #[error("the function returns {wanted}, not {found}")]
    Return {
        /// The function's type.
        wanted: Type,
        /// The value's type.
        found: Type,
    },
    /// A function with a value that may end without `return`.
    #[error("not all paths through `{0}` return a value")]
    MissingReturn(String),
    /// `state` in a function.
    #[error("a function cannot change the state")]
    StateInFunction,
    /// `if (x) integer y;`.
    #[error("the declaration of `{0}` needs braces around it here")]
    DeclarationNeedsBlock(String),
    /// A global variable with a value that is more than a constant.
    #[error(
        "the value of a global variable is a constant, another global variable, or a vector, rotation or list of those"
    )]
    GlobalValue,
    /// More than a program may have.
    #[error("the program is too large: `{}`: {why}", outline::shown(.part))]
    TooLarge {
        /// The part, such as a function.
        part: String,
        /// Its excess.
        why: &'static str,
    },
    /// A function or an event of the language without one in the library that programs are made for.
    #[error("this server has no `{0}` with these types")]
    NotInLibrary(String),
    /// A program that does not pass its check: a fault of the compiler, not of the script.
    #[error("the compiler is at fault: {0}")]
    Compiler(String),

    /// A character without a meaning.
    #[error("this character has no meaning here and is left out")]
    Ignored,
    /// A declaration that hides another one.
    #[error("`{name}` hides the declaration in line {line}")]
    Shadows {
        /// The name.
        name: String,
        /// Line of the hidden declaration, from 1.
        line: u32,
    },
    /// A declaration that hides a name of the library.
    #[error("`{0}` hides a name of the library")]
    ShadowsLibrary(String),
    /// A declaration without a use.
    #[error("{kind} `{name}` is never used")]
    Unused {
        /// Kind of the declaration.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// `if (a = b)`.
    #[error("`=` assigns; `==` compares")]
    AssignmentAsCondition,
    /// `a == b;`.
    #[error("`==` compares; `=` assigns")]
    ComparisonAsStatement,
    /// `list == list`.
    #[error("`==` and `!=` compare the lengths of lists only")]
    ListComparison,
    /// A condition with one result.
    #[error("this condition is always {}", if *.0 { "true" } else { "false" })]
    ConstantCondition(bool),
    /// A divisor that is the constant zero.
    #[error("division by zero stops the script")]
    DivisionByZero,
    /// A branch without statements.
    #[error("this `if` does nothing")]
    EmptyIf,
    /// A loop without statements.
    #[error("this loop has no body")]
    EmptyLoop,
    /// `integer *= float`.
    #[error("`integer *= float` truncates the result, and its value cannot be used")]
    IntegerTimesFloat,
    /// Two labels of one name in a function.
    #[error("label `{0}` is there more than once in this function")]
    DuplicateLabel(String),
    /// A jump to another label than the nearest of its name.
    #[error("this jump leads to the last label `{0}` of the function")]
    JumpToLastLabel(String),
    /// `state` to the state itself.
    #[error("a change to the current state only returns")]
    SameState,
    /// `if (x) state y;` in a function.
    #[error("a change of state in a function may leave the stack damaged in Second Life")]
    StateInBranchOfFunction,
    /// A function that Second Life advises against.
    #[error("`{name}` is deprecated{}", .instead.as_ref().map_or_else(String::new, |name| format!("; use `{name}`")))]
    Deprecated {
        /// The function.
        name: String,
        /// Its replacement.
        instead: Option<String>,
    },
    /// Statements behind `return`, `jump` or `state`.
    #[error("this statement is never reached")]
    Unreachable,
    /// A function that exists and does nothing here yet.
    #[error("`{0}` is not served yet")]
    NotServed(String),
}

impl Fault {
    /// Its importance.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Ignored
            | Self::Shadows { .. }
            | Self::ShadowsLibrary(_)
            | Self::Unused { .. }
            | Self::AssignmentAsCondition
            | Self::ComparisonAsStatement
            | Self::ListComparison
            | Self::ConstantCondition(_)
            | Self::DivisionByZero
            | Self::EmptyIf
            | Self::EmptyLoop
            | Self::IntegerTimesFloat
            | Self::DuplicateLabel(_)
            | Self::JumpToLastLabel(_)
            | Self::SameState
            | Self::StateInBranchOfFunction
            | Self::Deprecated { .. }
            | Self::Unreachable
            | Self::NotServed(_) => Severity::Warning,
            _ => Severity::Error,
        }
    }
}
