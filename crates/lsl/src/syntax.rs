//! A script's syntax: nodes in tables, children before their parents, so that no traversal and no drop is recursive.

use crate::Span;
use crate::operators::{BinaryOp, UnaryOp};
use crate::types::Type;

/// Index of a name in [`Script::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameId(pub(crate) u32);

/// Index of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExprId(pub(crate) u32);

/// Index of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StmtId(pub(crate) u32);

/// A range of [`Script::expr_lists`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExprList {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A range of [`Script::stmt_lists`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StmtList {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A name where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) id: NameId,
    pub(crate) span: Span,
}

/// A variable, or a component of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) variable: Name,
    pub(crate) component: Option<Name>,
}

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ExprKind {
    Integer(i32),
    Float(f64),
    /// Index into [`Script::texts`].
    Text(u32),
    Place(Place),
    List(ExprList),
    Vector([ExprId; 3]),
    Rotation([ExprId; 4]),
    Unary(UnaryOp, ExprId),
    Binary(BinaryOp, ExprId, ExprId),
    /// `=` without an operator, `+=` and so on with one.
    Assign(Option<BinaryOp>, Place, ExprId),
    /// `++x`: by 1 or −1.
    PreAdd(Place, i32),
    /// `x++`: by 1 or −1.
    PostAdd(Place, i32),
    Cast(Type, ExprId),
    Call(Name, ExprList),
    Print(ExprId),
    Paren(ExprId),
}

/// A declared variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Declaration {
    pub(crate) ty: Type,
    pub(crate) name: Name,
    pub(crate) value: Option<ExprId>,
}

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

/// Kinds of statements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StmtKind {
    Empty,
    Expr(ExprId),
    Declare(Declaration),
    Block(StmtList),
    If {
        condition: ExprId,
        then: StmtId,
        otherwise: Option<StmtId>,
    },
    While {
        condition: ExprId,
        body: StmtId,
    },
    DoWhile {
        body: StmtId,
        condition: ExprId,
    },
    For {
        start: ExprList,
        condition: ExprId,
        step: ExprList,
        body: StmtId,
    },
    Return(Option<ExprId>),
    Jump(Name),
    Label(Name),
    /// `state NAME;`, `None` for `default`.
    ChangeState {
        name: Option<Name>,
    },
}

/// A parameter of a function or an event handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) ty: Type,
    pub(crate) name: Name,
}

/// A function or an event handler.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    /// `Type::Void` for functions without a value and for event handlers.
    pub(crate) returns: Type,
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Parameter>,
    /// The statements between its braces.
    pub(crate) body: StmtList,
    pub(crate) span: Span,
}

/// A state with its event handlers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// `None` for `default`.
    pub(crate) name: Option<Name>,
    pub(crate) handlers: Vec<Function>,
    pub(crate) span: Span,
}

/// A global variable or a function, in the order of the source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Global {
    Variable(Declaration),
    Function(Function),
}

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    pub(crate) names: Vec<Box<str>>,
    pub(crate) texts: Vec<Box<str>>,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) expr_lists: Vec<ExprId>,
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) stmt_lists: Vec<StmtId>,
    pub(crate) globals: Vec<Global>,
    pub(crate) states: Vec<State>,
}

impl Script {
    pub(crate) fn name(&self, name: Name) -> &str {
        self.text_of(name.id)
    }

    pub(crate) fn text_of(&self, name: NameId) -> &str {
        &self.names[name.0 as usize]
    }

    pub(crate) fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    pub(crate) fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize]
    }

    pub(crate) fn expr_list(&self, list: ExprList) -> &[ExprId] {
        &self.expr_lists[list.start as usize..list.end as usize]
    }

    pub(crate) fn stmt_list(&self, list: StmtList) -> &[StmtId] {
        &self.stmt_lists[list.start as usize..list.end as usize]
    }

    /// The first node of an expression, whose nodes are all from this one to its root.
    pub(crate) fn first_node(&self, root: ExprId) -> ExprId {
        let mut id = root;
        loop {
            id = match self.expr(id).kind {
                ExprKind::List(list) | ExprKind::Call(_, list) => match self.expr_list(list).first() {
                    Some(&first) => first,
                    None => return id,
                },
                ExprKind::Vector([first, ..]) | ExprKind::Rotation([first, ..]) => first,
                ExprKind::Binary(_, first, _)
                | ExprKind::Unary(_, first)
                | ExprKind::Assign(_, _, first)
                | ExprKind::Cast(_, first)
                | ExprKind::Print(first)
                | ExprKind::Paren(first) => first,
                ExprKind::Integer(_)
                | ExprKind::Float(_)
                | ExprKind::Text(_)
                | ExprKind::Place(_)
                | ExprKind::PreAdd(..)
                | ExprKind::PostAdd(..) => return id,
            };
        }
    }

    /// The expression inside of parentheses.
    pub(crate) fn without_parens(&self, mut id: ExprId) -> ExprId {
        while let ExprKind::Paren(inner) = self.expr(id).kind {
            id = inner;
        }
        id
    }
}
