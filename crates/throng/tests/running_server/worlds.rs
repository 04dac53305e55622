//! `/v1/worlds` at the operator's address, as `docs/operating/worlds.md` has it.

use crate::server::Server;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[instances]
max = 2

[[region]]
name = "Harbour"

[[template]]
name = "Cave"
terrain = "flat"
max_avatars = 1

[[template]]
name = "Plain"
size_m = 512
terrain = "flat"
"#;

const NO_SUCH: &str = "00000000-0000-0000-0000-000000000001";

/// Status and body of one exchange; an empty body is null.
fn ask(server: &Server, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, answer) = server.exchange(&format!("{method} /v1/worlds{path}"), &body);
    let answer = if answer.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{method} {path}: {answer:?} is no JSON"))
    };
    (status, answer)
}

/// It is refused so, with a text that says this.
fn assert_refused((status, answer): (u16, Value), expected: u16, words: &str) {
    let error = answer["error"].as_str().unwrap_or_default();
    assert!(status == expected && error.contains(words), "{status} {answer}, not {expected} {words:?}");
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(1), "{answer}");
}

fn create(server: &Server, order: &Value) -> Value {
    let (status, world) = ask(server, "POST", "", order);
    assert_eq!(status, 201, "{world}");
    world
}

/// All worlds, without what changes with every step.
fn list(server: &Server) -> Vec<Value> {
    let (status, worlds) = ask(server, "GET", "", &Value::Null);
    assert_eq!(status, 200, "{worlds}");
    worlds.as_array().expect("a list").iter().map(lasting).collect()
}

/// A world without what changes with every step or second.
pub(crate) fn lasting(world: &Value) -> Value {
    let mut world = world.clone();
    let fields = world.as_object_mut().expect("a world");
    for figure in ["cost_us", "dilation", "state_s"] {
        fields.remove(figure).unwrap_or_else(|| panic!("it has {figure}"));
    }
    world
}

fn path(world: &Value) -> String {
    format!("/{}", world["id"].as_str().expect("an id"))
}

#[test]
fn instances_are_made_listed_shown_and_ended() {
    let server = Server::start_with(CONFIG);
    assert_eq!(ask(&server, "GET", "", &Value::Null), (200, json!([])));
    let owner = "3f2b1c00-0000-0000-0000-0000000000aa";
    let cave = create(&server, &json!({ "template": "cave", "name": "Cave of Ada", "owner": owner }));
    assert_eq!(
        (
            &cave["name"],
            &cave["template"],
            &cave["owner"],
            &cave["size_m"],
            &cave["users"],
            &cave["max_users"]
        ),
        (&json!("Cave of Ada"), &json!("Cave"), &json!(owner), &json!(256), &json!(0), &json!(1))
    );
    let twice = ask(&server, "POST", "", &json!({ "template": "Cave", "owner": owner }));
    assert_refused(twice, 409, "has an instance of this template already");
    let plain = create(&server, &json!({ "template": "Plain" }));
    assert_eq!((&plain["name"], &plain["owner"]), (&json!("Plain"), &Value::Null));
    assert_eq!(list(&server), [&cave, &plain].map(lasting), "the oldest first");
    let (status, told) = ask(&server, "GET", &path(&plain), &Value::Null);
    assert_eq!((status, lasting(&told)), (200, lasting(&plain)));
    assert_refused(ask(&server, "POST", "", &json!({ "template": "Plain" })), 429, "`instances.max`");

    assert_eq!(ask(&server, "DELETE", &path(&cave), &Value::Null), (204, Value::Null));
    for method in ["GET", "DELETE"] {
        assert_refused(ask(&server, method, &path(&cave), &Value::Null), 404, "There is no instance");
    }
    assert_eq!(list(&server), [lasting(&plain)]);
    create(&server, &json!({ "template": "Plain", "name": "Room again" }));
    server.wait_until("both are exported", |server| server.metric("throng_instances") == Some(2.0));
}

