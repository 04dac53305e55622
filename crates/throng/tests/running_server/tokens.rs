//! Tokens of the API, as `docs/operating/tokens.md` has it.

use crate::server::Server;
use crate::worlds::lasting;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[[region]]
name = "Harbour"

[[template]]
name = "Cave"
terrain = "flat"
"#;

fn token(server: &Server, words: &str) -> String {
    server.run(&format!("token create {words}")).expect("a token").trim().to_owned()
}

/// Status and answer of a request with this token.
fn ask(server: &Server, token: &str, head: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, answer) = server.exchange_as(Some(token), head, &body);
    (status, if answer.is_empty() { Value::Null } else { serde_json::from_str(&answer).expect("JSON") })
}

fn error(answer: &Value) -> &str {
    answer["error"].as_str().unwrap_or_default()
}

#[test]
fn a_token_opens_its_scopes_and_the_log_names_each_order_with_its_author() {
    let server = Server::start_with(CONFIG);
    let backend = token(&server, "--name backend --scope worlds:write");
    let page = token(&server, "--name page --scope worlds:read");
    let order = json!({ "template": "Cave" });
    let (status, world) = ask(&server, &backend, "POST /v1/worlds", &order);
    assert_eq!(status, 201, "{world}");
    // A token that may make them may see them.
    for token in [&backend, &page] {
        let (status, worlds) = ask(&server, token, "GET /v1/worlds", &Value::Null);
        assert_eq!((status, lasting(&worlds[0])), (200, lasting(&world)));
    }

    let (status, answer) = ask(&server, &page, "POST /v1/worlds", &order);
    assert!(status == 403 && error(&answer).contains("worlds:write"), "{status} {answer}");
    let (status, answer) = ask(&server, &backend, "POST /v1/alert", &json!({ "text": "Hello" }));
    assert!(status == 403 && error(&answer).contains("operate"), "{status} {answer}");

    let log = server.log();
    let says = |words: &[&str]| log.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(says(&["ordered over the API", "backend", "POST", "/v1/worlds", "201"]), "{log}");
    assert!(says(&["refused over the API", "page", "/v1/worlds", "worlds:write"]), "{log}");
    assert!(!log.contains(&backend["throng_backend_".len()..]), "no secret is in the log");
}

#[test]
fn a_revoked_token_opens_nothing_while_the_server_runs() {
    let server = Server::start_with(CONFIG);
    let list = |token: Option<&str>| {
        let (status, answer) = server.exchange_as(token, "GET /v1/worlds", "");
        (status, serde_json::from_str::<Value>(&answer).expect("JSON"))
    };
    let revoked = token(&server, "--name revoked --scope worlds:read");
    let brief = token(&server, "--name brief --scope worlds:read --expires 1s");
    assert_eq!(list(Some(&revoked)).0, 200);
    server.run("token revoke revoked").unwrap();
    server.wait_until("the brief one has expired", |_| list(Some(&brief)).0 == 401);
    assert!(error(&list(Some(&brief)).1).contains("expired"));
    let unknown = revoked.replace("revoked", "unknown");
    for wrong in [None, Some(""), Some("throng"), Some(&*revoked), Some(&*unknown), Some(&revoked[..70])] {
        let (status, answer) = list(wrong);
        assert!(status == 401 && !error(&answer).is_empty(), "{wrong:?}: {status} {answer}");
    }
    let listed = server.run("token list").unwrap();
    assert!(
        listed.starts_with("brief  worlds:read  expired at 20") && listed.lines().count() == 1,
        "{listed}"
    );
    assert!(server.run("token revoke revoked").unwrap_err().contains("there is no token named \"revoked\""));
    assert!(server.run("token create --name x --scope everything").unwrap_err().contains("templates:write"));
}

#[test]
fn an_endless_creator_of_worlds_is_stopped_at_its_quota_and_no_other_user_is() {
    let server = Server::start_with(CONFIG);
    let greedy = token(&server, "--name greedy --scope worlds:write --max-worlds 3");
    let other = token(&server, "--name other --scope worlds:write --max-worlds 3");
    let order = json!({ "template": "Cave" });
    let make = |token: &str| ask(&server, token, "POST /v1/worlds", &order);
    // All at once: worlds under construction count as well.
    let made: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(|| make(&greedy))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let worlds: Vec<&Value> =
        made.iter().filter(|(status, _)| *status == 201).map(|(_, world)| world).collect();
    assert_eq!(worlds.len(), 3, "{made:?}");
    let is_refused = |(status, answer): &(u16, Value)| *status == 429 && error(answer).contains("greedy");
    assert_eq!(made.iter().filter(|answer| is_refused(answer)).count(), 9, "{made:?}");
    assert_eq!(make(&other).0, 201);

    // The operator ends one of them.
    let id = worlds[0]["id"].as_str().expect("an id");
    assert_eq!(server.exchange(&format!("DELETE /v1/worlds/{id}"), "").0, 204);
    assert_eq!(make(&greedy).0, 201);
    assert!(is_refused(&make(&greedy)));
    // A new token of the same name takes over what the old one has made.
    server.run("token revoke greedy").unwrap();
    let again = token(&server, "--name greedy --scope worlds:write --max-worlds 3");
    assert!(is_refused(&make(&again)));
}
