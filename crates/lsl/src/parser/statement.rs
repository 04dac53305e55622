//! Statements.

use super::{Parser, Read, Unreadable};
use crate::Span;
use crate::syntax::{Declaration, ExprKind, ExprList, StmtId, StmtKind, StmtList};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `{…}`.
    pub(super) fn block(&mut self) -> Read<StmtList> {
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let mut stmts = Vec::new();
        while !self.take(TokenKind::CloseBrace) {
            if self.kind() == TokenKind::End {
                return Err(self.unexpected("`}`"));
            }
            let start = self.at;
            match self.statement() {
                Ok(stmt) => stmts.push(stmt),
                Err(Unreadable) => self.skip_statement(start)?,
            }
        }
        Ok(self.add_stmts(&stmts))
    }

    /// Goes behind the statement that could not be read since the token `from`. An error at the end of the script, and in front of what can
    /// only be a state or an event handler: then braces are missing.
    fn skip_statement(&mut self, from: usize) -> Read<()> {
        let mut open = 0_usize;
        for token in &self.tokens[from..self.at] {
            match token.kind {
                TokenKind::OpenBrace => open += 1,
                TokenKind::CloseBrace => open = open.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            match self.kind() {
                TokenKind::End => return Err(Unreadable),
                TokenKind::Default | TokenKind::State if self.begins_state() => return Err(Unreadable),
                TokenKind::OpenBrace => open += 1,
                // It belongs to the block around the statement.
                TokenKind::CloseBrace if open == 0 => return Ok(()),
                TokenKind::CloseBrace => {
                    open -= 1;
                    if open == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                TokenKind::Semicolon if open == 0 => {
                    self.at += 1;
                    return Ok(());
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn statement(&mut self) -> Read<StmtId> {
        self.deeper(Self::statement_here)
    }

    fn statement_here(&mut self) -> Read<StmtId> {
        let start = self.token().span;
        let kind = match self.kind() {
            TokenKind::Semicolon => {
                self.at += 1;
                StmtKind::Empty
            }
            TokenKind::OpenBrace => StmtKind::Block(self.block()?),
            TokenKind::If => return self.if_chain(),
            TokenKind::While => {
                self.at += 1;
                let condition = self.condition()?;
                StmtKind::While { condition, body: self.statement()? }
            }
            TokenKind::Do => self.do_while()?,
            TokenKind::For => self.for_loop()?,
            TokenKind::Return => {
                self.at += 1;
                let value = if self.kind() == TokenKind::Semicolon { None } else { Some(self.expression()?) };
                self.semicolon()?;
                StmtKind::Return(value)
            }
            TokenKind::Jump => {
                self.at += 1;
                let label = self.name()?;
                self.semicolon()?;
                StmtKind::Jump(label)
            }
            TokenKind::At => {
                self.at += 1;
                let label = self.name()?;
                self.semicolon()?;
                StmtKind::Label(label)
            }
            TokenKind::State => {
                self.at += 1;
                let name = if self.take(TokenKind::Default) { None } else { Some(self.name()?) };
                self.semicolon()?;
                StmtKind::ChangeState { name }
            }
            TokenKind::Type(ty) => {
                self.at += 1;
                let name = self.name()?;
                let value = if self.take(TokenKind::Assign) { Some(self.expression()?) } else { None };
                self.semicolon()?;
                StmtKind::Declare(Declaration { ty, name, value })
            }
            _ => {
                let value = self.expression()?;
                self.semicolon()?;
                StmtKind::Expr(value)
            }
        };
        Ok(self.add_stmt(kind, start.to(self.former().span)))
    }

    fn semicolon(&mut self) -> Read<()> {
        self.expect(TokenKind::Semicolon, "`;`")
    }

    /// `(…)`.
    fn condition(&mut self) -> Read<crate::syntax::ExprId> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        let condition = self.expression()?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(condition)
    }

    /// `if … else if … else …`, of any length: the chain is read in a loop, not by recursion.
    fn if_chain(&mut self) -> Read<StmtId> {
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let start = self.token().span;
            self.expect(TokenKind::If, "`if`")?;
            let condition = self.condition()?;
            let then = self.statement()?;
            arms.push((start, condition, then));
            if !self.take(TokenKind::Else) {
                break;
            }
            if self.kind() != TokenKind::If {
                otherwise = Some(self.statement()?);
                break;
            }
        }
        let end = self.former().span;
        let chain = arms.into_iter().rev().fold(otherwise, |otherwise, (start, condition, then)| {
            let kind = StmtKind::If { condition, then, otherwise };
            Some(self.add_stmt(kind, start.to(end)))
        });
        Ok(chain.expect("one arm at least"))
    }

    fn do_while(&mut self) -> Read<StmtKind> {
        self.at += 1;
        let body = self.statement()?;
        self.expect(TokenKind::While, "`while`")?;
        let condition = self.condition()?;
        self.semicolon()?;
        Ok(StmtKind::DoWhile { body, condition })
    }

    fn for_loop(&mut self) -> Read<StmtKind> {
        self.at += 1;
        self.expect(TokenKind::OpenParen, "`(`")?;
        let start = self.for_list(TokenKind::Semicolon)?;
        self.semicolon()?;
        // OpenSimulator takes a loop without a condition for an endless one.
        let condition = if self.dialect == crate::Dialect::Opensim && self.kind() == TokenKind::Semicolon {
            let at = self.token().span;
            self.add_expr(ExprKind::Integer(1), Span { start: at.start, end: at.start })
        } else {
            self.expression()?
        };
        self.semicolon()?;
        let step = self.for_list(TokenKind::CloseParen)?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(StmtKind::For { start, condition, step, body: self.statement()? })
    }

    fn for_list(&mut self, end: TokenKind) -> Read<ExprList> {
        if self.kind() == end { Ok(ExprList::default()) } else { self.expressions() }
    }
}
