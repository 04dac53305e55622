//! Refuses keys that do not exist, values that are not allowed, and values that contradict each other.

use super::problem::ConfigProblem;
use super::{Config, ConfigSection, PortalSection};
use figment::value::{Dict, Value};
use link::SHARED_WORLDS_MAX;

/// Checks each value by itself. `origin` names the source of a value.
pub(super) fn values(values: &Dict, origin: impl Fn(&Value) -> String) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    for (name, value) in values {
        let problem = |message: String| ConfigProblem {
            key: name.clone(),
            value: String::new(),
            origin: origin(value),
            message,
        };
        let Some(section) = Config::SECTIONS.into_iter().find(|section| section.name == name) else {
            let message = format!("is not a known section; the nearest is `[{}]`", nearest_section(name));
            problems.push(problem(message));
            continue;
        };
        match (section.repeated, value) {
            (false, Value::Dict(_, table)) => self::table(&section, name, table, &origin, &mut problems),
            (false, _) => problems.push(problem(format!("must be a table: write `[{name}]`"))),
            (true, Value::Array(_, tables)) => {
                for (index, one) in tables.iter().enumerate() {
                    let path = format!("{name}[{index}]");
                    match one {
                        Value::Dict(_, table) => self::table(&section, &path, table, &origin, &mut problems),
                        _ => problems.push(problem(format!("must be tables: write `[[{name}]]`"))),
                    }
                }
            }
            (true, _) => problems.push(problem(format!("may stand several times: write `[[{name}]]`"))),
        }
    }
    problems
}

fn table(
    section: &ConfigSection,
    path: &str,
    table: &Dict,
    origin: &impl Fn(&Value) -> String,
    problems: &mut Vec<ConfigProblem>,
) {
    for (name, value) in table {
        let key = format!("{path}.{name}");
        match section.keys.iter().find(|key| key.name == name) {
            None => {
                let nearest = nearest(&format!("{}.{name}", section.name));
                let message = format!("is not a known key; the nearest is `{nearest}`");
                problems.push(ConfigProblem { key, value: String::new(), origin: origin(value), message });
            }
            Some(known) if !known.kind.allows(value) => {
                let message = format!("must be {}", known.kind);
                problems.push(ConfigProblem {
                    key,
                    value: known.kind.show(value),
                    origin: origin(value),
                    message,
                });
            }
            Some(_) => {}
        }
    }
}

