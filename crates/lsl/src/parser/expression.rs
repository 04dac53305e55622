//! Expressions, by precedence.
//!
//! From weak to strong: assignments (to the right), `&& ||`, `|`, `^`, `&`, `== !=`, `< <= > >=`, `<< >>`, `+ -`, `* / %`, unary operators. `&&` and
//! `||` have one precedence.
//!
//! *Assignments* begin with the variable next to the operator, wherever that stands: `a + b = c` is `a + (b = c)`.
//!
//! *The stack.* What waits for a value lies on a stack of its own, [`Open`], so that expressions nest as deep as their source is long.
//!
//! *The end of a vector.* A `>` in the last component closes the vector, unless an operator weaker than `>` waits for its right side, or a token
//! follows that can only begin an operand: a name, a literal, `(`, `[`, `!`, `~`, `++`, `--`, `print`. In `<1, 2, a | b>` the `>` compares, and the
//! vector has no end: Second Life refuses it, too.

use super::{Parser, Read};
use crate::fault::Fault;
use crate::lexer::{float_value, integer_value, text_value};
use crate::operators::{BinaryOp, UnaryOp};
use crate::syntax::{ExprId, ExprKind, ExprList, Name, Place};
use crate::token::TokenKind;
use crate::types::Type;
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

/// An expression of which a part is being read.
#[derive(Clone, Copy)]
pub(super) enum Open {
    /// An operator before its operand.
    Unary { op: UnaryOp, start: Span },
    /// A cast before its value.
    Cast { ty: Type, start: Span },
    /// An operator before its right side. `weakest`: precedence of the operators that may follow in it; `closes`: a `>` may be the end of the vector
    /// around.
    Right { left: ExprId, op: BinaryOp, weakest: u8, closes: bool },
    /// An assignment before its value.
    Assign { op: Option<BinaryOp>, place: Place },
    /// `(` before the closing one.
    Paren { start: Span },
    /// `print(` before its value.
    Print { start: Span },
    /// A call within its arguments, of which `first` is the first one's index in [`Parser::items`].
    Call { function: Name, first: u32 },
    /// A list within its elements.
    List { start: Span, first: u32 },
    /// A vector or rotation with the components before the present one.
    Vector { start: Span, before: [ExprId; 3], n: u8 },
}

