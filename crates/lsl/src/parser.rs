//! Tokens → syntax, by the grammar of Second Life.
//!
//! Reading is total: a statement or a declaration that cannot be read is reported and left out, and reading goes on behind it. It is not recursive:
//! what is open lies in lists, so that the depth of a source has no other bound than its length.
//!
//! | part | file |
//! |---|---|
//! | globals, functions, states | this one |
//! | statements | `parser/statement.rs` |
//! | expressions | `parser/expression.rs` |

mod expression;
mod statement;

use crate::fault::Fault;
use crate::lexer;
use crate::syntax::{
    Declaration, Expr, ExprId, ExprKind, Function, Global, Name, NameId, Parameter, Script, State, Stmt,
    StmtId, StmtKind, StmtList,
};
use crate::token::{Token, TokenKind};
use crate::types::Type;
use crate::{Dialect, Faults, Span};
use std::collections::HashMap;

/// A fault was reported, and what was being read is no more.
struct Unreadable;

type Read<T> = Result<T, Unreadable>;

/// Reads a whole source.
pub(crate) fn parse(source: &str, dialect: Dialect, faults: &mut Faults) -> Script {
    let tokens = lexer::tokens(source, faults);
    let mut parser = Parser {
        source,
        dialect,
        tokens: &tokens,
        at: 0,
        names: HashMap::new(),
        script: Script::default(),
        open: Vec::new(),
        items: Vec::new(),
        open_stmts: Vec::new(),
        stmts: Vec::new(),
        faults,
    };
    parser.script();
    parser.script
}

struct Parser<'a> {
    source: &'a str,
    dialect: Dialect,
    tokens: &'a [Token],
    at: usize,
    names: HashMap<&'a str, NameId>,
    script: Script,
    /// What the expression at hand is a part of, outermost first.
    open: Vec<expression::Open>,
    /// Arguments and elements of the open calls and lists.
    items: Vec<ExprId>,
    /// What the statement at hand is a part of, outermost first.
    open_stmts: Vec<statement::Open>,
    /// Statements of the open blocks.
    stmts: Vec<StmtId>,
    faults: &'a mut Faults,
}

impl<'a> Parser<'a> {
    fn script(&mut self) {
        while !matches!(self.kind(), TokenKind::Default | TokenKind::State | TokenKind::End) {
            let start = self.at;
            match self.global() {
                Ok(global) => self.script.globals.push(global),
                Err(Unreadable) => self.skip_global(start),
            }
        }
        if self.kind() != TokenKind::Default {
            self.faults.add(self.token().span, Fault::NoDefault);
        }
        while self.kind() != TokenKind::End {
            let start = self.at;
            match self.state() {
                Ok(state) => self.script.states.push(state),
                Err(Unreadable) => self.skip_global(start),
            }
        }
    }

    /// `integer x;`, `integer x = 1;`, `integer f(…) {…}`, `f(…) {…}`.
    fn global(&mut self) -> Read<Global> {
        let start = self.token().span;
        let ty = self.take_type();
        if ty.is_none() && self.kind() != TokenKind::Name {
            return Err(self.unexpected("a global variable, a function or a state"));
        }
        let name = self.name()?;
        if self.kind() == TokenKind::OpenParen {
            return Ok(Global::Function(self.function(ty.unwrap_or(Type::Void), name, start)?));
        }
        let Some(ty) = ty else { return Err(self.unexpected("`(`")) };
        let value = if self.take(TokenKind::Assign) { Some(self.expression()?) } else { None };
        self.expect(TokenKind::Semicolon, if value.is_some() { "`;`" } else { "`;`, `=` or `(`" })?;
        Ok(Global::Variable(Declaration { ty, name, value }))
    }

