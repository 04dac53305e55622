//! Statements. What a statement is a part of lies on a stack of its own, [`Open`], so that statements nest as deep as their source is long.

use super::{Parser, Read, Unreadable};
use crate::syntax::{Declaration, ExprId, ExprKind, ExprList, StmtId, StmtKind, StmtList};
use crate::token::TokenKind;
use crate::{Dialect, Span};

/// A statement of which a part is being read.
#[derive(Clone, Copy)]
pub(super) enum Open {
    /// A block before its end, with the index of its first statement in [`Parser::stmts`].
    Block { start: Span, first: u32 },
    /// `if (…)`.
    If { start: Span, condition: ExprId },
    /// `if (…) … else`.
    Else { start: Span, condition: ExprId, then: StmtId },
    /// `while (…)`.
    While { start: Span, condition: ExprId },
    /// `do`.
    Do { start: Span },
    /// `for (…)`.
    For { start: Span, starts: ExprList, condition: ExprId, steps: ExprList },
}

impl Parser<'_> {
    /// `{…}` of a function.
    pub(super) fn body(&mut self) -> Read<StmtList> {
        self.open_stmts.clear();
        self.stmts.clear();
        let start = self.token().span;
        self.expect(TokenKind::OpenBrace, "`{`")?;
        self.open_stmts.push(Open::Block { start, first: 0 });
        loop {
            match self.next_part() {
                Ok(None) => {}
                Ok(Some(body)) => return Ok(body),
                Err(Unreadable) => {
                    let is_block = |open: &Open| matches!(open, Open::Block { .. });
                    let innermost = self.open_stmts.iter().rposition(is_block);
                    self.open_stmts.truncate(innermost.map_or(0, |block| block + 1));
                    self.skip_statement()?;
                }
            }
        }
    }

    /// Reads the end of the innermost block, or a statement up to its end or to a statement in it. The list of the function's body at its end.
    fn next_part(&mut self) -> Read<Option<StmtList>> {
        if let Some(&Open::Block { start, first }) = self.open_stmts.last() {
            if self.take(TokenKind::CloseBrace) {
                self.open_stmts.pop();
                let list = self.take_stmts(first);
                if self.open_stmts.is_empty() {
                    return Ok(Some(list));
                }
                let block = self.stmt_from(start, StmtKind::Block(list));
                self.close_stmts(block)?;
                return Ok(None);
            }
            if self.kind() == TokenKind::End {
                return Err(self.unexpected("`}`"));
            }
        }
        if let Some(stmt) = self.statement()? {
            self.close_stmts(stmt)?;
        }
        Ok(None)
    }

    /// Goes behind the statement that could not be read. All blocks in it are closed. An error at the end of the script, and in front of what can
    /// only be a state or an event handler: then braces are missing.
    fn skip_statement(&mut self) -> Read<()> {
        let mut open = 0_usize;
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

    /// A statement, or `None` at the beginning of one that has others in it.
    fn statement(&mut self) -> Read<Option<StmtId>> {
        let start = self.token().span;
        let kind = match self.kind() {
            TokenKind::OpenBrace => {
                self.at += 1;
                let first = self.stmts.len() as u32;
                return Ok(self.open_stmt(Open::Block { start, first }));
            }
            TokenKind::If => {
                self.at += 1;
                let condition = self.condition()?;
                return Ok(self.open_stmt(Open::If { start, condition }));
            }
            TokenKind::While => {
                self.at += 1;
                let condition = self.condition()?;
                return Ok(self.open_stmt(Open::While { start, condition }));
            }
            TokenKind::Do => {
                self.at += 1;
                return Ok(self.open_stmt(Open::Do { start }));
            }
            TokenKind::For => {
                let open = self.for_head(start)?;
                return Ok(self.open_stmt(open));
            }
            TokenKind::Semicolon => {
                self.at += 1;
                StmtKind::Empty
            }
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
        Ok(Some(self.stmt_from(start, kind)))
    }

    fn open_stmt(&mut self, open: Open) -> Option<StmtId> {
        self.open_stmts.push(open);
        None
    }

    /// Puts a statement in its place, and with it all statements that end with it.
    fn close_stmts(&mut self, mut stmt: StmtId) -> Read<()> {
        while let Some(open) = self.open_stmts.pop() {
            let (start, kind) = match open {
                Open::Block { .. } => {
                    self.open_stmts.push(open);
                    break;
                }
                Open::If { start, condition } => {
                    if self.take(TokenKind::Else) {
                        self.open_stmts.push(Open::Else { start, condition, then: stmt });
                        return Ok(());
                    }
                    (start, StmtKind::If { condition, then: stmt, otherwise: None })
                }
                Open::Else { start, condition, then } => {
                    (start, StmtKind::If { condition, then, otherwise: Some(stmt) })
                }
                Open::While { start, condition } => (start, StmtKind::While { condition, body: stmt }),
                Open::Do { start } => {
                    self.expect(TokenKind::While, "`while`")?;
                    let condition = self.condition()?;
                    self.semicolon()?;
                    (start, StmtKind::DoWhile { body: stmt, condition })
                }
                Open::For { start, starts, condition, steps } => {
                    (start, StmtKind::For { start: starts, condition, step: steps, body: stmt })
                }
            };
            stmt = self.stmt_from(start, kind);
        }
        self.stmts.push(stmt);
        Ok(())
    }

    /// A statement from `start` to the token before this one.
    fn stmt_from(&mut self, start: Span, kind: StmtKind) -> StmtId {
        self.add_stmt(kind, start.to(self.former().span))
    }

    fn semicolon(&mut self) -> Read<()> {
        self.expect(TokenKind::Semicolon, "`;`")
    }

    /// `(…)`.
    fn condition(&mut self) -> Read<ExprId> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        let condition = self.expression()?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(condition)
    }

    /// `for (…; …; …)`.
    fn for_head(&mut self, start: Span) -> Read<Open> {
        self.at += 1;
        self.expect(TokenKind::OpenParen, "`(`")?;
        let starts = self.for_list(TokenKind::Semicolon)?;
        self.semicolon()?;
        // OpenSimulator takes a loop without a condition for an endless one.
        let condition = if self.dialect == Dialect::Opensim && self.kind() == TokenKind::Semicolon {
            let at = self.token().span;
            self.add_expr(ExprKind::Integer(1), Span { start: at.start, end: at.start })
        } else {
            self.expression()?
        };
        self.semicolon()?;
        let steps = self.for_list(TokenKind::CloseParen)?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(Open::For { start, starts, condition, steps })
    }

    fn for_list(&mut self, end: TokenKind) -> Read<ExprList> {
        if self.kind() == end { Ok(ExprList::default()) } else { self.expressions() }
    }
}
