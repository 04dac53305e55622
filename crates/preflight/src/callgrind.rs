//! Parser of callgrind's output: functions with their costs, and their call contexts if the profile separates them.
//!
//! A profile is a text of blocks, one per function. Lines used here (callgrind's manual, "Callgrind Format
//! Specification"):
//!
//! ```text
//! events: Ir                      unit of the counts: instructions
//! fn=(12) name                    start of function 12; the name is given at its first occurrence only
//! +3 40                           40 instructions of its own at a line
//! cfn=(13) name                   it calls function 13:
//! calls=2 0                       twice,
//! * 900                           which cost 900 instructions, callees included
//! ```
//!
//! A function listed in `--separate-callers` occurs once per chain of callers, as `name'caller'caller'…`. Names must be the
//! linker's (`--demangle=no`); they are demangled here, without hash.

use crate::symbols::demangle;
use std::collections::BTreeMap;
use thiserror::Error;

/// A function, or one call context of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name, then its callers from the innermost outwards as far as the profile separates them.
    pub chain: Vec<String>,
    /// Instructions of its own.
    pub own: u64,
    /// Number of calls.
    pub calls: u64,
    /// Instructions of these calls, callees included.
    pub inclusive: u64,
}

/// A text is not a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// Its unit is not instructions.
    #[error("the profile does not count instructions")]
    NoInstructions,
    /// A line cannot be parsed.
    #[error("line {line} of the profile cannot be read: {text}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
}

/// Reads a profile.
///
/// # Errors
/// When the unit is not instructions, or a line cannot be parsed.
pub fn decode(text: &str) -> Result<Vec<Function>, ProfileError> {
    if !text.lines().any(|line| line.strip_prefix("events:").is_some_and(|events| events.trim() == "Ir")) {
        return Err(ProfileError::NoInstructions);
    }
    let mut decoder = Decoder::default();
    for (number, line) in text.lines().enumerate() {
        decoder.line(line).ok_or_else(|| ProfileError::Line { line: number + 1, text: line.to_owned() })?;
    }
    Ok(decoder.functions.into_values().collect())
}

#[derive(Default)]
struct Decoder {
    /// By callgrind's number.
    functions: BTreeMap<u64, Function>,
    current: Option<u64>,
    callee: Option<u64>,
    /// Number of calls that the next cost line belongs to.
    calls: Option<u64>,
}

impl Decoder {
    fn line(&mut self, line: &str) -> Option<()> {
        if let Some(name) = line.strip_prefix("fn=") {
            self.current = Some(self.function(name)?);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            self.callee = Some(self.function(name)?);
        } else if let Some(calls) = line.strip_prefix("calls=") {
            self.calls = Some(calls.split(' ').next()?.parse().ok()?);
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            // The format omits costs of 0.
            let cost = line.split(' ').nth(1).map_or(Some(0), |cost| cost.parse::<u64>().ok())?;
            self.cost(cost)?;
        }
        Some(())
    }

    fn cost(&mut self, cost: u64) -> Option<()> {
        match self.calls.take() {
            Some(calls) => {
                let callee = self.functions.get_mut(&self.callee?)?;
                callee.calls += calls;
                callee.inclusive += cost;
            }
            None => self.functions.get_mut(&self.current?)?.own += cost,
        }
        Some(())
    }

    /// `(12) name`, or `(12)` once the name is known.
    fn function(&mut self, text: &str) -> Option<u64> {
        let (number, name) = text.strip_prefix('(')?.split_once(')')?;
        let number = number.parse().ok()?;
        if let Some(name) = name.strip_prefix(' ') {
            let chain = name.split('\'').map(demangle).collect();
            self.functions.entry(number).or_insert_with(|| Function { chain, ..Function::default() });
        }
        self.functions.contains_key(&number).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
# callgrind format
version: 1
positions: line
events: Ir
summary: 1000

fl=(1) a.rs
fn=(1) _ZN5world5World4step17h0123456789abcdefE
10 30
fi=(2) b.rs
+2 5
cfn=(2) malloc'_ZN5world5World4step17h0123456789abcdefE'main
calls=3 0
* 90

fn=(2)
7 90

fn=(3) main
cfn=(1)
calls=1 10
1 125
-1
";

    #[test]
    fn own_and_inclusive_costs_are_kept_apart() {
        let functions = decode(PROFILE).unwrap();
        let step = &functions[0];
        assert_eq!((step.own, step.calls, step.inclusive), (35, 1, 125));
        assert_eq!(step.chain, ["world::World::step"]);
        let main = &functions[2];
        assert_eq!((main.own, main.calls, main.inclusive), (0, 0, 0));
    }

    #[test]
    fn a_separated_function_has_its_callers() {
        let functions = decode(PROFILE).unwrap();
        assert_eq!(functions[1].chain, ["malloc", "world::World::step", "main"]);
        assert_eq!((functions[1].own, functions[1].calls, functions[1].inclusive), (90, 3, 90));
    }

    #[test]
    fn a_text_that_is_no_profile_of_instructions_is_refused() {
        assert_eq!(decode("events: Dr"), Err(ProfileError::NoInstructions));
        assert_eq!(decode(""), Err(ProfileError::NoInstructions));
        let damaged = PROFILE.replace("calls=3 0", "calls=many 0");
        assert_eq!(decode(&damaged), Err(ProfileError::Line { line: 13, text: "calls=many 0".into() }));
        let unknown = PROFILE.replace("fn=(2)\n", "fn=(9)\n");
        assert!(matches!(decode(&unknown), Err(ProfileError::Line { line: 16, .. })));
    }
}
