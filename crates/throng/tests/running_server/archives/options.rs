//! Options of loads in a running server: what is turned, what comes in beside the region's own, what is left out.

use super::sample::{Sample, TEXTURE_ID, id_text, write_oar};
use super::{CONFIG, account, json_of, n_objects, text_of};
use crate::regions::{get, out, run};
use crate::server::Server;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Id of the first object's root.
const FIRST: u128 = 0x100;
/// Half a centimetre: what is turned is rounded.
const NEAR_M: f64 = 0.005;

/// A server, a folder for archives, and one in it of an object at (10, 10, 30).
fn with_sample() -> (Server, TempDir, PathBuf) {
    let server = Server::start_with(CONFIG);
    let (owner, _) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.oar");
    write_oar(&file, &Sample { version: (0, 8), owner: &owner, n_objects: 1, first: FIRST });
    (server, folder, file)
}

fn load(server: &Server, file: &Path, words: &[&str]) -> Value {
    let all = ["oar", "load", text_of(file), "--region", "Harbour", "--json"];
    json_of(&run(server, &[&all[..], words].concat()))
}

/// The object stands there.
fn stands_at(server: &Server, place: [f64; 3]) {
    let shown = get(server, &format!("/Harbour/objects/{}", id_text(FIRST)));
    let found = &shown["object"]["position"];
    let is_near = |(axis, metres): (usize, f64)| (found[axis].as_f64().unwrap() - metres).abs() < NEAR_M;
    assert!(place.into_iter().enumerate().all(is_near), "{found} instead of {place:?}");
}

/// Names of the region's parcels.
fn parcels(server: &Server) -> Vec<String> {
    let list = get(server, "/Harbour/parcels");
    list.as_array().unwrap().iter().map(|parcel| parcel["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn content_is_turned_around_the_middle_of_the_region_and_back() {
    let (server, folder, file) = with_sample();
    load(&server, &file, &["--keep-ids", "--rotation", "90"]);
    stands_at(&server, [246.0, 10.0, 30.0]);
    let turned = folder.path().join("turned.oar");
    out(&run(&server, &["oar", "save", text_of(&turned), "--region", "Harbour"]));
    let back = load(&server, &turned, &["--merge", "--replace", "--rotation", "-90"]);
    assert_eq!(json!([back["objects"], back["cleared"]]), json!([1, 1]), "{back}");
    stands_at(&server, [10.0, 10.0, 30.0]);
    // The displacement follows.
    load(&server, &turned, &["--merge", "--replace", "--rotation", "180", "--displacement", "5,-6,1"]);
    stands_at(&server, [15.0, 240.0, 31.0]);
    assert_eq!(n_objects(&server), 1);
}

#[test]
fn parcels_come_in_beside_objects_of_the_region_only_if_they_are_forced() {
    let (server, _folder, file) = with_sample();
    let before = parcels(&server);
    assert!(!before.contains(&"Quay".to_owned()), "{before:?}");
    let merged = load(&server, &file, &["--merge"]);
    assert_eq!(json!([merged["objects"], merged["parcels"], merged["settings"]]), json!([1, 0, false]));
    assert_eq!(parcels(&server), before);
    let forced = load(&server, &file, &["--merge", "--force-parcels"]);
    assert_eq!(json!([forced["objects"], forced["parcels"], forced["settings"]]), json!([1, 1, false]));
    server.wait_until("the parcel is shown", |server| parcels(server) == ["Quay"]);
    assert_eq!(n_objects(&server), 2, "objects of before stay");
}

#[test]
fn assets_are_stored_unless_they_are_skipped() {
    let (server, _folder, file) = with_sample();
    let seed = crate::uploads::enter(&server);
    let texture = || {
        let id = id_text(TEXTURE_ID);
        server.get_public_bytes(&format!("{seed}/ViewerAsset/?texture_id={id}")).0
    };
    let skipped = load(&server, &file, &["--skip-assets"]);
    assert_eq!(json!([skipped["objects"], skipped["assets"]]), json!([1, 0]), "{skipped}");
    assert_eq!(texture(), 404);
    let stored = load(&server, &file, &["--no-objects"]);
    assert_eq!(json!([stored["objects"], stored["assets"]]), json!([0, 1]), "{stored}");
    assert_eq!((texture(), n_objects(&server)), (200, 1));
}
