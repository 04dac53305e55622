//! Expressions, by precedence.
//!
//! From weak to strong: assignments (to the right), `&& ||`, `|`, `^`, `&`, `== !=`, `< <= > >=`, `<< >>`, `+ -`, `* / %`, unary operators. `&&` and
//! `||` have one precedence.
//!
//! *Assignments* begin with the variable next to the operator, wherever that stands: `a + b = c` is `a + (b = c)`.
//!
//! *The end of a vector.* A `>` in the last component closes the vector, unless an operator weaker than `>` waits for its right side, or a token
//! follows that can only begin an operand: a name, a literal, `(`, `[`, `!`, `~`, `++`, `--`, `print`. In `<1, 2, a | b>` the `>` compares, and the
//! vector has no end: Second Life refuses it, too.

use super::{Parser, Read};
use crate::fault::Fault;
use crate::lexer::{float_value, integer_value, text_value};
use crate::operators::{BinaryOp, UnaryOp};
use crate::syntax::{ExprId, ExprKind, ExprList, Place};
use crate::token::TokenKind;
use crate::{Dialect, Span};

/// Precedence of the comparisons by size.
const RELATION: u8 = 6;
/// Above that of every binary operator.
const WEAKEST: u8 = 1;

/// The operator of a token, with its precedence.
const fn binary_op(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        TokenKind::And => (BinaryOp::And, WEAKEST),
        TokenKind::Or => (BinaryOp::Or, WEAKEST),
        TokenKind::BitOr => (BinaryOp::BitOr, 2),
        TokenKind::BitXor => (BinaryOp::BitXor, 3),
        TokenKind::BitAnd => (BinaryOp::BitAnd, 4),
        TokenKind::Equal => (BinaryOp::Equal, 5),
        TokenKind::NotEqual => (BinaryOp::NotEqual, 5),
        TokenKind::Less => (BinaryOp::Less, RELATION),
        TokenKind::LessEqual => (BinaryOp::LessEqual, RELATION),
        TokenKind::Greater => (BinaryOp::Greater, RELATION),
        TokenKind::GreaterEqual => (BinaryOp::GreaterEqual, RELATION),
        TokenKind::ShiftLeft => (BinaryOp::ShiftLeft, 7),
        TokenKind::ShiftRight => (BinaryOp::ShiftRight, 7),
        TokenKind::Plus => (BinaryOp::Add, 8),
        TokenKind::Minus => (BinaryOp::Subtract, 8),
        TokenKind::Times => (BinaryOp::Multiply, 9),
        TokenKind::Divide => (BinaryOp::Divide, 9),
        TokenKind::Remainder => (BinaryOp::Remainder, 9),
        _ => return None,
    })
}

/// The operator of an assignment: `Some(None)` for `=`.
const fn assignment_op(kind: TokenKind) -> Option<Option<BinaryOp>> {
    Some(match kind {
        TokenKind::Assign => None,
        TokenKind::PlusAssign => Some(BinaryOp::Add),
        TokenKind::MinusAssign => Some(BinaryOp::Subtract),
        TokenKind::TimesAssign => Some(BinaryOp::Multiply),
        TokenKind::DivideAssign => Some(BinaryOp::Divide),
        TokenKind::RemainderAssign => Some(BinaryOp::Remainder),
        _ => return None,
    })
}

