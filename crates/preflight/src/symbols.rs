//! The linker's names of functions. Callgrind gets exact names, since its wildcards miss functions when several begin alike
//! (seen with 3.19).

use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};

/// The linker's names of functions, by their names in the source: demangled, without hash. Names that the binary does not
/// have are absent; `None` if it is no ELF file.
#[must_use]
pub fn linker_names(binary: &[u8], wanted: &BTreeSet<&str>) -> Option<BTreeMap<String, Vec<String>>> {
    let file = object::File::parse(binary).ok()?;
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text) {
        let Ok(mangled) = symbol.name() else { continue };
        let name = demangle(mangled);
        if wanted.contains(name.as_str()) {
            names.entry(name).or_default().push(mangled.to_owned());
        }
    }
    Some(names)
}

/// A linker's name as in the source, without hash.
#[must_use]
pub fn demangle(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that the optimiser keeps.
    #[inline(never)]
    fn landmark() -> u32 {
        std::hint::black_box(1)
    }

    #[test]
    fn a_function_of_this_program_is_found_and_another_is_not() {
        assert_eq!(landmark(), 1);
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let wanted = BTreeSet::from(["preflight::symbols::tests::landmark", "preflight::nothing"]);
        let names = linker_names(&program, &wanted).unwrap();
        assert_eq!(names.keys().collect::<Vec<_>>(), ["preflight::symbols::tests::landmark"]);
        assert!(names["preflight::symbols::tests::landmark"].iter().all(|name| name.contains("landmark")));
        assert_eq!(linker_names(b"#!/bin/sh", &wanted), None);
    }
}
