//! Archives of regions and inventories into a running server and out of it, as `docs/operating/archives.md` has it.

mod carried;
mod defective;
mod flipped;
mod furnished;
mod kill;
mod options;
mod reports;
mod sample;
mod several;

use crate::regions::{fails, get, out, run};
use crate::server::{Server, throng};
use sample::{Sample, write_iar, write_oar};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Room for the samples, and not for much more.
const CONFIG: &str = "[[region]]\nname = \"Harbour\"\nmax_objects = 2000\nmap_after_s = 1\n";

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap()
}

fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Id and name of an account.
fn account(server: &Server) -> (String, String) {
    crate::uploads::enter(server);
    let users: Value = serde_json::from_str(&server.ask("GET /v1/users", "")).unwrap();
    let text = |key: &str| users[0][key].as_str().unwrap().to_owned();
    (text("id"), text("name"))
}

/// Number of linksets in the region, as clients are shown them.
fn n_objects(server: &Server) -> u64 {
    get(server, "/Harbour/objects?limit=1")["matching"].as_u64().unwrap()
}

/// A sample in the folder that the server reads archives from.
fn placed(server: &Server, name: &str, sample: &Sample<'_>) -> PathBuf {
    let folder = server.data.path().join("archives");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    write_oar(&path, sample);
    path
}

/// Orders a load of such a file; the number of the job.
fn order(server: &Server, name: &str) -> u64 {
    let body = json!({ "file": name, "region": "Harbour", "keep_ids": true });
    let (status, answer) = server.exchange("POST /v1/archives/oar/load", &body.to_string());
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str::<Value>(&answer).unwrap()["id"].as_u64().unwrap()
}

