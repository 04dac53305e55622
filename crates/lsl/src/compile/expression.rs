//! Expressions in their order of evaluation. Further [`Step`]s lie on one stack, the values of those that are done on another.

use super::function::FunctionCompiler;
use super::operand::{Goal, Operand};
use crate::operators::BinaryOp;
use crate::syntax::{ExprId, ExprKind, Place};
use crate::types::Type;
use script::Kind;
use script::builder::Register;
use script::instruction::Op;

/// A step of an expression's evaluation.
#[derive(Debug)]
pub(super) enum Step {
    /// Adds an operand: the value of an expression.
    Evaluate(ExprId, Option<Goal>),
    /// Makes of the operands of an operator its value.
    Finish(ExprId, Option<Goal>),
    /// Keeps the last operand from the effects of an expression.
    Pin(ExprId),
    /// Moves the last operand into a component.
    Component { to: Register, id: ExprId },
    /// Appends the last operand to a list.
    Element { list: Register, id: ExprId },
    /// Moves the last operand into the register of an argument. `is_last_use`: it is a list variable, whose value is replaced by that of the call.
    Argument { to: Register, id: ExprId, ty: Type, is_last_use: bool },
    /// Calls a function, whose arguments are in a row.
    Call { id: ExprId, row: Vec<Register>, goal: Option<Goal> },
    /// Adds an operand: what has been built.
    Built(Operand),
}

