//! Files that a client may ask for: lists of the contents of objects.

use super::file_sends::FileSends;
use grid::contents::ShownContents;
use ids::Uuid;
use prim::Contents;
use std::sync::Arc;

/// Files for a client.
pub(super) type ClientFiles = FileSends<OfferedContents>;

/// Contents of an object that a client may read as a file.
#[derive(Debug)]
pub(super) struct OfferedContents {
    pub(super) object: Uuid,
    pub(super) contents: Arc<Contents>,
    /// The client may change the object.
    pub(super) may_modify: bool,
}

impl OfferedContents {
    pub(super) fn n_items(&self) -> usize {
        self.contents.items.len()
    }

    /// The file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { object, contents, may_modify } = self;
        ShownContents { object: *object, contents, may_modify: *may_modify }.to_text()
    }
}
