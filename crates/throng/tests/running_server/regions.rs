//! Objects and files of regions, over the API and by commands, as `docs/operating/building.md` has it.

use crate::server::{Server, throng};
use ids::{AgentId, LocalId, Uuid, WorldId};
use keeper::RegionIds;
use keeper::region_file::{self, RegionAbout};
use link::{ObjectPage, PrimFlags, PrimMotion, StoredObjects};
use prim::{Body, Shape};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

const CONFIG: &str = "[[region]]\nname = \"Harbour\"\nmax_objects = 8\nmap_after_s = 1\n";

pub(crate) const ADA: u128 = 0xada;
pub(crate) const EVE: u128 = 0xe0e;

pub(crate) fn text(id: u128) -> String {
    Uuid::from_u128(id).to_string()
}

fn ids() -> RegionIds {
    let all = link::shared_local_ids(WorldId(1));
    RegionIds { kept: link::kept_object_ids(&all), temporary: link::temporary_object_ids(&all) }
}

/// A file with a phantom linkset of two prims of Ada's at (10, 10, 30), and a prim of Eve's at (100, 10, 30).
fn write_file(path: &Path) {
    let first = LocalId(ids().kept.start);
    let mut page = ObjectPage::empty(first);
    let prims = [
        (1, ADA, [10.0, 10.0, 30.0], LocalId(0), 0),
        (2, ADA, [1.0, 0.0, 0.0], first, 1),
        (3, EVE, [100.0, 10.0, 30.0], LocalId(0), 0),
    ];
    for (n, (id, owner, position, parent, link_number)) in prims.into_iter().enumerate() {
        let texture = Arc::new(link::plain_texture(7));
        let mut body =
            Body::new(Uuid::from_u128(id), Shape::BOX, texture, AgentId(Uuid::from_u128(owner)), 1 << 50);
        body.names.name = format!("Prim {id}").into();
        let flags = if owner == ADA { PrimFlags::PHANTOM } else { PrimFlags::default() };
        let mut motion = PrimMotion { parent, link_number, flags, ..PrimMotion::NONE };
        motion.motion.position = position.into();
        Arc::make_mut(&mut page.motions)[n] = motion;
        Arc::make_mut(&mut page.bodies)[n] = Some(link::VersionedBody { version: 1, body: Arc::new(body) });
    }
    let objects = StoredObjects { pages: vec![page], ..StoredObjects::default() };
    let about = RegionAbout { name: "Elsewhere".into(), size_m: 256, build: "test".into(), exported_s: 0 };
    let mut file = File::create(path).unwrap();
    region_file::write(&mut file, &about, &objects, None, &ids()).unwrap();
}

/// A server with the objects of the file, and the file.
pub(crate) fn server_with_objects() -> (Server, PathBuf) {
    let server = Server::start_with(CONFIG);
    let file = server.data.path().join("elsewhere.file");
    write_file(&file);
    let imported = run(&server, &["region", "import", "Harbour", file.to_str().unwrap(), "--json"]);
    let told: Value = serde_json::from_str(&out(&imported)).unwrap();
    assert_eq!(
        told,
        json!({ "linksets": 2, "prims": 3, "added": 2, "refused": 0, "reason": null, "land": false })
    );
    (server, file)
}

pub(crate) fn run(server: &Server, words: &[&str]) -> Output {
    throng().args(words).arg("--data").arg(server.data.path()).output().unwrap()
}

pub(crate) fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A command that ends with this status and words like these.
pub(crate) fn fails(output: &Output, status: i32, words: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(status) && told.contains(words), "{:?} {told}", output.status);
}

