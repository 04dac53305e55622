//! Backups of a running server, their restore and rehearsal, and the jobs that make them.

use crate::regions::{fails, out, run, server_with_objects};
use crate::server::{Server, throng};
use crate::uploads::{TEXTURE, enter, upload};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap()
}

/// Id, name, region and place of each object.
fn objects(server: &Server) -> Vec<Value> {
    let listed = json_of(&run(server, &["objects", "list", "--json"]));
    let objects = listed["objects"].as_array().unwrap().iter();
    objects
        .map(|object| json!([object["id"], object["name"], object["region"], object["position"]]))
        .collect()
}

/// The one file with the bytes of the texture, below a folder of assets.
fn texture_file(assets: &Path) -> PathBuf {
    let folders = fs::read_dir(assets).unwrap().map(|folder| folder.unwrap().path());
    let files = folders.filter(|folder| folder.is_dir()).flat_map(|folder| {
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>()
    });
    let mut files = files.filter(|file| fs::read(file).unwrap() == TEXTURE);
    files.next().expect("a file with the texture")
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes[100] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// `throng restore` with words and paths.
fn restore(backups: &Path, words: &[&str], to: Option<&Path>) -> Output {
    let mut command = throng();
    command.arg("restore").arg(backups).args(words);
    if let Some(to) = to {
        command.arg("--to").arg(to);
    }
    command.output().unwrap()
}

#[test]
fn a_backup_of_a_running_server_is_restored_with_equal_content() {
    let (mut server, file) = server_with_objects();
    let asset = upload(&server, &enter(&server));
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    let directory = backups.to_str().unwrap();

    // While the region changes.
    let mut first = throng();
    first.args(["backup", directory, "--json", "--data"]).arg(server.data.path());
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    out(&run(&server, &["region", "import", "Harbour", file.to_str().unwrap()]));
    let first = json_of(&first.wait_with_output().unwrap());
    assert_eq!((&first["whole"], &first["assets"], &first["missing"]), (&json!(true), &json!(1), &json!(0)));
    assert_eq!(first["copied_files"], 1);

    // The files of the first are not copied again.
    out(&run(&server, &["region", "save", "Harbour"]));
    let second = json_of(&run(&server, &["backup", directory, "--json"]));
    assert_eq!((&second["copied_files"], &second["objects"]), (&json!(0), &json!(6)));
    let verified = json_of(&run(&server, &["verify", "--deep", "--json"]));
    assert_eq!(
        json!([verified["assets"], verified["objects"], verified["damaged"], verified["missing"]]),
        json!([1, 6, 0, 0])
    );
    assert!(verified["verified_at"].is_string() && verified["faults"] == json!([]), "{verified}");

    let data = tempfile::tempdir().unwrap();
    let restored = json_of(&restore(&backups, &["--json"], Some(data.path())));
    assert_eq!(
        (&restored["backup"], &restored["objects"], &restored["differences"]),
        (&second["backup"], &json!(6), &json!(0))
    );
    fails(&restore(&backups, &[], Some(data.path())), 1, "is not empty");
    fails(&restore(&backups, &[], Some(server.data.path())), 1, "in use by the server");
    fs::copy(server.data.path().join("throng.toml"), data.path().join("throng.toml")).unwrap();
    let copy = Server::start_on(data);
    assert_eq!(objects(&copy), objects(&server));
    let seed = enter(&copy);
    let (status, bytes) = copy.get_public_bytes(&format!("{seed}/ViewerAsset/?texture_id={asset}"));
    assert!(status == 200 && bytes == TEXTURE, "{status}, {} bytes", bytes.len());

    // Numbers and outcomes of jobs outlive the server, and none is used twice.
    let jobs = json_of(&run(&server, &["jobs", "list", "--json"]));
    let ended: Vec<Value> = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| json!([job["id"], job["kind"], job["state"]]))
        .collect();
    assert_eq!(
        ended,
        [json!([3, "verification", "done"]), json!([2, "backup", "done"]), json!([1, "backup", "done"])]
    );
    assert_eq!(server.terminate(), Some(0));
    server.start_again();
    assert_eq!(json_of(&run(&server, &["jobs", "list", "--json"])), jobs);
    let shown = json_of(&run(&server, &["jobs", "show", "2", "--json"]));
    assert_eq!(shown["result"]["backup"], second["backup"]);
    fails(&run(&server, &["jobs", "cancel", "2"]), 1, "Job 2 is done already");
    fails(&run(&server, &["jobs", "show", "999"]), 1, "There is no job 999");
    let third = json_of(&run(&server, &["verify", "--json"]));
    assert_eq!(third["job"], 4);
}

