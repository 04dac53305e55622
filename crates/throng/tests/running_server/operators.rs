//! Commands of operators on users, logins, estates, parcels, inventories and the server itself, as `docs/operating/console.md` has them.

use crate::regions::{fails, get, out, run};
use crate::report;
use crate::server::{BOTS, Server};
use serde_json::{Value, json};

const CONFIG: &str = "[[region]]\nname = \"Harbour\"\n";
const GUEST: &str = "Bot0001 Guest";
/// The account of a bot that has come for a moment.
const LATE: &str = "Bot0001 Late";

fn told(server: &Server, words: &[&str]) -> Value {
    serde_json::from_str(&out(&run(server, words))).unwrap()
}

fn users(server: &Server, words: &[&str]) -> Vec<Value> {
    let all = [&["user", "online", "--json"][..], words].concat();
    told(server, &all)["users"].as_array().unwrap().clone()
}

/// The same, without a process.
fn sessions(server: &Server) -> Vec<Value> {
    let (status, answer) = server.exchange("GET /v1/sessions?region=harbour", "");
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn present_users_are_listed_spoken_to_and_put_out() {
    let server = Server::start_with(CONFIG);
    assert!(users(&server, &[]).is_empty());
    let _guest = server.guest();
    server.wait_until("the guest is in", |server| {
        sessions(server).first().is_some_and(|user| user["position"].is_array())
    });
    let user = &users(&server, &[])[0];
    assert_eq!(
        (&user["name"], &user["region"], &user["arrived"]),
        (&json!(GUEST), &json!("Harbour"), &json!(true))
    );
    assert_eq!(user["circuits"][0]["state"], "main");
    assert!(users(&server, &["--region", "Atlantis"]).is_empty());
    assert!(out(&run(&server, &["user", "online", "--circuits"])).contains("    port "));
    let status = told(&server, &["status", "--json"]);
    assert_eq!(
        (&status["users"], &status["regions"], &status["logins_enabled"]),
        (&json!(1), &json!(1), &json!(true))
    );

    for words in [
        &["alert", "Hello"][..],
        &["alert", "Hello", "--user", GUEST],
        &["alert", "Hello", "--region", "HARBOUR"],
        &["say", "Hello", "--region", "Harbour", "--name", "Harbour master"],
    ] {
        assert_eq!(out(&run(&server, words)), "done\n", "{words:?}");
    }
    fails(&run(&server, &["alert", "Hello", "--user", "Eve Byron"]), 1, "\"Eve Byron\" is not here");
    fails(&run(&server, &["alert", "Hello", "--region", "Atlantis"]), 1, "there are: Harbour");
    fails(&run(&server, &["say", "Hello", "--region", "Atlantis"]), 1, "there are: Harbour");
    fails(&run(&server, &["alert", &"x".repeat(255)]), 1, "at most 254");
    let both = json!({ "text": "x", "name": GUEST, "region": "Harbour" }).to_string();
    assert_eq!(server.exchange("POST /v1/alert", &both).0, 400);

    out(&run(&server, &["kick", "Bot0001", "Guest", "--reason", "Please read the rules."]));
    server.wait_until("the guest is out", |server| sessions(server).is_empty());
    fails(&run(&server, &["kick", "Bot0001", "Guest"]), 1, "is not here");
}

#[test]
fn logins_are_closed_and_opened_again() {
    let server = Server::start_with(CONFIG);
    out(&run(&server, &["login", "disable", "--reason", "We move house."]));
    let status = told(&server, &["login", "status", "--json"]);
    assert_eq!((&status["enabled"], &status["reason"]), (&json!(false), &json!("We move house.")));
    let refused = server.visit();
    assert_eq!((&refused["logins_ok"], &refused["logins_failed"]), (&json!(0), &json!(1)), "{refused}");
    out(&run(&server, &["login", "message", "Market day."]));
    assert!(out(&run(&server, &["login", "status"])).starts_with("Logins are closed: We move house.\n"));
    assert!(out(&run(&server, &["login", "enable"])).contains("Text at login: Market day.\n"));
    assert_eq!(server.visit()["logins_ok"], 1);
    fails(&run(&server, &["login", "disable", "--reason", "two\nlines"]), 1, "control characters");
    fails(&run(&server, &["login", "message", ""]), 1, "at least 1");
    let (status, _) = server.exchange("POST /v1/logins", &json!({ "reason": "x" }).to_string());
    assert_eq!(status, 400);
}

#[test]
fn an_estate_gets_an_owner_and_lists_and_parcels_are_shown() {
    let server = Server::start_with(CONFIG);
    server.visit();
    let estate = |words: &[&str]| run(&server, &[&["estate"][..], words, &["--region", "harbour"]].concat());
    assert_eq!(get(&server, "/Harbour/estate")["owner"], Value::Null);
    assert_eq!(out(&estate(&["owner", "Bot0001", "Late"])), "The estate of Harbour is changed.\n");
    out(&estate(&["name", "Old Harbour"]));
    out(&estate(&["add-manager", LATE]));
    server.wait_until("it is shown", |server| {
        let estate = get(server, "/Harbour/estate");
        estate["name"] == "Old Harbour"
            && estate["owner_name"] == LATE
            && estate["managers"][0]["name"] == LATE
    });
    assert!(out(&estate(&["show"])).contains(&format!("managers  {LATE}\n")));
    fails(&estate(&["ban", LATE]), 1, "cannot be banned");
    fails(&estate(&["ban", "Eve Byron"]), 1, "There is no account");
    fails(&estate(&["owner", "00000000-0000-0000-0000-000000000009"]), 1, "There is no account");
    fails(&run(&server, &["estate", "show", "--region", "Atlantis"]), 1, "there are: Harbour");
    let (status, _) = server.exchange("POST /v1/regions/Harbour/estate", "{}");
    assert_eq!(status, 400);
    out(&estate(&["remove-manager", LATE]));
    out(&estate(&["owner", "--none"]));
    out(&estate(&["ban", LATE]));
    server.wait_until("it is banned", |server| {
        let estate = get(server, "/Harbour/estate");
        estate["banned"][0]["name"] == LATE && estate["owner"].is_null() && estate["managers"] == json!([])
    });
    assert_eq!(
        told(&server, &["parcel", "list", "--region", "Harbour", "--json"])["parcels"][0]["number"],
        1
    );
    let parcel = told(&server, &["parcel", "show", "1", "--region", "Harbour", "--json"]);
    assert_eq!((&parcel["area_m2"], &parcel["landing"]), (&json!(65_536), &json!("anywhere")));
    assert!(parcel["settings"].as_array().unwrap().contains(&json!("build")), "{parcel}");
    assert!(
        out(&run(&server, &["parcel", "show", "1", "--region", "Harbour"])).contains("area       65536 m²\n")
    );
    fails(&run(&server, &["parcel", "show", "9", "--region", "Harbour"]), 1, "There is no parcel 9");
}

#[test]
fn a_region_begins_again_under_its_visitors() {
    let server = Server::start();
    let bots = server.bots("15s");
    server.wait_for_bots();
    let words = ["region", "restart", "harbour", "--message", "A short pause.", "--json"];
    assert_eq!(told(&server, &words), json!({ "region": "Harbour", "epoch": 1 }));
    assert_eq!(told(&server, &words)["epoch"], 2, "an order is no panic and has no pause");
    server.wait_until("it is counted", |server| {
        server.metric(r#"throng_world_epoch{world="Harbour"}"#) == Some(2.0)
    });
    server.wait_for_bots();
    assert_eq!(server.ask("GET /healthz/live", ""), "ok\n");
    let report = report(bots);
    assert_eq!(report["circuits_lost"], 0, "{report}");
    assert_eq!(report["avatars_seen_min"], BOTS - 1, "{report}");
    fails(&run(&server, &["region", "restart", "Atlantis"]), 1, "there are: Harbour, Meadows");
    let shown = told(&server, &["region", "show", "Harbour", "--json"]);
    assert_eq!((&shown["region"]["name"], &shown["region"]["size_m"]), (&json!("Harbour"), &json!(256)));
    assert_eq!(told(&server, &["region", "list", "--json"])["regions"].as_array().unwrap().len(), 2);
}

#[test]
fn inventories_are_shown_and_things_given() {
    let server = Server::start_with(CONFIG);
    server.visit();
    let inventory = |name: &str| told(&server, &["inventory", "show", name, "--json"]);
    let before = inventory(LATE);
    assert_eq!((&before["owner_name"], &before["missing"]), (&json!(LATE), &json!(0)));
    assert_eq!(
        (&before["folders"][0]["name"], &before["folders"][0]["depth"]),
        (&json!("My Inventory"), &json!(0))
    );
    let plywood = ids::PLYWOOD_TEXTURE.to_string();
    let given = told(&server, &["give", "Bot0001", "Late", &plywood, "--name", "Planks", "--json"]);
    assert_eq!((&given["name"], &given["asset"]), (&json!("Planks"), &json!(plywood)));
    let after = inventory(LATE);
    assert_eq!(after["items"].as_u64(), before["items"].as_u64().map(|n| n + 1));

    // A copy, to a present user.
    let _guest = server.guest();
    server.wait_until("the guest is in", |server| !sessions(server).is_empty());
    let item = given["item"].as_str().unwrap();
    let copy = told(&server, &["give", GUEST, item, "--from", LATE, "--json"]);
    assert_eq!((&copy["name"], &copy["owner_name"]), (&json!("Planks"), &json!(GUEST)));
    assert_ne!(copy["item"], given["item"]);
    let nothing = "00000000-0000-0000-0000-000000000009";
    fails(&run(&server, &["give", GUEST, nothing]), 1, "there is no asset");
    fails(&run(&server, &["give", GUEST, nothing, "--from", LATE]), 1, "there is no item");
    fails(&run(&server, &["give", "Eve", "Byron", &plywood]), 1, "There is no account");
    fails(&run(&server, &["give", GUEST, "planks"]), 2, "is no id");
    fails(&run(&server, &["inventory", "show", "Eve", "Byron"]), 1, "There is no account");
    assert_eq!(server.exchange("POST /v1/users/Bot0001%20Late/inventory", "{}").0, 400);

    let (status, found) = server.exchange("GET /v1/users?begins=bot0001%20L", "");
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((status, &found[0]["name"], found.as_array().unwrap().len()), (200, &json!(LATE), 1));
    let account = told(&server, &["user", "show", "Bot0001", "Late", "--json"]);
    assert_eq!((&account["name"], &account["banned"]), (&json!(LATE), &Value::Null));
    assert_eq!(told(&server, &["user", "list", "--json"])["users"].as_array().unwrap().len(), 2);
}

#[test]
fn a_server_is_ended_by_its_process_id_only() {
    let mut server = Server::start_with(CONFIG);
    let (status, why) =
        server.exchange("POST /v1/shutdown", &json!({ "message": "Back at noon.", "pid": 1 }).to_string());
    assert!(status == 409 && why.contains(&server.pid().to_string()), "{status} {why}");
    let ended = out(&run(&server, &["shutdown", "--message", "Back at noon."]));
    assert_eq!(ended, format!("The server with process id {} ends.\n", server.pid()));
    assert_eq!(server.terminate(), Some(0));
    assert!(server.log().contains("the operator"), "{}", server.log());
    fails(&run(&server, &["status"]), 1, "no server seems to run");
}