fn job(server: &Server, id: u64, wait_s: u64) -> Value {
    let (status, answer) = server.exchange(&format!("GET /v1/archives/jobs/{id}?wait_s={wait_s}"), "");
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

fn has_ended(job: &Value) -> bool {
    !matches!(job["state"].as_str(), Some("queued" | "running"))
}

/// The end of a job.
fn ended(server: &Server, id: u64) -> Value {
    server.wait_until("the job ends", |server| has_ended(&job(server, id, 20)));
    job(server, id, 0)
}

fn differences(a: &Path, b: &Path) -> Vec<Value> {
    let compared = throng().args(["oar", "diff", "--json"]).arg(a).arg(b).output().unwrap();
    serde_json::from_slice(&compared.stdout).unwrap()
}

#[test]
fn an_archive_of_every_version_is_saved_as_it_was_loaded() {
    let server = Server::start_with(CONFIG);
    let (owner, _) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    for version in [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (1, 0)] {
        let [file, again] = ["loaded", "saved"]
            .map(|name| folder.path().join(format!("{name}-{}-{}.oar", version.0, version.1)));
        write_oar(&file, &Sample { version, owner: &owner, n_objects: 5, first: 0x100 });
        let words = ["oar", "load", text_of(&file), "--region", "Harbour", "--keep-ids", "--json"];
        let loaded = json_of(&run(&server, &words));
        assert_eq!(
            (&loaded["objects"], &loaded["prims"], &loaded["loads"], &loaded["state"]),
            (&json!(5), &json!(10), &json!("all"), &json!("done")),
            "{loaded}"
        );
        assert_eq!(n_objects(&server), 5, "the former ones are gone");
        let what: &[&str] = if version.0 == 1 { &["--all"] } else { &["--region", "Harbour"] };
        let words = [&["oar", "save", text_of(&again), "--json"][..], what].concat();
        let saved = json_of(&run(&server, &words));
        assert_eq!((&saved["objects"], &saved["missing"]), (&json!(5), &json!(0)), "{saved}");
        for difference in differences(&file, &again) {
            let path = difference["path"].as_str().unwrap();
            // Of the control file: version and time. An old archive lacks parts that a new one has.
            let is_new_part = version < (0, 3) && difference["a"].is_null();
            assert!(path.starts_with("archive.xml") || is_new_part, "{version:?}: {difference}");
        }
        assert_eq!(fs::read_dir(server.data.path().join("archives")).unwrap().count(), 0, "nothing is left");
    }
    // Others of the same name are not replaced.
    let file = folder.path().join("saved-0-8.oar");
    fails(&run(&server, &["oar", "save", text_of(&file), "--region", "Harbour"]), 1, "cannot make");
}

/// Counts and lists of an archive's check.
fn counts(file: &Path) -> [Value; 7] {
    let checked = throng().args(["oar", "check", "--json"]).arg(file).output().unwrap();
    let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
    ["objects", "prims", "scripts", "assets", "missing", "damaged", "unreadable"]
        .map(|key| checked[key].clone())
}

#[test]
fn an_archive_that_was_saved_is_loaded_and_saved_again_with_equal_counts() {
    let server = Server::start_with(CONFIG);
    let (owner, _) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    let files = ["first", "second", "third"].map(|name| folder.path().join(format!("{name}.oar")));
    write_oar(&files[0], &Sample { version: (0, 8), owner: &owner, n_objects: 5, first: 0x100 });
    assert_eq!(counts(&files[0])[..2], [json!(5), json!(10)]);
    for pair in files.windows(2) {
        let words = ["oar", "load", text_of(&pair[0]), "--region", "Harbour", "--keep-ids", "--json"];
        let loaded = json_of(&run(&server, &words));
        assert_eq!((&loaded["prims"], &loaded["loads"]), (&json!(10), &json!("all")), "{loaded}");
        let words = ["oar", "save", text_of(&pair[1]), "--region", "Harbour", "--json"];
        json_of(&run(&server, &words));
        assert_eq!(counts(&pair[1]), counts(&pair[0]));
        for difference in differences(&pair[0], &pair[1]) {
            assert!(difference["path"].as_str().unwrap().starts_with("archive.xml"), "{difference}");
        }
    }
}

#[test]
fn merging_adds_moves_and_replaces() {
    let server = Server::start_with(CONFIG);
    let (owner, _) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.oar");
    write_oar(&file, &Sample { version: (0, 8), owner: &owner, n_objects: 3, first: 0x100 });
    let load = |words: &[&str]| {
        let all = [&["oar", "load", text_of(&file), "--region", "Harbour", "--json"][..], words].concat();
        json_of(&run(&server, &all))
    };
    load(&["--keep-ids"]);
    assert_eq!(load(&["--merge"])["objects"], 3);
    assert_eq!(n_objects(&server), 6, "with ids of their own");
    let again = load(&["--merge", "--keep-ids"]);
    assert_eq!((&again["objects"], &again["skipped"]), (&json!(0), &json!(3)));
    let replaced = load(&["--merge", "--replace", "--displacement", "0,0,5"]);
    assert_eq!((&replaced["objects"], &replaced["cleared"]), (&json!(3), &json!(3)));
    assert_eq!(n_objects(&server), 6);
    let shown = get(&server, &format!("/Harbour/objects/{}", sample::id_text(0x100)));
    assert_eq!(shown["object"]["position"][2], 35.0, "{shown}");
    // A box of one object, at the corner of the region.
    let one = load(&["--merge", "--bounding-origin", "9,9,0", "--bounding-size", "1.5,1.5,0"]);
    assert_eq!(json!([one["objects"], one["terrain"], one["settings"]]), json!([1, false, false]));
    let none = load(&["--merge", "--no-objects", "--force-terrain"]);
    assert_eq!((&none["objects"], &none["terrain"]), (&json!(0), &json!(true)));
    assert_eq!(n_objects(&server), 7);
}

#[test]
fn hostile_archives_are_refused_and_nothing_changes() {
    let server = Server::start_with(CONFIG);
    let (owner, name) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    write_oar(&file("well.oar"), &Sample { version: (0, 8), owner: &owner, n_objects: 2, first: 0x100 });
    let load = |name: &str, words: &[&str]| {
        let path = file(name);
        run(&server, &[&["oar", "load", text_of(&path), "--region", "Harbour"][..], words].concat())
    };
    out(&load("well.oar", &[]));
    // But for the ages of their last changes, which grow.
    let objects = || {
        let mut objects = get(&server, "/Harbour/objects");
        for object in objects["objects"].as_array_mut().expect("a list") {
            object.as_object_mut().expect("an object").remove("changed_s").expect("an age");
        }
        objects
    };
    let before = objects();
    let well = fs::read(file("well.oar")).unwrap();
    fs::write(file("cut.oar"), &well[..well.len() / 2]).unwrap();
    fs::write(file("empty.oar"), b"").unwrap();
    fs::write(file("notes.oar"), b"no archive").unwrap();
    write_oar(&file("later.oar"), &Sample { version: (2, 0), owner: &owner, n_objects: 1, first: 1 });
    write_oar(&file("full.oar"), &Sample { version: (0, 8), owner: &owner, n_objects: 1_001, first: 1 });
    let elsewhere = sample::id_text(0x0E0E);
    write_oar(&file("foreign.oar"), &Sample { version: (0, 8), owner: &elsewhere, n_objects: 1, first: 1 });
    for (name, status, words) in [
        ("cut.oar", 1, "is failed"),
        ("empty.oar", 2, "empty"),
        ("notes.oar", 2, "not an archive"),
        ("later.oar", 1, "control file"),
        ("full.oar", 1, "`max_objects`"),
        ("foreign.oar", 1, "--default-user"),
        ("none.oar", 2, "cannot open"),
    ] {
        fails(&load(name, &[]), status, words);
        assert_eq!(objects(), before, "{name}");
    }
    let loaded = json_of(&load("foreign.oar", &["--default-user", &name, "--json"]));
    assert_eq!((&loaded["objects"], &loaded["owners_unknown"]), (&json!(1), &json!(1)));
    assert_eq!(get(&server, "/Harbour/objects")["objects"][0]["owner"], owner);
    fails(&load("well.oar", &["--default-user", "No One"]), 1, "no account");
}

#[test]
fn an_inventory_is_loaded_and_saved_with_its_assets() {
    let server = Server::start_with(CONFIG);
    let (_, name) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    let [file, again] = ["chairs.iar", "again.iar"].map(|name| folder.path().join(name));
    write_iar(&file);
    let load = |words: &[&str]| {
        let all = [&["iar", "load", text_of(&file), "--user", &name, "--json"][..], words].concat();
        json_of(&run(&server, &all))
    };
    let loaded = load(&["--folder", "/Notecards"]);
    assert_eq!(
        json!([loaded["folders"], loaded["items"], loaded["assets"], loaded["missing"]]),
        json!([1, 2, 1, 0]),
        "{loaded}"
    );
    assert_eq!(load(&["--folder", "/notecards", "--merge"])["folders"], 0);
    assert_eq!(load(&["--folder", "/Notecards"])["folders"], 1, "another one of the same name");
    fails(&run(&server, &["iar", "load", text_of(&file), "--user", "No One"]), 1, "There is no account");

    let save = ["iar", "save", text_of(&again), "--user", &name, "--folder", "/Notecards/Chairs", "--json"];
    let saved = json_of(&run(&server, &save));
    assert_eq!((&saved["assets"], &saved["missing"]), (&json!(1), &json!(0)), "{saved}");
    let checked = throng().args(["iar", "check", "--json"]).arg(&again).output().unwrap();
    let checked = json_of(&checked);
    assert_eq!(
        json!([checked["folders"], checked["items"], checked["missing"], checked["unreadable"]]),
        json!([1, saved["items"], 0, 0]),
        "{checked}"
    );
}

#[test]
fn regions_and_instances_begin_with_archives() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.oar");
    let owner = sample::id_text(0xADA);
    write_oar(&file, &Sample { version: (0, 8), owner: &owner, n_objects: 4, first: 0x100 });
    let path = text_of(&file);
    let mut server = Server::start_with(&format!(
        "[[region]]\nname = \"Harbour\"\ncontent = {path:?}\n[[template]]\nname = \"Cave\"\ncontent = {path:?}\n"
    ));
    assert_eq!(n_objects(&server), 4);
    assert_eq!(get(&server, "/Harbour/objects")["objects"][0]["owner"], owner);
    let (status, answer) = server.exchange("POST /v1/worlds", r#"{"template": "Cave"}"#);
    assert_eq!(status, 201, "{answer}");
    let seed = crate::uploads::enter(&server);
    let asset = sample::id_text(sample::TEXTURE_ID);
    let (status, bytes) = server.get_public_bytes(&format!("{seed}/ViewerAsset/?texture_id={asset}"));
    assert!(status == 200 && bytes == crate::uploads::TEXTURE, "{status}, {} bytes", bytes.len());
    // At the first start only.
    assert_eq!(server.terminate(), Some(0));
    server.start_again();
    assert_eq!(n_objects(&server), 4);
}

#[test]
fn a_token_of_archives_opens_nothing_else() {
    let server = Server::start_with(CONFIG);
    let token = |name: &str, scope: &str| {
        server.run(&format!("token create --name {name} --scope {scope}")).unwrap().trim().to_owned()
    };
    let (archives, other) = (token("keeper", "archives"), token("other", "worlds:write"));
    let load = json!({ "file": "some.oar", "region": "Harbour" }).to_string();
    let ask = |token: &str, head: &str, body: &str| server.exchange_as(Some(token), head, body).0;
    assert_eq!(ask(&archives, "POST /v1/archives/oar/load", &load), 404, "there is no such file");
    assert_eq!(ask(&other, "POST /v1/archives/oar/load", &load), 403);
    assert_eq!(ask(&archives, "POST /v1/alert", r#"{"text": "Hello"}"#), 403);
    assert_eq!(ask(&archives, "GET /v1/jobs", ""), 403);
    // Jobs of others are none of its.
    let (status, answer) = server.exchange("POST /v1/verify", "{}");
    assert_eq!(status, 200, "{answer}");
    let verification = serde_json::from_str::<Value>(&answer).unwrap()["id"].as_u64().unwrap();
    assert_eq!(ask(&archives, &format!("GET /v1/archives/jobs/{verification}"), ""), 404);
    assert_eq!(ask(&archives, &format!("DELETE /v1/archives/jobs/{verification}"), ""), 404);
    for file in ["../admin.token", "/etc/passwd", "a/b.oar", ".."] {
        let body = json!({ "file": file, "region": "Harbour" }).to_string();
        assert_eq!(ask(&archives, "POST /v1/archives/oar/load", &body), 400, "{file}");
        assert_eq!(ask(&archives, "POST /v1/archives/oar/save", &body), 400, "{file}");
    }
}
