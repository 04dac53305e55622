//! Options in the lines of established commands. They are those of the subcommand, and stand anywhere in the line; some have other names in OpenSimulator. No
//! input or output.

use super::tree::Leaf;

/// Options by their names there: the subcommand, the name, and the options here.
const SPELLINGS: &[(&str, &str, &[&str])] = &[
    ("oar load", "-m", &["--merge"]),
    ("oar load", "-s", &["--skip-assets"]),
    ("oar load", "--merge-terrain", &["--force-terrain"]),
    ("oar load", "--merge-parcels", &["--force-parcels"]),
    ("oar load", "--mergeReplaceObjects", &["--merge", "--replace"]),
    ("oar save", "-h", &["--home"]),
    ("iar load", "-m", &["--merge"]),
    ("iar save", "-h", &["--home"]),
];

/// Words of a line behind its command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SplitWords {
    /// Options of the subcommand, each with its value in one word.
    pub(super) options: Vec<String>,
    /// The others, in their order.
    pub(super) arguments: Vec<String>,
}

/// Takes the options out of these words. `subcommand` is the phrase of the leaf.
pub(super) fn split(subcommand: &str, leaf: Leaf<'_>, words: &[String]) -> SplitWords {
    let mut split = SplitWords::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            split.arguments.extend(words.by_ref().cloned());
        } else if is_option(word) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let known = SPELLINGS.iter().find(|(of, there, _)| *of == subcommand && *there == name);
            let names = known.map_or_else(|| vec![name], |(.., here)| here.to_vec());
            for name in names {
                let takes_value = name.strip_prefix("--").is_some_and(|long| leaf.takes_value(long));
                let value = match &value {
                    None if takes_value => words.next().cloned(),
                    value => value.clone(),
                };
                split.options.push(value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}")));
            }
        } else {
            split.arguments.push(word.clone());
        }
    }
    split
}

/// True for a word that is neither a value nor a number below zero.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.parse::<f64>().is_err()
}

/// True if a line with these options is about other regions than the chosen one.
pub(super) fn names_regions(options: &[String]) -> bool {
    let is_one = |option: &String| option == "--all" || option.starts_with("--region");
    options.iter().any(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tree::CommandTree;

    #[test]
    fn every_spelling_is_one_of_options_that_are_there() {
        let tree = CommandTree::new();
        for (subcommand, there, here) in SPELLINGS {
            let words: Vec<String> = subcommand.split(' ').map(ToOwned::to_owned).collect();
            let leaf = tree.leaf(&words).filter(|leaf| leaf.depth == 2).expect("a subcommand");
            let options: Vec<String> = leaf.options().collect();
            assert!(here.iter().all(|option| options.iter().any(|known| known == option)), "{there}");
            assert!(!options.iter().any(|known| known == there), "{there} has its own meaning here");
        }
    }

    #[test]
    fn values_stay_with_their_options() {
        let tree = CommandTree::new();
        let words = |line: &str| line.split(' ').map(ToOwned::to_owned).collect::<Vec<String>>();
        let leaf = tree.leaf(&words("oar load")).expect("a subcommand");
        let SplitWords { options, arguments } =
            split("oar load", leaf, &words("a.oar --rotation -90 -m --displacement=1,2,3 -5 -- -b.oar"));
        assert_eq!(options, ["--rotation=-90", "--merge", "--displacement=1,2,3"]);
        assert_eq!(arguments, ["a.oar", "-5", "-b.oar"]);
        // Without its value, and of another name: the subcommand refuses both.
        let SplitWords { options, .. } = split("oar load", leaf, &words("a.oar -x --rotation"));
        assert_eq!(options, ["-x", "--rotation"]);
    }
}
