//! What is wrong with a template's files, all at once.

use serde::Serialize;
use std::fmt;

/// So many are listed; further ones are counted.
const LISTED_MAX: usize = 100;

/// Something wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(in crate::serve) struct ScriptProblem {
    /// As the operator named it.
    pub(in crate::serve) file: String,
    /// From 1; none when it concerns no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::serve) line: Option<u32>,
    /// From 1; none when it concerns all of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::serve) column: Option<u32>,
    pub(in crate::serve) what: String,
}

/// All that is wrong, in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::serve) struct ScriptProblems {
    pub(in crate::serve) list: Vec<ScriptProblem>,
    /// How many more there are.
    pub(in crate::serve) n_more: usize,
}

impl ScriptProblems {
    /// Adds one; a line or column of 0 is none.
    pub(super) fn add(&mut self, file: &str, line: u32, column: u32, what: String) {
        let some = |number| (number > 0).then_some(number);
        if self.list.len() < LISTED_MAX {
            let (line, column) = (some(line), some(column));
            self.list.push(ScriptProblem { file: file.to_owned(), line, column, what });
        } else {
            self.n_more += 1;
        }
    }

    /// As a result.
    pub(super) fn none(self) -> Result<(), Self> {
        if self.list.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl fmt::Display for ScriptProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for problem in &self.list {
            write!(f, "{separator}{problem}")?;
            separator = "\n";
        }
        if self.n_more > 0 {
            write!(f, "{separator}and {} more", self.n_more)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptProblems {}
