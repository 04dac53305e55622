//! Folders of an inventory by their paths, such as `/Objects/Chairs`.

use super::steps::ArchiveFailure;
use store::Folder;

/// The folder at a path; `/` is the root. Names are compared in any capitals, but for folders that differ in nothing else.
pub(super) fn folder_at<'f>(folders: &'f [Folder], path: &str) -> Result<&'f Folder, ArchiveFailure> {
    let root = folders.iter().find(|folder| folder.parent.is_nil());
    let mut at = root.ok_or_else(|| ArchiveFailure::new("the account has no inventory"))?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let parent = at.id;
        let children = || folders.iter().filter(move |folder| folder.parent == parent && folder.id != parent);
        let same = |folder: &&Folder| folder.name.to_lowercase() == name.to_lowercase();
        let found = children().find(|folder| folder.name == name).or_else(|| children().find(same));
        let unknown = || ArchiveFailure::new(format!("there is no folder {name:?} in {:?}", at.name));
        at = found.ok_or_else(unknown)?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    fn folder(id: u128, parent: u128, name: &str) -> Folder {
        let (id, parent) = (Uuid::from_u128(id), Uuid::from_u128(parent));
        Folder { id, parent, name: name.into(), type_default: -1, version: 1 }
    }

    #[test]
    fn folders_are_found_by_their_paths() {
        let folders = [
            folder(1, 0, "My Inventory"),
            folder(2, 1, "Objects"),
            folder(3, 2, "chairs"),
            folder(4, 2, "Chairs"),
            folder(5, 1, "Chairs"),
        ];
        let found = |path: &str| folder_at(&folders, path).map(|folder| folder.id.as_u128()).ok();
        for (path, id) in [
            ("/", Some(1)),
            ("", Some(1)),
            ("/Objects", Some(2)),
            ("objects/", Some(2)),
            ("/Objects/Chairs", Some(4)),
            ("/Objects/CHAIRS", Some(3)),
            ("/Chairs", Some(5)),
            ("/Chairs/Objects", None),
        ] {
            assert_eq!(found(path), id, "{path}");
        }
        assert!(folder_at(&[], "/").is_err());
    }
}
