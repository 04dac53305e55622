use super::*;
use std::collections::BTreeMap;

/// Files in memory.
#[derive(Default)]
struct Folder(BTreeMap<String, String>);

impl ScriptFiles for Folder {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let file = path.to_str().and_then(|name| self.0.get(name));
        file.map(|text| text.clone().into_bytes()).ok_or_else(|| "cannot read it: not there".to_owned())
    }
}

impl Folder {
    fn with(mut self, name: &str, text: &str) -> Self {
        self.0.insert(name.to_owned(), text.to_owned());
        self
    }

    fn load(&self) -> Result<NpcCast, ScriptProblems> {
        let (terrain, scenery) = (Terrain::flat(256, 22.0), Scenery::default());
        load_cast(self, Path::new("cave.toml"), &terrain, &scenery, 20.0, &mut || true)
    }
}

fn load_text(text: &str, behaviours: &str) -> Result<NpcCast, ScriptProblems> {
    Folder::default().with("cave.toml", text).with("cave.behaviour", behaviours).load()
}

const SCRIPT: &str = "\
behaviours = [\"cave.behaviour\"]

[[kind]]
name = \"bandit\"
enemies = [\"player\"]
health = 40
sight = { radius_m = 25 }

[[place]]
name = \"camp\"
position = [60, 70]
radius_m = 5

[[npc]]
kind = \"bandit\"
behaviour = \"loiter\"
name = \"Tom\"
position = [60, 70]
count = 5
";

const BEHAVIOURS: &str = "behaviour loiter: wander within 5 m around camp pause 1 s to 2 s\n";

#[test]
fn a_script_makes_a_cast() {
    assert_eq!(load_text(SCRIPT, BEHAVIOURS).expect("a cast").len(), 5);
}

#[test]
fn mistakes_are_named_with_their_file() {
    for (text, behaviours, words) in [
        (SCRIPT.replace("health", "helth").as_str(), BEHAVIOURS, ["cave.toml:3:", "helth"]),
        (SCRIPT.replace("count = 5", "count = 65535").as_str(), BEHAVIOURS, ["65535 NPCs", "256"]),
        (SCRIPT.replace("count = 5", "count = 500").as_str(), BEHAVIOURS, ["cave.toml: ", "more than 256"]),
        (
            SCRIPT.replace("health = 40", "walk_m_per_s = nan").as_str(),
            BEHAVIOURS,
            ["cave.toml:3: kind \"bandit\"", "walk_m_per_s is NaN"],
        ),
        (
            SCRIPT.replace("health = 40", "run_m_per_s = -3.0").as_str(),
            BEHAVIOURS,
            ["run_m_per_s is -3", "between 0.1 and 128"],
        ),
        (
            SCRIPT.replace("cave.behaviour", "none.behaviour").as_str(),
            BEHAVIOURS,
            ["cave.toml:1: none.behaviour", "cannot read"],
        ),
        (SCRIPT, "behaviour loiter: wander within 5 m around camb\n", ["cave.behaviour:1:", "camp"]),
        (
            SCRIPT.replace("behaviour = \"loiter\"", "behaviour = \"lurk\"").as_str(),
            BEHAVIOURS,
            ["cave.toml:14:", "lurk"],
        ),
        (SCRIPT.replace("[[kind]]", "[[kind]").as_str(), BEHAVIOURS, ["cave.toml:3:", "]"]),
        (SCRIPT.replace("[[place]]", "[[plaice]]").as_str(), BEHAVIOURS, ["cave.toml:9:", "plaice"]),
        ("", BEHAVIOURS, ["cave.toml:1:", "behaviours"]),
    ] {
        let error = load_text(text, behaviours).expect_err("something is wrong").to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

/// Each problem as `file:line`, with a word that is in it.
fn found(problems: &ScriptProblems, words: &[(&str, u32, &str)]) {
    assert_eq!(problems.list.len(), words.len(), "{problems}");
    for (problem, (file, line, word)) in problems.list.iter().zip(words) {
        assert!(problem.file.ends_with(file) && problem.line == *line, "{problem}, not {file}:{line}");
        assert!(problem.fault.contains(word), "{problem}, nothing of {word}");
    }
}

#[test]
fn unknown_entries_are_reported_all_at_once() {
    let text = SCRIPT
        .replace("health = 40", "health = -1")
        .replace("radius_m = 5\n", "radius = 5\n")
        .replace("count = 5", "count = \"many\"");
    let problems = load_text(&text, BEHAVIOURS).expect_err("three are wrong");
    found(&problems, &[("cave.toml", 3, "u16"), ("cave.toml", 9, "radius"), ("cave.toml", 14, "u16")]);
}

#[test]
fn impossible_entries_are_reported_all_at_once_with_behaviours_and_places() {
    let more = "
[[npc]]
kind = \"bandid\"
behaviour = \"loiter\"
name = \"Ada\"
position = [60, 70, 200]
count = 3

[[npc]]
kind = \"bandit\"
behaviour = \"loiter\"
name = \"Ben\"
position = [60, -70]
";
    let text = format!("{SCRIPT}{more}").replace("health = 40", "walk_m_per_s = 1000");
    let problems = load_text(&text, BEHAVIOURS).expect_err("four are wrong");
    found(
        &problems,
        &[
            ("cave.toml", 3, "walk_m_per_s"),
            ("cave.toml", 21, "bandid"),
            ("cave.toml", 21, "not walkable"),
            ("cave.toml", 28, "not walkable"),
        ],
    );
    let wrong = "behaviour loiter: wonder within 5 m\nbehaviour b: use c\n";
    let problems = load_text(&text, wrong).expect_err("six are wrong");
    found(
        &problems,
        &[
            ("cave.toml", 3, "walk_m_per_s"),
            ("cave.behaviour", 1, "wander"),
            ("cave.behaviour", 2, "c"),
            ("cave.toml", 21, "bandid"),
            ("cave.toml", 21, "not walkable"),
            ("cave.toml", 28, "not walkable"),
        ],
    );
}

#[test]
fn mistakes_in_missions_are_named_with_their_lines() {
    let missions = "
[[mission]]
name = \"Camp\"
after = \"Camp\"

[[mission.waypoint]]
position = [60, 70]
clear = \"bandit\"

[[mission.waypoint]]
position = [60, 70]
radius_m = 0
clear = \"dragons\"

[[mission]]
name = \"Nothing\"
";
    let wrong = format!("{SCRIPT}{missions}").replace("health = 40", "walk_m_per_s = 1000");
    let problems = load_text(&wrong, BEHAVIOURS).expect_err("five are wrong");
    found(
        &problems,
        &[
            ("cave.toml", 3, "walk_m_per_s"),
            ("cave.toml", 21, "\"Camp\" begins after itself"),
            ("cave.toml", 29, "radius_m is 0, and must be between 0.5 and 128"),
            ("cave.toml", 29, "there is no kind or group \"dragons\""),
            ("cave.toml", 34, "a mission needs a waypoint"),
        ],
    );
    let right = missions.replace("after = \"Camp\"", "again_s = 30").replace("radius_m = 0", "");
    let right = right.replace("dragons", "bandit").replace("[[mission]]\nname = \"Nothing\"\n", "");
    let right = format!("{SCRIPT}{right}").replace("behaviours =", "damage = true\nbehaviours =");
    assert!(load_text(&right, BEHAVIOURS).expect("a cast").has_damage());
    let wrong = right.replace("again_s", "agian_s").replacen("clear =", "claer =", 1);
    let problems = load_text(&wrong, BEHAVIOURS).expect_err("two unknown words");
    found(&problems, &[("cave.toml", 22, "agian_s"), ("cave.toml", 26, "claer")]);
    let wrong = format!("{SCRIPT}{}", "[[mission]]\nname = \"Camp\"\nwaypoint = 7\n");
    let problems = load_text(&wrong, BEHAVIOURS).expect_err("that is no waypoint");
    found(&problems, &[("cave.toml", 22, "7")]);
}

#[test]
fn kinds_look_as_they_are_said_to() {
    let with = |appearance: &str, file: Option<&str>| {
        let text = SCRIPT.replace("health = 40", &format!("health = 40\nappearance = {appearance}"));
        let folder = Folder::default().with("cave.toml", &text).with("cave.behaviour", BEHAVIOURS);
        match file {
            Some(text) => folder.with("tom.appearance", text).load(),
            None => folder.load(),
        }
    };
    let looks = |cast: &NpcCast| cast.script().actors[0].looks.clone();
    let usual = load_text(SCRIPT, BEHAVIOURS).expect("a cast");
    let person = with("\"person\"", None).expect("a cast");
    assert_eq!((looks(&person), person.fingerprint()), (Looks::Person, usual.fingerprint()));
    let cloud = with("\"cloud\"", None).expect("a cast");
    assert_eq!(looks(&cloud), Looks::Cloud);
    assert_ne!(cloud.fingerprint(), usual.fingerprint());

    let file = |params: usize, entry: &str| {
        format!("visual_params = \"{}\"\ntexture_entry = \"{entry}\"\n", "7f".repeat(params))
    };
    let tom = "{ file = \"tom.appearance\" }";
    let worn = with(tom, Some(&file(253, "00fF"))).expect("a cast");
    assert_eq!(looks(&worn), Looks::worn(vec![0x7f; 253], vec![0, 0xff]).expect("looks"));
    for (appearance, text, word) in [
        ("\"ghost\"", None, "ghost"),
        ("{ flie = \"tom.appearance\" }", None, "flie"),
        (tom, None, "tom.appearance: cannot read it"),
        (tom, Some(file(217, "00")), "217 visual parameters"),
        (tom, Some(file(218, "")), "texture entry of 0 bytes"),
        (tom, Some(file(218, &"00".repeat(2_049))), "texture entry of 2049 bytes"),
        (tom, Some(file(218, "0")), "texture_entry has to be pairs"),
        (tom, Some(file(218, "0g")), "texture_entry has to be pairs"),
        (tom, Some(file(218, "00") + "age = 7"), "age"),
    ] {
        let problems = with(appearance, text.as_deref()).expect_err("something is wrong");
        found(&problems, &[("cave.toml", 3, word)]);
    }
}

#[test]
fn problems_without_end_are_counted() {
    let npcs = "[[npc]]\nname = 1\n".repeat(130);
    let problems = load_text(&format!("{SCRIPT}{npcs}"), BEHAVIOURS).expect_err("all are wrong");
    assert_eq!((problems.list.len(), problems.n_more), (100, 30));
    assert!(problems.to_string().ends_with("\nand 30 more"));
}

#[test]
fn a_script_is_read_again_for_the_same_ground() {
    let folder =
        |behaviours: &str| Folder::default().with("cave.toml", SCRIPT).with("cave.behaviour", behaviours);
    let (path, terrain) = (Path::new("cave.toml"), Terrain::flat(256, 22.0));
    let cast = folder(BEHAVIOURS).load().expect("a cast");
    let same = reload_cast(&folder(BEHAVIOURS), path, &terrain, &cast).expect("a cast");
    assert_eq!(same.fingerprint(), cast.fingerprint());
    let other = reload_cast(&folder("behaviour loiter: sit\n"), path, &terrain, &cast).expect("a cast");
    assert_ne!(other.fingerprint(), cast.fingerprint());
    let problems = reload_cast(&folder("behaviour loiter: sip\n"), path, &terrain, &cast)
        .expect_err("no behaviour can sip");
    found(&problems, &[("cave.behaviour", 1, "sit")]);
}
