//! Objects that left a region: held, put back and discarded, over the API and by commands, as `docs/operating/building.md` has it.

use crate::regions::{ADA, EVE, fails, get, names, out, run, server_with_objects, text};
use crate::server::Server;
use serde_json::{Value, json};

fn held(server: &Server, query: &str) -> Value {
    let (status, answer) = server.exchange(&format!("GET /v1/held{query}"), "");
    assert_eq!(status, 200, "{query}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

/// Returns the objects of a user, and waits until they are held. Their keys.
fn returned(server: &Server, owner: u128) -> Vec<String> {
    let order = json!({ "owner": text(owner) }).to_string();
    let (status, told) = server.exchange("POST /v1/regions/Harbour/objects/return", &order);
    assert_eq!(status, 200, "{told}");
    let query = format!("?owner={}", text(owner));
    server.wait_until("they are held", |server| names(&held(server, &query)).len() == 1);
    let list = held(server, &query);
    list["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| object["held"].as_str().unwrap().to_owned())
        .collect()
}

fn order(server: &Server, key: &str, deed: &str, body: &Value) -> (u16, String) {
    server.exchange(&format!("POST /v1/held/{key}/{deed}"), &body.to_string())
}

#[test]
fn a_returned_object_is_held_and_put_back_where_it_was_or_elsewhere() {
    let (server, _) = server_with_objects();
    let key = returned(&server, ADA).remove(0);
    let object = &held(&server, "?region=harbour")["objects"][0];
    assert_eq!(
        (&object["name"], &object["kind"], &object["prims"]),
        (&json!("Prim 1"), &json!("return"), &json!(2))
    );
    assert_eq!((&object["owner"], &object["region"]), (&json!(text(ADA)), &json!("Harbour")));
    assert_eq!((&object["position"], &object["on_its_way_to"]), (&json!([10.0, 10.0, 30.0]), &Value::Null));
    assert_eq!(names(&get(&server, "/Harbour/objects")), ["Prim 3"]);

    let (status, told) = order(&server, &key, "restore", &json!({}));
    assert_eq!(
        (status, serde_json::from_str::<Value>(&told).unwrap()),
        (200, json!({ "held": key, "region": "Harbour" }))
    );
    assert_eq!(names(&held(&server, "")), Vec::<&str>::new());
    let list = get(&server, "/Harbour/objects");
    let back = list["objects"].as_array().unwrap().iter().find(|object| object["name"] == "Prim 1").unwrap();
    assert_eq!((&back["id"], &back["prims"], &back["phantom"]), (&json!(text(1)), &json!(2), &json!(true)));
    assert_eq!(back["position"], json!([10.0, 10.0, 30.0]));
    assert_eq!(order(&server, &key, "restore", &json!({})).0, 404, "once");

    let key = returned(&server, EVE).remove(0);
    assert!(out(&run(&server, &["objects", "held"])).contains(&key));
    let words = ["objects", "restore", &key, "--region", "Harbour", "--at", "50,60,40", "--json"];
    let told: Value = serde_json::from_str(&out(&run(&server, &words))).unwrap();
    assert_eq!(told, json!({ "held": key, "region": "Harbour" }));
    assert_eq!(names(&get(&server, "/Harbour/objects?within=50,60,40,1")), ["Prim 3"]);
}

#[test]
fn a_held_object_that_a_region_does_not_take_stays_held() {
    let (server, file) = server_with_objects();
    let key = returned(&server, ADA).remove(0);
    // One prim of eight is there, three are added twice: the linkset of two has no room.
    for _ in 0..2 {
        out(&run(&server, &["region", "import", "Harbour", file.to_str().unwrap()]));
    }
    let (status, told) = order(&server, &key, "restore", &json!({}));
    assert!(status == 409 && told.contains("full"), "{status} {told}");
    let object = &held(&server, "")["objects"][0];
    assert_eq!((&object["held"], &object["on_its_way_to"]), (&json!(key), &Value::Null));
    assert_eq!(order(&server, &key, "restore", &json!({ "region": "Atlantis" })).0, 404);
    for body in [json!({ "position": [1.0, 2.0] }), json!({ "place": [1.0, 2.0, 3.0] })] {
        let (status, told) = order(&server, &key, "restore", &body);
        assert!((400..500).contains(&status), "{body}: {status} {told}");
    }
    fails(&run(&server, &["objects", "restore", "1-4000000"]), 1, "There is no held object");
    fails(&run(&server, &["objects", "restore", "Gate"]), 2, "1-27");
    fails(&run(&server, &["objects", "held", "--owner", "Nobody Here"]), 1, "Nobody Here");

    // The file's linksets go, one of which has its ids.
    let by_ada = json!({ "owner": text(ADA) }).to_string();
    assert_eq!(server.exchange("POST /v1/regions/Harbour/objects/delete", &by_ada).0, 200);
    assert_eq!(order(&server, &key, "restore", &json!({})).0, 200);
}

#[test]
fn held_objects_outlive_the_server_until_they_are_discarded() {
    let (mut server, _) = server_with_objects();
    let keys = [returned(&server, ADA).remove(0), returned(&server, EVE).remove(0)];
    assert_eq!(server.terminate(), Some(0));
    server.start_again();
    let list = held(&server, "?limit=1");
    assert_eq!((names(&list), list["damaged"].as_u64()), (vec!["Prim 1"], Some(0)));
    let rest = held(&server, &format!("?limit=1&after={}", list["next"]));
    assert_eq!((names(&rest), &rest["objects"][0]["held"]), (vec!["Prim 3"], &json!(keys[1])));
    assert_eq!(get(&server, "/Harbour/objects")["matching"], 0);

    assert_eq!(out(&run(&server, &["objects", "discard", &keys[0]])), format!("{} is gone.\n", keys[0]));
    fails(&run(&server, &["objects", "discard", &keys[0]]), 1, "There is no held object");
    assert_eq!(names(&held(&server, "")), ["Prim 3"]);
    assert_eq!(order(&server, &keys[1], "restore", &json!({})).0, 200);
    assert_eq!(names(&get(&server, "/Harbour/objects")), ["Prim 3"]);
}
