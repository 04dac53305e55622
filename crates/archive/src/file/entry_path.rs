//! Paths of entries: relative, of bounded length, without steps upwards.

/// Bytes of a path. Folders of an inventory nest 100 deep at most, each with a name, an id and separators of 103 bytes.
pub const PATH_BYTES_MAX: usize = 16 * 1_024;

/// Reason to refuse a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No name.
    #[error("its path is empty")]
    Empty,
    /// Longer than [`PATH_BYTES_MAX`].
    #[error("its path has more than {PATH_BYTES_MAX} bytes")]
    Long,
    /// It begins at the root of a file system.
    #[error("its path is absolute")]
    Absolute,
    /// A part of it is `..`.
    #[error("its path leads out of the archive")]
    Parent,
    /// A NUL within it.
    #[error("its path has a NUL character")]
    Nul,
}

/// The path in a header: without `./` before it, and without the slash behind the path of a folder. Bytes that are no UTF-8 become U+FFFD.
///
/// The text in each error is for messages.
pub(super) fn checked(bytes: &[u8]) -> Result<Box<str>, (Box<str>, PathError)> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let shown = &bytes[..end.min(PATH_BYTES_MAX)];
    let text = String::from_utf8_lossy(shown).into_owned();
    if end > PATH_BYTES_MAX {
        return Err((text.into(), PathError::Long));
    }
    match check(strip_here(&text)) {
        Ok(path) => Ok(path.into()),
        Err(why) => Err((text.into(), why)),
    }
}

/// Checks a path that is to be written, and returns it without the slash behind it.
pub(super) fn check(path: &str) -> Result<&str, PathError> {
    if path.len() > PATH_BYTES_MAX {
        return Err(PathError::Long);
    }
    if path.contains('\0') {
        return Err(PathError::Nul);
    }
    if path.starts_with(['/', '\\']) || has_drive(path) {
        return Err(PathError::Absolute);
    }
    let path = path.trim_end_matches('/');
    if path.is_empty() || path == "." {
        return Err(PathError::Empty);
    }
    // Some systems separate by backslashes, and the files of an archive may be put there.
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(PathError::Parent);
    }
    Ok(path)
}

/// Other programs write `./` before each path.
fn strip_here(mut path: &str) -> &str {
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

/// True for `C:/` and `C:\`.
fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_relative_and_lead_nowhere_else() {
        for (bytes, path) in [
            (&b"archive.xml"[..], "archive.xml"),
            (b"./archive.xml\0\0", "archive.xml"),
            (b"././assets/", "assets"),
            (b"objects/a..b_1-2-3__x.xml", "objects/a..b_1-2-3__x.xml"),
            (b"objects/\xFF.xml", "objects/\u{FFFD}.xml"),
            (b"objects/C: drive.xml", "objects/C: drive.xml"),
        ] {
            assert_eq!(checked(bytes).as_deref(), Ok(path));
        }
        for (bytes, why) in [
            (&b""[..], PathError::Empty),
            (b"\0\0", PathError::Empty),
            (b"./", PathError::Empty),
            (b".", PathError::Empty),
            (b"/etc/passwd", PathError::Absolute),
            (b".//etc/passwd", PathError::Absolute),
            (b"\\\\server\\share", PathError::Absolute),
            (b"c:\\windows", PathError::Absolute),
            (b"../x", PathError::Parent),
            (b"assets/../../x", PathError::Parent),
            (b"assets/..", PathError::Parent),
            (b"assets\\..\\x", PathError::Parent),
            (b"a\0b", PathError::Nul),
        ] {
            assert_eq!(checked(bytes).map_err(|(_, why)| why), Err(why), "{bytes:?}");
        }
        let long = vec![b'a'; PATH_BYTES_MAX + 1];
        assert_eq!(checked(&long).map_err(|(_, why)| why), Err(PathError::Long));
    }

    proptest! {
        #[test]
        fn a_checked_path_is_checked_again(bytes in "[./\\\\:a\\x00\u{e4}]{0,12}") {
            if let Ok(path) = checked(bytes.as_bytes()) {
                prop_assert_eq!(check(&path), Ok(&*path));
            }
        }
    }
}
