//! Files that a request names, in a folder of the data directory.

use std::path::{Path, PathBuf};

/// Bytes of a file's name.
const NAME_BYTES_MAX: usize = 200;

/// The path of a file of this name. A token that may record, export or import opens no other file of the machine.
///
/// # Errors
/// A sentence, if that is not the name of a file.
pub fn path_below(folder: &Path, name: &Path) -> Result<PathBuf, String> {
    let is_name = name.file_name() == Some(name.as_os_str())
        && name.as_os_str().len() <= NAME_BYTES_MAX
        && !name.to_string_lossy().contains(char::is_control);
    if !is_name {
        return Err(format!(
            "{name:?} is not the name of a file, of at most {NAME_BYTES_MAX} bytes, in {}.",
            folder.display()
        ));
    }
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_made_in_their_own_folder_only() {
        let folder = Path::new("/data/recordings");
        assert_eq!(
            path_below(folder, Path::new("a.throngrec")),
            Ok(PathBuf::from("/data/recordings/a.throngrec"))
        );
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for name in ["", ".", "..", "/etc/passwd", "../admin.token", "a/b", "a/", "./a", "a\n", "a\0b", &long]
        {
            assert!(path_below(folder, Path::new(name)).is_err(), "{name:?}");
        }
    }
}
