//! Land of regions: orders to the ground, and content of regions under their numbers.

use crate::server::{Server, throng};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const HARBOUR: &str = "[[region]]\nname = \"Harbour\"\n";

/// A server on a directory, with this configuration.
fn serve(data: &Path, config: &str) -> Command {
    let file = data.join("throng.toml");
    fs::write(&file, config).unwrap();
    let mut command = throng();
    command.args(["serve", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.arg("--config").arg(file).arg("--data").arg(data).stdin(Stdio::null());
    command
}

/// A server that is ready, and is killed when this is dropped.
struct Running(Child);

impl Running {
    fn on(data: &Path, config: &str) -> Self {
        let mut command = serve(data, config);
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("ready"), "{line}");
        Self(server)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn terrain(data: &Path, words: &[&str]) -> Output {
    throng().arg("terrain").args(words).arg("--data").arg(data).output().unwrap()
}

/// Output of a command that succeeds.
fn done(output: Output) -> String {
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{why}");
    String::from_utf8(output.stdout).unwrap()
}

/// Status and reason of a command that fails.
fn failed(output: Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Raw heights of a region of 256 m with one hill.
fn hill() -> Vec<u8> {
    let heights = (0..256 * 256).map(|n| if (n / 256, n % 256) == (40, 50) { 33.5_f32 } else { 21.0 });
    heights.flat_map(f32::to_le_bytes).collect()
}

#[test]
fn a_ground_that_was_loaded_is_the_one_after_a_restart() {
    let mut server = Server::start_with(HARBOUR);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("hill.r32"), hill()).unwrap();
    let data = server.data.path().to_owned();
    let told = done(terrain(&data, &["load", &path("hill.r32"), "--region", "harbour"]));
    assert!(told.starts_with("Harbour has the ground of") && told.contains("21 m to 33.5 m high"), "{told}");
    let told = done(terrain(&data, &["save", &path("now.r32"), "--region", "Harbour", "--json"]));
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (&told["region"], &told["size_m"], &told["highest_m"]),
        (&"Harbour".into(), &256.into(), &33.5.into())
    );
    assert_eq!(fs::read(path("now.r32")).unwrap(), hill());
    done(terrain(&data, &["bake", "--region", "Harbour"]));
    assert_eq!(fs::read_dir(data.join("terrain")).unwrap().count(), 0, "nothing is left behind");
    assert_eq!(server.terminate(), Some(0));
    let _running = Running::on(&data, HARBOUR);
    done(terrain(&data, &["save", &path("later.r32"), "--region", "Harbour"]));
    assert_eq!(fs::read(path("later.r32")).unwrap(), hill());
    // A picture has 65,536 greys.
    done(terrain(&data, &["save", &path("later.png"), "--region", "Harbour"]));
    let told = done(terrain(&data, &["fill", "25", "--region", "Harbour"]));
    assert!(told.contains("25 m to 25 m high, 256 patches changed"), "{told}");
    let told = done(terrain(&data, &["load", &path("later.png"), "--region", "Harbour"]));
    assert!(told.contains("256 patches changed"), "{told}");
}

#[test]
fn a_region_file_brings_its_land_on_order_into_a_running_region_and_into_a_stopped_one() {
    let mut server = Server::start_with(HARBOUR);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let data = server.data.path().to_owned();
    let config = data.join("throng.toml").display().to_string();
    let region = |words: &[&str]| {
        let mut command = throng();
        command.arg("region").args(words).args(["--config", &config]).arg("--data").arg(&data);
        done(command.output().unwrap())
    };
    let ground = |name: &str| {
        done(terrain(&data, &["save", &path(name), "--region", "Harbour"]));
        fs::read(path(name)).unwrap()
    };
    let fill = || done(terrain(&data, &["fill", "25", "--region", "Harbour"]));
    fs::write(path("hill.r32"), hill()).unwrap();
    done(terrain(&data, &["load", &path("hill.r32"), "--region", "Harbour"]));
    region(&["export", "Harbour", &path("harbour.region")]);
    fill();
    let told = region(&["import", "Harbour", &path("harbour.region")]);
    assert_eq!(told, "0 of 0 objects are added, 0 refused; 0 prims.\n");
    assert_ne!(ground("filled.r32"), hill());
    let told = region(&["import", "Harbour", &path("harbour.region"), "--land"]);
    assert_eq!(told, "0 of 0 objects are added, 0 refused; 0 prims. The land is that of the file.\n");
    assert_eq!(ground("again.r32"), hill());
    fill();
    assert_eq!(server.terminate(), Some(0));
    region(&["import", "Harbour", &path("harbour.region"), "--land"]);
    let _running = Running::on(&data, HARBOUR);
    assert_eq!(ground("stopped.r32"), hill());
}

#[test]
fn orders_to_a_ground_that_cannot_be_carried_out_say_why() {
    let server = Server::start_with(HARBOUR);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("hill.r32"), hill()).unwrap();
    fs::write(path("wide.r32"), hill().repeat(4)).unwrap();
    fs::write(path("part.r32"), &hill()[..1_000]).unwrap();
    fs::write(path("none.png"), "no picture").unwrap();
    let data = server.data.path();
    let load = |name: &str, region: &str| failed(terrain(data, &["load", &path(name), "--region", region]));
    for (name, region, status, part) in [
        ("hill.r32", "Meadows", 1, "There is no region \"Meadows\"; there are: Harbour."),
        ("wide.r32", "Harbour", 1, "a region of 256 m needs 65536 samples, not 262144"),
        ("part.r32", "Harbour", 1, "1000 bytes are not the heights of a region"),
        ("none.png", "Harbour", 1, "it is not a PNG picture"),
        ("missing.r32", "Harbour", 1, "No such file"),
        ("hill.jpg", "Harbour", 2, "has to end with .r32, .raw or .png"),
    ] {
        let (code, why) = load(name, region);
        assert!(code == Some(status) && why.contains(part), "{name}: {code:?} {why}");
    }
    let (code, why) = failed(terrain(data, &["save", &path("hill.r32"), "--region", "Harbour"]));
    assert!(code == Some(1) && why.contains("exists"), "{why}");
    let (code, why) = failed(terrain(data, &["fill", "-3000", "--region", "Harbour"]));
    assert!(code == Some(2) && why.contains("ground lies between -2048 m and 2048 m"), "{code:?} {why}");
    assert_eq!(failed(terrain(data, &["fill", "25"])).0, Some(2), "without a region");
}

#[test]
fn a_server_does_not_begin_with_the_content_of_another_region() {
    let mut server = Server::start_with(HARBOUR);
    assert_eq!(server.terminate(), Some(0));
    let data = server.data.path();
    let before = "[[region]]\nname = \"Hills\"\nx = 2000\n";
    let (code, why) = failed(serve(data, &format!("{before}{HARBOUR}")).output().unwrap());
    assert!(code == Some(2) && why.contains("\"Hills\" has the number 1"), "{code:?} {why}");
    assert!(why.contains("former_name = \"Harbour\""), "{why}");
    drop(Running::on(data, &format!("{before}id = 7\n{HARBOUR}id = 1\n")));
    // Renamed.
    drop(Running::on(data, "[[region]]\nname = \"Port\"\nformer_name = \"Harbour\"\n"));
}

#[test]
fn the_owner_of_an_estate_has_an_account() {
    let mut server = Server::start_with(HARBOUR);
    assert_eq!(server.terminate(), Some(0));
    let owned = format!("{HARBOUR}estate_owner = \"Ada Lovelace\"\n");
    let (code, why) = failed(serve(server.data.path(), &owned).output().unwrap());
    assert!(code == Some(2) && why.contains("\"Ada Lovelace\", and there is no such account"), "{why}");
}
