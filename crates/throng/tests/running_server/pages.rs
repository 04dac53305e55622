//! The plain requests of the two pages: how they find each other, and the objects on a region's map.

use crate::server::Server;
use serde_json::{Value, json};

const CONFIG: &str = r#"
[[region]]
name = "Harbour"
terrain = "flat"
boxes = 3

[[portal]]
from = "Harbour"
x = 200
y = 128
to = "Cave"

[[template]]
name = "Cave"
terrain = "flat"
"#;

fn json_of((status, body): (u16, String)) -> Value {
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

#[test]
fn the_pages_link_to_each_other() {
    let server = Server::start_with(CONFIG);
    let public = json_of(server.get_public("/api/info"));
    assert_eq!(public["worlds_uri"], format!("http://{}/worlds", server.admin()));
    let operators = json_of(server.exchange_as(None, "GET /api/info", ""));
    assert_eq!((&operators["login_uri"], &operators["grid"]), (&json!(server.login_uri()), &public["grid"]));
}

#[test]
fn a_map_has_the_boxes_and_portals_of_its_region() {
    let server = Server::start_with(CONFIG);
    let objects = json_of(server.get_public("/regions/0/objects"));
    // An arch over the portal is three more.
    assert_eq!((&objects["n_boxes"], objects["boxes"].as_array().map(Vec::len)), (&json!(6), Some(6)));
    assert_eq!(objects["portals"], json!([{ "x": 200.0, "y": 128.0, "radius_m": 1.5, "to": "Cave" }]));
    assert_eq!(server.get_public("/regions/1/objects").0, 404);
}
