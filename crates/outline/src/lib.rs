//! Indented text files as trees of words, and problems with line and column: the reader shared by all languages of text files.
//!
//! No vocabulary: a language gives its own meaning to the words and its own faults to the report. Reading is total: text that
//! cannot be read is reported and left out, and the rest keeps its meaning, so that one reading finds all problems of a file.
//!
//! Start with [`lines`], which splits a file into [`Token`]s, and [`Outline::of`], which nests the lines; [`Words`] goes through the
//! words of one node. Problems go to a [`ProblemReport`], by way of a [`FileReport`] which adds the file's name, and leave it as
//! [`Problems`]. All of them are generic over the language's faults, which include [`TextFault`].
//!
//! ```
//! use outline::{FileLimits, FileReport, Outline, ProblemReport, TextFault};
//!
//! let limits = FileLimits { file_bytes: 1_000, quotation_bytes: 100, items: 50, depth: 8 };
//! let mut report: ProblemReport<TextFault> = ProblemReport::default();
//! let mut file = FileReport { file: "fire.scene", index: 1, report: &mut report };
//! let lines = outline::lines(b"fire:\n    light 3 m\n    smoke \"grey\n", &limits, &mut file).unwrap_or_default();
//! let outline = Outline::of(lines, &limits, &mut file);
//! assert_eq!((outline.roots.len(), outline.items.len()), (1, 3));
//! assert_eq!(report.into_problems().to_string(), "fire.scene:3:11: this quotation has no closing `\"`");
//! ```

mod fault;
mod nesting;
mod problem;
mod text;
mod words;

pub use fault::TextFault;
pub use nesting::{NodeText, Outline};
pub use problem::{
    FileReport, PROBLEMS_MAX, Problem, ProblemReport, Problems, nearest, position, shown, suggestion,
};
pub use text::{Lexeme, TextLine, Token, is_name, lines};
pub use words::Words;

/// Bounds of a file, chosen by the language.
#[derive(Clone, Copy, Debug)]
pub struct FileLimits {
    /// Bytes of a file; a longer one is not read at all.
    pub file_bytes: usize,
    /// Bytes between quotation marks; a longer quotation is reported.
    pub quotation_bytes: usize,
    /// Nodes of a file; the rest of the file is left out.
    pub items: usize,
    /// Depth of nesting; deeper lines are left out.
    pub depth: usize,
}
