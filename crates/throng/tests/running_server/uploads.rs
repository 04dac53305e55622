//! Uploads by capabilities: long bodies, and their assets behind the end of a server.

use crate::foreign_pages::login;
use crate::server::Server;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

pub(crate) const TEXTURE: &[u8] = include_bytes!("../../../grid/src/asset_sources/body/plywood.j2c");
/// Longer than a body may be elsewhere.
const TEXTURE_BYTES: usize = 1_024 * 1_024;
const NEW_TEXTURE: &str = "<llsd><map><key>asset_type</key><string>texture</string><key>inventory_type</key>\
    <string>texture</string><key>name</key><string>Oak</string></map></llsd>";

/// Logs in; the path of the seed capability.
pub(crate) fn enter(server: &Server) -> String {
    let (status, reply) = server.request(&login("Ada", ""));
    assert_eq!(status, 200, "{reply}");
    format!("/cap/{}", between(&reply, "/cap/", "<"))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("no {after} in {text}")).0
}

fn post(server: &Server, path: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(server.login_addr()).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/llsd+xml\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (between(&answer, " ", " ").parse().unwrap(), answer)
}

/// The path of an address for a new texture.
fn uploader(server: &Server, seed: &str) -> String {
    let (status, begun) = post(server, &format!("{seed}/NewFileAgentInventory"), NEW_TEXTURE.as_bytes());
    assert_eq!(status, 200, "{begun}");
    let address = between(&begun, "<key>uploader</key><string>", "</string>");
    address[address.find("/cap/").expect("a path")..].to_owned()
}

/// Uploads the texture; the id of its asset.
pub(crate) fn upload(server: &Server, seed: &str) -> String {
    let address = uploader(server, seed);
    let (status, answer) = post(server, &address, TEXTURE);
    assert!(status == 200 && answer.contains("<string>complete</string>"), "{answer}");
    between(&answer, "<key>new_asset</key><uuid>", "</uuid>").to_owned()
}

/// The metrics follow within seconds.
fn counts_one(server: &Server, outcome: &str) {
    let name = format!(r#"throng_uploads_total{{kind="texture",outcome="{outcome}"}}"#);
    server.wait_until("the upload is counted", |server| server.metric(&name) == Some(1.0));
}

#[test]
fn an_upload_that_was_answered_outlives_a_server_that_is_killed() {
    let mut server = Server::start();
    let seed = enter(&server);
    let mut texture = TEXTURE.to_vec();
    texture.resize(TEXTURE_BYTES, 0);

    let address = uploader(&server, &seed);
    let (status, answer) = post(&server, &address, &texture);
    assert!(status == 200 && answer.contains("<string>complete</string>"), "{answer}");
    counts_one(&server, "stored");
    assert_eq!(server.metric("throng_upload_bytes"), Some(0.0));
    server.kill();

    let asset = between(&answer, "<key>new_asset</key><uuid>", "</uuid>");
    let item = between(&answer, "<key>new_inventory_item</key><uuid>", "</uuid>");
    server.start_again();
    let seed = enter(&server);
    let (status, stored) = server.get_public_bytes(&format!("{seed}/ViewerAsset/?texture_id={asset}"));
    assert!(status == 200 && stored == texture, "{status}, {} bytes", stored.len());
    let items = format!(
        "<llsd><map><key>items</key><array><map><key>item_id</key><uuid>{item}</uuid></map></array></map></llsd>"
    );
    let (status, found) = post(&server, &format!("{seed}/FetchInventory2"), items.as_bytes());
    assert!(status == 200 && found.contains("<string>Oak</string>") && found.contains(asset), "{found}");
    assert_eq!(post(&server, &address, TEXTURE).0, 404, "an address ends with its session");
}

#[test]
fn a_refused_upload_has_a_reason_and_uses_its_address_up() {
    let server = Server::start();
    let seed = enter(&server);
    let address = uploader(&server, &seed);
    let (status, answer) = post(&server, &address, &vec![7; TEXTURE_BYTES]);
    assert!(status == 200 && answer.contains("<string>error</string>"), "{answer}");
    let why = between(&answer, "<key>error</key>", "</map>");
    assert!(why.contains("The upload is refused: the texture is not a JPEG 2000 codestream."), "{why}");
    assert_eq!(post(&server, &address, TEXTURE).0, 404, "the address is used up");
    counts_one(&server, "refused");
}