/// Checks constraints between keys.
pub(super) fn together(config: &Config) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    let mut problem = |key: &str, value: String, message: String| {
        problems.push(ConfigProblem { key: key.to_owned(), value, origin: String::new(), message });
    };
    let server = &config.server;
    if server.udp.port() != 0 && u32::from(server.udp.port()) + u32::from(server.udp_ports) > 65_536 {
        let message = format!("leaves no room for {} consecutive ports", server.udp_ports);
        problem("server.udp", format!("\"{}\"", server.udp), message);
    }
    let local = server.http.ip().is_loopback() && server.udp.ip().is_loopback();
    if config.login.open_registration && !local && !config.login.force_open_registration {
        let message = "lets strangers create accounts, because the server listens on more than loopback; \
                       if you mean it, add --force-open-registration";
        problem("login.open_registration", "true".into(), message.into());
    }
    let backups = &config.backup.directory;
    if !backups.as_os_str().is_empty() && !backups.is_absolute() {
        let message =
            "is not a whole path: the directory of a backup must not depend on where the server was started";
        problem("backup.directory", format!("{:?}", backups.display().to_string()), message.into());
    }
    if config.region.is_empty() {
        problem("region", String::new(), "is empty: a grid needs a region to log in to".into());
    }
    for (index, region) in config.region.iter().enumerate() {
        if region.name.trim().is_empty() {
            problem(
                &format!("region[{index}].name"),
                String::new(),
                "is missing: every region has a name".into(),
            );
        }
        let world = region.world(index);
        if world.0 > SHARED_WORLDS_MAX {
            let message = format!(
                "is {} by the region's position; state an `id` of at most {SHARED_WORLDS_MAX}",
                world.0
            );
            problem(&format!("region[{index}].id"), region.id.to_string(), message);
        }
        for (other_index, other) in config.region.iter().enumerate().take(index) {
            if world == other.world(other_index) {
                let message = format!("is the world id {}, as for region[{other_index}]", world.0);
                problem(&format!("region[{index}].id"), region.id.to_string(), message);
            }
            if region.name.to_lowercase() == other.name.to_lowercase() {
                let message = format!("is the name of region[{other_index}] already");
                problem(&format!("region[{index}].name"), format!("{:?}", region.name), message);
            }
            let overlap =
                |a: u32, a_size: u32, b: u32, b_size: u32| a < b + b_size / 256 && b < a + a_size / 256;
            if overlap(region.x, region.size_m, other.x, other.size_m)
                && overlap(region.y, region.size_m, other.y, other.size_m)
            {
                let message = format!(
                    "overlaps region[{other_index}] ({:?}) on the map; give it another x or y",
                    other.name
                );
                problem(&format!("region[{index}]"), format!("{:?}", region.name), message);
            }
        }
    }
    for (index, template) in config.template.iter().enumerate() {
        let key = format!("template[{index}].name");
        if template.name.trim().is_empty() {
            problem(&key, String::new(), "is missing: every template has a name".into());
        }
        let is_it = |other: &str| other.eq_ignore_ascii_case(&template.name);
        if is_it(PortalSection::BACK) {
            problem(&key, format!("{:?}", template.name), "is what leads back, and no template".into());
        }
        if let Some(other) = config.template.iter().take(index).position(|other| is_it(&other.name)) {
            problem(
                &key,
                format!("{:?}", template.name),
                format!("is the name of template[{other}] already"),
            );
        }
        if let Some(other) = config.region.iter().position(|other| is_it(&other.name)) {
            problem(&key, format!("{:?}", template.name), format!("is the name of region[{other}] already"));
        }
    }
    for (index, portal) in config.portal.iter().enumerate() {
        let region = config.region.iter().find(|one| one.name.eq_ignore_ascii_case(&portal.from));
        let template = config.template.iter().find(|one| one.name.eq_ignore_ascii_case(&portal.from));
        let size_m = region.map(|one| one.size_m).or_else(|| template.map(|one| one.size_m));
        let key = |name: &str| format!("portal[{index}].{name}");
        match size_m {
            None => {
                problem(&key("from"), format!("{:?}", portal.from), "names no region and no template".into())
            }
            Some(size_m) => {
                for (name, value) in [("x", portal.x), ("y", portal.y)] {
                    if value > size_m as f32 - 1.0 {
                        let message = format!("lies outside of {:?}, which is {size_m} m wide", portal.from);
                        problem(&key(name), value.to_string(), message);
                    }
                }
            }
        }
        let leads = portal.to.eq_ignore_ascii_case(PortalSection::BACK)
            || config.template.iter().any(|one| one.name.eq_ignore_ascii_case(&portal.to));
        if !leads {
            let message = format!("names no template, and is not {:?}", PortalSection::BACK);
            problem(&key("to"), format!("{:?}", portal.to), message);
        }
        if let Some(region) = region.filter(|_| portal.to.eq_ignore_ascii_case(PortalSection::BACK)) {
            let message =
                format!("leads out of an instance, and {:?} is a region; name a template", region.name);
            problem(&key("to"), format!("{:?}", portal.to), message);
        }
    }
    problems
}

/// The known key most like this dotted path. The same name in another section is nearer than any misspelling.
pub(super) fn nearest(path: &str) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let known = Config::SECTIONS.into_iter().flat_map(|section| {
        section.keys.iter().map(move |key| (key.name, format!("{}.{}", section.name, key.name)))
    });
    known
        .min_by_key(
            |(known_name, known_path)| {
                if *known_name == name { 0 } else { strsim::damerau_levenshtein(known_path, path) }
            },
        )
        .map(|(_, known_path)| known_path)
        .expect("there are keys")
}

fn nearest_section(name: &str) -> &'static str {
    let names = Config::SECTIONS.into_iter().map(|section| section.name);
    names.min_by_key(|known| strsim::damerau_levenshtein(known, name)).expect("there are sections")
}
