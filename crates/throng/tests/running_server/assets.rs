//! Assets over the operator's address: counts, quarantine and its end, and the report on those that nothing names.

use crate::regions::{fails, out, run};
use crate::server::Server;
use crate::uploads::{TEXTURE, enter, upload};
use serde_json::{Value, json};
use std::fs;

fn told(server: &Server, words: &[&str]) -> Value {
    serde_json::from_str(&out(&run(server, words))).unwrap()
}

#[test]
fn a_damaged_file_is_in_quarantine_until_it_is_restored_and_verified() {
    let server = Server::start();
    let asset = upload(&server, &enter(&server));
    let shown = told(&server, &["assets", "show", &asset, "--json"]);
    assert_eq!((&shown["kind"], &shown["bytes"]), (&json!("texture"), &json!(TEXTURE.len())));
    assert_eq!((&shown["damage"], &shown["used_s"]), (&Value::Null, &Value::Null));
    let hash = shown["hash"].as_str().unwrap();
    let file = server.data.path().join("assets").join(&hash[..2]).join(hash);
    let quarantined = |server: &Server| told(server, &["assets", "list", "--json"])["quarantined"].clone();
    assert_eq!(quarantined(&server), 0);

    fs::write(&file, b"damaged").unwrap();
    let verified = run(&server, &["assets", "verify", &asset]);
    let text = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.code() == Some(1) && text.starts_with("It is damaged: its 7 bytes"), "{text}");
    let listed = told(&server, &["assets", "list", "--json"]);
    assert_eq!((&listed["quarantined"], &listed["quarantine"][0]["assets"]), (&json!(1), &json!([asset])));
    assert!(out(&run(&server, &["assets", "list"])).contains(&format!("quarantine {asset}: its 7 bytes")));

    fs::write(&file, TEXTURE).unwrap();
    assert_eq!(out(&run(&server, &["assets", "verify", &asset])), "Its bytes match their hash.\n");
    assert_eq!(quarantined(&server), 0);
    let nothing = "00000000-0000-0000-0000-000000000009";
    fails(&run(&server, &["assets", "show", nothing]), 1, "No asset with the id");
    fails(&run(&server, &["assets", "verify", nothing]), 1, "No asset with the id");
}

#[test]
fn a_report_leaves_out_what_an_item_names() {
    let server = Server::start();
    let asset = upload(&server, &enter(&server));
    let created_s = told(&server, &["assets", "show", &asset, "--json"])["created_s"].as_i64().unwrap();
    let newest_job = || told(&server, &["jobs", "list", "--json"])["jobs"][0].clone();
    // A report leaves out the assets of the second in which it begins.
    let report = loop {
        let report = told(&server, &["assets", "report", "--json"]);
        if newest_job()["started_s"].as_i64().unwrap() > created_s {
            break report;
        }
    };
    assert!(report["assets"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!((&report["unreferenced"], &report["unread"]), (&json!(0), &json!(0)), "{asset} in {report}");
    let text = out(&run(&server, &["assets", "report"]));
    assert!(text.contains("Nothing names 0 of ") && text.ends_with("Nothing was deleted.\n"), "{text}");
    let job = newest_job();
    assert_eq!((&job["kind"], &job["state"]), (&json!("asset_report"), &json!("done")));
    assert_eq!(server.exchange(&format!("GET /v1/asset-reports/{}", job["id"]), "").0, 200);
    assert_eq!(server.exchange("GET /v1/asset-reports/999", "").0, 404);
}
