//! Names of folders and items in the paths of an inventory's archive: `NAME__ID`, where slashes and ampersands of the name are escaped.
//!
//! ```text
//! inventory/Objects__<id>/                        a folder
//! inventory/Objects__<id>/Chair &amp; table__<id>.xml     an item in it
//! ```
//!
//! Only `&` and `/` are escaped, so that a name that ends in underscores keeps them: the id is behind the last two.

use ids::Uuid;

/// Folder of the inventory in an archive.
pub(crate) const INVENTORY: &str = "inventory/";

/// Separator of name and id.
const SEPARATOR: &str = "__";

/// Folders within each other.
pub const FOLDER_DEPTH_MAX: usize = 100;

/// A name with an id, as a part of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName {
    /// The name.
    pub name: Box<str>,
    /// The id; null in archives of other programs that leave it out.
    pub id: Uuid,
}

impl NodeName {
    /// Reads a part of a path: that of a folder, or that of an item without `.xml`.
    #[must_use]
    pub fn read(part: &str) -> Self {
        let split = part.rsplit_once(SEPARATOR);
        match split.and_then(|(name, id)| Some((name, Uuid::try_parse(id).ok()?))) {
            Some((name, id)) => Self { name: unescape(name), id },
            None => Self { name: unescape(part), id: Uuid::nil() },
        }
    }

    /// The part of a path, without `.xml`.
    #[must_use]
    pub fn write(&self) -> String {
        let name = self.name.replace('&', "&amp;").replace('/', "&#47;");
        if self.id.is_nil() { name } else { format!("{name}{SEPARATOR}{}", self.id) }
    }
}

fn unescape(name: &str) -> Box<str> {
    name.replace("&#47;", "/").replace("&amp;", "&").into()
}

/// Folders of an entry's path below `inventory`, from the outermost on, and the item's name if it is an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLocation {
    /// Folders, at most [`FOLDER_DEPTH_MAX`].
    pub folders: Vec<NodeName>,
    /// The item.
    pub item: Option<NodeName>,
}

/// Reason for which a path is no place in an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeLocationError {
    /// It lies elsewhere.
    #[error("it is not in the folder of the inventory")]
    Elsewhere,
    /// Too many folders.
    #[error("it lies in more than {FOLDER_DEPTH_MAX} folders")]
    Deep,
    /// An item's file has another ending.
    #[error("its name does not end with .xml")]
    Ending,
}

/// Reads the path of an entry.
///
/// # Errors
/// [`NodeLocationError`].
pub fn read_location(path: &str, is_folder: bool) -> Result<NodeLocation, NodeLocationError> {
    let below = path.strip_prefix(INVENTORY).ok_or(NodeLocationError::Elsewhere)?;
    let mut folders: Vec<NodeName> = Vec::new();
    let mut parts = below.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        if !is_folder && parts.peek().is_none() {
            let name = part.strip_suffix(".xml").ok_or(NodeLocationError::Ending)?;
            return Ok(NodeLocation { folders, item: Some(NodeName::read(name)) });
        }
        if folders.len() == FOLDER_DEPTH_MAX {
            return Err(NodeLocationError::Deep);
        }
        folders.push(NodeName::read(part));
    }
    if folders.is_empty() {
        return Err(NodeLocationError::Elsewhere);
    }
    Ok(NodeLocation { folders, item: None })
}

/// Path of a folder, or of an item in it.
#[must_use]
pub fn write_location(location: &NodeLocation) -> String {
    let mut path = String::from(INVENTORY);
    for folder in &location.folders {
        path.push_str(&folder.write());
        path.push('/');
    }
    match &location.item {
        Some(item) => path + &item.write() + ".xml",
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(name: &str, n: u128) -> NodeName {
        NodeName { name: name.into(), id: Uuid::from_u128(n) }
    }

    #[test]
    fn names_keep_slashes_ampersands_and_underscores() {
        for name in ["Objects", "a/b & c", "&amp;", "&#47;", "__", "a__", "", "\u{fc}"] {
            assert_eq!(NodeName::read(&node(name, 7).write()), node(name, 7), "{name}");
        }
        assert_eq!(node("a/b&", 1).write(), "a&#47;b&amp;__00000000-0000-0000-0000-000000000001");
        assert_eq!(NodeName::read("Objects"), node("Objects", 0));
        assert_eq!(NodeName::read("a__b"), node("a__b", 0));
    }

    #[test]
    fn paths_are_read_as_they_are_written() {
        let folders = vec![node("A", 1), node("B/C", 2)];
        let location = NodeLocation { folders, item: Some(node("x", 3)) };
        let path = write_location(&location);
        assert_eq!(read_location(&path, false), Ok(location.clone()));
        let folder = NodeLocation { item: None, ..location };
        assert_eq!(read_location(write_location(&folder).trim_end_matches('/'), true), Ok(folder));
        let top = NodeLocation { folders: vec![], item: Some(node("x", 3)) };
        assert_eq!(read_location(&write_location(&top), false), Ok(top));
    }

    #[test]
    fn other_paths_are_refused() {
        for (path, is_folder, why) in [
            ("assets/x.xml", false, NodeLocationError::Elsewhere),
            ("inventory", true, NodeLocationError::Elsewhere),
            ("inventory/", true, NodeLocationError::Elsewhere),
            ("inventory/a/b.txt", false, NodeLocationError::Ending),
            (&["inventory/", &"a/".repeat(101)].concat(), true, NodeLocationError::Deep),
            (&["inventory/", &"a/".repeat(101), "x.xml"].concat(), false, NodeLocationError::Deep),
        ] {
            assert_eq!(read_location(path, is_folder), Err(why), "{path}");
        }
        let deep = read_location(&["inventory/", &"a/".repeat(100), "x.xml"].concat(), false).unwrap();
        assert_eq!(deep.folders.len(), FOLDER_DEPTH_MAX);
    }

    proptest! {
        #[test]
        fn any_name_is_read_as_it_is_written(name in "[a&/;#_47\u{e4}mp]{0,12}", id in 1_u128..) {
            let node = NodeName { name: name.into(), id: Uuid::from_u128(id) };
            prop_assert_eq!(NodeName::read(&node.write()), node);
        }
    }
}
