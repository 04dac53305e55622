//! Uploads by capabilities: long bodies, and their assets behind the end of a server.

mod without_database;

use crate::foreign_pages::login;
use crate::regions::{out, run};
use crate::server::Server;
use std::fs;
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

/// A texture of this number of bytes more than the first one, which has other content then.
fn longer_texture(bytes: usize) -> Vec<u8> {
    let mut texture = TEXTURE.to_vec();
    texture.resize(TEXTURE.len() + bytes, 0);
    texture
}

/// Uploads a texture, and expects the server to refuse it for such a reason.
fn is_refused_for(server: &Server, address: &str, texture: &[u8], reason: &str) {
    let (status, answer) = post(server, address, texture);
    assert!(status == 200 && answer.contains("<string>error</string>"), "{answer}");
    assert!(answer.contains(&format!("The upload is refused: {reason}")), "{answer}");
    assert!(!answer.contains("new_asset"), "{answer}");
}

/// The bytes of an asset as clients get them.
fn served(server: &Server, seed: &str, asset: &str) -> (u16, Vec<u8>) {
    server.get_public_bytes(&format!("{seed}/ViewerAsset/?texture_id={asset}"))
}

#[test]
fn uploads_that_the_disk_does_not_take_are_refused_and_those_that_were_answered_are_kept() {
    let mut server = Server::start();
    let seed = enter(&server);
    let kept = upload(&server, &seed);
    assert_eq!(served(&server, &seed, &kept).0, 200);
    // The mode of a folder does not bind root. A file in its place takes no file of any user.
    let folder = server.data.path().join("assets");
    let aside = server.data.path().join("assets.aside");
    fs::rename(&folder, &aside).unwrap();
    fs::write(&folder, b"").unwrap();
    let texture = longer_texture(1);
    std::thread::scope(|scope| {
        for bytes in 1..4 {
            let (server, seed) = (&server, &seed);
            scope.spawn(move || {
                let address = uploader(server, seed);
                let reason = "the bytes of the asset could not be stored: error while writing the bytes";
                is_refused_for(server, &address, &longer_texture(bytes), reason);
            });
        }
    });
    server.wait_until("none waits", |server| server.metric("throng_upload_bytes") == Some(0.0));
    assert_eq!(served(&server, &seed, &kept), (200, TEXTURE.to_vec()), "from the cache");
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();

    let (status, answer) = post(&server, &uploader(&server, &seed), &texture);
    assert!(status == 200 && answer.contains("<string>complete</string>"), "{answer}");
    let later = between(&answer, "<key>new_asset</key><uuid>", "</uuid>");
    server.kill();
    server.start_again();
    let seed = enter(&server);
    assert_eq!(served(&server, &seed, &kept), (200, TEXTURE.to_vec()));
    assert_eq!(served(&server, &seed, later), (200, texture));
    out(&run(&server, &["verify", "--deep"]));
}