impl FunctionCompiler<'_> {
    /// The value of an expression, after all of its effects.
    pub(super) fn expression(&mut self, root: ExprId, goal: Option<Goal>) -> Operand {
        let mut steps = vec![Step::Evaluate(root, goal)];
        let mut operands = Vec::new();
        while let Some(task) = steps.pop() {
            match task {
                Step::Evaluate(id, goal) => {
                    self.at(self.unit.script().expr(id).span);
                    if let Some(operand) = self.begin(id, goal, &mut steps) {
                        operands.push(operand);
                    }
                }
                Step::Finish(id, goal) => {
                    self.at(self.unit.script().expr(id).span);
                    let operand = self.finish(id, goal, &mut operands);
                    operands.push(operand);
                }
                Step::Pin(next) => {
                    let operand = last(&mut operands);
                    let pinned = self.pin(operand, next);
                    operands.push(pinned);
                }
                Step::Component { to, id } => {
                    let value = last(&mut operands);
                    self.put_as(to, value, self.unit.type_of(id), Type::Float);
                }
                Step::Element { list, id } => {
                    let value = last(&mut operands);
                    self.push(list, value, self.unit.type_of(id));
                }
                Step::Argument { to, id, ty, is_last_use } => match last(&mut operands) {
                    Operand::Local(list) if is_last_use => {
                        self.code.op(Op::MoveReference, [to, list]);
                    }
                    Operand::Global(list) if is_last_use => self.code.take(to, list),
                    value => self.put_as(to, value, self.unit.type_of(id), ty),
                },
                Step::Call { id, row, goal } => {
                    if let ExprKind::Call(function, _) = self.unit.script().expr(id).kind {
                        let operand = self.call(id, function, &row, goal);
                        operands.push(operand);
                    }
                }
                Step::Built(operand) => operands.push(operand),
            }
        }
        last(&mut operands)
    }

    /// The value of an expression without operands; otherwise `None`, and steps.
    fn begin(&mut self, id: ExprId, goal: Option<Goal>, steps: &mut Vec<Step>) -> Option<Operand> {
        if let Some(value) = self.unit.constant(id) {
            return Some(Operand::Constant(value));
        }
        let script = self.unit.script();
        match script.expr(id).kind {
            ExprKind::Integer(_) | ExprKind::Float(_) | ExprKind::Text(_) => {
                unreachable!("literals are constants")
            }
            ExprKind::Place(place) => return Some(self.target(place).operand()),
            ExprKind::PreAdd(place, by) => return Some(self.increment(id, place, by, true)),
            ExprKind::PostAdd(place, by) => return Some(self.increment(id, place, by, false)),
            ExprKind::Paren(inner) => steps.push(Step::Evaluate(inner, goal)),
            ExprKind::Unary(_, value) | ExprKind::Cast(_, value) | ExprKind::Print(value) => {
                steps.extend([Step::Finish(id, goal), Step::Evaluate(value, None)]);
            }
            ExprKind::Binary(op, left, right) => {
                let right = self.right(op, left, right);
                steps.extend([
                    Step::Finish(id, goal),
                    Step::Evaluate(left, None),
                    Step::Pin(left),
                    Step::Evaluate(right, None),
                ]);
            }
            ExprKind::Assign(op, place, value) => self.begin_assignment(id, op, place, value, steps),
            ExprKind::List(list) => {
                let (register, built) = self.fresh(Kind::List, goal);
                self.code.op(Op::ClearReference, [register]);
                steps.push(Step::Built(built));
                for &id in script.expr_list(list).iter().rev() {
                    steps.extend([Step::Element { list: register, id }, Step::Evaluate(id, None)]);
                }
            }
            ExprKind::Vector(parts) => self.begin_parts(Kind::Vector, &parts, goal, steps),
            ExprKind::Rotation(parts) => self.begin_parts(Kind::Rotation, &parts, goal, steps),
            ExprKind::Call(function, arguments) => {
                let parameters = self.parameters(function);
                let row = self.row(&parameters);
                self.begin_call(id, arguments, &parameters, row, goal, steps);
            }
        }
        None
    }

    /// A vector or a rotation, component by component.
    fn begin_parts(&mut self, kind: Kind, parts: &[ExprId], goal: Option<Goal>, steps: &mut Vec<Step>) {
        let (register, built) = self.fresh(kind, goal);
        steps.push(Step::Built(built));
        for (n, &id) in parts.iter().enumerate().rev() {
            let to = register.component(n as u16);
            steps.extend([Step::Component { to, id }, Step::Evaluate(id, None)]);
        }
    }

    fn begin_assignment(
        &mut self,
        id: ExprId,
        op: Option<BinaryOp>,
        place: Place,
        value: ExprId,
        steps: &mut Vec<Step>,
    ) {
        steps.push(Step::Finish(id, None));
        if let Some(appended) = self.appended(op, place, value) {
            steps.push(Step::Evaluate(appended, None));
            return;
        }
        let goal = match op {
            None => {
                self.note_replaced(place, value);
                self.assignment_goal(id, place, self.unit.type_of(value))
            }
            Some(_) => None,
        };
        steps.push(Step::Evaluate(value, goal));
    }

    /// The right operand of an operator, as it is evaluated.
    fn right(&self, op: BinaryOp, left: ExprId, right: ExprId) -> ExprId {
        if op == BinaryOp::Add && self.unit.type_of(left) == Type::List { self.single(right) } else { right }
    }

    /// The value of an operator from those of its operands, of which the left one is the last.
    fn finish(&mut self, id: ExprId, goal: Option<Goal>, operands: &mut Vec<Operand>) -> Operand {
        let value = last(operands);
        match self.unit.script().expr(id).kind {
            ExprKind::Unary(op, inner) => self.unary(op, value, self.unit.type_of(inner), goal),
            ExprKind::Cast(to, inner) => self.cast(value, self.unit.type_of(inner), to, goal),
            ExprKind::Print(inner) => self.print(value, self.unit.type_of(inner)),
            ExprKind::Binary(op, left, right) => {
                let right_type = self.unit.type_of(self.right(op, left, right));
                let right = last(operands);
                self.binary(op, (value, self.unit.type_of(left)), (right, right_type), goal)
            }
            ExprKind::Assign(op, place, inner) => {
                if let Some(appended) = self.appended(op, place, inner) {
                    let target = self.target(place);
                    return self.append_to(target, value, self.unit.type_of(appended));
                }
                self.assignment(id, op, place, (value, self.unit.type_of(inner)))
            }
            _ => unreachable!("this expression is complete without operands"),
        }
    }
}

/// Takes the last operand.
fn last(operands: &mut Vec<Operand>) -> Operand {
    operands.pop().expect("each expression adds an operand")
}
