//! Modules of a crate import each other in one direction: import cycles between the modules of a crate, found by reading the paths in their code.
//!
//! A module is a file. It imports another one when a `use` or a path in it (`crate::…`, `super::…`) leads there. Three kinds of imports do not count: those of
//! an ancestor, whose struct a module of `impl` blocks extends; those of one single constant; those of tests.

use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path};

/// Names of modules from the crate's root on.
type ModulePath = Vec<String>;

/// The modules of a crate with their code, without comments and tests.
type Sources = BTreeMap<ModulePath, String>;

/// For each module the names that it takes from others.
type Imports = BTreeMap<ModulePath, BTreeMap<ModulePath, BTreeSet<String>>>;

#[test]
fn modules_import_each_other_in_one_direction() {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut found = Vec::new();
    for folder in fs::read_dir(crates).expect("crates").map(|entry| entry.expect("an entry").path()) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let mut sources = Sources::new();
        read_modules(&folder.join("src"), &Vec::new(), &mut sources);
        let cycles = cycles(&imports(&sources));
        found.extend(cycles.into_iter().map(|cycle| (name.clone(), cycle)));
    }
    assert!(
        found.is_empty(),
        "import cycles: move what the modules share into one below them\n{}",
        found.iter().map(|(name, cycle)| format!("{name}: {cycle:?}\n")).collect::<String>()
    );
}

/// ADR 0019. Functions called between steps, or that hold a whole world, may.
#[test]
fn no_part_of_a_world_imports_the_world() {
    let mut sources = Sources::new();
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../world/src"));
    read_modules(folder, &Vec::new(), &mut sources);
    let world = vec!["world".to_owned()];
    let imports = imports(&sources);
    let importers = imports.iter().filter(|(_, targets)| targets.contains_key(&world));
    let importers: Vec<String> = importers.map(|(module, _)| module.join("::")).collect();
    assert_eq!(importers, ["", "life", "life::baggage", "progress", "saved", "snapshot"]);
}

fn read_modules(folder: &Path, at: &ModulePath, sources: &mut Sources) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let child = || at.iter().cloned().chain([name.clone()]).collect::<ModulePath>();
        if path.is_dir() {
            if !["tests", "testing", "bin"].contains(&name.as_str()) {
                read_modules(&path, &child(), sources);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
            let module = if ["mod", "lib", "main"].contains(&name.as_str()) { at.clone() } else { child() };
            let text = fs::read_to_string(&path).expect("a source file");
            sources.entry(module).or_default().push_str(&production_code(&text));
        }
    }
}

