//! Puts the page into the binary: every file of `web/dist`. Without one (before the first `make run` or `make test`) the
//! server says so where the page would be.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(&dist, &mut files)?;
    }
    files.sort();
    let mut source =
        String::from("/// Every file, by path below the root.\npub(crate) const ASSETS: &[Asset] = &[\n");
    for file in files {
        let path = file.strip_prefix(&dist).expect("it was found below").to_str().expect("names are UTF-8");
        let file = fs::canonicalize(&file)?;
        writeln!(source, "    Asset {{ path: {path:?}, bytes: include_bytes!({file:?}) }},")
            .expect("to a string");
    }
    source.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("page_assets.rs"), source)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
