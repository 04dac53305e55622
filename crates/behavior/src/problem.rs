//! What is wrong with behaviour files, with the place and, where there is one, the nearest word that would be right.

use std::fmt;

/// Problems that are listed of one set; further ones are counted.
pub const PROBLEMS_MAX: usize = 100;

/// Characters of a word that a message shows.
const SHOWN_MAX: usize = 40;

/// Something wrong at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Name of the file as the caller gave it; `template` when the vocabulary itself is wrong.
    pub file: String,
    /// From 1; 0 when it concerns no line.
    pub line: u32,
    /// Characters from the line's beginning, from 1.
    pub column: u32,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.file, self.fault)
        } else {
            write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.fault)
        }
    }
}

/// All that is wrong with a set, in order of files and lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problems {
    /// At most [`PROBLEMS_MAX`].
    pub list: Vec<Problem>,
    /// How many more there are.
    pub n_more: usize,
}

impl fmt::Display for Problems {
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

impl std::error::Error for Problems {}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Bytes that are no text.
    #[error("this is not UTF-8 text")]
    NotText,
    /// A file, or a line that is said, is too long.
    #[error("{bytes} bytes, where {max} are allowed")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// What it may have.
        max: usize,
    },
    /// There are too many of something.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        max: usize,
    },
    /// Nested too deep.
    #[error("nested more than {max} deep")]
    TooDeep {
        /// How deep it may be.
        max: usize,
    },
    /// A character that has no meaning in this language.
    #[error("{0:?} has no meaning here")]
    Character(char),
    /// A quotation that does not end on its line.
    #[error("this quotation has no closing `\"`")]
    OpenQuotation,
    /// An escape that does not exist.
    #[error("`\\{0}` is unknown in a quotation; there are `\\\"` and `\\\\`")]
    Escape(char),
    /// Tabs and spaces before the lines of one file.
    #[error("indented with {found}, where this file began with {first}")]
    MixedIndent {
        /// What this line has.
        found: &'static str,
        /// What the file has had so far.
        first: &'static str,
    },
    /// A line that stands under nothing that could have it.
    #[error("indented more than the line above, which has no block under it")]
    NoBlock,
    /// A line whose indentation is not that of its neighbours.
    #[error("indented by {found}, where the other lines of this block are by {block}")]
    Indent {
        /// What this line has.
        found: u32,
        /// What the block's first line has.
        block: u32,
    },
    /// Something other than a behaviour at a line's beginning.
    #[error("expected `behaviour NAME:`, since nothing else stands at the beginning of a line")]
    NotInBehavior,
    /// A behaviour within another.
    #[error("a behaviour stands by itself, at the beginning of a line")]
    NestedBehavior,
    /// A word that begins no node.
    #[error("unknown word `{word}`{}", hint(.nearest))]
    UnknownWord {
        /// The word.
        word: String,
        /// One that exists.
        nearest: Option<String>,
    },
    /// A word that the node does not know.
    #[error("`{node}` does not know `{word}` (it takes {takes}){}", hint(.nearest))]
    UnknownOption {
        /// The node.
        node: &'static str,
        /// The word.
        word: String,
        /// One that it knows.
        nearest: Option<String>,
        /// All that it knows.
        takes: String,
    },
    /// Something is missing.
    #[error("`{node}` needs {needs}")]
    Missing {
        /// The node.
        node: &'static str,
        /// What it needs.
        needs: String,
    },
    /// Something is said twice.
    #[error("`{what}` is here twice")]
    Twice {
        /// What.
        what: String,
    },
    /// Something else should stand here.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// What should.
        wanted: String,
        /// What does.
        found: String,
    },
    /// A number outside of its range.
    #[error("{found} is out of range: {wanted}")]
    OutOfRange {
        /// What stands here.
        found: String,
        /// What would be right.
        wanted: String,
    },
    /// A name that the template does not offer.
    #[error("the template has no {what} `{name}`{}", hint(.nearest))]
    UnknownName {
        /// What should have that name.
        what: &'static str,
        /// The name.
        name: String,
        /// One that exists.
        nearest: Option<String>,
    },
    /// `use` of a behaviour that is in none of the files.
    #[error("there is no behaviour `{name}`{}", hint(.nearest))]
    UnknownBehavior {
        /// Its name.
        name: String,
        /// One that exists.
        nearest: Option<String>,
    },
    /// A name that cannot be written in a file, or that means something else there.
    #[error("`{name}` cannot be the name of a {what}")]
    BadName {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name for two things.
    #[error("there are two with the name `{name}` (a {what})")]
    DuplicateName {
        /// What they are.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A behaviour that there was already.
    #[error("behaviour `{name}` is already in {file}, line {line}")]
    DuplicateBehavior {
        /// Its name.
        name: String,
        /// Where the first is.
        file: String,
        /// Its line.
        line: u32,
    },
    /// A route or resource without a point.
    #[error("{what} `{name}` has no points")]
    NoPoints {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A position that is no number.
    #[error("{what} `{name}` has a position that is no number")]
    NotFinite {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A condition with a colon.
    #[error("conditions with something under them begin with `when`")]
    NeedsWhen,
    /// A node that has others under it, without its colon.
    #[error("`{node}` needs a `:` behind it, and what it applies to on the same line or in a block under it")]
    MissingColon {
        /// The node.
        node: &'static str,
    },
    /// A node that has no others under it, with a colon.
    #[error("`{node}` stands alone: no `:` behind it and no block under it")]
    NoChildren {
        /// The node.
        node: &'static str,
    },
    /// A node without what it applies to.
    #[error("`{node}` is empty")]
    Empty {
        /// The node.
        node: &'static str,
    },
    /// A node that exists under one other only.
    #[error("`{node}` stands only directly under `{parent}`")]
    Misplaced {
        /// The node.
        node: &'static str,
        /// Under what it may stand.
        parent: &'static str,
    },
    /// Something else under a node than it can have.
    #[error("only `{child}` can stand directly under `{node}`")]
    OnlyUnder {
        /// The node.
        node: &'static str,
        /// What it can have.
        child: &'static str,
    },
    /// `and` and `or` between conditions of one line.
    #[error("`and` and `or` on one line leave open which comes first; nest two `when` instead")]
    AndOr,
    /// Times of a schedule that do not rise.
    #[error("the times of a schedule rise from line to line, and this one does not")]
    UnsortedTimes,
    /// A branch of `parallel` that takes time and is not the last.
    #[error("only the last node under `parallel` may take time, and `{node}` does")]
    TakesTime {
        /// What takes time.
        node: String,
    },
    /// Nodes that nothing leads to.
    #[error("nothing leads here: `{node}` above {why}")]
    NeverReached {
        /// What stands in the way.
        node: String,
        /// Why.
        why: &'static str,
    },
    /// A behaviour that uses itself.
    #[error("this goes in a circle: {path}")]
    Cycle {
        /// The names of all in the circle.
        path: String,
    },
    /// A behaviour that nobody uses. A warning.
    #[error("behaviour `{name}` is not used: no NPC of the template has it, and no behaviour uses it")]
    Unused {
        /// Its name.
        name: String,
    },
}

/// Collects problems, within their bound.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// With the number of the file, to sort by.
    list: Vec<(usize, Problem)>,
    n_more: usize,
}

impl Report {
    pub(crate) fn add(&mut self, file_index: usize, problem: Problem) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push((file_index, problem));
        } else {
            self.n_more += 1;
        }
    }

    /// The word that was probably meant, while there is room to say so: comparing costs more than all else about a file, and a
    /// file of nothing but unknown words shall not cost seconds.
    pub(crate) fn nearest<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        if self.list.len() < PROBLEMS_MAX { nearest(word, known) } else { None }
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_problems(mut self) -> Problems {
        self.list.sort_by_key(|(file, problem)| (*file, problem.line, problem.column));
        Problems { list: self.list.into_iter().map(|(_, problem)| problem).collect(), n_more: self.n_more }
    }
}

