//! `throng store check` and `copy` as an operator runs them: output, JSON and exit status.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use store::{Store, StoreUrl};
use tempfile::TempDir;
use uuid::Uuid;

fn throng(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_throng")).args(args).output().unwrap()
}

/// Output of a command that has to end with this status.
fn told(status: i32, args: &[&str]) -> String {
    let output = throng(args);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {complaint}");
    if status == 2 { complaint } else { String::from_utf8(output.stdout).unwrap() + &complaint }
}

fn told_json(status: i32, args: &[&str]) -> Value {
    let output = throng(args);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// The database of a former build, with an account and five instances.
fn former() -> TempDir {
    let data = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data-4b808d7/throng.sqlite");
    fs::copy(golden, data.path().join("throng.sqlite")).unwrap();
    data
}

/// The same in the newest version.
fn migrated() -> TempDir {
    let data = former();
    drop(open(&data));
    data
}

fn open(data: &TempDir) -> Store {
    Store::open(&StoreUrl::of_directory(data.path())).unwrap()
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a Value {
    let tables = report["tables"].as_array().expect("a list");
    &tables.iter().find(|one| one["table"] == table).expect("every table is counted")["rows"]
}

#[test]
fn check_counts_the_rows_of_every_table_and_prints_their_hashes() {
    let data = migrated();
    let args = ["store", "check", "--data", text(data.path())];
    let report = told_json(0, &[&args[..], &["--json"]].concat());
    let keys = ["half_copied", "newest", "problems", "store", "tables", "version", "well"];
    assert_eq!(names(&report), keys);
    assert_eq!((&report["well"], &report["half_copied"]), (&json!(true), &json!(false)));
    assert_eq!((&report["problems"], &report["version"]), (&json!([]), &report["newest"]));
    for table in report["tables"].as_array().expect("a list") {
        assert_eq!(names(table), ["hash", "rows", "table"]);
        assert!(table["hash"].as_str().is_some_and(|hash| !hash.is_empty()), "{table}");
    }
    assert_eq!((rows(&report, "accounts"), rows(&report, "instances")), (&json!(1), &json!(5)));
    let lines = told(0, &args);
    assert!(lines.contains(&format!("has schema version {}.", report["version"])), "{lines}");
    for table in report["tables"].as_array().expect("a list") {
        let is_told = |line: &str| {
            line.contains(table["table"].as_str().unwrap()) && line.contains(table["hash"].as_str().unwrap())
        };
        assert!(lines.lines().any(is_told), "{table} is not in {lines}");
    }
}

#[test]
fn check_of_a_database_that_is_not_up_to_date_changes_nothing_and_exits_with_1() {
    let data = former();
    let args = ["store", "check", "--data", text(data.path())];
    for _ in 0..2 {
        let report = told_json(1, &[&args[..], &["--json"]].concat());
        assert_eq!((&report["version"], &report["well"]), (&json!(4), &json!(false)));
    }
    assert!(told(1, &args).contains("run `throng store migrate`"));
}

#[test]
fn check_of_a_damaged_state_names_its_instance_and_exits_with_1() {
    let data = migrated();
    let instance = Uuid::from_u128(0x4000_8000_0000_0000_0001);
    let image = open(&data).instance_state(instance).unwrap().image.expect("it was parked").bytes;
    let path = data.path().join("throng.sqlite");
    let mut file = fs::read(&path).unwrap();
    let position = |part: &[u8]| file.windows(part.len()).position(|found| found == part);
    let at = image.chunks_exact(32).find_map(position).expect("the image is in the file");
    file[at] ^= 1;
    fs::write(&path, file).unwrap();
    let args = ["store", "check", "--data", text(data.path())];
    let report = told_json(1, &[&args[..], &["--json"]].concat());
    assert_eq!(report["well"], false);
    let problems = report["problems"].as_array().expect("a list");
    let [problem] = problems.as_slice() else { panic!("{report}") };
    let problem = problem.as_str().expect("a sentence");
    assert!(problem.starts_with(&format!("instance {instance}, image: ")), "{problem}");
    assert!(told(1, &args).contains(&format!("damaged: {problem}")));
}

#[test]
fn check_of_a_database_that_does_not_exist_exits_with_1_and_makes_none() {
    let data = tempfile::tempdir().unwrap();
    let why = told(1, &["store", "check", "--data", text(data.path())]);
    assert!(why.contains("throng.sqlite"), "{why}");
    assert!(!data.path().join("throng.sqlite").exists());
}

#[test]
fn an_address_of_no_database_exits_with_2_and_the_reason() {
    let form = "postgres://USER@HOST/DATABASE";
    let data = tempfile::tempdir().unwrap();
    let check = ["store", "check", "--data", text(data.path()), "--store", "mysql://throng@db/throng"];
    for args in [
        &check[..],
        &["store", "copy", "--from", "mysql://throng@db/throng", "--to", "sqlite:copy.sqlite"],
        &["store", "copy", "--from", "sqlite:", "--to", "copy.sqlite"],
    ] {
        let why = told(2, args);
        assert!(why.contains(form), "{args:?}: {why}");
    }
}

/// Copies a database twice, and compares the copy.
fn copy_to(url: &str) {
    let data = migrated();
    let source = text(data.path());
    let before = told_json(0, &["store", "check", "--data", source, "--json"]);
    let copy = ["store", "copy", "--from", "sqlite:", "--to", url, "--data", source];
    let report = told_json(0, &[&copy[..], &["--json"]].concat());
    assert_eq!(names(&report), ["from", "inserted", "removed", "tables", "to"]);
    assert_eq!((&report["tables"], &report["removed"]), (&before["tables"], &json!(0)));
    let n_rows = |table: &Value| table["rows"].as_u64().expect("a number");
    let total: u64 = before["tables"].as_array().expect("a list").iter().map(n_rows).sum();
    assert_eq!(report["inserted"], total);
    let again = told(0, &copy);
    assert!(again.contains("0 were inserted and 0 removed."), "{again}");
    let after = told_json(0, &["store", "check", "--data", source, "--store", url, "--json"]);
    assert_eq!((&after["tables"], &after["well"]), (&before["tables"], &json!(true)));
    assert_eq!(told_json(0, &["store", "check", "--data", source, "--json"]), before, "the source stays");
}

#[test]
fn a_copy_in_another_file_has_equal_hashes() {
    let elsewhere = tempfile::tempdir().unwrap();
    copy_to(&format!("sqlite:{}", text(&elsewhere.path().join("copy.sqlite"))));
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn a_copy_in_postgres_has_equal_hashes() {
    const SCHEMA: &str = "throng_test_store_command";
    let server =
        std::env::var("THRONG_TEST_POSTGRES").expect("scripts/postgres.sh sets THRONG_TEST_POSTGRES");
    let ask = |sql: &str| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
            let serving = tokio::spawn(connection);
            client.batch_execute(sql).await.unwrap();
            drop(client);
            serving.await.unwrap().unwrap();
        });
    };
    ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}"));
    copy_to(&format!("{server}?options=-c%20search_path%3D{SCHEMA}"));
    ask(&format!("DROP SCHEMA {SCHEMA} CASCADE"));
}

#[test]
fn a_copy_into_another_database_exits_with_1_and_leaves_it_as_it_is() {
    let (data, other) = (migrated(), migrated());
    let store = open(&other);
    store.set_ban(store.accounts(None, 1).unwrap()[0].agent, Some("another row")).unwrap();
    drop(store);
    let check = ["store", "check", "--data", text(other.path()), "--json"];
    let before = told_json(0, &check);
    let to = format!("sqlite:{}", text(&other.path().join("throng.sqlite")));
    let why = told(1, &["store", "copy", "--from", "sqlite:", "--to", &to, "--data", text(data.path())]);
    assert!(why.contains("is not empty and differs from the source"), "{why}");
    assert_eq!(told_json(0, &check), before);
}

#[test]
fn a_copy_of_an_earlier_version_exits_with_1_and_names_the_remedy() {
    let data = former();
    let elsewhere = tempfile::tempdir().unwrap();
    let to = format!("sqlite:{}", text(&elsewhere.path().join("copy.sqlite")));
    let why = told(1, &["store", "copy", "--from", "sqlite:", "--to", &to, "--data", text(data.path())]);
    assert!(why.contains("run `throng store migrate` on it first"), "{why}");
}
