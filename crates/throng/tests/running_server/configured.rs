//! Regions that commands create, remove and rename in the configuration file, as `docs/operating/land.md` has it.

use crate::regions::{fails, get, out, run};
use crate::server::{Server, throng};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

const CONFIG: &str =
    "# Ours.\n\n[[region]]\nname = \"Harbour\" # by the sea\n\n[[region]]\nname = \"Quay\"\nx = 1020\n";

fn told(server: &Server, words: &[&str]) -> Value {
    serde_json::from_str(&out(&run(server, words))).unwrap()
}

fn file(server: &Server) -> String {
    fs::read_to_string(server.data.path().join("throng.toml")).unwrap()
}

fn restart(server: &mut Server) {
    assert_eq!(server.terminate(), Some(0));
    server.start_again();
}

/// Names, changes and states that the list has besides regions that run.
fn pending(server: &Server) -> Vec<(String, String, String)> {
    let list = told(server, &["region", "list", "--json"]);
    let text = |change: &Value, key: &str| change[key].as_str().unwrap().to_owned();
    let changes = list["changes"].as_array().unwrap().iter();
    changes.map(|change| (text(change, "name"), text(change, "change"), text(change, "state"))).collect()
}

fn running(server: &Server) -> Vec<(String, u64)> {
    let list = get(server, "");
    let region = |row: &Value| (row["name"].as_str().unwrap().to_owned(), row["world"].as_u64().unwrap());
    list.as_array().unwrap().iter().map(region).collect()
}

fn pairs(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
}

#[test]
fn created_and_renamed_regions_begin_with_the_next_start() {
    let mut server = Server::start_with(CONFIG);
    // Kept content of the region that is renamed.
    out(&run(&server, &["terrain", "fill", "31", "--region", "Harbour"]));
    let place = get(&server, "/Harbour");
    // An account, by its first login.
    assert_eq!(server.visit()["logins_ok"], 1);
    let created = told(
        &server,
        &[
            "region",
            "create",
            "Old Town",
            "--size",
            "512",
            "--water",
            "20.5",
            "--owner",
            "bot0001 late",
            "--json",
        ],
    );
    let key = |key: &str| created[key].clone();
    assert_eq!(
        [key("region"), key("change"), key("state"), key("number"), key("x"), key("size_m"), key("objects")],
        [
            json!("Old Town"),
            json!("create"),
            json!("pending restart"),
            json!(3),
            json!(1029),
            json!(512),
            json!(0)
        ]
    );
    let text = out(&run(&server, &["region", "rename", "harbour", "Port"]));
    assert!(text.starts_with("Harbour is called Port") && text.contains("A restart of the server"), "{text}");
    let expected = CONFIG.replace(
        "name = \"Harbour\" # by the sea\n",
        "name = \"Port\" # by the sea\nformer_name = \"Harbour\"\n",
    ) + "\n[[region]]\nname = \"Old Town\"\nid = 3\nestate_owner = \"Bot0001 Late\"\nx = 1029\ny = 1000\nsize_m = 512\nwater_m = 20.5\n";
    assert_eq!(file(&server), expected);
    let state = |name: &str, change: &str| (name.to_owned(), change.to_owned(), "pending restart".to_owned());
    assert_eq!(pending(&server), [state("Port", "rename"), state("Old Town", "create")]);
    let text = out(&run(&server, &["region", "list"]));
    assert!(text.contains("Harbour  pending restart: is called Port\n"), "{text}");
    assert_eq!(running(&server), pairs(&[("Harbour", 1), ("Quay", 2)]), "it is not applied yet");

    restart(&mut server);
    assert_eq!(running(&server), pairs(&[("Port", 1), ("Quay", 2), ("Old Town", 3)]));
    assert!(pending(&server).is_empty());
    let port = get(&server, "/Port");
    assert_eq!((&port["id"], &port["x"]), (&place["id"], &place["x"]), "landmarks lead there");
    let ground = server.data.path().join("port.r32");
    out(&run(&server, &["terrain", "save", ground.to_str().unwrap(), "--region", "Port"]));
    assert!(fs::read(&ground).unwrap().chunks(4).all(|height| height == 31_f32.to_le_bytes()));
    assert_eq!(get(&server, "/Old Town".replace(' ', "%20").as_str())["region"]["size_m"], 512);

    // Again, without the former name of the first time. The content is stored under the present one by then.
    out(&run(&server, &["region", "save", "Port"]));
    out(&run(&server, &["region", "rename", "Port", "Harbour"]));
    assert!(
        file(&server).contains("name = \"Harbour\" # by the sea\nformer_name = \"Port\"\n"),
        "{}",
        file(&server)
    );
    restart(&mut server);
    assert_eq!(running(&server)[0], ("Harbour".to_owned(), 1));
}