/// A word as a message shows it.
pub(crate) fn shown(word: &str) -> String {
    match word.char_indices().nth(SHOWN_MAX) {
        None => word.to_owned(),
        Some((end, _)) => format!("{}…", &word[..end]),
    }
}

/// The word that is nearest: at most a third of its letters differ.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Comparing costs the product of the lengths; what is that long was no slip.
    if word.len() > 4 * SHOWN_MAX {
        return None;
    }
    let allowed = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|known| (strsim::osa_distance(word, known), known))
        .filter(|&(distance, _)| distance <= allowed)
        .min()
        .map(|(_, known)| known.to_owned())
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_one_that_could_have_been_meant() {
        let known = ["chase", "chance", "cooldown"];
        assert_eq!(nearest("chaes", known).as_deref(), Some("chase"));
        assert_eq!(nearest("chanse", known).as_deref(), Some("chance"));
        assert_eq!(nearest("swim", known), None);
        assert_eq!(nearest(&"c".repeat(100_000), known), None);
    }

    #[test]
    fn problems_are_bounded_and_sorted() {
        let mut report = Report::default();
        for line in (0..PROBLEMS_MAX as u32 + 7).rev() {
            let problem = Problem { file: "a".into(), line, column: 1, fault: Fault::NoBlock };
            report.add(0, problem);
        }
        let problems = report.into_problems();
        assert_eq!((problems.list.len(), problems.n_more), (PROBLEMS_MAX, 7));
        assert!(problems.list.is_sorted_by_key(|problem| problem.line));
        assert!(problems.to_string().ends_with("\nand 7 more"));
    }

    #[test]
    fn a_long_word_is_shown_in_part() {
        assert_eq!(shown("chase"), "chase");
        assert_eq!(shown(&"ä".repeat(100)), format!("{}…", "ä".repeat(SHOWN_MAX)));
    }
}
