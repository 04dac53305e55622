use super::*;
use std::fs;

fn env(pairs: &[(&str, &str)]) -> Sources {
    let env = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Sources { env, ..Sources::default() }
}

/// Loads this text as a file, with these variables.
fn from_file(text: &str, pairs: &[(&str, &str)]) -> Result<Effective, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("throng.toml");
    fs::write(&path, text).unwrap();
    load(&Sources { file: Some(path), ..env(pairs) })
}

/// The only problem of a configuration.
fn problem(result: Result<Effective, ConfigError>) -> String {
    let error = result.map(|effective| effective.config).unwrap_err();
    assert_eq!(error.problems().len(), 1, "{error}");
    error.problems()[0].to_string()
}

#[test]
fn defaults_are_valid_and_let_five_thousand_local_bots_in() {
    let config = load(&Sources::default()).unwrap().config;
    assert_eq!(config, Config::default());
    assert!(config.gateway.max_sessions >= 5_000);
    assert!(config.region.iter().all(|region| region.max_avatars >= 5_000));
    assert!(config.login.loopback_exempt);
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("throng.toml");
    fs::write(&path, "[gateway]\nshards = 2\nsend_hz = 5\nping_s = 7\n").unwrap();
    let flag = Flag { name: "--shards", key: "gateway.shards", value: "4".into() };
    let vars = env(&[("THRONG__GATEWAY__SHARDS", "3"), ("THRONG__GATEWAY__SEND_HZ", "6"), ("HOME", "/")]);
    let effective = load(&Sources { file: Some(path.clone()), flags: vec![flag], ..vars }).unwrap();
    let gateway = &effective.config.gateway;
    assert_eq!((gateway.shards, gateway.send_hz, gateway.ping_s, gateway.ticket_s), (4, 6, 7, 60));
    assert_eq!(effective.origin("gateway.shards"), "flag --shards");
    assert_eq!(effective.origin("gateway.send_hz"), "environment variable THRONG__GATEWAY__SEND_HZ");
    assert_eq!(effective.origin("gateway.ping_s"), path.display().to_string());
    assert_eq!(effective.origin("gateway.ticket_s"), "default");
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let message = problem(from_file("[gateway]\nsend_herz = 5\n", &[]));
    assert!(message.starts_with("`gateway.send_herz` ("), "{message}");
    assert!(message.ends_with("is not a known key; the nearest is `gateway.send_hz`"), "{message}");
    let message = problem(from_file("[world]\nsend_hz = 5\n", &[]));
    assert!(message.ends_with("the nearest is `gateway.send_hz`"), "{message}");
    let message = problem(from_file("[[region]]\nname = \"A\"\nsize = 256\n", &[]));
    assert!(message.contains("`region[0].size`") && message.ends_with("`region.size_m`"), "{message}");
    let message = problem(from_file("[gatway]\nsend_hz = 5\n", &[]));
    assert!(message.ends_with("is not a known section; the nearest is `[gateway]`"), "{message}");
}

#[test]
fn a_former_name_is_accepted_with_a_warning_that_says_the_present_one() {
    let new = "[instances]\nsuspend_after_s = 7\n";
    assert_eq!(from_file(new, &[]).unwrap().warnings, Vec::<String>::new());
    let former = from_file("[instances]\npark_after_s = 7\nmax = 9\n", &[]).unwrap();
    assert_eq!((former.config.instances.suspend_after_s, former.config.instances.max), (7, 9));
    let [warning] = &former.warnings[..] else { panic!("{:?}", former.warnings) };
    assert!(warning.contains("throng.toml") && warning.contains("`instances.suspend_after_s`"), "{warning}");
    let variable = from_file(new, &[("THRONG__INSTANCES__PARK_AFTER_S", "8")]).unwrap();
    assert_eq!((variable.config.instances.suspend_after_s, variable.warnings.len()), (8, 1));
    let wrong = problem(from_file("[instances]\npark_after_s = \"soon\"\n", &[]));
    assert!(wrong.contains("suspend_after_s"), "{wrong}");
    let both = problem(from_file("[instances]\npark_after_s = 7\nsuspend_after_s = 7\n", &[]));
    assert!(both.contains("park_after_s") && both.contains("is not a known key"), "{both}");
}

#[test]
fn an_unknown_variable_names_the_nearest() {
    let message = problem(load(&env(&[("THRONG__GATEWAY__SHARD", "4")])));
    assert_eq!(
        message,
        "`gateway.shard` (environment variable THRONG__GATEWAY__SHARD) is not a known key; \
         the nearest is `gateway.shards` (THRONG__GATEWAY__SHARDS)"
    );
    let message = problem(load(&env(&[("THRONG__REGION__NAME", "A")])));
    assert!(message.ends_with("are tables of the file"), "{message}");
}