#[test]
fn a_flipped_byte_is_found_in_the_data_and_in_a_backup() {
    let (mut server, _) = server_with_objects();
    let asset = upload(&server, &enter(&server));
    assert_eq!(server.terminate(), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    // Without a server, the command does the work itself.
    let made = json_of(&run(&server, &["backup", directory, "--json"]));
    assert_eq!((&made["whole"], &made["job"], &made["objects"]), (&json!(true), &Value::Null, &json!(3)));
    let text = out(&run(&server, &["verify", "--deep"]));
    assert!(text.contains("3 objects; 0 damaged, 0 missing."), "{text}");

    let config = server.data.path().join("throng.toml");
    let words = ["--rehearse", "--json", "--config", config.to_str().unwrap()];
    let rehearsed = json_of(&restore(folder.path(), &words, None));
    assert_eq!((&rehearsed["worlds"], &rehearsed["differences"]), (&json!(["Harbour"]), &json!(0)));
    assert!(!folder.path().join("rehearsal").exists(), "it is thrown away");

    flip(&texture_file(&server.data.path().join("assets")));
    let shallow = json_of(&run(&server, &["verify", "--json"]));
    assert_eq!(shallow["damaged"], 0);
    let deep = run(&server, &["verify", "--deep", "--json"]);
    assert_eq!(deep.status.code(), Some(1));
    let deep: Value = serde_json::from_slice(&deep.stdout).unwrap();
    let fault = &deep["faults"][0];
    assert_eq!(
        (&deep["damaged"], &fault["fault"], &fault["part"]),
        (&json!(1), &json!("damaged"), &json!("asset"))
    );
    assert_eq!((&fault["id"], &fault["owner_name"]), (&json!(asset), &json!("Ada Resident")));

    flip(&texture_file(&folder.path().join("assets")));
    let to = tempfile::tempdir().unwrap();
    let restored = restore(folder.path(), &[], Some(to.path()));
    let text = String::from_utf8_lossy(&restored.stdout);
    assert!(restored.status.code() == Some(1) && text.contains(&format!("damaged asset {asset}")), "{text}");
    let rehearsed = restore(folder.path(), &words, None);
    assert_eq!(rehearsed.status.code(), Some(1));

    // The next backup has nothing to replace it with, and is not whole.
    let made = run(&server, &["backup", directory, "--json"]);
    assert_eq!(made.status.code(), Some(1));
    fails(&run(&server, &["verify", "--wrong"]), 2, "--wrong");
    fails(
        &restore(folder.path(), &["--backup", "20010101T000000Z"], Some(to.path())),
        1,
        "there is no backup",
    );
}

#[test]
fn jobs_of_the_configured_directory_show_their_ages_end_when_they_are_cancelled_and_fail_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("backups");
    // Without a schedule, which would order the same.
    let config = format!(
        "[backup]\ndirectory = \"{}\"\nevery_h = 0\nrehearse_every_h = 0\n[[region]]\nname = \"Harbour\"\n",
        directory.to_str().unwrap()
    );
    let mut server = Server::start_with(&config);
    let ask = |server: &Server, head: &str| -> Value {
        let (status, answer) = server.exchange(head, "{}");
        assert_eq!(status, 200, "{head}: {answer}");
        serde_json::from_str(&answer).unwrap()
    };
    let end_of = |server: &Server, id: &Value| {
        let waited = || ask(server, &format!("GET /v1/jobs/{id}?wait_s=30"));
        let is_over = |job: &Value| !matches!(job["state"].as_str(), Some("queued" | "running"));
        (0..10).map(|_| waited()).find(is_over).expect("an end within five minutes")
    };
    assert_eq!(server.metric("throng_backup_age_seconds"), None);
    assert_eq!(server.ask("GET /healthz/ready", ""), "ok\n");

    let token = server.run("token create --name keeper --scope backup").unwrap();
    let order = |head: &str, body: &str| server.exchange_as(Some(token.trim()), head, body);
    assert_eq!(order("POST /v1/backups", &json!({ "directory": folder.path() }).to_string()).0, 403);
    let (status, ordered) = order("POST /v1/backups", "{}");
    assert_eq!(status, 200, "{ordered}");
    let ordered: Value = serde_json::from_str(&ordered).unwrap();
    assert_eq!((&ordered["kind"], &ordered["author"]), (&json!("backup"), &json!("keeper")));
    assert_eq!(end_of(&server, &ordered["id"])["state"], "done");
    server.wait_until("the age of a backup", |server| server.metric("throng_backup_age_seconds").is_some());
    assert_eq!(server.metric("throng_rehearsal_age_seconds"), None);
    let (status, refused) = server.exchange("POST /v1/backups", r#"{"directory": "backups"}"#);
    assert!(status == 409 && refused.contains("no whole path"), "{status} {refused}");

    let rehearsal = ask(&server, "POST /v1/rehearsals");
    let done = end_of(&server, &rehearsal["id"]);
    assert_eq!((&done["state"], &done["result"]["worlds"]), (&json!("done"), &json!(["Harbour"])));
    server.wait_until("its age", |server| server.metric("throng_rehearsal_age_seconds").is_some());
    let listed = ask(&server, "GET /v1/backups");
    let row = &listed["backups"][0];
    assert_eq!((&row["whole"], &row["rehearsal_succeeded"]), (&json!(true), &json!(true)));
    assert!(listed["late"] == json!([]) && listed["newest_whole_s"] == row["cut_s"], "{listed}");

    // A rehearsal takes longer than two requests: its worlds run for more than a second.
    let rehearsal = ask(&server, "POST /v1/rehearsals");
    let (status, refused) = server.exchange("POST /v1/rehearsals", "{}");
    assert!(status == 409 && refused.contains("Refused"), "{status} {refused}");
    out(&run(&server, &["jobs", "cancel", &rehearsal["id"].to_string()]));
    assert_eq!(end_of(&server, &rehearsal["id"])["state"], "cancelled");

    let rehearsal = ask(&server, "POST /v1/rehearsals");
    server.kill();
    server.start_again();
    let cut_short = ask(&server, &format!("GET /v1/jobs/{}", rehearsal["id"]));
    assert_eq!((&cut_short["state"], &cut_short["outcome"]), (&json!("failed"), &json!("the server ended")));
    // The remains of its scratch directory do not matter.
    let rehearsal = ask(&server, "POST /v1/rehearsals");
    assert_eq!(end_of(&server, &rehearsal["id"])["state"], "done");
}
