//! `throng oar` and `throng iar` as an operator runs them: output, JSON and exit status.

use archive::asset_path;
use archive::file::ArchiveWriter;
use archive::iar::{ArchivedItem, IarControl, IarWriter, NodeLocation, NodeName};
use archive::oar::{ArchivedParcel, ArchivedSettings, OarControl, OarWriter, RegionSize, TerrainHeights};
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, write_group};
use assets::AssetKind;
use ids::{AgentId, Uuid};
use prim::{Body, Shape};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use tempfile::TempDir;
use wire::texture_entry::TextureEntry;

/// An account of no database.
const STRANGER: Uuid = Uuid::from_u128(7 << 64 | 1);

const TEXTURE: Uuid = Uuid::from_u128(7 << 64 | 2);
const SCRIPT: Uuid = Uuid::from_u128(7 << 64 | 3);
const BOX: Uuid = Uuid::from_u128(7 << 64 | 4);

fn throng(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_throng")).args(args).output().unwrap()
}

/// Output, and complaint, of a command that has to end with this status.
fn told(status: i32, args: &[&str]) -> (String, String) {
    let output = throng(args);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {complaint}");
    (String::from_utf8(output.stdout).unwrap(), complaint)
}

fn told_json(status: i32, args: &[&str]) -> Value {
    serde_json::from_str(&told(status, &[args, &["--json"]].concat()).0).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn plain_box(name: &str) -> SceneGroup {
    let entry = TextureEntry::plain(TEXTURE).encode();
    let mut body = Body::new(BOX, Shape::BOX, entry.into(), AgentId(STRANGER), 1_300_000_000_000_000);
    body.names.name = name.into();
    let root = ScenePart { place: PartPlace::default(), flags: 0, body: Arc::new(body) };
    SceneGroup { root, others: Vec::new() }
}

/// A codestream of 64 x 32 pixels up to the marker of its first tile.
fn texture() -> Vec<u8> {
    let mut bytes = vec![0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0];
    for field in [64_u32, 32, 0, 0, 64, 32, 0, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend([0, 1, 7, 1, 1, 0xFF, 0x90]);
    bytes
}

/// An archive of one box on one parcel, with its texture if there is one, and with a script that nothing names.
fn write_oar(path: &Path, name: &str, texture: Option<&[u8]>) {
    let size = RegionSize { width_m: 256, depth_m: 256 };
    let control = OarControl::single(Uuid::from_u128(9), size, 1_300_000_000);
    let file = ArchiveWriter::gzip(fs::File::create(path).unwrap(), 6);
    let mut writer = OarWriter::begin(file, &control).unwrap();
    writer.settings(None, "Harbour", &ArchivedSettings::default()).unwrap();
    let parcel = ArchivedParcel { owner: STRANGER, bitmap: vec![0xFF; 512], ..ArchivedParcel::default() };
    writer.parcel(None, &parcel).unwrap();
    let terrain = TerrainHeights { width: 256, depth: 256, heights: vec![21.0; 65_536] };
    writer.terrain(None, "Harbour", &terrain).unwrap();
    let document = write_group(&plain_box(name), &WriteOptions::default());
    writer.object(None, (name, [128.0; 3], BOX), &document).unwrap();
    if let Some(texture) = texture {
        writer.asset(TEXTURE, AssetKind::Texture.into(), texture).unwrap();
    }
    writer.asset(SCRIPT, AssetKind::Script.into(), b"default { }").unwrap();
    writer.finish().unwrap();
}

/// A folder with a file in it.
fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[test]
fn check_counts_what_is_in_an_archive() {
    let (_folder, path) = place("a.oar");
    write_oar(&path, "Box", Some(&texture()));
    let report = told_json(0, &["oar", "check", text(&path)]);
    for (key, number) in [
        ("objects", 1),
        ("prims", 1),
        ("scripts", 0),
        ("assets", 2),
        ("missing", 0),
        ("damaged", 0),
        ("unused", 1),
        ("unreadable", 0),
        ("owners_unknown", 1),
        ("creators_unknown", 1),
    ] {
        assert_eq!(report[key], number, "{key}");
    }
    assert_eq!((&report["version"], &report["loads"]), (&json!("0.8"), &json!("all")));
    assert_eq!(report["bytes"], fs::metadata(&path).unwrap().len());
    assert!(report["bytes_uncompressed"].as_u64() > Some(262_144));
    assert!(report["newcomer_bytes"].as_u64() > Some(texture().len() as u64));
    assert_eq!(report["unused_assets"][0]["id"], SCRIPT.to_string());
    assert_eq!(report["unknown_owners"][0]["id"], STRANGER.to_string());
    let region = json!({
        "directory": "", "size_m": [256, 256], "objects": 1, "prims": 1, "prims_max": 45_000, "parcels": 1,
    });
    assert_eq!(report["regions"], json!([region]));
    let (lines, _) = told(0, &["oar", "check", text(&path)]);
    assert!(lines.contains("version 0.8, loads all."), "{lines}");
    assert!(lines.contains("1 objects of 1 prims with 0 scripts, 2 assets."), "{lines}");
    assert!(lines.contains(&format!("unused: {SCRIPT}, script, 11 bytes")), "{lines}");
}

#[test]
fn missing_assets_are_listed_and_leave_the_status_at_0() {
    let (_folder, path) = place("a.oar");
    write_oar(&path, "Box", None);
    let report = told_json(0, &["oar", "check", text(&path)]);
    assert_eq!(report["missing"], 1);
    let missing = &report["missing_assets"][0];
    assert_eq!((&missing["id"], &missing["kind"]), (&json!(TEXTURE), &json!("texture")));
    assert_eq!(missing["referrers"], json!([format!("objects/Box_128-128-128__{BOX}.xml")]));
}

#[test]
fn damage_is_listed_with_status_1() {
    let (_folder, path) = place("a.oar");
    write_oar(&path, "Box", Some(b"a photograph"));
    let report = told_json(1, &["oar", "check", text(&path)]);
    assert_eq!((&report["damaged"], &report["loads"]), (&json!(1), &json!("in part")));
    assert_eq!(report["damaged_assets"][0]["reason"], "the texture is not a JPEG 2000 codestream");
    let (lines, _) = told(1, &["oar", "check", text(&path)]);
    assert!(lines.contains(&format!("damaged: {TEXTURE}, texture, 12 bytes, the texture is not")), "{lines}");
}

#[test]
fn a_cut_archive_is_checked_up_to_the_cut_with_status_1() {
    let (_folder, path) = place("a.oar");
    write_oar(&path, "Box", Some(&texture()));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    let report = told_json(1, &["oar", "check", text(&path)]);
    let [part] = report["unreadable_parts"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(part["path"], "end of the archive");
    assert!(part["reason"].as_str().unwrap().starts_with("the archive ends early, at byte "), "{part}");
}

#[test]
fn a_flipped_byte_is_refused_with_its_place() {
    let (_folder, path) = place("a.oar");
    write_oar(&path, "Box", Some(&texture()));
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 0xFF;
    fs::write(&path, &bytes).unwrap();
    let report = told_json(1, &["oar", "check", text(&path)]);
    let parts = report["unreadable_parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["reason"].as_str().unwrap().contains("at byte ")), "{report}");
}

#[test]
fn files_without_an_archive_have_status_2() {
    let (folder, path) = place("a.oar");
    for bytes in [&b""[..], b"PK\x03\x04 is a zip file", &[0; 10_240]] {
        fs::write(&path, bytes).unwrap();
        for sort in ["oar", "iar"] {
            let (output, complaint) = told(2, &[sort, "check", text(&path), "--json"]);
            assert!(output.is_empty() && complaint.contains("a.oar cannot be checked: "), "{complaint}");
        }
    }
    let absent = folder.path().join("absent");
    assert!(told(2, &["oar", "check", text(&absent)]).1.contains("cannot open"));
    assert!(told(2, &["oar", "diff", text(&absent), text(&path)]).1.contains("absent cannot be compared"));
    assert!(told(2, &["oar", "check"]).1.contains("FILE"));
}

#[test]
fn accounts_of_a_named_database_are_known() {
    let (folder, path) = place("a.oar");
    write_oar(&path, "Box", Some(&texture()));
    let data = folder.path().join("data");
    let args = ["oar", "check", text(&path), "--data", text(&data)];
    assert_eq!(told_json(0, &args)["owners_unknown"], 1);
    let store = store::Store::open(&store::StoreUrl::of_directory(&data)).unwrap();
    let account = store::NewAccount {
        agent: AgentId(STRANGER),
        first: "Ada".to_owned(),
        last: "Lovelace".to_owned(),
        password_hash: store::PasswordHash(String::new()),
        created_s: 0,
        folders: Vec::new(),
        items: Vec::new(),
    };
    store.create_account(&account).unwrap();
    drop(store);
    let report = told_json(0, &args);
    assert_eq!((&report["owners_unknown"], &report["creators_unknown"]), (&json!(0), &json!(0)));
}

#[test]
fn diff_lists_elements_with_both_texts() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a.oar", "b.oar", "c.oar"].map(|name| folder.path().join(name));
    write_oar(&a, "Box", Some(&texture()));
    write_oar(&b, "Box", Some(&texture()));
    write_oar(&c, "Chest", None);
    assert_eq!(told_json(0, &["oar", "diff", text(&a), text(&b)]), json!([]));
    assert_eq!(told(0, &["oar", "diff", text(&a), text(&b)]).0, "0 differences.\n");
    let found = told_json(1, &["oar", "diff", text(&a), text(&c)]);
    let [asset, name] = found.as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(asset["path"], asset_path(TEXTURE, AssetKind::Texture.into()));
    assert_eq!(asset["b"], Value::Null);
    let object = format!("objects/Box_128-128-128__{BOX}.xml");
    let expected = json!({
        "path": format!("{object}/SceneObjectGroup/SceneObjectPart/Name"), "a": "Box", "b": "Chest",
    });
    assert_eq!(*name, expected);
    let (lines, _) = told(1, &["oar", "diff", text(&a), text(&c)]);
    assert!(lines.contains("SceneObjectPart/Name: \"Box\" | \"Chest\"\n"), "{lines}");
    assert!(lines.ends_with("2 differences.\n"), "{lines}");
}

#[test]
fn inventories_are_checked() {
    let (_folder, path) = place("a.iar");
    let file = ArchiveWriter::gzip(fs::File::create(&path).unwrap(), 6);
    let mut writer = IarWriter::begin(file, &IarControl::new(false, true)).unwrap();
    let item = ArchivedItem {
        id: Uuid::from_u128(20),
        name: "Door".to_owned(),
        asset_type: 10,
        asset: SCRIPT,
        creator: STRANGER.to_string(),
        owner: STRANGER,
        ..ArchivedItem::default()
    };
    let folder = NodeName { name: "Scripts".into(), id: Uuid::from_u128(21) };
    let item_name = NodeName { name: "Door".into(), id: item.id };
    writer.item(&NodeLocation { folders: vec![folder], item: Some(item_name) }, &item).unwrap();
    writer.asset(SCRIPT, AssetKind::Script.into(), b"default { }").unwrap();
    writer.finish().unwrap();
    let report = told_json(0, &["iar", "check", text(&path)]);
    for key in ["folders", "items", "scripts", "assets"] {
        assert_eq!(report[key], 1, "{key}");
    }
    assert_eq!((&report["missing"], &report["unused"]), (&json!(0), &json!(0)));
    let (lines, _) = told(0, &["iar", "check", text(&path)]);
    assert!(lines.contains("1 folders, 1 items, 0 links (0 broken)."), "{lines}");
}