#[test]
fn a_value_of_the_wrong_type_or_range_is_named_with_the_allowed_ones() {
    let message = problem(load(&env(&[("THRONG__GATEWAY__SEND_HZ", "100")])));
    assert_eq!(
        message,
        "`gateway.send_hz` = 100 (environment variable THRONG__GATEWAY__SEND_HZ) must be a whole number from 1 to 45"
    );
    for (text, expected) in [
        ("[gateway]\nsend_hz = \"fast\"", "`gateway.send_hz` = \"fast\""),
        ("[gateway]\nsend_hz = 2.5", "must be a whole number from 1 to 45"),
        ("[server]\nhttp = \"localhost\"", "must be an address with a port, such as \"127.0.0.1:9000\""),
        ("[server]\nudp = \"[::1]:9000\"", "must be an IPv4 address with a port"),
        ("[server]\nname = 3", "must be text that is not empty"),
        ("[login]\nopen_registration = \"yes\"", "must be true or false"),
        ("[page]\npublic_chat = \"all\"", "must be \"loopback\", \"everyone\" or \"nobody\""),
        ("[[region]]\nname = \"A\"\nsize_m = 300", "must be a multiple of 256 from 256 to 1024"),
        ("[[region]]\nname = \"A\"\nid = 2048", "from 0 to 2047"),
        ("[[template]]\nname = \"A\"\nhz = 25", "must be 0, 20, 30 or 45"),
        ("[[region]]\nname = \"A\"\nhz = \"20\"", "must be 0, 20, 30 or 45"),
        ("[[region]]\nname = \"A\"\nwater_m = -1", "must be a number from 0 to 255"),
        ("server = 3", "must be a table: write `[server]`"),
        ("[region]\nname = \"A\"", "may stand several times: write `[[region]]`"),
        ("[template]\nname = \"A\"", "may stand several times: write `[[template]]`"),
    ] {
        let message = problem(from_file(text, &[]));
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn texts_that_clients_cannot_show_are_refused_with_their_key() {
    let long = format!("[[region]]\nname = \"{}\"", "x".repeat(64));
    for (text, key) in [
        ("[server]\nname = \"a\\u0000b\"", "`server.name`"),
        ("[server]\nname = \"a\\nb\"", "`server.name`"),
        ("[server]\ndata = \"a\\u0000b\"", "`server.data`"),
        ("[login]\nwelcome = \"a\\u0007b\"", "`login.welcome`"),
        ("[login]\nwelcome = \"\\u202Eevil\"", "`login.welcome`"),
        ("[[region]]\nname = \"Har\\u200Fbour\"", "`region[0].name`"),
        ("[[template]]\nname = \"\\u2067Cave\"", "`template[0].name`"),
        (&long, "`region[0].name`"),
        ("[server]\nadvertise = \"0.0.0.0\"", "`server.advertise`"),
    ] {
        let message = problem(from_file(text, &[]));
        assert!(message.contains(key) && message.contains("must be"), "{text}: {message}");
    }
    let fits = format!("[login]\nwelcome = \"two\\nlines\"\n[[region]]\nname = \"{}\"", "ö".repeat(31));
    assert!(from_file(&fits, &[]).is_ok());
}

#[test]
fn every_problem_is_reported_at_once() {
    let error = from_file("[gateway]\nsend_hz = 0\nping = 1\n", &[("THRONG__WORLD__HZ", "x")]).unwrap_err();
    assert_eq!(error.problems().len(), 3, "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error =
        load(&Sources { file: Some("/nonexistent/throng.toml".into()), ..Sources::default() }).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/throng.toml"), "{error}");
    let error = from_file("[gateway\n", &[]).unwrap_err();
    assert!(error.to_string().contains("throng.toml"), "{error}");
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    for (text, expected) in [
        ("[server]\nudp = \"127.0.0.1:65534\"", "leaves no room for 4 consecutive ports"),
        ("[login]\nopen_registration = true\n[server]\nhttp = \"0.0.0.0:9000\"", "--force-open-registration"),
        ("region = []", "a grid needs a region"),
        ("[[region]]\nx = 5", "every region has a name"),
        ("[[region]]\nname = \"A\"\n[[region]]\nname = \"a\"\nx = 7", "is the name of region[0] already"),
        (
            "[[region]]\nname = \"A\"\nsize_m = 512\n[[region]]\nname = \"B\"\nx = 1001",
            "overlaps region[0] (\"A\")",
        ),
        (
            "[[region]]\nname = \"A\"\nid = 2\n[[region]]\nname = \"B\"\nx = 7",
            "is the world id 2, as for region[0]",
        ),
        ("[[template]]\nseed = 5", "every template has a name"),
        ("[[template]]\nname = \"A\"\n[[template]]\nname = \"a\"", "is the name of template[0] already"),
        ("[[template]]\nname = \"harbour\"", "is the name of region[0] already"),
        ("[[template]]\nname = \"Back\"", "is what leads back"),
        ("[[portal]]\nfrom = \"Nowhere\"", "`portal[0].from` = \"Nowhere\""),
        ("[[portal]]\nfrom = \"Harbour\"\nto = \"Cave\"", "names no template"),
        ("[[portal]]\nfrom = \"Harbour\"\nto = \"Back\"", "`portal[0].to` = \"Back\""),
        ("[[portal]]\nfrom = \"harbour\"\nto = \"back\"", "and \"Harbour\" is a region; name a template"),
        (
            "[[template]]\nname = \"Cave\"\n[[portal]]\nfrom = \"Cave\"\nx = 300",
            "lies outside of \"Cave\", which is 256 m wide",
        ),
    ] {
        let message = problem(from_file(text, &[]));
        assert!(message.contains(expected), "{text}: {message}");
    }
    let forced = "[login]\nopen_registration = true\nforce_open_registration = true\n[server]\nhttp = \"0.0.0.0:9000\"";
    assert!(from_file(forced, &[]).unwrap().config.login.open_registration);
}

#[test]
fn the_fields_hold_the_whole_allowed_range() {
    for section in Config::SECTIONS.into_iter().filter(|section| !section.repeated) {
        for key in section.keys {
            let values = match key.kind {
                KeyKind::Whole { min, max, .. } => vec![min.to_string(), max.to_string()],
                KeyKind::OneOf(numbers) => numbers.iter().map(ToString::to_string).collect(),
                KeyKind::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
                KeyKind::Flag => vec!["true".into(), "false".into()],
                _ => continue,
            };
            for value in values {
                let name =
                    format!("{ENV_PREFIX}{}__{}", section.name.to_uppercase(), key.name.to_uppercase());
                let effective = load(&env(&[(&name, &value)])).unwrap_or_else(|error| panic!("{error}"));
                assert!(effective.show().contains(&format!("# environment variable {name}")), "{name}");
            }
        }
    }
    for key in RegionSection::SECTION.keys {
        let values = match key.kind {
            KeyKind::Whole { min, max, .. } => vec![min, max],
            KeyKind::OneOf(numbers) => numbers.to_vec(),
            _ => continue,
        };
        for value in values {
            from_file(&format!("[[region]]\nname = \"A\"\n{} = {value}", key.name), &[]).unwrap();
        }
    }
}

#[test]
fn the_shown_configuration_reads_back_as_the_same() {
    let text = "[server]\nname = \"A \\\"quoted\\\" grid\"\nadvertise = \"203.0.113.7\"\n[[region]]\nname = \"Plaza\"\nwater_m = 21\n";
    let effective = from_file(text, &[("THRONG__SERVER__DATA", "7")]).unwrap();
    let shown = effective.show();
    assert!(shown.contains("data = \"7\" # environment variable THRONG__SERVER__DATA"), "{shown}");
    assert!(shown.contains("size_m = 256 # default"), "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with("water_m = 21.0 # ") && line.ends_with("throng.toml")),
        "{shown}"
    );
    assert_eq!(from_file(&shown, &[]).unwrap().config, effective.config);
}

#[test]
fn every_key_documents_its_effect_and_the_cost_of_a_change() {
    for section in Config::SECTIONS {
        for key in section.keys {
            let paragraphs = key.paragraphs();
            assert_eq!(paragraphs.len(), 2, "{}.{}", section.name, key.name);
            assert!(
                paragraphs.iter().all(|paragraph| paragraph.ends_with('.')),
                "{}.{}",
                section.name,
                key.name
            );
        }
    }
}

#[test]
fn the_reference_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating/config.md");
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == docs(),
        "docs/operating/config.md is stale: throng config docs > docs/operating/config.md"
    );
}

#[test]
fn passwords_in_the_address_of_the_database_are_not_shown() {
    let variable = "THRONG__STORE__URL";
    let effective = load(&env(&[(variable, "postgres://throng:hunter2@db/grid")])).unwrap();
    let shown = effective.show();
    assert!(
        shown.contains("url = \"postgres://throng@db:5432/grid\" # environment variable THRONG__STORE__URL"),
        "{shown}"
    );
    assert!(!shown.contains("hunter2") && !format!("{:?}", effective.config).contains("hunter2"));
    for wrong in [
        "postgres://throng:hunter2@db:port/grid",
        "postgres://throng:hunter2@db/grid?sslmode=require",
        "hunter2",
    ] {
        let message = problem(load(&env(&[(variable, wrong)])));
        assert!(
            message.contains("store.url") && message.contains("postgres://USER@HOST/DATABASE"),
            "{message}"
        );
        assert!(!message.contains("hunter2"), "{message}");
    }
}
