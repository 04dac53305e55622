//! Pages of other sites in a visitor's browser, names that strangers point at this machine, and proxies.

use crate::server::Server;

const EVIL: &str = "Origin: http://evil.example\r\n";

fn get(path: &str, host: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")
}

fn upgrade(host: &str, headers: &str) -> String {
    format!(
        "GET /live HTTP/1.1\r\nHost: {host}\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    )
}

/// A login as a page can send it without asking: a simple request.
pub(crate) fn login(first: &str, headers: &str) -> String {
    let member = |name: &str, value: &str| {
        format!("<member><name>{name}</name><value><string>{value}</string></value></member>")
    };
    let fields = [
        member("first", first),
        member("last", "Resident"),
        member("passwd", "$1$5ebe2294ecd0e0f08eab7690d2a6ee69"),
        member("start", "last"),
    ];
    let body = format!(
        "<?xml version=\"1.0\"?><methodCall><methodName>login_to_simulator</methodName><params><param><value><struct>{}\
         </struct></value></param></params></methodCall>",
        fields.concat()
    );
    format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: text/plain\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_foreign_page_makes_no_account_and_reads_no_chat() {
    let server = Server::start();
    for headers in [EVIL, "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        let (status, answer) = server.request(&login("Victim", headers));
        assert_eq!(status, 403, "{headers}: {answer}");
    }
    assert!(!server.run("user list").unwrap().contains("Victim"));
    let (status, answer) = server.request(&login("Ada", ""));
    assert!(status == 200 && answer.contains("<string>true</string>"), "{answer}");

    let own = server.login_addr().to_string();
    assert_eq!(server.request(&upgrade(&own, EVIL)).0, 403);
    assert_eq!(server.request(&upgrade("evil.example", "")).0, 421);
    assert_eq!(server.request(&upgrade("evil.example", EVIL)).0, 421, "a name that was made to lead here");
    assert_eq!(server.request(&upgrade(&own, &format!("Origin: http://{own}\r\n"))).0, 101);
    assert_eq!(server.request(&upgrade(&own, "")).0, 101, "no page at all");
}

#[test]
fn one_address_takes_no_more_than_its_share_of_the_live_feed() {
    let server = Server::start_with("[page]\nwatchers_max = 10\nwatchers_per_address_max = 2\n");
    let own = server.login_addr().to_string();
    let watch = || server.watch(&upgrade(&own, ""));
    let (first, second) = (watch(), watch());
    assert_eq!((first.0, second.0), (101, 101));
    assert_eq!(watch().0, 503);
    drop(first);
    server.wait_until("there is a place again", |_| watch().0 == 101);
}

#[test]
fn the_operators_address_answers_to_its_own_names_only() {
    let server = Server::start_with("[server]\nhostnames = [\"operator.example.org\"]\n");
    for path in ["/metrics", "/healthz/live", "/", "/v1/openapi.json", "/v1/worlds", "/assets/none.js"] {
        assert_eq!(server.request_operator(&get(path, "evil.example:9009", "")).0, 421, "{path}");
        assert_eq!(server.request_operator(&get(path, "127.0.0.1", EVIL)).0, 403, "{path}");
        for host in ["127.0.0.1", "localhost:9009", "operator.example.org", "throng"] {
            let status = server.request_operator(&get(path, host, "")).0;
            assert!(![403, 421].contains(&status), "{path} at {host}: {status}");
        }
    }
}

#[test]
fn a_client_behind_a_trusted_proxy_has_the_address_that_the_proxy_states() {
    let chat = |server: &Server, headers: &str| {
        server.request(&get("/api/info", "127.0.0.1", headers)).1.contains(r#""chat":true"#)
    };
    let server = Server::start_with("[server]\ntrusted_proxies = [\"127.0.0.1\"]\n");
    // A client's own claim stands to the left of what the proxy has seen.
    let through = "X-Forwarded-For: 127.0.0.1, 203.0.113.9\r\n";
    assert!(!chat(&server, through), "chat is for browsers on this machine");
    assert!(!chat(&server, ""), "what comes from the proxy comes from elsewhere");
    assert_eq!(server.request(&login("Ada", through)).0, 200);
    assert!(server.log().contains("peer=203.0.113.9"), "{}", server.log());

    // A proxy that was not declared opens nothing either.
    let direct = Server::start();
    assert!(chat(&direct, "") && !chat(&direct, through));
}