#[test]
fn impossible_requests_are_refused_with_the_reason() {
    let server = Server::start_with(CONFIG);
    let nobody = json!({ "user": { "name": "Nobody Here" } });
    for (method, path, body, status, words) in [
        ("POST", "", json!({ "template": "Castle" }), 400, "there are: Cave, Plain"),
        ("POST", "", json!({ "template": "Cave", "name": "" }), 400, "name: at least 1 characters"),
        ("POST", "", json!({ "template": "Cave", "name": "a\nb" }), 400, "control characters"),
        ("POST", "", json!({ "tempalte": "Cave" }), 422, "tempalte"),
        ("POST", "", json!({ "template": "Cave", "owner": "Ada" }), 422, "owner"),
        ("POST", "", Value::Null, 400, "EOF"),
        ("POST", "/leave", json!({}), 422, "user"),
        ("POST", "/leave", nobody.clone(), 404, "Nobody Here"),
        ("POST", &format!("/{NO_SUCH}/enter"), nobody.clone(), 404, "There is no instance"),
        ("POST", &format!("/{NO_SUCH}/enter"), json!({ "user": "Ada" }), 422, "user"),
        (
            "POST",
            &format!("/{NO_SUCH}/enter"),
            json!({ "user": {}, "position": [1] }),
            400,
            "position: at least 3 items",
        ),
        (
            "POST",
            &format!("/{NO_SUCH}/enter"),
            json!({ "user": {}, "position": [1, 2, "up"] }),
            422,
            "position",
        ),
        ("GET", &format!("/{NO_SUCH}"), Value::Null, 404, NO_SUCH),
        ("GET", "/cave", Value::Null, 400, "cave"),
        ("DELETE", "/cave", Value::Null, 400, "cave"),
        ("POST", "/cave/suspend", Value::Null, 400, "cave"),
        ("POST", &format!("/{NO_SUCH}/suspend"), Value::Null, 404, NO_SUCH),
        ("POST", "/cave/park", Value::Null, 400, "cave"),
        ("POST", &format!("/{NO_SUCH}/park"), Value::Null, 404, NO_SUCH),
        ("POST", "/cave/resume", Value::Null, 400, "cave"),
        ("POST", &format!("/{NO_SUCH}/resume"), Value::Null, 404, NO_SUCH),
        ("POST", "/cave/enter", nobody, 400, "cave"),
    ] {
        assert_refused(ask(&server, method, path, &body), status, words);
    }
    let cut_short = server.exchange("POST /v1/worlds", "{");
    assert!(cut_short.0 == 400 && cut_short.1.starts_with(r#"{"error":"#), "{cut_short:?}");
}

#[test]
fn users_are_sent_in_and_out_and_come_back_when_it_ends() {
    let server = Server::start_with(CONFIG);
    let _guest = server.guest();
    let in_region = |server: &Server| server.metric(r#"throng_world_avatars{world="Harbour"}"#) == Some(1.0);
    server.wait_until("the guest is in", in_region);
    let who = json!({ "user": { "name": "BOT0001 guest" } });
    let leave = |server: &Server| ask(server, "POST", "/leave", &who);
    assert_refused(leave(&server), 409, "in no instance");

    let cave = create(&server, &json!({ "template": "Cave" }));
    let enter = format!("{}/enter", path(&cave));
    let there = json!({ "user": who["user"], "position": [60, 70, 25] });
    assert_eq!(ask(&server, "POST", &enter, &there), (200, json!({ "passage": "switched" })));
    let is_within = |server: &Server| {
        let (status, answer) = ask(server, "POST", &enter, &there);
        assert!(status == 409 || answer["passage"] == "within", "{status} {answer}");
        status == 200
    };
    server.wait_until("the guest is in the cave", is_within);
    let (_, told) = ask(&server, "GET", &path(&cave), &Value::Null);
    assert_eq!(told["users"], 1, "{told}");
    let map = |server: &Server| ask(server, "GET", &format!("{}/map", path(&cave)), &Value::Null);
    let (_, told) = map(&server);
    assert_eq!((&told["world"], &told["size_m"]), (&cave["world"], &json!(256)), "{told}");
    let is_there = |server: &Server| map(server).1["avatars"][0]["name"] == "Bot0001 Guest";
    server.wait_until("the guest is on the map", is_there);
    assert_eq!(map(&server).1["avatars"][0]["is_npc"], false);

    assert_eq!(leave(&server), (200, json!({ "passage": "switched" })));
    server
        .wait_until("the guest is back", |server| leave(server).1["error"] == "That user is in no instance.");
    let (_, told) = ask(&server, "GET", &path(&cave), &Value::Null);
    assert_eq!(told["users"], 0, "{told}");

    let suspend = format!("{}/suspend", path(&cave));
    server.wait_until("it is suspended", |server| ask(server, "POST", &suspend, &Value::Null).0 == 200);
    assert_refused(map(&server), 409, "is suspended");
    let (status, resumed) = ask(&server, "POST", &format!("{}/resume", path(&cave)), &Value::Null);
    assert_eq!(
        (status, &resumed["state"], &resumed["users"]),
        (200, &json!("active"), &json!(0)),
        "{resumed}"
    );
    assert_eq!(map(&server).0, 200);
    let (status, objects) = ask(&server, "GET", &format!("{}/map/objects", path(&cave)), &Value::Null);
    assert_eq!((status, objects), (200, json!({ "n_boxes": 0, "boxes": [], "portals": [] })));
    server.wait_until("the guest may go in again", |server| ask(server, "POST", &enter, &there).0 == 200);
    assert_eq!(ask(&server, "DELETE", &path(&cave), &Value::Null), (204, Value::Null));
    server.wait_until("the guest is in the region", in_region);
    assert_eq!(server.metric("throng_sessions"), Some(1.0));
    assert_eq!(server.metric(r#"throng_circuits_total{outcome="lost"}"#), Some(0.0));
}

#[test]
fn while_memory_is_short_no_instance_is_made_and_no_visitor_has_to_leave() {
    let server = Server::start_with(&CONFIG.replace("max = 2", "max = 10"));
    let _guest = server.guest();
    let avatars = |world: &str| format!("throng_world_avatars{{world=\"{world}\"}}");
    let is_in = |world: &'static str| move |server: &Server| server.metric(&avatars(world)) == Some(1.0);
    server.wait_until("the guest is in", is_in("Harbour"));
    let (hall, idle) =
        (create(&server, &json!({ "template": "Cave" })), create(&server, &json!({ "template": "Plain" })));
    let enter = |world: &Value| {
        let order = json!({ "user": { "name": "Bot0001 Guest" }, "position": [60, 70, 25] });
        ask(&server, "POST", &format!("{}/enter", path(world)), &order)
    };
    assert_eq!(enter(&hall).0, 200);
    server.wait_until("the guest is in the cave", is_in("instances"));

    // Less than it takes already.
    server.tune("gateway.memory_max_mib", 1);
    let is_closed = |closed: f64| {
        move |server: &Server| server.metric(r#"throng_instances_closed{reason="memory"}"#) == Some(closed)
    };
    server.wait_until("memory is short", is_closed(1.0));
    let order = json!({ "template": "Cave", "id": NO_SUCH });
    assert_refused(ask(&server, "POST", "", &order), 503, "no memory for another world");
    assert!(server.head("POST /v1/worlds", &order.to_string()).contains("\r\nretry-after: 10\r\n"));
    let health = server.ask("GET /healthz/live", "");
    assert!(health.contains("Memory is short: instances are neither created nor resumed"), "{health}");
    assert!(server.metric(r#"throng_instances_refused_total{reason="memory"}"#) >= Some(2.0));
    let state = |world: &Value| ask(&server, "GET", &path(world), &Value::Null).1["state"].clone();
    assert_eq!((state(&hall), state(&idle)), (json!("active"), json!("suspended")), "it made room, in vain");
    assert_refused(enter(&idle), 503, "no memory for another world");
    assert_eq!(list(&server).len(), 2, "nothing is lost, and nothing left behind");
    assert_eq!(enter(&hall), (200, json!({ "passage": "within" })), "who is in memory is there for all");

    // A visitor may leave, and an instance may be ended.
    let leave = json!({ "user": { "name": "Bot0001 Guest" } });
    assert_eq!(ask(&server, "POST", "/leave", &leave).0, 200);
    server.wait_until("the guest is back", is_in("Harbour"));
    // The former name of `suspend`.
    assert_eq!(ask(&server, "POST", &format!("{}/park", path(&hall)), &Value::Null).0, 200);
    assert_eq!(ask(&server, "DELETE", &path(&idle), &Value::Null).0, 204);

    server.tune("gateway.memory_max_mib", 100_000);
    server.wait_until("there is room again", is_closed(0.0));
    create(&server, &order);
    assert_eq!(enter(&hall).0, 200);
    server.wait_until("the guest is in the cave again", is_in("instances"));
    assert!(server.metric(r#"throng_instance_expected_bytes{template="Cave"}"#) > Some(10_000.0));
    assert_eq!(server.metric(r#"throng_circuits_total{outcome="lost"}"#), Some(0.0));
    let log = server.log();
    let lines = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!((lines("no room for instances"), lines("room for instances again")), (1, 1), "{log}");
}