impl Parser<'_> {
    /// An expression, up to the first token that does not belong to it.
    pub(super) fn expression(&mut self) -> Read<ExprId> {
        self.open.clear();
        self.items.clear();
        loop {
            let Some(operand) = self.operand()? else { continue };
            if let Some(whole) = self.complete(operand)? {
                return Ok(whole);
            }
        }
    }

    /// Expressions with commas between them, one at least.
    pub(super) fn expressions(&mut self) -> Read<ExprList> {
        let mut all = vec![self.expression()?];
        while self.take(TokenKind::Comma) {
            all.push(self.expression()?);
        }
        let start = self.script.expr_lists.len() as u32;
        self.script.expr_lists.extend(all);
        Ok(ExprList { start, end: self.script.expr_lists.len() as u32 })
    }

    /// The beginning of an operand: `None` after one that needs a further operand.
    fn operand(&mut self) -> Read<Option<ExprId>> {
        let start = self.token().span;
        let op = match self.kind() {
            TokenKind::Minus => UnaryOp::Negate,
            TokenKind::Not => UnaryOp::Not,
            TokenKind::BitNot => UnaryOp::BitNot,
            TokenKind::PlusPlus | TokenKind::MinusMinus => {
                let by = if self.kind() == TokenKind::PlusPlus { 1 } else { -1 };
                self.at += 1;
                let place = self.place()?;
                return Ok(Some(self.add_from(start, ExprKind::PreAdd(place, by))));
            }
            _ => return self.primary(start),
        };
        self.at += 1;
        if op == UnaryOp::Negate
            && let Some(kind) = self.negative()
        {
            self.at += 1;
            return Ok(Some(self.add_from(start, kind)));
        }
        Ok(self.begin(Open::Unary { op, start }))
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

    /// A literal, or the beginning of what is no operator.
    fn primary(&mut self, start: Span) -> Read<Option<ExprId>> {
        let text = self.text(start);
        let kind = match self.kind() {
            TokenKind::Integer => ExprKind::Integer(integer_value(text)),
            TokenKind::Float => ExprKind::Float(float_value(text)),
            TokenKind::Text => {
                self.script.texts.push(text_value(text).into());
                ExprKind::Text(self.script.texts.len() as u32 - 1)
            }
            TokenKind::Name if self.next_kind() == TokenKind::OpenParen => return self.call(),
            TokenKind::Name => return self.variable(),
            TokenKind::OpenParen => return self.paren_or_cast(start),
            TokenKind::OpenBracket => return self.list(start),
            TokenKind::Less => {
                self.at += 1;
                // The component at hand is no component yet: its number keeps it from being read.
                return Ok(self.begin(Open::Vector { start, before: [ExprId(0); 3], n: 0 }));
            }
            TokenKind::Print => {
                self.at += 1;
                self.expect(TokenKind::OpenParen, "`(`")?;
                return Ok(self.begin(Open::Print { start }));
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.at += 1;
        Ok(Some(self.add_expr(kind, start)))
    }

    /// What waits for its operand.
    fn begin(&mut self, open: Open) -> Option<ExprId> {
        self.open.push(open);
        None
    }

    fn paren_or_cast(&mut self, start: Span) -> Read<Option<ExprId>> {
        self.at += 1;
        let Some(ty) = self.take_type() else { return Ok(self.begin(Open::Paren { start })) };
        self.expect(TokenKind::CloseParen, "`)`")?;
        if self.dialect == Dialect::Sl && !self.begins_cast_value() {
            self.faults.add(self.token().span, Fault::CastNeedsParens);
        }
        Ok(self.begin(Open::Cast { ty, start }))
    }

    /// True for what Second Life casts: a negative literal or variable, parentheses that are no cast, or an operand.
    fn begins_cast_value(&self) -> bool {
        match self.kind() {
            TokenKind::Minus => {
                matches!(self.next_kind(), TokenKind::Integer | TokenKind::Float | TokenKind::Name)
            }
            TokenKind::OpenParen => !matches!(self.next_kind(), TokenKind::Type(_)),
            kind => !matches!(
                kind,
                TokenKind::Not | TokenKind::BitNot | TokenKind::PlusPlus | TokenKind::MinusMinus
            ),
        }
    }

    fn place(&mut self) -> Read<Place> {
        let variable = self.name()?;
        let component = if self.take(TokenKind::Dot) { Some(self.name()?) } else { None };
        Ok(Place { variable, component })
    }

    /// `x`, `x.y`, `x++`, `x = 1`.
    fn variable(&mut self) -> Read<Option<ExprId>> {
        let place = self.place()?;
        let start = place.variable.span;
        let by = match self.kind() {
            TokenKind::PlusPlus => 1,
            TokenKind::MinusMinus => -1,
            kind => {
                let Some(op) = assignment_op(kind) else {
                    return Ok(Some(self.add_from(start, ExprKind::Place(place))));
                };
                self.at += 1;
                return Ok(self.begin(Open::Assign { op, place }));
            }
        };
        self.at += 1;
        Ok(Some(self.add_from(start, ExprKind::PostAdd(place, by))))
    }

    fn call(&mut self) -> Read<Option<ExprId>> {
        let function = self.name()?;
        self.expect(TokenKind::OpenParen, "`(`")?;
        if self.take(TokenKind::CloseParen) {
            let call = ExprKind::Call(function, ExprList::default());
            return Ok(Some(self.add_from(function.span, call)));
        }
        let first = self.items.len() as u32;
        Ok(self.begin(Open::Call { function, first }))
    }

    fn list(&mut self, start: Span) -> Read<Option<ExprId>> {
        self.at += 1;
        if self.take(TokenKind::CloseBracket) {
            return Ok(Some(self.add_from(start, ExprKind::List(ExprList::default()))));
        }
        let first = self.items.len() as u32;
        Ok(self.begin(Open::List { start, first }))
    }

    /// Puts an operand in its place: up to the next operator or comma, behind which an operand follows (`None`), or to the end of the expression.
    fn complete(&mut self, mut value: ExprId) -> Read<Option<ExprId>> {
        loop {
            if self.begin_right(value) {
                return Ok(None);
            }
            let Some(open) = self.open.pop() else { return Ok(Some(value)) };
            match self.close(open, value)? {
                Some(whole) => value = whole,
                None => return Ok(None),
            }
        }
    }

    /// Takes an operator for which this value is the left side, if there is one here.
    fn begin_right(&mut self, left: ExprId) -> bool {
        let (weakest, closes) = match self.open.last() {
            // They bind stronger than every operator.
            Some(Open::Unary { .. } | Open::Cast { .. }) => return false,
            Some(&Open::Right { weakest, closes, .. }) => (weakest, closes),
            Some(&Open::Vector { n, .. }) => (WEAKEST, n >= 2),
            _ => (WEAKEST, false),
        };
        let Some((op, precedence)) = binary_op(self.kind()).filter(|&(_, own)| own >= weakest) else {
            return false;
        };
        if op == BinaryOp::Greater && closes && !only_begins(self.next_kind()) {
            return false;
        }
        self.at += 1;
        let closes = closes && precedence >= RELATION;
        self.open.push(Open::Right { left, op, weakest: precedence + 1, closes });
        true
    }

    /// Ends what waited for this value, or continues with its next part: `None`.
    fn close(&mut self, open: Open, value: ExprId) -> Read<Option<ExprId>> {
        let (start, kind) = match open {
            Open::Unary { op, start } => (start, ExprKind::Unary(op, value)),
            Open::Cast { ty, start } => {
                if self.dialect == Dialect::Sl
                    && let ExprKind::Assign(_, place, _) = self.script.expr(value).kind
                {
                    self.faults.add(place.variable.span, Fault::CastNeedsParens);
                }
                (start, ExprKind::Cast(ty, value))
            }
            Open::Right { left, op, .. } => (self.script.expr(left).span, ExprKind::Binary(op, left, value)),
            Open::Assign { op, place } => (place.variable.span, ExprKind::Assign(op, place, value)),
            Open::Paren { start } => {
                self.expect(TokenKind::CloseParen, "`)` or an operator")?;
                (start, ExprKind::Paren(value))
            }
            Open::Print { start } => {
                self.expect(TokenKind::CloseParen, "`)`")?;
                (start, ExprKind::Print(value))
            }
            Open::Call { function, first } => {
                self.items.push(value);
                if self.take(TokenKind::Comma) {
                    return Ok(self.begin(open));
                }
                self.expect(TokenKind::CloseParen, "`,` or `)`")?;
                (function.span, ExprKind::Call(function, self.take_items(first)))
            }
            Open::List { start, first } => {
                self.items.push(value);
                if self.take(TokenKind::Comma) {
                    return Ok(self.begin(open));
                }
                self.expect(TokenKind::CloseBracket, "`,` or `]`")?;
                (start, ExprKind::List(self.take_items(first)))
            }
            Open::Vector { start, mut before, n } => {
                if n < 2 {
                    self.expect(TokenKind::Comma, "`,`")?;
                } else if n == 3 || !self.take(TokenKind::Comma) {
                    self.expect(TokenKind::Greater, if n == 3 { "`>`" } else { "`,` or `>`" })?;
                    let [x, y, z] = before;
                    let whole = if n == 3 {
                        ExprKind::Rotation([x, y, z, value])
                    } else {
                        ExprKind::Vector([x, y, value])
                    };
                    return Ok(Some(self.add_from(start, whole)));
                }
                before[usize::from(n)] = value;
                return Ok(self.begin(Open::Vector { start, before, n: n + 1 }));
            }
        };
        Ok(Some(self.add_from(start, kind)))
    }

    /// The arguments or elements from an index on, as a list.
    fn take_items(&mut self, first: u32) -> ExprList {
        let start = self.script.expr_lists.len() as u32;
        self.script.expr_lists.extend(self.items.drain(first as usize..));
        ExprList { start, end: self.script.expr_lists.len() as u32 }
    }

    /// A node from `start` to the token before this one.
    fn add_from(&mut self, start: Span, kind: ExprKind) -> ExprId {
        self.add_expr(kind, start.to(self.former().span))
    }
}
