//! Source files that no `mod` line names. They are not compiled, so no test and no lint sees them.

use super::{packages, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file, and whether files of its modules are in its own folder: so they are for the first file of a target, for `mod.rs`, and for a file with a
/// stated path. Those of another file are in a folder with its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    file: PathBuf,
    owns_folder: bool,
}

#[test]
fn every_source_file_is_a_module_of_a_target() {
    let mut open: Vec<Source> =
        first_files().into_iter().map(|file| Source { file, owns_folder: true }).collect();
    let mut reached = BTreeSet::new();
    while let Some(source) = open.pop() {
        if reached.insert(source.file.clone()) {
            let text = fs::read_to_string(&source.file).expect("a source file");
            open.extend(modules(&text, &source, &Path::is_file).into_iter().map(canonical));
        }
    }
    let mut orphans = Vec::new();
    list_orphans(&canonical_path(&root().join("crates")), &reached, &mut orphans);
    assert!(orphans.is_empty(), "files that no `mod` line names: {orphans:#?}");
}

/// First file of each library, program, test, example and build script.
fn first_files() -> Vec<PathBuf> {
    let packages = packages();
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().expect("targets"));
    targets.map(|target| canonical_path(Path::new(target["src_path"].as_str().expect("a path")))).collect()
}

fn canonical(source: Source) -> Source {
    Source { file: canonical_path(&source.file), ..source }
}

fn canonical_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn list_orphans(folder: &Path, reached: &BTreeSet<PathBuf>, orphans: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            list_orphans(&path, reached, orphans);
        } else if path.extension().is_some_and(|end| end == "rs") && !reached.contains(&path) {
            orphans.push(path);
        }
    }
}

/// Files of the modules that a source file names.
fn modules(text: &str, Source { file, owns_folder }: &Source, exists: &dyn Fn(&Path) -> bool) -> Vec<Source> {
    let folder = file.parent().expect("a folder");
    let below = if *owns_folder { folder.to_owned() } else { file.with_extension("") };
    let (mut found, mut stated, mut is_in_set) = (Vec::new(), None, false);
    for line in text.lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|path| path.strip_suffix("\"]")) {
            stated = Some(path);
            continue;
        }
        if line.is_empty() || line.starts_with("#[") || line.starts_with("//") {
            continue;
        }
        // The macro has a `mod` line for each subject of the messages.
        is_in_set = (is_in_set && line != "}") || line == "message_set! {";
        let subject = line.strip_suffix(':').filter(|_| is_in_set);
        let Some(name) = module_name(line).or(subject) else {
            stated = None;
            continue;
        };
        found.push(match stated.take() {
            Some(path) => Source { file: folder.join(path), owns_folder: true },
            None => {
                let file = below.join(format!("{name}.rs"));
                let owns_folder = !exists(&file);
                let file = if owns_folder { below.join(name).join("mod.rs") } else { file };
                Source { file, owns_folder }
            }
        });
    }
    found
}

/// The name in a line such as `pub(crate) mod name;`.
fn module_name(line: &str) -> Option<&str> {
    let (visibility, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
    let is_item = visibility.is_empty() || visibility.starts_with("pub") && visibility.ends_with(' ');
    is_item.then_some(name)
}

#[test]
fn modules_are_found_beside_and_below_their_file() {
    let text = "//! mod no;\npub mod a;\n#[cfg(test)]\nmod b;\n#[path = \"../c/mod.rs\"]\npub(in crate::x) mod c;\nuse d;\n";
    let of = |file: &str, owns_folder| {
        let source = Source { file: file.into(), owns_folder };
        let found = modules(text, &source, &|path| path.ends_with("a.rs"));
        found.into_iter().map(|found| (found.file, found.owns_folder)).collect::<Vec<_>>()
    };
    let file = |file: &str, owns_folder| (PathBuf::from(file), owns_folder);
    assert_eq!(
        of("x/lib.rs", true),
        [file("x/a.rs", false), file("x/b/mod.rs", true), file("x/../c/mod.rs", true)]
    );
    assert_eq!(
        of("x/y.rs", false),
        [file("x/y/a.rs", false), file("x/y/b/mod.rs", true), file("x/../c/mod.rs", true)]
    );
    let set = "message_set! {\n    chat:\n        ChatFromViewer;\n}\nmatch x {\n    y:\n}\n";
    let source = Source { file: "m/mod.rs".into(), owns_folder: true };
    let found = modules(set, &source, &|_| true);
    assert_eq!(found, [Source { file: "m/chat.rs".into(), owns_folder: false }]);
}
