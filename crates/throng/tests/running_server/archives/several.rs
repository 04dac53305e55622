//! Archives of several regions: all regions of a server in one, and each of them out of it.

use super::reports::{check, number, rows};
use super::sample::{Sample, write_oar};
use super::{account, differences, json_of, text_of};
use crate::regions::{fails, get, run};
use crate::server::Server;
use serde_json::{Value, json};
use std::path::Path;

/// Side by side, so that each has a column of its own in an archive.
const CONFIG: &str = "[[region]]\nname = \"Harbour\"\nx = 1000\ny = 1000\n\
    [[region]]\nname = \"Meadow\"\nx = 1001\ny = 1000\n";

/// Linksets of each region.
fn n_objects(server: &Server) -> [u64; 2] {
    ["Harbour", "Meadow"]
        .map(|region| number(&get(server, &format!("/{region}/objects?limit=1")), "matching"))
}

fn load(server: &Server, file: &Path, region: &str, words: &[&str]) -> Value {
    let all = ["oar", "load", text_of(file), "--region", region, "--keep-ids", "--json"];
    json_of(&run(server, &[&all[..], words].concat()))
}

#[test]
fn all_regions_are_in_one_archive_and_each_comes_out_of_it() {
    let server = Server::start_with(CONFIG);
    let (owner, _) = account(&server);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (region, n_objects, first) in [("Harbour", 3, 0x100), ("Meadow", 5, 0x900)] {
        let file = path(&format!("{region}.oar"));
        write_oar(&file, &Sample { version: (0, 8), owner: &owner, n_objects, first });
        load(&server, &file, region, &[]);
    }
    assert_eq!(n_objects(&server), [3, 5]);

    let [all, again] = ["all.oar", "again.oar"].map(path);
    let save = |file: &Path| json_of(&run(&server, &["oar", "save", text_of(file), "--all", "--json"]));
    let saved = save(&all);
    assert_eq!(json!([saved["objects"], saved["prims"], saved["missing"]]), json!([8, 16, 0]), "{saved}");
    let checked = check("oar", &all);
    let regions = rows(&checked, "regions").iter().map(|region| (&region["directory"], &region["objects"]));
    let regions: Vec<Value> = regions.map(|(directory, objects)| json!([directory, objects])).collect();
    assert_eq!(regions, [json!(["1_1_Harbour", 3]), json!(["2_1_Meadow", 5])], "{checked}");
    assert_eq!(json!([checked["unreadable"], checked["assets"]]), json!([0, 1]), "one texture of both");

    // Each region gets its own, also by the name of the folder.
    assert_eq!(load(&server, &all, "Harbour", &[])["objects"], 3);
    assert_eq!(load(&server, &all, "Meadow", &["--source", "2_1_Meadow"])["objects"], 5);
    save(&again);
    for difference in differences(&all, &again) {
        let of = difference["path"].as_str().unwrap();
        assert!(of.starts_with("archive.xml"), "{difference}");
    }

    // Or another one.
    assert_eq!(load(&server, &all, "Harbour", &["--source", "Meadow"])["objects"], 5);
    assert_eq!(load(&server, &all, "Meadow", &["--source", "harbour"])["objects"], 3);
    assert_eq!(n_objects(&server), [5, 3]);
    let none = ["oar", "load", text_of(&all), "--region", "Harbour", "--source", "Hills"];
    fails(&run(&server, &none), 1, "there are: 1_1_Harbour, 2_1_Meadow");
    assert_eq!(n_objects(&server), [5, 3], "nothing has changed");
}
