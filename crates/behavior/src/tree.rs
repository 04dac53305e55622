//! A behaviour as it was read: nodes with their places in the file.

use super::node::Op;

/// A node with its place in the file.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) part: NodeForm,
    pub(super) children: Vec<Self>,
}

/// Kinds of nodes as read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NodeForm {
    Op(Op),
    /// Another behaviour of the set.
    Use(u16),
    /// Something that could not be read, and was reported.
    Broken,
}

impl NodeForm {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Op(op) => op.word(),
            Self::Use(_) => "use",
            Self::Broken => "this",
        }
    }
}
