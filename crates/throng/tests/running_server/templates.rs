//! `/v1/templates` at the operator's address, as `docs/operating/npcs.md` has it.

use crate::server::Server;
use serde_json::Value;

const CAVE: &str = "\
behaviours = [\"cave.behaviour\"]
[[kind]]
name = \"dweller\"
[[npc]]
kind = \"dweller\"
behaviour = \"stroll\"
name = \"Dweller\"
position = [90, 90]
count = 3
";

/// Status and body of one exchange.
fn ask(server: &Server, head: &str, body: &str) -> (u16, Value) {
    let (status, body) = server.exchange(head, body);
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {status} {body}")))
}

#[test]
fn behaviours_are_read_again_while_instances_run() {
    let files = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(files.path().join(name), text).unwrap();
    write("cave.toml", CAVE);
    write("cave.behaviour", "behaviour stroll: wander within 9 m\n");
    let server = Server::start_with(&format!(
        "[[region]]\nname = \"Harbour\"\n\
         [[template]]\nname = \"Cave\"\nterrain = \"flat\"\nnpcs = {:?}\n\
         [[template]]\nname = \"Plain\"\nterrain = \"flat\"\n",
        files.path().join("cave.toml")
    ));
    for _ in 0..2 {
        assert_eq!(ask(&server, "POST /v1/worlds", r#"{"template": "cave"}"#).0, 201);
    }
    let templates = || {
        let (status, told) = ask(&server, "GET /v1/templates", "");
        assert_eq!(status, 200);
        told
    };
    let told = templates();
    assert_eq!(
        told[0],
        serde_json::json!({
            "name": "Cave", "size_m": 256, "max_users": told[0]["max_users"],
            "npcs": 3, "behaviours": ["stroll"], "instances": 2
        })
    );
    assert_eq!((&told[1]["npcs"], &told[1]["instances"]), (&0.into(), &0.into()));
    let reload = |name: &str| ask(&server, &format!("POST /v1/templates/{name}/reload"), "");

    let (status, same) = reload("CAVE");
    assert_eq!((status, &same["changed"], &same["adopting"]), (200, &false.into(), &0.into()), "{same}");

    write("cave.behaviour", "behaviour stroll: wander within 9 m\nbehaviour rest: sit\n");
    let (status, changed) = reload("cave");
    assert_eq!((status, &changed["changed"]), (200, &true.into()), "{changed}");
    assert_eq!((&changed["adopting"], &changed["keeping"]), (&2.into(), &0.into()), "{changed}");
    assert_eq!(templates()[0]["behaviours"], serde_json::json!(["stroll", "rest"]));

    // Two of them wrong, in two files.
    write("cave.behaviour", "behaviour stroll: wonder within 9 m\n");
    write("cave.toml", &CAVE.replace("[90, 90]", "[90, 90, 400]"));
    let (status, wrong) = reload("Cave");
    assert_eq!(status, 422, "{wrong}");
    let problems = wrong["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{wrong}");
    assert_eq!(
        (&problems[0]["file"], &problems[0]["line"]),
        (&"cave.behaviour".into(), &1.into()),
        "{wrong}"
    );
    assert!(problems[0]["what"].as_str().unwrap().contains("wander"), "{wrong}");
    assert_eq!(problems[1]["line"], 4, "{wrong}");
    assert_eq!(templates()[0]["behaviours"], serde_json::json!(["stroll", "rest"]), "they go on");

    // Something else to do: likewise.
    write("cave.behaviour", "behaviour stroll: sit\n");
    write("cave.toml", &CAVE.replace("[[kind]]", "damage = true\n[[kind]]"));
    let (status, kept) = reload("cave");
    assert_eq!((status, &kept["adopting"], &kept["keeping"]), (200, &0.into(), &2.into()), "{kept}");
    assert!(kept["why"].as_str().unwrap().contains("damage"), "{kept}");
    // And as it was: they go over to it, since it is what they have but for behaviours.
    write("cave.toml", CAVE);
    let (status, changed) = reload("cave");
    assert_eq!((status, &changed["adopting"], &changed["keeping"]), (200, &2.into(), &0.into()), "{changed}");

    // Others than before: the present NPCs stay, and new instances have the new ones.
    write("cave.toml", &CAVE.replace("count = 3", "count = 4"));
    let (status, kept) = reload("cave");
    assert_eq!((status, &kept["adopting"], &kept["keeping"]), (200, &0.into(), &2.into()), "{kept}");
    assert!(kept["why"].as_str().unwrap().contains("4 NPCs instead of 3"), "{kept}");
    assert_eq!(ask(&server, "POST /v1/worlds", r#"{"template": "cave"}"#).1["npcs"], 4);

    assert_eq!(reload("Castle").0, 404);
    assert_eq!(reload("Plain").0, 409, "it has no NPCs");
}