    /// From the parenthesis behind its name.
    fn function(&mut self, returns: Type, name: Name, start: Span) -> Read<Function> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        let mut parameters = Vec::new();
        while self.kind() != TokenKind::CloseParen {
            if !parameters.is_empty() {
                self.expect(TokenKind::Comma, "`,` or `)`")?;
            }
            let Some(ty) = self.take_type() else { return Err(self.unexpected("a parameter's type")) };
            parameters.push(Parameter { ty, name: self.name()? });
        }
        self.expect(TokenKind::CloseParen, "`)`")?;
        let body = self.body()?;
        Ok(Function { returns, name, parameters, body, span: start.to(self.former().span) })
    }

    fn state(&mut self) -> Read<State> {
        let start = self.token().span;
        // Without `default` in front, which is reported, it may come later.
        let has_default = self.script.states.first().is_some_and(|first| first.name.is_none());
        let name = if !has_default && self.take(TokenKind::Default) {
            None
        } else {
            self.expect(TokenKind::State, "a state")?;
            Some(self.name()?)
        };
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let mut handlers = Vec::new();
        while !self.take(TokenKind::CloseBrace) {
            let from = self.at;
            match self.handler() {
                Ok(handler) => handlers.push(handler),
                Err(Unreadable) => {
                    self.skip_global(from);
                    if matches!(self.kind(), TokenKind::End | TokenKind::Default | TokenKind::State) {
                        return Err(Unreadable);
                    }
                }
            }
        }
        Ok(State { name, handlers, span: start.to(self.former().span) })
    }

    fn handler(&mut self) -> Read<Function> {
        let start = self.token().span;
        if self.kind() != TokenKind::Name {
            return Err(self.unexpected("an event handler or `}`"));
        }
        let name = self.name()?;
        self.function(Type::Void, name, start)
    }

    /// Goes behind what could not be read since the token `from`: behind its block, or its semicolon outside of blocks, or to a state.
    fn skip_global(&mut self, from: usize) {
        let open = self.tokens[from..self.at].iter().fold(0_usize, |open, token| match token.kind {
            TokenKind::OpenBrace => open + 1,
            TokenKind::CloseBrace => open.saturating_sub(1),
            _ => open,
        });
        let mut open = open;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::OpenBrace => open += 1,
                TokenKind::CloseBrace if open <= 1 => {
                    self.at += 1;
                    return;
                }
                TokenKind::CloseBrace => open -= 1,
                TokenKind::Semicolon if open == 0 => {
                    self.at += 1;
                    return;
                }
                // `state x;` within a block is a statement.
                TokenKind::Default | TokenKind::State if self.begins_state() && self.at > from => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// True at `default {` and `state NAME {`.
    fn begins_state(&self) -> bool {
        let brace = if self.kind() == TokenKind::Default { 1 } else { 2 };
        self.tokens.get(self.at + brace).is_some_and(|token| token.kind == TokenKind::OpenBrace)
    }

    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn next_kind(&self) -> TokenKind {
        self.tokens.get(self.at + 1).map_or(TokenKind::End, |token| token.kind)
    }

    /// The token before this one.
    fn former(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// Takes this token if it is of that kind.
    fn take(&mut self, kind: TokenKind) -> bool {
        let is_kind = self.kind() == kind && kind != TokenKind::End;
        self.at += usize::from(is_kind);
        is_kind
    }

    fn expect(&mut self, kind: TokenKind, wanted: &'static str) -> Read<()> {
        if self.take(kind) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn take_type(&mut self) -> Option<Type> {
        let TokenKind::Type(ty) = self.kind() else { return None };
        self.at += 1;
        Some(ty)
    }

    /// Reports this token, in whose place something else was wanted.
    fn unexpected(&mut self, wanted: &'static str) -> Unreadable {
        let token = self.token();
        let found = match token.kind {
            TokenKind::Name => format!("`{}`", outline::shown(self.text(token.span))),
            kind => kind.describe(),
        };
        self.faults.add(token.span, Fault::Syntax { wanted, found });
        Unreadable
    }

    fn name(&mut self) -> Read<Name> {
        if self.kind() != TokenKind::Name {
            return Err(self.unexpected("a name"));
        }
        let span = self.token().span;
        self.at += 1;
        let text = self.text(span);
        let names = &mut self.script.names;
        let id = *self.names.entry(text).or_insert_with(|| {
            names.push(text.into());
            NameId(names.len() as u32 - 1)
        });
        Ok(Name { id, span })
    }

    fn add_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.script.exprs.push(Expr { kind, span });
        ExprId(self.script.exprs.len() as u32 - 1)
    }

    fn add_stmt(&mut self, kind: StmtKind, span: Span) -> StmtId {
        self.script.stmts.push(Stmt { kind, span });
        StmtId(self.script.stmts.len() as u32 - 1)
    }

    /// The statements of the open blocks from an index on, as a list.
    fn take_stmts(&mut self, first: u32) -> StmtList {
        let start = self.script.stmt_lists.len() as u32;
        self.script.stmt_lists.extend(self.stmts.drain(first as usize..));
        StmtList { start, end: self.script.stmt_lists.len() as u32 }
    }
}

#[cfg(test)]
mod tests;
