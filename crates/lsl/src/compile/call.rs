//! Calls. Arguments are evaluated from left to right into registers that follow each other.

use super::expression::Step;
use super::function::FunctionCompiler;
use super::operand::{Goal, Operand};
use super::unit::{Declared, kind, kind_of};
use crate::fault::Fault;
use crate::library::Library;
use crate::syntax::{ExprId, ExprList, Name};
use crate::types::Type;
use script::Kind;
use script::builder::Register;

/// The function of the library that has the effect of `print(x)`, if there is one.
const PRINT: &str = "print";

/// A function that is called.
#[derive(Clone, Copy, Debug)]
enum Callee<'a> {
    Library(&'a str),
    Script(script::builder::FunctionId),
}

impl<'c> FunctionCompiler<'c> {
    /// Leaves the evaluation of the arguments and the call as steps.
    pub(super) fn begin_call(
        &self,
        id: ExprId,
        arguments: ExprList,
        parameters: &[Type],
        row: Vec<Register>,
        goal: Option<Goal>,
        steps: &mut Vec<Step>,
    ) {
        let ids = self.unit.script().expr_list(arguments);
        let last_use = self.last_use(id, ids);
        let arguments = ids.iter().zip(parameters).zip(&row);
        let evaluations = arguments.rev().flat_map(|((&id, &ty), &to)| {
            let goal = (self.unit.type_of(id) == ty).then_some(Goal::fresh(to));
            let is_last_use = last_use == Some(id);
            [Step::Argument { to, id, ty, is_last_use }, Step::Evaluate(id, goal)]
        });
        let evaluations: Vec<Step> = evaluations.collect();
        steps.push(Step::Call { id, row, goal });
        steps.extend(evaluations);
    }

    /// The types of a function's parameters.
    pub(super) fn parameters(&self, function: Name) -> Vec<Type> {
        let unit = self.unit;
        let name = unit.script().name(function);
        if let Some(of_library) = Library::get().function(name, unit.dialect()) {
            return of_library.parameters.iter().map(|parameter| parameter.ty).collect();
        }
        unit.parameters(unit.symbol(function))
    }

    /// The call itself.
    pub(super) fn call(
        &mut self,
        id: ExprId,
        function: Name,
        row: &[Register],
        goal: Option<Goal>,
    ) -> Operand {
        self.at(self.unit.script().expr(id).span);
        let (result, operand) = match kind_of(self.unit.type_of(id)) {
            None => (None, Operand::Nothing),
            Some(kind) => {
                let (register, operand) = self.result(kind, goal);
                (Some(register), operand)
            }
        };
        match self.callee(function) {
            Callee::Script(function) => self.code.call(function, row, result),
            Callee::Library(name) => {
                if !self.is_in_library(name, row, result) {
                    self.fault(function.span, Fault::NotInLibrary(name.to_owned()));
                }
                self.code.call_library(name, row, result);
            }
        }
        self.code.release_row(row);
        operand
    }

    /// `print(x)`
    pub(super) fn print(&mut self, value: Operand, ty: Type) -> Operand {
        if self.unit.library.find(PRINT, &[Kind::Text]).is_none() {
            self.discard(value);
            return Operand::Nothing;
        }
        let row = self.code.row(&[Kind::Text]);
        self.put_as(row[0], value, ty, Type::String);
        self.code.call_library(PRINT, &row, None);
        self.code.release_row(&row);
        Operand::Nothing
    }

    /// A row of registers for the arguments.
    pub(super) fn row(&mut self, parameters: &[Type]) -> Vec<Register> {
        let kinds: Vec<Kind> = parameters.iter().map(|&ty| kind(ty)).collect();
        self.code.row(&kinds)
    }

    /// The register of a result, of which floats are as variables have them.
    fn result(&mut self, kind: Kind, goal: Option<Goal>) -> (Register, Operand) {
        match goal {
            Some(goal) => (goal.register, Operand::Placed { is_rounded: true }),
            None => self.fresh(kind, None),
        }
    }

    fn callee(&self, function: Name) -> Callee<'c> {
        let unit = self.unit;
        let name = unit.script().name(function);
        // Names of the library come first.
        if Library::get().function(name, unit.dialect()).is_some() {
            return Callee::Library(name);
        }
        match unit.declared.get(&unit.symbol(function)) {
            Some(Declared::Function(function)) => Callee::Script(*function),
            _ => unreachable!("functions are declared before all code"),
        }
    }

    fn is_in_library(&self, name: &str, row: &[Register], result: Option<Register>) -> bool {
        let kinds: Vec<Kind> = row.iter().map(|register| register.kind()).collect();
        let found = self.unit.library.find(name, &kinds);
        found.is_some_and(|signature| signature.result == result.map(Register::kind))
    }
}
