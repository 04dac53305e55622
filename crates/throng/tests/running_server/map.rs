//! Pictures of the map over HTTP, and the capability that lists them.

use crate::foreign_pages::login;
use crate::regions::server_with_objects;
use crate::server::Server;
use gateway::region_map::{MapScene, RegionMap, SIDE};
use link::{GroundSpec, Terrain};
use std::sync::Arc;
use wire::llsd::{Limits, Llsd, xml};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

/// A region of one square, and one of four.
const CONFIG: &str = r#"
[[region]]
name = "Harbour"
seed = 3
x = 1000
y = 1010

[[region]]
name = "Meadows"
size_m = 512
seed = 7
x = 1003
y = 1020
"#;

/// Text between two marks.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before} is not in {text}"));
    rest.split_once(after).expect("an end").0
}

/// A login: the address of the map's pictures, and the seed capability as a path.
fn enter(server: &Server) -> (String, String) {
    let (status, reply) = server.request(&login("Ada", ""));
    assert_eq!(status, 200, "{reply}");
    let pictures = between(&reply, "<name>map-server-url</name><value><string>", "<").to_owned();
    (pictures, format!("/cap/{}", between(&reply, "/cap/", "<")))
}

/// The picture of a region of 256 m as it is described.
fn described(seed: u64) -> RegionMap {
    let ground = GroundSpec::new(Arc::new(Terrain::hills(256, seed)), Arc::default(), 20.0);
    RegionMap::draw(&MapScene::described(&ground)).unwrap()
}

/// Calls the capability MapLayer.
fn map_layers(server: &Server, seed: &str, body: &str) -> (u16, String) {
    let (status, answer) = server.request(&format!(
        "POST {seed}/MapLayer HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
         Content-Type: application/llsd+xml\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

#[test]
fn a_region_is_drawn_again_when_its_objects_have_changed() {
    let (server, _) = server_with_objects();
    let (pictures, seed) = enter(&server);
    let folder = pictures.strip_prefix(server.login_uri()).expect("an address of the server").to_owned();
    let bare = described(1);
    server.wait_until("the picture has the objects", |server| {
        let (status, jpeg) = server.get_public_bytes(&format!("/{folder}map-1-1000-1000-objects.jpg"));
        status == 200 && Some(&*jpeg) != bare.square(0, 0)
    });
    let (_, answer) =
        map_layers(&server, &seed, "<llsd><map><key>Flags</key><integer>2</integer></map></llsd>");
    let answer = xml::decode(answer.as_bytes(), Limits::REPLY).expect("LLSD");
    let image = answer.get("LayerData").at(0).get("ImageID").as_uuid().expect("an id");
    assert_ne!(image, bare.id);
    let texture = |id| server.get_public_bytes(&format!("{seed}/GetTexture?texture_id={id}")).0;
    assert_eq!((texture(image), texture(bare.id)), (200, 200), "the picture and the former one");
}

#[test]
fn each_grid_square_of_a_region_has_its_picture_under_the_address_of_the_login() {
    let server = Server::start_with(CONFIG);
    let (pictures, _) = enter(&server);
    let folder = pictures.strip_prefix(server.login_uri()).expect("an address of the server");
    let get = |x: u32, y: u32| server.get_public_bytes(&format!("/{folder}map-1-{x}-{y}-objects.jpg"));
    let regions = [((1_000, 1_010), (256, 3)), ((1_003, 1_020), (512, 7))];
    for ((left, bottom), (size_m, seed)) in regions {
        let ground = GroundSpec::new(Arc::new(Terrain::hills(size_m, seed)), Arc::default(), 20.0);
        let drawn = RegionMap::draw(&MapScene::described(&ground)).unwrap();
        let squares = size_m / 256;
        for (x, y) in (0..squares * squares).map(|n| (n % squares, n / squares)) {
            let (status, jpeg) = get(left + x, bottom + y);
            assert_eq!(status, 200, "square {x} {y} of {size_m} m");
            assert!(Some(&*jpeg) == drawn.square(x, y), "square {x} {y} of {size_m} m has another's picture");
            let mut decoder = JpegDecoder::new(ZCursor::new(&jpeg));
            let pixels = decoder.decode().expect("a whole picture");
            let info = decoder.info().expect("a head");
            assert_eq!((usize::from(info.width), usize::from(info.height)), (SIDE, SIDE));
            assert_eq!(pixels.len(), SIDE * SIDE * 3, "red, green and blue");
        }
        let around =
            [(left - 1, bottom), (left, bottom - 1), (left + squares, bottom), (left, bottom + squares)];
        for (x, y) in around {
            assert_eq!(get(x, y).0, 404, "square {x} {y} beside {size_m} m");
        }
    }
    assert_eq!(server.get_public(&format!("/{folder}map-2-1000-1010-objects.jpg")).0, 404, "not drawn");
}

#[test]
fn the_capability_of_layers_states_the_rectangle_and_picture_of_each_region() {
    let server = Server::start_with(CONFIG);
    let (_, seed) = enter(&server);
    let call = |body: &str| map_layers(&server, &seed, body);
    let (status, answer) = call("<llsd><map><key>Flags</key><integer>2</integer></map></llsd>");
    assert_eq!(status, 200, "{answer}");
    let answer = xml::decode(answer.as_bytes(), Limits::REPLY).expect("LLSD");
    assert_eq!(answer.get("AgentData").get("Flags").as_i32(), Some(2));
    let edges = ["Left", "Right", "Top", "Bottom"];
    let rectangle = |layer: &Llsd| edges.map(|edge| layer.get(edge).as_i32().expect("a number"));
    let layers = answer.get("LayerData").as_array();
    let rectangles: Vec<[i32; 4]> = layers.iter().map(rectangle).collect();
    assert_eq!(rectangles, [[1_000, 1_001, 1_011, 1_010], [1_003, 1_005, 1_022, 1_020]]);
    for layer in layers {
        let image = layer.get("ImageID").as_uuid().expect("an id");
        let path = format!("{seed}/GetTexture?texture_id={image}");
        assert_eq!(server.get_public_bytes(&path).0, 200, "the picture {image}");
    }
    assert_eq!(call("<llsd><string>2</string></llsd>").0, 400);
}
