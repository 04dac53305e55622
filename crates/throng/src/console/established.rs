//! Translation of the established commands by their [table](super::table). No input or output.

use super::options::{self, SplitWords};
use super::table::{ESTABLISHED, Established};
use super::tree::CommandTree;

/// Arguments of this program that a line stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Translation {
    /// The arguments.
    pub(super) words: Vec<String>,
    /// Text for the standard input, if the line has one: a password.
    pub(super) input: Option<String>,
}

/// A translation needs a region, and none is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegionMissing;

/// A word of a command in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern<'a> {
    /// This word.
    Literal(&'a str),
    /// Any word.
    One(&'a str),
    /// All words that follow, at least one.
    Rest(&'a str),
    /// Options of the subcommand, here or anywhere behind.
    Options,
}

/// Sign of options in a command of the table, and in its subcommand.
const OPTIONS_THERE: &str = "[OPTION…]";
const OPTIONS_HERE: &str = "OPTION…";

/// Arguments of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Captured {
    /// Names and values.
    values: Vec<(&'static str, String)>,
    /// As the subcommand has them.
    options: Vec<String>,
}

impl Established {
    /// Its words.
    pub(super) fn patterns(&self) -> impl Iterator<Item = Pattern<'static>> {
        self.command.split(' ').map(|word| match word.strip_suffix('…') {
            _ if word == OPTIONS_THERE => Pattern::Options,
            Some(name) => Pattern::Rest(name),
            None if is_name(word) => Pattern::One(word),
            None => Pattern::Literal(word),
        })
    }

    /// The words before its first argument.
    pub(super) fn phrase(&self) -> String {
        let literals = self.patterns().map_while(|pattern| match pattern {
            Pattern::Literal(word) => Some(word),
            Pattern::One(_) | Pattern::Rest(_) | Pattern::Options => None,
        });
        literals.collect::<Vec<_>>().join(" ")
    }

    /// Its arguments in a line; none if the line is another command. Where it has no options, the line is a subcommand of this program with one.
    fn captures(&self, tree: &CommandTree, words: &[String]) -> Option<Captured> {
        let n_literals = self.patterns().take_while(|pattern| matches!(pattern, Pattern::Literal(_))).count();
        if !self.patterns().any(|pattern| pattern == Pattern::Options) {
            return Some(Captured { values: self.values(words)?, options: Vec::new() });
        }
        let (phrase, rest) = words.split_at_checked(n_literals)?;
        let path: Vec<String> = self.subcommand.split(' ').map(ToOwned::to_owned).collect();
        let leaf = tree.leaf(&path).expect("the table has subcommands of this program");
        let SplitWords { options, arguments } = options::split(&path[..leaf.depth].join(" "), leaf, rest);
        let values = self.values(&[phrase, &arguments[..]].concat())?;
        Some(Captured { values, options })
    }

    /// Values of its arguments in a line without options.
    fn values(&self, words: &[String]) -> Option<Vec<(&'static str, String)>> {
        let mut captured = Vec::new();
        let mut words = words.iter();
        for pattern in self.patterns().filter(|pattern| *pattern != Pattern::Options) {
            let word = words.next()?;
            match pattern {
                Pattern::Literal(literal) if word.eq_ignore_ascii_case(literal) => {}
                Pattern::Literal(_) | Pattern::Options => return None,
                Pattern::One(name) => captured.push((name, word.clone())),
                Pattern::Rest(name) => {
                    let all: Vec<&str> =
                        std::iter::once(word).chain(words.by_ref()).map(String::as_str).collect();
                    if all.iter().any(|word| word.starts_with("--")) {
                        return None;
                    }
                    captured.push((name, all.join(" ")));
                }
            }
        }
        let is_option = |(_, value): &(&str, String)| value.starts_with("--");
        (words.next().is_none() && !captured.iter().any(is_option)).then_some(captured)
    }
}

/// True for a name of an argument.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The arguments that a line stands for; none if it is no established command.
///
/// # Errors
/// [`RegionMissing`].
pub(super) fn translate(
    tree: &CommandTree,
    words: &[String],
    region: Option<&str>,
) -> Option<Result<Translation, RegionMissing>> {
    ESTABLISHED.iter().find_map(|row| {
        let captured = row.captures(tree, words)?;
        Some(expand(row.subcommand, &captured, region))
    })
}

fn expand(
    subcommand: &str,
    Captured { values: captured, options }: &Captured,
    region: Option<&str>,
) -> Result<Translation, RegionMissing> {
    let mut translation = Translation::default();
    let mut has_mark = false;
    let names_regions = options::names_regions(options);
    for token in subcommand.split(' ') {
        if token == OPTIONS_HERE {
            translation.words.extend_from_slice(options);
        } else if names_regions && token.starts_with("--region=") {
            // The chosen one is not meant.
        } else if let Some(name) = token.strip_prefix('<') {
            translation.input = Some(value(name, captured, region)? + "\n");
        } else if let Some(token) = token.strip_prefix('[').and_then(|token| token.strip_suffix(']')) {
            if region.is_some() {
                translation.words.push(argument(token, captured, region)?);
            }
        } else {
            let word = argument(token, captured, region)?;
            // A value that looks like an option is none. Numbers are left alone: subcommands take negative ones.
            let is_value = is_name(token.split('+').next().unwrap_or_default());
            if is_value && word.starts_with('-') && word.parse::<f64>().is_err() && !has_mark {
                has_mark = true;
                translation.words.push("--".to_owned());
            }
            translation.words.push(word);
        }
    }
    Ok(translation)
}

/// A token with the values of its names: `--option=NAME`, `NAME`, or as it stands.
fn argument(
    token: &str,
    captured: &[(&'static str, String)],
    region: Option<&str>,
) -> Result<String, RegionMissing> {
    match token.split_once('=') {
        Some((option, name)) => Ok(format!("{option}={}", value(name, captured, region)?)),
        None => value(token, captured, region),
    }
}

fn value(
    names: &str,
    captured: &[(&'static str, String)],
    region: Option<&str>,
) -> Result<String, RegionMissing> {
    let one = |name: &str| match captured.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => Ok(value.clone()),
        None if name == "REGION" => region.map(ToOwned::to_owned).ok_or(RegionMissing),
        None => Ok(name.to_owned()),
    };
    names.split('+').map(one).collect::<Result<Vec<_>, _>>().map(|values| values.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn words(line: &str) -> Vec<String> {
        crate::console::words::split(line).expect("a line")
    }

    fn translated(line: &str) -> Translation {
        translate_in(line, Some("Old Town")).expect(line).expect("a region is chosen")
    }

    fn translate_in(line: &str, region: Option<&str>) -> Option<Result<Translation, RegionMissing>> {
        translate(&CommandTree::new(), &words(line), region)
    }

    #[test]
    fn arguments_go_where_the_table_says() {
        for (line, expected) in [
            ("show users", "user online '--region=Old Town'"),
            ("Show Regions", "region list"),
            ("kick user Ada Lovelace", "kick Ada Lovelace"),
            ("kick user Ada Lovelace Read the rules.", "kick '--reason=Read the rules.' Ada Lovelace"),
            ("alert Back in five minutes.", "alert 'Back in five minutes.'"),
            ("alert-user Ada Lovelace Your house burns.", "alert '--user=Ada Lovelace' 'Your house burns.'"),
            ("alert -5 degrees", "alert -- '-5 degrees'"),
            ("terrain fill -21", "terrain fill '--region=Old Town' -21"),
            ("land show 3", "parcel show '--region=Old Town' 3"),
            ("create region 'New Town'", "region create 'New Town'"),
            ("remove-region New Town", "region remove 'New Town'"),
            ("delete-region New Town", "region remove --delete-content 'New Town'"),
            ("load oar --merge x.oar", "oar load '--region=Old Town' --merge x.oar"),
            (
                "load oar x.oar -m --displacement <1,2,3> --default-user 'Ada Lovelace'",
                "oar load '--region=Old Town' --merge '--displacement=<1,2,3>' '--default-user=Ada Lovelace' x.oar",
            ),
            (
                "save oar --noassets --perm=CT x.oar",
                "oar save '--region=Old Town' --noassets --perm=CT x.oar",
            ),
            ("save oar --all -h http://grid x.oar", "oar save --all --home=http://grid x.oar"),
            ("load oar --region Harbour x.oar", "oar load --region=Harbour x.oar"),
            (
                "load iar -m Ada Lovelace /Objects box.iar",
                "iar load '--user=Ada Lovelace' --folder=/Objects --merge box.iar",
            ),
        ] {
            let translation = translated(line);
            let shown: Vec<String> =
                translation.words.iter().map(|word| crate::console::words::quoted(word)).collect();
            assert_eq!((shown.join(" ").as_str(), translation.input), (expected, None), "{line}");
            let arguments = std::iter::once("throng").chain(translation.words.iter().map(String::as_str));
            if let Err(error) = Cli::try_parse_from(arguments) {
                panic!("{line}: {error}");
            }
        }
        let create = translated("create user Ada Lovelace 'a secret'");
        assert_eq!(create.words, ["user", "add", "Ada", "Lovelace"]);
        assert_eq!(create.input.as_deref(), Some("a secret\n"));
    }

    #[test]
    fn other_lines_are_no_established_commands() {
        for line in [
            "",
            "show",
            "show users full please",
            "alert",
            "alert Hello --region Harbour",
            "terrain fill 21 --region Harbour",
            "backup /mnt/backups",
            "create user Ada",
            "create region Quay Regions.ini",
            "region restart Harbour",
            "load oar",
            "load oar --merge",
            "load oar x.oar y.oar",
        ] {
            assert_eq!(translate_in(line, Some("Harbour")), None, "{line}");
        }
    }

    #[test]
    fn without_a_region_only_commands_that_need_one_are_refused() {
        let without = |line: &str| translate_in(line, None).expect(line);
        assert_eq!(without("backup"), Err(RegionMissing));
        assert_eq!(without("show users").expect("of all regions").words, ["user", "online"]);
        assert_eq!(without("save oar x.oar"), Err(RegionMissing));
        assert_eq!(without("save oar --all x.oar").expect("of all").words, ["oar", "save", "--all", "x.oar"]);
    }

    /// The line of a row, with a value for each argument.
    fn line_of(row: &Established) -> Vec<String> {
        let example = |name: &str| match name {
            "ID" => "6f2a3c1e-0d54-4f0b-9a35-1c1f3f0b7a11",
            "NUMBER" => "3",
            "METRES" => "21.5",
            "FILE" => "hills.r32",
            _ => "Word",
        };
        let word = |pattern| match pattern {
            Pattern::Literal(word) => Some(word.to_owned()),
            Pattern::One(name) | Pattern::Rest(name) => Some(example(name).to_owned()),
            Pattern::Options => None,
        };
        row.patterns().filter_map(word).collect()
    }

    #[test]
    fn every_row_is_reached_and_its_subcommand_is_there() {
        let tree = CommandTree::new();
        for row in ESTABLISHED {
            let line = line_of(row);
            let first = ESTABLISHED.iter().find(|row| row.captures(&tree, &line).is_some());
            assert_eq!(first, Some(row), "another row takes {line:?}");
            let has_options = |text: &str, sign: &str| text.split(' ').any(|word| word == sign);
            let both = [(row.command, OPTIONS_THERE), (row.subcommand, OPTIONS_HERE)];
            let [there, here] = both.map(|(text, sign)| has_options(text, sign));
            assert_eq!(there, here, "{}", row.command);
            let translation = translate(&tree, &line, Some("Harbour")).expect("a row").expect("a region");
            let arguments = std::iter::once("throng").chain(translation.words.iter().map(String::as_str));
            if let Err(error) = Cli::try_parse_from(arguments) {
                panic!("{}: {:?}: {error}", row.command, translation.words);
            }
            let names = row.subcommand.split([' ', '=', '+', '[', ']', '<']).filter(|word| is_name(word));
            for name in names.filter(|name| *name != "REGION") {
                let has =
                    |pattern| matches!(pattern, Pattern::One(known) | Pattern::Rest(known) if known == name);
                assert!(row.patterns().any(has), "{}: {name} is no argument", row.command);
            }
        }
    }
}
