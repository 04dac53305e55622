//! Signatures of `store` and `grid`: no SQL library, no engine and no lock appears in a public function, field, variant or re-export.

use super::root;
use std::fs;
use std::path::Path;

/// Crates that may be asked from any thread without knowledge of their engine and locks.
const CRATES: &[&str] = &["store", "grid"];

/// Types of the engines' libraries and of the store's engine, and the locks of the standard library and of `telemetry`.
const FORBIDDEN: &[&str] = &[
    "rusqlite",
    "tokio_postgres",
    "Engine",
    "EngineError",
    "Sql",
    "Sqlite",
    "Pool",
    "Mutex",
    "MutexGuard",
    "RwLock",
    "RwLockReadGuard",
    "RwLockWriteGuard",
    "Condvar",
    "Held",
    "LockClass",
    "LockHold",
    "LockWait",
];

/// The public declarations of a file without comments and tests: functions up to their bodies, re-exports, aliases, constants and fields up to
/// their ends, and enums with their variants.
fn public_declarations(source: &str) -> Vec<String> {
    let (source, _) = source.split_once("#[cfg(test)]\nmod tests").unwrap_or((source, ""));
    let lines = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let mut declarations = Vec::new();
    let mut open: Option<(String, bool)> = None;
    for line in lines {
        if open.is_none() && line.starts_with("pub ") {
            open = Some((String::new(), line.starts_with("pub enum ")));
        }
        let Some((mut text, is_enum)) = open.take() else { continue };
        text.push_str(line);
        text.push(' ');
        let is_over = if is_enum {
            line == "}"
        } else {
            // A list of names in a re-export has braces of its own.
            line.ends_with([';', ',']) && !is_inside(&text)
                || line.ends_with('{') && !text.starts_with("pub use ")
        };
        if is_over {
            declarations.push(text);
        } else {
            open = Some((text, is_enum));
        }
    }
    declarations
}

/// True if a bracket of the text is not closed yet.
fn is_inside(text: &str) -> bool {
    let count = |brackets: &[char]| text.matches(brackets).count();
    count(&['(', '{', '[']) > count(&[')', '}', ']'])
}

fn names(declaration: &str) -> impl Iterator<Item = &str> {
    declaration.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn forbidden_of(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(forbidden_of(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            let source = fs::read_to_string(&path).expect("a source");
            let declarations = public_declarations(&source);
            let forbidden =
                declarations.iter().filter(|text| names(text).any(|name| FORBIDDEN.contains(&name)));
            found.extend(forbidden.map(|text| format!("{}: {text}", path.display())));
        }
    }
    found
}

#[test]
fn public_signatures_show_no_engine_and_no_lock() {
    for name in CRATES {
        let found = forbidden_of(&root().join("crates").join(name).join("src"));
        assert!(found.is_empty(), "{name} shows: {found:#?}");
    }
}

#[test]
fn declarations_are_read_with_their_types() {
    let source = "\
pub use engine::{
    EngineError,
};
/// pub fn commented(lock: Mutex<()>)
pub(crate) fn inner(sql: Sql) {}
pub struct Store {
    engine: Engine,
    pub url: StoreUrl,
}
impl Store {
    pub fn wait(
        &self,
        lock: &LockWait,
    ) -> bool {
        let kept: Mutex<()> = Mutex::new(());
    }
}
pub enum Failure {
    Open { source: rusqlite::Error },
}
#[cfg(test)]
mod tests {
    pub fn test(pool: Pool) {}
}
";
    let declarations = public_declarations(source);
    let forbidden: Vec<_> = declarations
        .iter()
        .map(|text| names(text).filter(|name| FORBIDDEN.contains(name)).collect::<Vec<_>>())
        .collect();
    // The struct itself, its public field, the function, the enum.
    assert_eq!(forbidden, [vec!["EngineError"], vec![], vec![], vec!["LockWait"], vec!["rusqlite"]]);
}
