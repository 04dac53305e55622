//! Messages between the simulating and the serving side are plain data: every type of `link` can be encoded and holds nothing that runs.

use super::cycles::production_code;
use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Errors of readers in `link`.
const ERRORS: [&str; 3] = ["LooksError", "SceneryError", "TerrainError"];

/// Types of shared, locked or running state, of channels and of code.
const RUNNING: [&str; 17] = [
    "Atomic",
    "Cell",
    "Condvar",
    "Feed",
    "Fn",
    "FnMut",
    "FnOnce",
    "Hub",
    "JoinHandle",
    "Mutex",
    "OnceLock",
    "Rc",
    "Receiver",
    "RwLock",
    "Sender",
    "Weak",
    "dyn",
];

/// A type: its name, its attributes, its fields.
struct Declared {
    name: String,
    derives: String,
    body: String,
}

/// The public types that a source declares.
fn declared(code: &str) -> Vec<Declared> {
    let mut types = Vec::new();
    let mut derives = String::new();
    let mut rest = code;
    while let Some((line, after)) = rest.split_once('\n') {
        if line.starts_with("#[derive(") {
            derives = line.to_owned();
        }
        let declared = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        if let Some(declaration) = declared {
            let name: String = declaration.chars().take_while(|c| c.is_alphanumeric()).collect();
            let is_tuple = !line.trim_end().ends_with('{');
            let end = if is_tuple { 0 } else { after.find("\n}").map_or(after.len(), |end| end + 1) };
            let body = format!("{declaration}\n{}", &after[..end]);
            types.push(Declared { name, derives: std::mem::take(&mut derives), body });
        } else if line == "}" {
            derives.clear();
        }
        rest = after;
    }
    types
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Types that an `Arc` holds, in order.
fn shared(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("Arc<").map(|(at, _)| {
        let held = &code[at + 4..];
        &held[..held.find('>').unwrap_or(held.len())]
    })
}

/// Faults of a type that is a message: it lacks an encoding, or contains what runs. `messages` are the types that an `Arc` may hold.
fn faults(declared: &Declared, messages: &BTreeSet<String>) -> Vec<String> {
    let Declared { name, derives, body } = declared;
    let mut faults = Vec::new();
    for serde in ["Serialize", "Deserialize"] {
        if !words(derives).any(|word| word == serde) {
            faults.push(format!("{name} is not {serde}"));
        }
    }
    for word in words(body) {
        if RUNNING.contains(&word) || word.starts_with("Atomic") {
            faults.push(format!("{name} contains {word}"));
        }
    }
    for held in shared(body) {
        let item = held.trim_matches(['[', ']']);
        if !(["str", "u8"].contains(&item) || messages.contains(item)) {
            faults.push(format!("{name} shares {held}"));
        }
    }
    faults
}

/// Production code of all files below a folder.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let code = |path: &PathBuf| {
        if path.is_dir() {
            return sources(path);
        }
        production_code(&fs::read_to_string(path).expect("a source file"))
    };
    paths.iter().map(code).collect()
}

#[test]
fn types_of_link_are_plain_data_that_can_be_encoded() {
    let code = sources(&root().join("crates/link/src"));
    let types = declared(&code);
    let is_message = |declared: &&Declared| !ERRORS.contains(&&*declared.name);
    // Other names of arrays, whose types are messages or numbers.
    let aliases = code.lines().filter_map(|line| line.strip_prefix("pub type ")?.split(' ').next());
    // Content of objects: what can be encoded of it may be shared by messages.
    let mut content = declared(&sources(&root().join("crates/prim/src")));
    content.retain(|declared| words(&declared.derives).any(|word| word == "Serialize"));
    let messages: BTreeSet<String> = types
        .iter()
        .filter(is_message)
        .chain(&content)
        .map(|declared| declared.name.clone())
        .chain(aliases.map(str::to_owned))
        .collect();
    for expected in [
        "Command",
        "Frame",
        "SnapshotChunk",
        "WorldSpec",
        "InstanceRequest",
        "InstanceReply",
        "GatewayNotice",
        "TravelOrder",
        "PassageRefusal",
    ] {
        assert!(messages.contains(expected), "{expected} is no type of link");
    }
    let faults: Vec<String> = types
        .iter()
        .filter(is_message)
        .chain(&content)
        .flat_map(|declared| faults(declared, &messages))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn mail_of_hub_and_shards_names_places_and_worlds_and_holds_none() {
    let path = root().join("crates/gateway/src/mail.rs");
    let code = production_code(&fs::read_to_string(path).expect("mail.rs"));
    let types = declared(&code);
    let running = ["Place", "Places", "Scene", "Feed", "Hub", "EncodedGround"];
    let held: Vec<&str> = types
        .iter()
        .flat_map(|declared| words(&declared.body))
        .filter(|word| running.contains(word))
        .collect();
    assert_eq!(held, Vec::<&str>::new());
}

#[test]
fn faults_are_found() {
    let messages = BTreeSet::from(["Chat".to_owned()]);
    let found = |code: &str| {
        declared(code).iter().flat_map(|declared| faults(declared, &messages)).collect::<Vec<_>>()
    };
    let derive = "#[derive(Clone, Serialize, Deserialize)]\n";
    assert_eq!(
        found(&format!("{derive}pub enum Said {{\n    Chat(Arc<Chat>, Arc<str>),\n}}\n")),
        Vec::<String>::new()
    );
    assert_eq!(found(&format!("{derive}pub struct Way {{\n    to: Arc<Scene>,\n}}\n")), ["Way shares Scene"]);
    assert_eq!(found(&format!("{derive}pub struct Seen(Mutex<u8>);\n")), ["Seen contains Mutex"]);
    assert_eq!(
        found("#[derive(Clone, Serialize)]\npub struct Half(u8);\npub struct None {\n    a: u8,\n}\n"),
        ["Half is not Deserialize", "None is not Serialize", "None is not Deserialize"]
    );
}