/// Code without comments, and without the tests at its end.
pub(super) fn production_code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let begins_tests = line.trim() == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.contains("mod ") && next.ends_with('{'));
        if begins_tests {
            break;
        }
        if line.trim() == "#[cfg(test)]" {
            lines.next();
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

fn imports(sources: &Sources) -> Imports {
    let mut imports = Imports::new();
    for (module, code) in sources {
        for path in paths(code) {
            let Some((target, name)) = resolve(module, &path, sources) else { continue };
            let is_ancestor = module.starts_with(&target);
            if !is_ancestor {
                imports.entry(module.clone()).or_default().entry(target).or_default().insert(name);
            }
        }
    }
    for targets in imports.values_mut() {
        targets.retain(|_, names| names.len() > 1 || names.iter().any(|name| !is_constant(name)));
    }
    imports
}

fn is_constant(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// All paths of `use` trees, and those that begin with `crate` or `super` elsewhere.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut rest = code;
    while let Some(line) = rest.lines().next() {
        let item = line.trim_start();
        let item =
            item.strip_prefix("pub").map_or(item, |item| item.split_once(' ').map_or("", |(_, item)| item));
        let Some(tree) = item.strip_prefix("use ") else {
            rest = &rest[(line.len() + 1).min(rest.len())..];
            continue;
        };
        let start = line.len() - tree.len();
        let end = rest[start..].find(';').map_or(rest.len(), |length| start + length);
        flatten(&rest[start..end], &[], &mut paths);
        rest = &rest[end..];
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for word in
        code.split(|c| !is_part(c)).filter(|word| word.starts_with("crate::") || word.starts_with("super::"))
    {
        let segments = word.split("::").filter(|segment| !segment.is_empty());
        paths.push(segments.map(str::to_owned).collect());
    }
    paths
}

/// The paths of one `use` tree.
fn flatten(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let segments = path.split("::").map(|segment| segment.trim().to_owned()).filter(|it| !it.is_empty());
        paths.push(prefix.iter().cloned().chain(segments).collect());
        return;
    };
    let head = tree[..open].split("::").map(|segment| segment.trim().to_owned());
    let prefix: Vec<String> = prefix.iter().cloned().chain(head.filter(|it| !it.is_empty())).collect();
    let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&inner[start..at], &prefix, paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner[start..].trim().is_empty() {
        flatten(&inner[start..], &prefix, paths);
    }
}

/// The module that a path leads to, and the name that is taken from it; `None` for other crates.
fn resolve(from: &ModulePath, path: &[String], sources: &Sources) -> Option<(ModulePath, String)> {
    let mut at = from.clone();
    let mut segments = path.iter().map(String::as_str).peekable();
    let mut is_own = false;
    while let Some(&segment) = segments.peek() {
        match segment {
            "crate" => at.clear(),
            "super" => {
                at.pop()?;
            }
            "self" => {}
            _ => break,
        }
        is_own = true;
        segments.next();
    }
    let start = at.len();
    let mut name = String::from("self");
    for segment in segments {
        let deeper: ModulePath = at.iter().cloned().chain([segment.to_owned()]).collect();
        if sources.contains_key(&deeper) {
            at = deeper;
        } else {
            name = segment.to_owned();
            break;
        }
    }
    (is_own || at.len() > start).then_some((at, name))
}

/// All modules that a module imports, directly and through others.
fn reached<'a>(imports: &'a Imports, from: &'a ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = imports.get(module).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.filter(|next| reached.insert(*next)));
    }
    reached
}

/// Groups of modules each of which reaches all others of its group.
fn cycles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let all: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, others) in all.iter().filter(|(module, others)| others.contains(*module)) {
        let is_mutual = |other: &&&ModulePath| all.get(**other).is_some_and(|back| back.contains(module));
        cycles.insert(others.iter().filter(is_mutual).map(|module| module.join("::")).collect());
    }
    cycles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn sources(modules: &[(&str, &str)]) -> Sources {
        let path = |name: &str| name.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect();
        modules.iter().map(|(name, code)| (path(name), production_code(code))).collect()
    }

    fn cycles_of(modules: &[(&str, &str)]) -> Vec<BTreeSet<String>> {
        cycles(&imports(&sources(modules)))
    }

    #[test]
    fn two_modules_that_import_each_other_are_a_cycle() {
        let b = ("b", "use super::a::{self, Thing};\n");
        let a_and_b = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        assert_eq!(
            cycles_of(&[("a", "use crate::{b::Other, c};\n"), b, ("c", "")]),
            slice::from_ref(&a_and_b)
        );
        assert_eq!(cycles_of(&[("a", "fn f() { crate::b::g(1) }\n"), b]), [a_and_b], "by a path");
        assert_eq!(cycles_of(&[("a", "use crate::c;\n"), b, ("c", "")]), [] as [BTreeSet<String>; 0]);
    }

    #[test]
    fn constants_ancestors_comments_and_tests_do_not_count() {
        let none: [BTreeSet<String>; 0] = [];
        let b = ("b", "use crate::a::Thing;\n");
        assert_eq!(cycles_of(&[("a", "use crate::b::LIMIT_MAX;\n"), b]), none);
        assert_eq!(
            cycles_of(&[("a", "// crate::b::Thing\n#[cfg(test)]\nmod tests {\nuse crate::b::T;\n}\n"), b]),
            none
        );
        assert_eq!(cycles_of(&[("a", "mod b;\nuse b::Thing;\n"), ("a::b", "use super::A;\n")]), none);
    }
}