pub(crate) fn get(server: &Server, path: &str) -> Value {
    let (status, answer) = server.exchange(&format!("GET /v1/regions{path}"), "");
    assert_eq!(status, 200, "{path}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

pub(crate) fn names(list: &Value) -> Vec<&str> {
    list["objects"].as_array().unwrap().iter().map(|object| object["name"].as_str().unwrap()).collect()
}

#[test]
fn objects_are_listed_by_owner_and_place_in_parts_and_shown() {
    let (server, _) = server_with_objects();
    let list = |query: &str| get(&server, &format!("/harbour/objects{query}"));
    let all = list("");
    assert_eq!(
        (names(&all), &all["matching"], &all["next"]),
        (vec!["Prim 1", "Prim 3"], &json!(2), &Value::Null)
    );
    let gate = &all["objects"][0];
    assert_eq!(
        (&gate["id"], &gate["owner"], &gate["prims"]),
        (&json!(text(1)), &json!(text(ADA)), &json!(2))
    );
    assert_eq!(gate["position"], json!([10.0, 10.0, 30.0]));
    assert_eq!(
        (&gate["phantom"], &gate["physical"], &gate["temporary"]),
        (&json!(true), &json!(false), &json!(false))
    );
    assert_eq!(names(&list(&format!("?owner={}", text(EVE)))), ["Prim 3"]);
    assert_eq!(names(&list("?within=12,10,30,3")), ["Prim 1"]);
    assert_eq!(names(&list(&format!("?within=12,10,30,3&owner={}", text(EVE)))), Vec::<&str>::new());
    let first = list("?limit=1");
    assert_eq!((names(&first), &first["matching"]), (vec!["Prim 1"], &json!(2)));
    let second = list(&format!("?limit=1&after={}", first["next"]));
    assert_eq!((names(&second), &second["next"]), (vec!["Prim 3"], &Value::Null));

    // The one parcel of a new region.
    let parcels = get(&server, "/Harbour/parcels");
    assert_eq!(
        (parcels.as_array().unwrap().len(), &parcels[0]["area_m2"], &parcels[0]["prims"]),
        (1, &json!(65_536), &json!(3))
    );
    let on_it = list(&format!("?parcel={}", parcels[0]["number"]));
    assert_eq!(names(&on_it), ["Prim 1", "Prim 3"]);
    let (status, _) = server.exchange("GET /v1/regions/Harbour/objects?parcel=9", "");
    assert_eq!(status, 404);

    // By the id of a part.
    let shown = get(&server, &format!("/Harbour/objects/{}", text(2)));
    assert_eq!((&shown["object"]["id"], &shown["parts"][0]["id"]), (&json!(text(1)), &json!(text(2))));
    let region = &get(&server, "")[0];
    assert_eq!((&region["name"], &region["prims_max"]), (&json!("Harbour"), &json!(8)));
    server.wait_until("they are counted", |server| get(server, "")[0]["prims"] == 3);
    server.wait_until("and exported", |server| {
        server.metric(r#"throng_objects{kind="prim",region="Harbour"}"#) == Some(3.0)
            || server.metric(r#"throng_objects{region="Harbour",kind="prim"}"#) == Some(3.0)
    });

    let listed: Value = serde_json::from_str(&out(&run(&server, &["objects", "list", "--json"]))).unwrap();
    assert_eq!(
        (names(&listed), &listed["objects"][0]["region"]),
        (vec!["Prim 1", "Prim 3"], &json!("Harbour"))
    );
    assert!(out(&run(&server, &["objects", "show", &text(3)])).contains("Prim 3"));
    fails(&run(&server, &["objects", "show", &text(9)]), 1, "There is no object");
    fails(&run(&server, &["objects", "list", "--region", "Atlantis"]), 1, "there are: Harbour");
    fails(&run(&server, &["objects", "show", "nothing"]), 2, "nothing");
}

#[test]
fn objects_are_returned_and_deleted_with_a_condition_and_only_then() {
    let (server, _) = server_with_objects();
    let order = |deed: &str, body: &Value| {
        let (status, answer) =
            server.exchange(&format!("POST /v1/regions/Harbour/objects/{deed}"), &body.to_string());
        (status, serde_json::from_str::<Value>(&answer).unwrap())
    };
    for deed in ["return", "delete"] {
        let (status, told) = order(deed, &json!({}));
        assert!(status == 400 && told["error"].as_str().unwrap().contains("cleared"), "{status} {told}");
        fails(&run(&server, &["objects", deed, "--region", "Harbour"]), 2, "--owner");
    }
    let (status, told) = order("return", &json!({ "owner": "Nobody Here" }));
    assert!(status == 404 && told["error"].as_str().unwrap().contains("Nobody Here"), "{status} {told}");
    let dry = json!({ "within": [0.0, 0.0, 0.0, 500.0], "dry_run": true });
    let counts =
        |told: &Value| ["matching", "chosen", "done", "refused"].map(|key| told[key].as_u64().unwrap());
    assert_eq!(counts(&order("delete", &dry).1), [2, 2, 0, 0]);
    let (status, told) = order("return", &json!({ "owner": text(EVE) }));
    assert_eq!((status, counts(&told)), (200, [1, 1, 1, 0]));
    assert_eq!(names(&get(&server, "/Harbour/objects")), ["Prim 1"]);
    let deleted =
        run(&server, &["objects", "delete", "--region", "Harbour", "--within", "10,10,30,1", "--json"]);
    let told: Value = serde_json::from_str(&out(&deleted)).unwrap();
    assert_eq!((counts(&told["regions"][0]), &told["dry_run"]), ([1, 1, 1, 0], &json!(false)));
    assert_eq!(get(&server, "/Harbour/objects")["matching"], 0);
    server.wait_until("the edits are listed", |server| {
        let edits = get(server, "/Harbour/edits");
        let edits = edits.as_array().unwrap().iter();
        edits.map(|edit| edit["what"].as_str().unwrap()).eq(["delete", "return", "import"])
    });
    let edits = get(&server, "/Harbour/edits");
    assert_eq!(
        (&edits[0]["author"], &edits[0]["name"], &edits[0]["done"]),
        (&Value::Null, &json!("Prim 1"), &json!(1))
    );
}

#[test]
fn a_region_is_saved_now_and_exported_and_imported_with_and_without_its_server() {
    let (mut server, file) = server_with_objects();
    let saved: Value =
        serde_json::from_str(&out(&run(&server, &["region", "save", "Harbour", "--json"]))).unwrap();
    let saves = get(&server, "/Harbour/saves");
    assert_eq!((&saves["saved"]["sequence"], &saves["saved"]["epoch"]), (&saved["sequence"], &json!(0)));
    assert_eq!(
        (&saves["lag_s"], &saves["unsaved"], &saves["failure"]),
        (&json!(0.0), &json!(0), &Value::Null)
    );

    let exported = server.data.path().join("harbour.file");
    let export = |server: &Server, to: &Path| {
        run(server, &["region", "export", "Harbour", to.to_str().unwrap(), "--json"])
    };
    let told: Value = serde_json::from_str(&out(&export(&server, &exported))).unwrap();
    assert_eq!((&told["prims"], &told["bytes"]), (&json!(3), &json!(exported.metadata().unwrap().len())));
    assert_eq!(told["damaged"], json!([]));
    fails(&export(&server, &exported), 1, "cannot make");
    let kept = region_file::read(&mut File::open(&exported).unwrap(), &ids().kept).unwrap();
    assert_eq!(kept.about.name, "Harbour");
    assert_eq!(std::fs::read_dir(server.data.path().join("regions")).unwrap().count(), 0, "nothing is left");

    // All ids are taken: the same objects again, with others.
    let import =
        |server: &Server, file: &Path| run(server, &["region", "import", "Harbour", file.to_str().unwrap()]);
    assert!(out(&import(&server, &exported)).starts_with("2 of 2 objects are added, 0 refused; 3 prims."));
    assert_eq!(get(&server, "/Harbour/objects")["matching"], 4);
    fails(&import(&server, &exported), 1, "`region.max_objects`");
    let mut damaged = std::fs::read(&file).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    fails(&import(&server, &file), 1, "is not imported");
    assert_eq!(get(&server, "/Harbour/objects")["matching"], 4, "nothing was added");

    assert_eq!(server.terminate(), Some(0));
    let config = server.data.path().join("throng.toml");
    let offline = |deed: &str, file: &Path| {
        let words = [
            "region",
            deed,
            "Harbour",
            file.to_str().unwrap(),
            "--json",
            "--config",
            config.to_str().unwrap(),
        ];
        run(&server, &words)
    };
    let stopped = server.data.path().join("stopped.file");
    let told: Value = serde_json::from_str(&out(&offline("export", &stopped))).unwrap();
    assert_eq!(told["prims"], 6);
    fails(&offline("import", &exported), 1, "nothing was added");
    std::fs::remove_file(&file).unwrap();
    write_file(&file);
    // Two prims of eight are left.
    fails(&offline("import", &file), 1, "nothing was added");
    fails(&run(&server, &["region", "save", "Harbour"]), 1, "no server seems to run");
    fails(&offline("export", &stopped), 1, "cannot make");
}

#[test]
fn an_import_into_a_stopped_servers_database_is_there_afterwards() {
    let mut server = Server::start_with(CONFIG);
    assert_eq!(server.terminate(), Some(0));
    let file = server.data.path().join("elsewhere.file");
    write_file(&file);
    let again = server.data.path().join("again.file");
    for (n, deed, path) in [(0, "import", &file), (1, "import", &file), (2, "export", &again)] {
        let told = out(&run(&server, &["region", deed, "Harbour", path.to_str().unwrap(), "--json"]));
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["prims"], if n == 2 { 6 } else { 3 }, "{told}");
    }
    let kept = region_file::read(&mut File::open(&again).unwrap(), &ids().kept).unwrap();
    let objects: Vec<Uuid> =
        kept.objects.pages.iter().flat_map(ObjectPage::prims).map(|(.., prim)| prim.body.id).collect();
    assert_eq!(objects[..3], [1, 2, 3].map(Uuid::from_u128));
    assert!(objects[3..].iter().all(|id| id.get_version_num() == 4), "{objects:?}");
}

#[test]
fn while_saves_fail_the_reason_is_told_and_edits_of_users_are_refused_after_a_while() {
    let (server, _) = server_with_objects();
    server.tune("store.refuse_edits_after_s", 1);
    server.fault(r#"{"kind": "fail", "where": "keeper", "repeat": 1000}"#);
    let (status, told) = server.exchange("POST /v1/regions/Harbour/save", "{}");
    assert!(status == 503 && told.contains("a fault that was ordered"), "{status} {told}");
    let failing = get(&server, "/Harbour/saves");
    assert!(failing["failures"].as_u64() >= Some(1) && failing["failing_s"].is_f64(), "{failing}");
    assert!(failing["failure"].as_str().unwrap().contains("a fault that was ordered"), "{failing}");
    let by_ada = json!({ "owner": text(ADA) }).to_string();
    assert_eq!(server.exchange("POST /v1/regions/Harbour/objects/delete", &by_ada).0, 200, "an operator may");
    server.wait_until("users may not", |server| server.log().contains("edits are refused"));
}
