//! Edits of the regions in the text of a configuration file. Comments, order and all other text stay as they are. No input or output, and no check of values: the result is
//! loaded like any configuration.

use super::RegionSection;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value};

/// A change of the regions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RegionEdit {
    /// Another region, behind the others. It states its id.
    Add(Box<RegionSection>),
    /// A region goes, by its index.
    Remove(usize),
    /// A region gets another name, and portals of it lead out of the region with that name.
    Rename {
        /// Its index.
        index: usize,
        /// The name.
        to: String,
        /// The name under which its content is stored, if that is another one.
        former: Option<String>,
    },
}

/// Reasons for which a text is not edited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegionEditError {
    /// It is no TOML.
    #[error("it is no TOML: {0}")]
    Malformed(#[from] toml_edit::TomlError),
    /// Tables as a value.
    #[error("it has `{0}` as a value: write each as a table `[[{0}]]`")]
    NotTables(String),
}

/// The text with a change. `regions` are those of the text as they were loaded: the built-in ones if it has none. Those are written then, since a file with a region has no
/// others than its own. A region whose number would change states it from then on.
///
/// # Errors
/// [`RegionEditError`].
///
/// # Panics
/// If there is no region with the index.
pub(crate) fn edited(
    text: &str,
    regions: &[RegionSection],
    edit: &RegionEdit,
) -> Result<String, RegionEditError> {
    let mut document: DocumentMut = text.parse()?;
    if !document.contains_key(REGION) {
        let mut tables = ArrayOfTables::new();
        regions.iter().enumerate().for_each(|(index, region)| tables.push(table_of(region, index)));
        document.insert(REGION, Item::ArrayOfTables(tables));
    }
    let tables = tables_of(&mut document, REGION)?.expect("regions were just made");
    match edit {
        RegionEdit::Add(region) => tables.push(table_of(region, tables.len())),
        RegionEdit::Remove(index) => {
            for (later, region) in regions.iter().enumerate().skip(index + 1).filter(|(_, one)| one.id == 0) {
                set(table_at(tables, later), "id", Value::from(i64::from(region.world(later).0)));
            }
            let (position, apart) = comment_apart(table_at(tables, *index));
            tables.remove(*index);
            if let Some(position) = position.filter(|_| !apart.is_empty()) {
                move_comment(&mut document, position, &apart);
            }
        }
        RegionEdit::Rename { index, to, former } => {
            let table = table_at(tables, *index);
            set(table, "name", Value::from(to));
            match former {
                Some(former) => set(table, "former_name", Value::from(former)),
                None => drop(table.remove("former_name")),
            }
            let from = &regions[*index].name;
            for portal in tables_of(&mut document, PORTAL)?.into_iter().flat_map(ArrayOfTables::iter_mut) {
                let leads_out = portal.get("from").and_then(Item::as_str);
                if leads_out.is_some_and(|name| name.eq_ignore_ascii_case(from)) {
                    set(portal, "from", Value::from(to));
                }
            }
        }
    }
    Ok(document.to_string())
}

const REGION: &str = "region";
const PORTAL: &str = "portal";

/// Keys that a new table has in any case.
const STATED: [&str; 4] = ["name", "id", "x", "y"];

/// Tables of this name, if there are any.
fn tables_of<'a>(
    document: &'a mut DocumentMut,
    name: &str,
) -> Result<Option<&'a mut ArrayOfTables>, RegionEditError> {
    match document.get_mut(name) {
        None => Ok(None),
        Some(item) => {
            let tables = item.as_array_of_tables_mut().map(Some);
            tables.ok_or_else(|| RegionEditError::NotTables(name.to_owned()))
        }
    }
}

fn table_at(tables: &mut ArrayOfTables, index: usize) -> &mut Table {
    tables.get_mut(index).expect("the regions are those of the text")
}

/// A region as a new table, without keys that have their defaults.
fn table_of(region: &RegionSection, index: usize) -> Table {
    let region = RegionSection { id: region.world(index).0, ..region.clone() };
    let values = |region: &RegionSection| {
        let values = toml::Value::try_from(region).expect("a region serialises");
        values.as_table().expect("a struct serialises to a table").clone()
    };
    let (stated, defaults) = (values(&region), values(&RegionSection::default()));
    let mut table = Table::new();
    for key in RegionSection::SECTION.keys {
        let value = &stated[key.name];
        if STATED.contains(&key.name) || *value != defaults[key.name] {
            table.insert(key.name, Item::Value(value_of(value)));
        }
    }
    table
}

