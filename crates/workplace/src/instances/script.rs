//! Files of a template's script on the disk. The script itself is `host::script`.

use host::script::{SCRIPT_BYTES_MAX, ScriptFiles};
use std::fs;
use std::io::Read;
use std::path::Path;

/// The file system.
#[derive(Debug)]
pub struct ScriptDisk;

impl ScriptFiles for ScriptDisk {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let failed = |error| format!("cannot read it: {error}");
        // A pipe has no length, and its reader may wait without end.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err("it is no file".to_owned());
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(SCRIPT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > SCRIPT_BYTES_MAX {
            return Err(format!("it is longer than {SCRIPT_BYTES_MAX} bytes"));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_bounded_length_are_read() {
        let folder = tempfile::tempdir().expect("a directory");
        let (path, length) = (folder.path().join("cave.toml"), SCRIPT_BYTES_MAX as usize);
        let read = |n: usize| {
            fs::write(&path, vec![b'#'; n]).expect("room");
            ScriptDisk.read(&path)
        };
        assert_eq!(read(length).map(|bytes| bytes.len()), Ok(length));
        assert!(read(length + 1).expect_err("one too many").contains("longer than"));
        assert_eq!(ScriptDisk.read(folder.path()), Err("it is no file".to_owned()));
        assert!(
            ScriptDisk.read(&folder.path().join("none")).expect_err("none").starts_with("cannot read it")
        );
    }
}
