//! Faults of behaviour files, beyond those of text as such; messages name the nearest word that would be right.

use outline::{TextFault, suggestion};

/// A fault in behaviour files or in the vocabulary they are read with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BehaviorFault {
    /// A fault of the text as such.
    #[error(transparent)]
    Text(#[from] TextFault),
    /// Something other than a behaviour at a line's beginning.
    #[error("expected `behaviour NAME:`, since nothing else stands at the beginning of a line")]
    NotInBehavior,
    /// A behaviour within another.
    #[error("a behaviour stands by itself, at the beginning of a line")]
    NestedBehavior,
    /// A word that begins no node.
    #[error("unknown word `{word}`{}", suggestion(.nearest.as_deref()))]
    UnknownWord {
        /// The word.
        word: String,
        /// An existing one.
        nearest: Option<String>,
    },
    /// A word that the node does not know.
    #[error("`{node}` does not know `{word}` (it takes {takes}){}", suggestion(.nearest.as_deref()))]
    UnknownOption {
        /// The node.
        node: &'static str,
        /// The word.
        word: String,
        /// A known one.
        nearest: Option<String>,
        /// All that it knows.
        takes: String,
    },
    /// Something is missing.
    #[error("`{node}` needs {needs}")]
    Missing {
        /// The node.
        node: &'static str,
        /// The missing part.
        needs: String,
    },
    /// Something is said twice.
    #[error("`{what}` is here twice")]
    Twice {
        /// Its kind.
        what: String,
    },
    /// A number outside of its range.
    #[error("{found} is out of range: {wanted}")]
    OutOfRange {
        /// The value found.
        found: String,
        /// The valid range.
        wanted: String,
    },
    /// A name that the template does not offer.
    #[error("the template has no {what} `{name}`{}", suggestion(.nearest.as_deref()))]
    UnknownName {
        /// The sort of thing named.
        what: &'static str,
        /// The name.
        name: String,
        /// An existing one.
        nearest: Option<String>,
    },
    /// `use` of a behaviour that is in none of the files.
    #[error("there is no behaviour `{name}`{}", suggestion(.nearest.as_deref()))]
    UnknownBehavior {
        /// Its name.
        name: String,
        /// An existing one.
        nearest: Option<String>,
    },
    /// A name that cannot be written in a file, or that means something else there.
    #[error("`{name}` cannot be the name of a {what}")]
    BadName {
        /// The limited item.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name for two things.
    #[error("there are two with the name `{name}` (a {what})")]
    DuplicateName {
        /// Their sort.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A behaviour that there was already.
    #[error("behaviour `{name}` is already in {file}, line {line}")]
    DuplicateBehavior {
        /// Its name.
        name: String,
        /// File of the first.
        file: String,
        /// Its line.
        line: u32,
    },
    /// A route or resource without a point.
    #[error("{what} `{name}` has no points")]
    NoPoints {
        /// Its kind.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A position that is no number.
    #[error("{what} `{name}` has a position that is no number")]
    NotFinite {
        /// Its kind.
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
    /// A node without an argument.
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
        /// Allowed parents.
        parent: &'static str,
    },
    /// Something else under a node than it can have.
    #[error("only `{child}` can stand directly under `{node}`")]
    OnlyUnder {
        /// The node.
        node: &'static str,
        /// The only child allowed.
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
        /// The node that takes time.
        node: String,
    },
    /// Nodes that nothing leads to.
    #[error("nothing leads here: `{node}` above {why}")]
    NeverReached {
        /// The node in the way.
        node: String,
        /// The reason.
        why: &'static str,
    },
    /// A behaviour that uses itself.
    #[error("this goes in a circle: {path}")]
    Cycle {
        /// The names of all in the circle.
        path: String,
    },
    /// An unused behaviour. A warning.
    #[error("behaviour `{name}` is not used: no NPC of the template has it, and no behaviour uses it")]
    Unused {
        /// Its name.
        name: String,
    },
}
