//! Absences that ARCHITECTURE states, and that imports do not show; and the size of the executable's wiring.

use super::cycles::production_code;
use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Words of threads, locks, files and clocks.
const OF_DRIVERS: [&str; 8] =
    ["std::thread", "std::fs", "std::net", "Mutex", "RwLock", "Condvar", "SystemTime", "Instant::now"];

/// Source files below a folder that hold production code, with that. Modules called `testing` are compiled for tests only.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            if entry.file_name().is_some_and(|name| name != "tests" && name != "testing") {
                found.extend(sources(&entry));
            }
        } else if entry.extension().is_some_and(|end| end == "rs")
            && !entry.ends_with("tests.rs")
            && !entry.ends_with("testing.rs")
        {
            let code = production_code(&fs::read_to_string(&entry).expect("a source"));
            let path = entry.strip_prefix(root().join("crates")).expect("below the crates");
            found.push((path.to_string_lossy().into_owned(), code));
        }
    }
    found
}

#[test]
fn unsafe_code_is_in_net_and_in_four_files_of_telemetry() {
    let allows = |code: &str| {
        let squeezed: String = code.split_whitespace().collect();
        squeezed.contains("expect(unsafe_code") || squeezed.contains("allow(unsafe_code")
    };
    let mut found = BTreeSet::new();
    for folder in fs::read_dir(root().join("crates")).expect("crates") {
        let folder = folder.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let with_unsafe = sources(&folder.join("src")).into_iter().filter(|(_, code)| allows(code));
        found.extend(with_unsafe.map(|(path, _)| path).filter(|_| name != "net"));
        // Without the workspace's lints a crate could have `unsafe` anywhere.
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let is_denied =
            manifest.contains("[lints]\nworkspace = true") || manifest.contains("unsafe_code = \"deny\"");
        assert!(is_denied, "crate {name} has no lint against `unsafe`");
    }
    let listed = ["allocations.rs", "crash/signals.rs", "recorder/memory.rs", "recorder/ticks.rs"];
    assert_eq!(found, listed.map(|file| format!("telemetry/src/{file}")).into());
}

#[test]
fn drivers_beside_the_executable_read_no_clock_of_the_system_and_no_environment() {
    for driver in ["content_threads", "grid_api", "job_desk", "region_threads"] {
        for (path, code) in sources(&root().join("crates").join(driver).join("src")) {
            let read = ["SystemTime", "Instant::now", "std::env"];
            let named = read.iter().find(|word| code.contains(**word));
            assert_eq!(named, None, "{path}");
        }
    }
}

/// ADR 0037: subjects with threads or routes of their own are crates beside the executable.
#[test]
fn serve_wires_the_server_in_5000_lines() {
    const LINES_MAX: usize = 5_000;
    let files = sources(&root().join("crates/throng/src/serve"));
    let lines =
        |path: &str| fs::read_to_string(root().join("crates").join(path)).expect("a source").lines().count();
    let n_lines: usize = files.iter().map(|(path, _)| lines(path)).sum();
    assert!((1_000..=LINES_MAX).contains(&n_lines), "{n_lines} lines");
}

#[test]
fn cores_have_no_thread_lock_file_or_clock() {
    for core in [
        "asset_solids",
        "behavior",
        "circuit",
        "game",
        "host",
        "ids",
        "jobs",
        "keeper",
        "link",
        "nav",
        "physics",
        "prim",
        "replicate",
        "script_schedule",
        "state_hash",
        "wire",
        "world",
    ] {
        for (path, code) in sources(&root().join("crates").join(core).join("src")) {
            let named = OF_DRIVERS.iter().find(|word| code.contains(**word));
            assert_eq!(named, None, "{path}");
        }
    }
}
