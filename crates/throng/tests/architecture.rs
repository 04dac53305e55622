//! ARCHITECTURE's table of crates and arrows against what cargo says. Beside it: cycles between modules, the list of invariants, the tests of
//! clients' messages, the signatures of the store, the messages, stated absences, and files outside of all modules.

#[path = "architecture/absences.rs"]
mod absences;
#[path = "architecture/cycles.rs"]
mod cycles;
#[path = "architecture/invariants.rs"]
mod invariants;
#[path = "architecture/messages.rs"]
mod messages;
#[path = "architecture/orphans.rs"]
mod orphans;
#[path = "architecture/shown_elsewhere.rs"]
mod shown_elsewhere;
#[path = "architecture/signatures.rs"]
mod signatures;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::{path::Path, process::Command};

/// Crates of the workspace, each with those that its production code imports.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The packages of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs, since it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let Value::Array(packages) = metadata["packages"].take() else { panic!("no list of packages") };
    packages
}

fn arrows_of_cargo() -> Arrows {
    let packages = packages();
    let name_of = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let crates: BTreeSet<String> = packages.iter().map(name_of).collect();
    let imports = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let of_production = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
        of_production.map(name_of).filter(|name| crates.contains(name)).collect()
    };
    packages.iter().map(|package| (name_of(package), imports(package))).collect()
}

/// The rows of the code map: crate, its job, imports.
fn arrows_of_table(text: &str) -> Arrows {
    let (_, section) = text.split_once("\n## Code map\n").expect("a section \"Code map\"");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    rows.map_while(|line| line.strip_prefix("| `"))
        .map(|row| {
            let (name, rest) = row.split_once("` |").expect("a crate's name");
            let imports = rest.split('|').nth(1).expect("a column of imports").split(',').map(str::trim);
            (name.to_owned(), imports.filter(|name| !name.is_empty()).map(str::to_owned).collect())
        })
        .collect()
}

fn reached(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(name) = open.pop() {
        open.extend(arrows[&name].iter().filter(|next| reached.insert((*next).clone())).cloned());
    }
    reached
}

#[test]
fn code_map_has_the_crates_and_arrows_of_the_workspace() {
    let table = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (table, cargo) = (arrows_of_table(&table), arrows_of_cargo());
    let names = |arrows: &Arrows| arrows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&table), names(&cargo), "crates of ARCHITECTURE's code map, and those of the workspace");
    for (name, imports) in &cargo {
        assert_eq!(
            &table[name], imports,
            "imports of `{name}` in ARCHITECTURE's code map, and in its Cargo.toml"
        );
    }
}

#[test]
fn readme_names_every_crate() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let named: BTreeSet<String> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `crates/")?.split_once(" | "))
        .flat_map(|(names, _)| names.split(", "))
        .map(|name| name.trim_matches('`').trim_start_matches("crates/").to_owned())
        .collect();
    assert_eq!(
        named,
        arrows_of_cargo().into_keys().collect(),
        "crates of README's table, and those of the workspace"
    );
}

/// Cargo writes all programs to one folder and all examples to another: of two with one name it warns, and one is overwritten.
#[test]
fn programs_and_examples_have_names_of_their_own() {
    let packages = packages();
    let mut found = BTreeSet::new();
    for target in packages.iter().flat_map(|package| package["targets"].as_array().expect("targets")) {
        let (kind, name) = (target["kind"][0].as_str(), target["name"].as_str());
        if let (Some(kind @ ("bin" | "example")), Some(name)) = (kind, name) {
            assert!(found.insert((kind, name)), "two targets of kind {kind} are called {name}");
        }
    }
    assert!(found.contains(&("bin", "throng")), "{found:?}");
}

#[test]
fn serving_side_does_not_reach_the_simulating_side() {
    let arrows = arrows_of_cargo();
    for serving in ["gateway", "replicate", "bots"] {
        for simulating in ["world", "nav", "recording", "host", "workplace"] {
            assert!(!reached(&arrows, serving).contains(simulating), "{serving} reaches {simulating}");
        }
    }
    for simulating in ["world", "recording", "host", "workplace"] {
        for serving in ["gateway", "replicate", "circuit", "wire"] {
            assert!(!reached(&arrows, simulating).contains(serving), "{simulating} reaches {serving}");
        }
    }
    assert_eq!(reached(&arrows, "link"), BTreeSet::from(["ids", "prim", "state_hash"].map(str::to_owned)));
}

#[test]
fn table_is_read_row_by_row() {
    let text = "\n## Code map\n\nprose\n\n| crate | job | imports |\n|---|---|---|\n| `a` | x | |\n| `b` | y | a, c |\n\n| `d` |\n";
    let expected = [("a", vec![]), ("b", vec!["a", "c"])];
    let expected =
        expected.map(|(name, imports)| (name.to_owned(), imports.into_iter().map(str::to_owned).collect()));
    assert_eq!(arrows_of_table(text), Arrows::from(expected));
}
