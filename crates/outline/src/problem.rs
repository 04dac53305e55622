//! Problems with their file, line and column, collected within a bound; and the nearest word that would be right.
//!
//! Generic over `F`, the faults of the language, which are shown by their `Display`.

use std::fmt;

/// Problems listed of one report; further ones are counted.
pub const PROBLEMS_MAX: usize = 100;

/// Characters of a word that a message shows.
const SHOWN_MAX: usize = 40;

/// A fault at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem<F> {
    /// Name of the file as the caller gave it.
    pub file: String,
    /// From 1; 0 when it concerns no line.
    pub line: u32,
    /// Characters from the line's beginning, from 1; 0 when it concerns the whole line.
    pub column: u32,
    /// The fault itself.
    pub fault: F,
}

impl<F> Problem<F> {
    /// A fault at a line and a column, both from 1; 0 for none.
    #[must_use]
    pub fn new(file: &str, line: u32, column: u32, fault: impl Into<F>) -> Self {
        Self { file: file.to_owned(), line, column, fault: fault.into() }
    }
}

impl<F: fmt::Display> fmt::Display for Problem<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().take_while(|&number| number > 0) {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.fault)
    }
}

/// All problems of one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems<F> {
    /// At most [`PROBLEMS_MAX`].
    pub list: Vec<Problem<F>>,
    /// Number of further ones.
    pub n_more: usize,
}

impl<F> Default for Problems<F> {
    fn default() -> Self {
        Self { list: Vec::new(), n_more: 0 }
    }
}

impl<F> Problems<F> {
    /// Adds one, or counts it when the list is full.
    pub fn add(&mut self, problem: Problem<F>) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push(problem);
        } else {
            self.n_more += 1;
        }
    }

    /// These problems as an error; `value` when there are none.
    ///
    /// # Errors
    ///
    /// The problems themselves, when there are any.
    pub fn none_or<T>(self, value: T) -> Result<T, Self> {
        if self.list.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl<F: fmt::Display> fmt::Display for Problems<F> {
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

impl<F: fmt::Debug + fmt::Display> std::error::Error for Problems<F> {}

/// Collects the problems of several files, within their bound.
#[derive(Debug)]
pub struct ProblemReport<F> {
    /// With the number of the file, to sort by.
    list: Vec<(usize, Problem<F>)>,
    n_more: usize,
}

impl<F> Default for ProblemReport<F> {
    fn default() -> Self {
        Self { list: Vec::new(), n_more: 0 }
    }
}

impl<F> ProblemReport<F> {
    /// Adds a problem of the file with this number.
    pub fn add(&mut self, file_index: usize, problem: Problem<F>) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push((file_index, problem));
        } else {
            self.n_more += 1;
        }
    }

    /// The known word nearest to this one, with at most a third of its letters different. `None` as well once the list of
    /// problems is full: comparing costs more than all else about a file, and a file of unknown words only would take seconds.
    pub fn nearest<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        if self.list.len() < PROBLEMS_MAX { nearest(word, known) } else { None }
    }

    /// No problem so far.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems by file, line and column.
    #[must_use]
    pub fn into_problems(mut self) -> Problems<F> {
        self.list.sort_by_key(|(file, problem)| (*file, problem.line, problem.column));
        Problems { list: self.list.into_iter().map(|(_, problem)| problem).collect(), n_more: self.n_more }
    }
}

/// A report for the problems of one file.
#[derive(Debug)]
pub struct FileReport<'r, F> {
    /// Its name, as messages show it.
    pub file: &'r str,
    /// Its place in the order of problems.
    pub index: usize,
    /// Receives the problems.
    pub report: &'r mut ProblemReport<F>,
}

impl<F> FileReport<'_, F> {
    /// Adds a fault at a line and a column, both from 1; 0 for none.
    pub fn add(&mut self, line: u32, column: u32, fault: impl Into<F>) {
        self.report.add(self.index, Problem::new(self.file, line, column, fault));
    }

    /// See [`ProblemReport::nearest`].
    pub fn nearest<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        self.report.nearest(word, known)
    }
}

/// Line and column of a byte of a text, both from 1; the column in characters.
#[must_use]
pub fn position(text: &str, byte: usize) -> (u32, u32) {
    let before = &text[..text.floor_char_boundary(byte)];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
    (line, column)
}

/// A word as a message shows it: a long one in part.
#[must_use]
pub fn shown(word: &str) -> String {
    match word.char_indices().nth(SHOWN_MAX) {
        None => word.to_owned(),
        Some((end, _)) => format!("{}…", &word[..end]),
    }
}

/// The nearest of the known words, with at most a third of its letters different.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A comparison costs the product of the lengths; a word this long was no slip.
    if word.len() > 4 * SHOWN_MAX {
        return None;
    }
    let n_letters = word.chars().count();
    let allowed = (n_letters / 3).max(1);
    known
        .into_iter()
        // A difference in length is one in letters, and costs less to find.
        .filter(|known| known.chars().count().abs_diff(n_letters) <= allowed)
        .map(|known| (strsim::osa_distance(word, known), known))
        .filter(|&(distance, _)| distance <= allowed)
        .min()
        .map(|(_, known)| known.to_owned())
}

/// The end of a message about an unknown word: `; did you mean …?`, or nothing.
#[must_use]
pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_a_plausible_one() {
        let known = ["chase", "chance", "cooldown"];
        assert_eq!(nearest("chaes", known).as_deref(), Some("chase"));
        assert_eq!(nearest("chanse", known).as_deref(), Some("chance"));
        assert_eq!(nearest("swim", known), None);
        assert_eq!(nearest(&"c".repeat(100_000), known), None);
    }

    #[test]
    fn problems_are_bounded_and_sorted() {
        let mut report = ProblemReport::default();
        for line in (0..PROBLEMS_MAX as u32 + 7).rev() {
            report.add(0, Problem { file: "a".into(), line, column: 1, fault: "wrong" });
        }
        let problems = report.into_problems();
        assert_eq!((problems.list.len(), problems.n_more), (PROBLEMS_MAX, 7));
        assert!(problems.list.is_sorted_by_key(|problem| problem.line));
        assert!(problems.to_string().ends_with("\nand 7 more"));
    }

    #[test]
    fn a_problem_names_its_place_as_far_as_it_has_one() {
        let at = |line, column| Problem { file: "a".into(), line, column, fault: "wrong" }.to_string();
        assert_eq!([at(0, 0), at(2, 0), at(2, 3)], ["a: wrong", "a:2: wrong", "a:2:3: wrong"]);
    }

    #[test]
    fn a_position_counts_characters_and_lines() {
        let text = "a\nüb\n";
        let at = [0, 1, 2, 4, 5, 6].map(|byte| position(text, byte));
        assert_eq!(at, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1)]);
    }

    #[test]
    fn a_long_word_is_shown_in_part() {
        assert_eq!(shown("chase"), "chase");
        assert_eq!(shown(&"ä".repeat(100)), format!("{}…", "ä".repeat(SHOWN_MAX)));
    }
}
