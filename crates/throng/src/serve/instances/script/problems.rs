//! Problems of a template's files, as the operator's API shows them.

use outline::{Problem, Problems};
use serde::Serialize;

/// All problems of a template's files, in the order in which they were found.
pub(in crate::serve) type ScriptProblems = Problems<String>;

/// One problem at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(in crate::serve) struct ScriptProblem {
    /// As the operator named it.
    file: String,
    /// From 1; none when it concerns no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// From 1; none when it concerns all of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    what: String,
}

impl From<Problem<String>> for ScriptProblem {
    fn from(Problem { file, line, column, fault }: Problem<String>) -> Self {
        let some = |number| (number > 0).then_some(number);
        Self { file, line: some(line), column: some(column), what: fault }
    }
}