/// True for tokens that begin an operand and cannot follow one.
const fn only_begins(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Name
            | TokenKind::Integer
            | TokenKind::Float
            | TokenKind::Text
            | TokenKind::OpenParen
            | TokenKind::OpenBracket
            | TokenKind::Not
            | TokenKind::BitNot
            | TokenKind::PlusPlus
            | TokenKind::MinusMinus
            | TokenKind::Print
    )
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Read<ExprId> {
        self.binary(WEAKEST, false)
    }

    /// Operators of this precedence and stronger ones. `closes`: a `>` may be the end of the vector around.
    fn binary(&mut self, weakest: u8, closes: bool) -> Read<ExprId> {
        let mut left = self.unary()?;
        while let Some((op, precedence)) = binary_op(self.kind()).filter(|&(_, own)| own >= weakest) {
            if op == BinaryOp::Greater && closes && !only_begins(self.next_kind()) {
                break;
            }
            self.at += 1;
            let right =
                self.deeper(|parser| parser.binary(precedence + 1, closes && precedence >= RELATION))?;
            let span = self.span_of(left).to(self.span_of(right));
            left = self.add_expr(ExprKind::Binary(op, left, right), span);
        }
        Ok(left)
    }

    fn span_of(&self, id: ExprId) -> Span {
        self.script.expr(id).span
    }

    fn unary(&mut self) -> Read<ExprId> {
        let start = self.token().span;
        let op = match self.kind() {
            TokenKind::Minus => UnaryOp::Negate,
            TokenKind::Not => UnaryOp::Not,
            TokenKind::BitNot => UnaryOp::BitNot,
            TokenKind::PlusPlus | TokenKind::MinusMinus => {
                let by = if self.kind() == TokenKind::PlusPlus { 1 } else { -1 };
                self.at += 1;
                let place = self.place()?;
                return Ok(self.add_expr(ExprKind::PreAdd(place, by), start.to(self.former().span)));
            }
            TokenKind::OpenParen => return self.paren_or_cast(start),
            _ => return self.operand(start),
        };
        self.at += 1;
        if op == UnaryOp::Negate
            && let Some(kind) = self.negative()
        {
            self.at += 1;
            return Ok(self.add_expr(kind, start.to(self.former().span)));
        }
        let value = self.deeper(Self::unary)?;
        Ok(self.add_expr(ExprKind::Unary(op, value), start.to(self.former().span)))
    }

    /// The literal behind a minus.
    fn negative(&self) -> Option<ExprKind> {
        let text = self.text(self.token().span);
        match self.kind() {
            TokenKind::Integer => Some(ExprKind::Integer(integer_value(text).wrapping_neg())),
            TokenKind::Float => Some(ExprKind::Float(-float_value(text))),
            _ => None,
        }
    }

    fn paren_or_cast(&mut self, start: Span) -> Read<ExprId> {
        self.at += 1;
        let Some(ty) = self.take_type() else {
            let inner = self.deeper(Self::expression)?;
            self.expect(TokenKind::CloseParen, "`)` or an operator")?;
            return Ok(self.add_expr(ExprKind::Paren(inner), start.to(self.former().span)));
        };
        self.expect(TokenKind::CloseParen, "`)`")?;
        let value = self.deeper(Self::cast_value)?;
        Ok(self.add_expr(ExprKind::Cast(ty, value), start.to(self.former().span)))
    }

    /// The value of a cast: an operand, a negative literal, or parentheses. OpenSimulator takes every unary expression.
    fn cast_value(&mut self) -> Read<ExprId> {
        let start = self.token().span;
        if self.dialect == Dialect::Opensim {
            return self.unary();
        }
        let is_cast = self.kind() == TokenKind::OpenParen && matches!(self.next_kind(), TokenKind::Type(_));
        let value = match self.kind() {
            TokenKind::Minus => {
                let is_plain =
                    matches!(self.next_kind(), TokenKind::Integer | TokenKind::Float | TokenKind::Name);
                if !is_plain {
                    self.faults.add(start, Fault::CastNeedsParens);
                }
                self.unary()?
            }
            TokenKind::Not | TokenKind::BitNot | TokenKind::PlusPlus | TokenKind::MinusMinus => {
                self.faults.add(start, Fault::CastNeedsParens);
                self.unary()?
            }
            TokenKind::OpenParen => {
                if is_cast {
                    self.faults.add(start, Fault::CastNeedsParens);
                }
                self.paren_or_cast(start)?
            }
            _ => self.operand(start)?,
        };
        if matches!(self.script.expr(value).kind, ExprKind::Assign(..)) {
            self.faults.add(start, Fault::CastNeedsParens);
        }
        Ok(value)
    }

    /// A literal, a variable, an assignment, a call, or `print(x)`.
    fn operand(&mut self, start: Span) -> Read<ExprId> {
        let text = self.text(start);
        let kind = match self.kind() {
            TokenKind::Integer => ExprKind::Integer(integer_value(text)),
            TokenKind::Float => ExprKind::Float(float_value(text)),
            TokenKind::Text => {
                self.script.texts.push(text_value(text).into());
                ExprKind::Text(self.script.texts.len() as u32 - 1)
            }
            TokenKind::Name if self.next_kind() == TokenKind::OpenParen => return self.call(start),
            TokenKind::Name => return self.variable(start),
            TokenKind::Less => return self.vector(start),
            TokenKind::OpenBracket => return self.list(start),
            TokenKind::Print => {
                self.at += 1;
                self.expect(TokenKind::OpenParen, "`(`")?;
                let value = self.deeper(Self::expression)?;
                self.expect(TokenKind::CloseParen, "`)`")?;
                return Ok(self.add_expr(ExprKind::Print(value), start.to(self.former().span)));
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.at += 1;
        Ok(self.add_expr(kind, start))
    }

    fn place(&mut self) -> Read<Place> {
        let variable = self.name()?;
        let component = if self.take(TokenKind::Dot) { Some(self.name()?) } else { None };
        Ok(Place { variable, component })
    }

    /// `x`, `x.y`, `x++`, `x = 1`.
    fn variable(&mut self, start: Span) -> Read<ExprId> {
        let place = self.place()?;
        let kind = match self.kind() {
            TokenKind::PlusPlus => ExprKind::PostAdd(place, 1),
            TokenKind::MinusMinus => ExprKind::PostAdd(place, -1),
            kind => {
                let Some(op) = assignment_op(kind) else {
                    return Ok(self.add_expr(ExprKind::Place(place), start.to(self.former().span)));
                };
                self.at += 1;
                let value = self.deeper(Self::expression)?;
                return Ok(self.add_expr(ExprKind::Assign(op, place, value), start.to(self.former().span)));
            }
        };
        self.at += 1;
        Ok(self.add_expr(kind, start.to(self.former().span)))
    }

    fn call(&mut self, start: Span) -> Read<ExprId> {
        let function = self.name()?;
        self.expect(TokenKind::OpenParen, "`(`")?;
        let arguments = if self.kind() == TokenKind::CloseParen {
            ExprList::default()
        } else {
            self.deeper(Self::expressions)?
        };
        self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        Ok(self.add_expr(ExprKind::Call(function, arguments), start.to(self.former().span)))
    }

    fn list(&mut self, start: Span) -> Read<ExprId> {
        self.at += 1;
        let values = if self.kind() == TokenKind::CloseBracket {
            ExprList::default()
        } else {
            self.deeper(Self::expressions)?
        };
        self.expect(TokenKind::CloseBracket, "`,` or `]`")?;
        Ok(self.add_expr(ExprKind::List(values), start.to(self.former().span)))
    }

    /// Expressions with commas between them, one at least.
    pub(super) fn expressions(&mut self) -> Read<ExprList> {
        let mut all = vec![self.expression()?];
        while self.take(TokenKind::Comma) {
            all.push(self.expression()?);
        }
        let start = self.script.expr_lists.len() as u32;
        self.script.expr_lists.extend_from_slice(&all);
        Ok(ExprList { start, end: self.script.expr_lists.len() as u32 })
    }

    /// `<x, y, z>` or `<x, y, z, s>`.
    fn vector(&mut self, start: Span) -> Read<ExprId> {
        self.at += 1;
        let x = self.deeper(Self::expression)?;
        self.expect(TokenKind::Comma, "`,`")?;
        let y = self.deeper(Self::expression)?;
        self.expect(TokenKind::Comma, "`,`")?;
        let z = self.deeper(|parser| parser.binary(WEAKEST, true))?;
        let kind = if self.take(TokenKind::Comma) {
            let s = self.deeper(|parser| parser.binary(WEAKEST, true))?;
            self.expect(TokenKind::Greater, "`>`")?;
            ExprKind::Rotation([x, y, z, s])
        } else {
            self.expect(TokenKind::Greater, "`,` or `>`")?;
            ExprKind::Vector([x, y, z])
        };
        Ok(self.add_expr(kind, start.to(self.former().span)))
    }
}