#[test]
fn content_of_a_removed_region_stays_until_its_end_is_stated() {
    let mut server = Server::start_with(CONFIG);
    out(&run(&server, &["terrain", "fill", "31", "--region", "Harbour"]));
    out(&run(&server, &["region", "save", "Harbour"]));
    fails(&run(&server, &["region", "remove", "Harbour", "--delete-content"]), 1, "Harbour is configured");
    let removed = told(&server, &["region", "remove", "Harbour", "--json"]);
    assert_eq!((&removed["change"], &removed["state"]), (&json!("remove"), &json!("pending restart")));
    // The number that followed from the position stays.
    assert_eq!(file(&server), "# Ours.\n\n[[region]]\nname = \"Quay\"\nx = 1020\nid = 2\n");
    fails(
        &run(&server, &["region", "remove", "Harbour", "--delete-content"]),
        1,
        "runs until the server restarts",
    );
    fails(&run(&server, &["region", "remove", "Harbour"]), 1, "is not in the configuration file any more");
    fails(&run(&server, &["region", "remove", "Quay"]), 1, "the only region");

    restart(&mut server);
    assert_eq!(running(&server), pairs(&[("Quay", 2)]));
    let list = told(&server, &["region", "list", "--json"]);
    assert_eq!(list["not_configured"], json!([{ "name": "Harbour", "number": 1, "objects": 0 }]));
    fails(&run(&server, &["region", "remove", "Harbour"]), 1, "--delete-content");
    // The land of the content is that of a region of 256 m.
    for size in ["512", "1024"] {
        let other = run(&server, &["region", "create", "Harbour", "--size", size]);
        fails(&other, 1, "State the size that it had");
    }
    let again = told(&server, &["region", "create", "harbour", "--at", "1000,1000", "--json"]);
    assert_eq!((&again["number"], &again["state"]), (&json!(1), &json!("pending restart")));
    restart(&mut server);
    let ground = server.data.path().join("harbour.r32");
    out(&run(&server, &["terrain", "save", ground.to_str().unwrap(), "--region", "Harbour"]));
    assert!(fs::read(&ground).unwrap().chunks(4).all(|height| height == 31_f32.to_le_bytes()));

    out(&run(&server, &["region", "remove", "Harbour"]));
    restart(&mut server);
    let text = out(&run(&server, &["region", "remove", "Harbour", "--delete-content"]));
    assert!(text.contains("(number 1) is deleted"), "{text}");
    assert_eq!(told(&server, &["region", "list", "--json"])["not_configured"], json!([]));
    fails(
        &run(&server, &["region", "remove", "Harbour", "--delete-content"]),
        1,
        "There is no region \"Harbour\"",
    );
    let fresh = told(&server, &["region", "create", "Harbour", "--at", "1000,1000", "--json"]);
    assert_eq!(fresh["number"], json!(3));
}

#[test]
fn a_server_would_start_with_each_file_that_an_order_leaves() {
    let server = Server::start_with(CONFIG);
    let before = file(&server);
    let cases: [(&[&str], &str); 9] = [
        (&["create", "quay"], "is the name of region[1] already"),
        (&["create", "Pier", "--at", "1020,1000"], "overlaps region[1] (\"Quay\") on the map"),
        (&["create", "a\u{202e}b"], "without control characters"),
        (&["create", "Pier", "--size", "300"], "must be a multiple of 256"),
        (&["create", "Pier", "--at", "0,1000"], "x: at least 1"),
        (&["create", "Pier", "--owner", "Eve Byron"], "There is no account \"Eve Byron\""),
        (&["rename", "Harbour", "Quay"], "already"),
        (&["rename", "Harbor", "Port"], "the nearest is \"Harbour\""),
        (&["remove", "Atlantis"], "There is no region \"Atlantis\""),
    ];
    for (words, told) in cases {
        fails(&run(&server, &[&["region"][..], words].concat()), 1, told);
        assert_eq!(file(&server), before, "{words:?}");
    }
    fails(&run(&server, &["region", "create", "Pier", "--at", "here"]), 2, "looks like 1020,1000");
    // A file that is wrong by now is left alone, and told.
    let path = server.data.path().join("throng.toml");
    let wrong = format!("{CONFIG}size = 3\n");
    fs::write(&path, &wrong).unwrap();
    fails(&run(&server, &["region", "create", "Pier"]), 1, "is not valid as it is now: `region[1].size`");
    assert_eq!(file(&server), wrong);
    let list = told(&server, &["region", "list", "--json"]);
    assert!(list["problem"].as_str().unwrap().contains("region.size_m"), "{list}");
}

#[test]
fn established_commands_of_regions_edit_the_file() {
    let server = Server::start_with(CONFIG);
    let script = server.data.path().join("regions.txt");
    fs::write(&script, "create region Pier\nremove-region Harbour\nshow regions\ndelete-region Harbour\n")
        .unwrap();
    let words = ["console", "--exec", script.to_str().unwrap()];
    let output = run(&server, &words);
    let stdout = String::from_utf8_lossy(&output.stdout);
    fails(&output, 1, "Harbour runs until the server restarts");
    assert!(stdout.contains("Pier  256 m  at 1029, 1000  pending restart: begins\n"), "{stdout}");
    assert!(stdout.contains("Harbour  pending restart: is removed, and its content stays\n"), "{stdout}");
}

#[test]
fn a_server_without_a_file_names_the_option() {
    let data = tempfile::tempdir().unwrap();
    let mut server = throng()
        .args(["serve", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(server.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let region =
        |words: &[&str]| throng().arg("region").args(words).arg("--data").arg(data.path()).output().unwrap();
    let refused =
        [region(&["create", "Pier"]), region(&["remove", "Harbour"]), region(&["rename", "Harbour", "Port"])];
    let list = region(&["list"]);
    server.kill().unwrap();
    server.wait().unwrap();
    for output in &refused {
        fails(output, 1, "`--config FILE`");
    }
    assert!(out(&list).ends_with("2 regions\n"));
}