fn value_of(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(number) => Value::from(*number),
        // Numbers of regions have 32 bits: 0.1 is written as such, and not with the digits of its 64 bits.
        toml::Value::Float(number) => Value::from((*number as f32).to_string().parse().unwrap_or(*number)),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::String(text) => Value::from(text),
        toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
            unreachable!("keys of regions are numbers, flags and texts")
        }
    }
}

/// Sets a key. The text around a value that is there, such as a comment behind it, stays.
fn set(table: &mut Table, key: &str, value: Value) {
    if let Some(present) = table.get_mut(key).and_then(Item::as_value_mut) {
        let decor = present.decor().clone();
        *present = value;
        *present.decor_mut() = decor;
    } else {
        table.insert(key, Item::Value(value));
    }
}

/// Position of a table in its text, and the comments before it that an empty line separates from it, as the head of a file has them. Those directly before it are
/// its own.
fn comment_apart(table: &Table) -> (Option<usize>, String) {
    let before = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let n_apart = lines.iter().rposition(|line| line.trim().is_empty()).map_or(0, |last| last + 1);
    let apart = lines[..n_apart].concat();
    (table.position(), if apart.contains('#') { apart } else { String::new() })
}

/// Puts comments before the table that followed a position, or at the end of the text.
fn move_comment(document: &mut DocumentMut, position: usize, comment: &str) {
    let mut next: Option<usize> = None;
    visit(document.as_table_mut(), &mut |table| {
        let later = table.position().filter(|one| *one > position && !table.is_implicit());
        next = later.into_iter().chain(next).min();
    });
    let Some(next) = next else {
        let rest = document.trailing().as_str().unwrap_or_default();
        let trailing = format!("{comment}{rest}");
        return document.set_trailing(trailing);
    };
    visit(document.as_table_mut(), &mut |table| {
        if table.position() == Some(next) {
            let before = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let before = format!("{comment}{}", before.trim_start_matches(['\r', '\n']));
            table.decor_mut().set_prefix(before);
        }
    });
}

/// Visits all tables below one.
fn visit(table: &mut Table, see: &mut dyn FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => {
                see(inner);
                visit(inner, see);
            }
            Item::ArrayOfTables(all) => {
                for inner in all.iter_mut() {
                    see(inner);
                    visit(inner, see);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigError, Effective, Sources, load_text};

    const TEXT: &str = "\
# Our grid.

# The first one.
[[region]]
name = \"Harbour\" # by the sea
x = 1000

[server]
name = \"Ours\"

# For building.
[[region]]
name = \"Meadows\"
x = 1010
size_m = 512

[[template]]
name = \"Cave\"

[[portal]]
from = \"harbour\" # the gate
to = \"Cave\"
# The end.
";

    fn loaded(text: &str) -> Result<Effective, ConfigError> {
        let sources = Sources { file: Some("/etc/throng.toml".into()), ..Sources::default() };
        load_text(&sources, text)
    }

    fn regions(text: &str) -> Vec<RegionSection> {
        loaded(text).expect("a configuration").config.region
    }

    fn after(text: &str, edit: &RegionEdit) -> String {
        edited(text, &regions(text), edit).expect("tables")
    }

    fn quay() -> RegionSection {
        RegionSection { name: "Quay".into(), id: 7, x: 1020, water_m: 20.1, ..RegionSection::default() }
    }

    fn rename(index: usize, to: &str, former: Option<&str>) -> RegionEdit {
        RegionEdit::Rename { index, to: to.into(), former: former.map(str::to_owned) }
    }

    /// Names and numbers.
    fn numbered(text: &str) -> Vec<(String, u32)> {
        let regions = regions(text);
        regions.iter().enumerate().map(|(index, one)| (one.name.clone(), one.world(index).0)).collect()
    }

    fn pairs(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
        pairs.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    }

    #[test]
    fn a_region_is_added_behind_the_others_and_all_other_text_stays() {
        let text = after(TEXT, &RegionEdit::Add(Box::new(quay())));
        let table = "\n[[region]]\nname = \"Quay\"\nid = 7\nx = 1020\ny = 1000\nwater_m = 20.1\n";
        assert_eq!(text, TEXT.replace("size_m = 512\n", &format!("size_m = 512\n{table}")));
        assert_eq!(regions(&text)[2], quay());
    }

    #[test]
    fn the_built_in_regions_stay_when_the_first_one_is_added() {
        let text = after("[server]\nname = \"Ours\" # mine\n", &RegionEdit::Add(Box::new(quay())));
        assert!(
            text.starts_with("[server]\nname = \"Ours\" # mine\n\n[[region]]\nname = \"Harbour\"\nid = 1\n")
        );
        assert_eq!(numbered(&text), pairs(&[("Harbour", 1), ("Meadows", 2), ("Quay", 7)]));
        let [built_in, stated] = [regions(""), regions(&text)];
        for (index, (built_in, stated)) in built_in.into_iter().zip(stated).enumerate() {
            assert_eq!(stated, RegionSection { id: built_in.world(index).0, ..built_in });
        }
        let text = after("", &rename(1, "Fields", Some("Meadows")));
        assert_eq!(numbered(&text), pairs(&[("Harbour", 1), ("Fields", 2)]));
    }

    #[test]
    fn the_regions_that_stay_keep_their_numbers_and_the_head_of_the_file_stays() {
        let without_portal = &TEXT[..TEXT.find("[[portal]]").expect("a portal")];
        let text = after(without_portal, &RegionEdit::Remove(0));
        assert_eq!(numbered(&text), pairs(&[("Meadows", 2)]));
        assert!(text.starts_with("# Our grid.\n\n[server]\nname = \"Ours\"\n\n# For building.\n"), "{text}");
        assert!(!text.contains("first one") && text.contains("size_m = 512\nid = 2\n"), "{text}");
        // The last table of a text.
        let text = after(
            "[[region]]\nname = \"A\"\n\n# Below.\n\n[[region]]\nname = \"B\"\nx = 9\n",
            &RegionEdit::Remove(1),
        );
        assert_eq!(text, "[[region]]\nname = \"A\"\n\n# Below.\n\n");
        let text = after(TEXT, &RegionEdit::Remove(0));
        let why = loaded(&text).expect_err("a portal leads out of it").to_string();
        assert!(why.contains("`portal[0].from` = \"harbour\" names no region"), "{why}");
    }

    #[test]
    fn a_renamed_region_keeps_its_table_and_its_portals() {
        let text = after(TEXT, &rename(0, "Port", Some("Harbour")));
        let expected = TEXT
            .replace(
                "name = \"Harbour\" # by the sea\nx = 1000\n",
                "name = \"Port\" # by the sea\nx = 1000\nformer_name = \"Harbour\"\n",
            )
            .replace("from = \"harbour\" # the gate", "from = \"Port\" # the gate");
        assert_eq!(text, expected);
        let back = after(&text, &rename(0, "Harbour", None));
        assert_eq!(back, TEXT.replace("from = \"harbour\"", "from = \"Harbour\""));
    }

    #[test]
    fn names_and_places_are_refused_as_at_the_start_of_a_server() {
        let refused = |region: RegionSection| {
            let text = after(TEXT, &RegionEdit::Add(Box::new(region)));
            loaded(&text).expect_err("refused").to_string()
        };
        let twin = refused(RegionSection { name: "harbour".into(), ..quay() });
        assert!(twin.contains("is the name of region[0] already"), "{twin}");
        let near = refused(RegionSection { x: 1011, ..quay() });
        assert!(near.contains("overlaps region[1] (\"Meadows\") on the map"), "{near}");
        let number = refused(RegionSection { id: 2, ..quay() });
        assert!(number.contains("is the world id 2, as for region[1]"), "{number}");
        for name in ["", " ", "a\nb", "a\u{202e}b", "x".repeat(64).as_str(), "Cave"] {
            let told = refused(RegionSection { name: name.into(), ..quay() });
            assert!(
                told.contains("`region[2].name`") || told.contains("`template[0].name`"),
                "{name:?}: {told}"
            );
        }
        let text = after(TEXT, &rename(1, "HARBOUR", Some("Meadows")));
        assert!(loaded(&text).expect_err("a twin").to_string().contains("is the name of region[0] already"));
    }

    #[test]
    fn tables_as_values_are_left_alone() {
        let text = "region = [{ name = \"Harbour\" }]\n";
        let told = edited(text, &regions(text), &RegionEdit::Add(Box::new(quay()))).expect_err("a value");
        assert_eq!(told.to_string(), "it has `region` as a value: write each as a table `[[region]]`");
    }
}
