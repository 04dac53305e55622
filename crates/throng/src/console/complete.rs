//! Completion of a line that is being typed: subcommands, established commands, options, and names of regions and accounts. No input or output but by
//! [`Names`].

use super::established::Pattern;
use super::interpreter::OWN;
use super::table::ESTABLISHED;
use super::tree::{CommandTree, Leaf, NameKind, option_kind};
use super::words::{TypedWords, quoted, typed};
use std::collections::BTreeSet;

/// Commands behind which the name of a region stands, besides subcommands.
const BEFORE_REGIONS: [&str; 3] = ["change region", "remove-region", "delete-region"];

/// Source of names.
pub(super) trait Names {
    /// Names of all regions; none if they are not known now.
    fn regions(&self) -> Vec<String>;

    /// Some names of accounts that begin like this.
    fn accounts(&self, begins: &str) -> Vec<String>;
}

/// Words that complete the beginning of a line, and the byte from which on they replace it.
pub(super) fn complete(tree: &CommandTree, names: &dyn Names, line: &str) -> (usize, Vec<String>) {
    let Some(TypedWords { before, start, word }) = typed(line) else { return (line.len(), Vec::new()) };
    let mut found: BTreeSet<String> = BTreeSet::new();
    let literals = established(&before).chain(own(&before));
    found.extend(literals.filter(|literal| literal.starts_with(&word.to_ascii_lowercase())));
    let command = before.iter().map(|word| word.to_ascii_lowercase()).collect::<Vec<_>>().join(" ");
    if BEFORE_REGIONS.contains(&command.as_str()) {
        found.extend(regions(names, &word));
    }
    let inner = tree.below(&before).into_iter().filter(|name| name.starts_with(&word));
    found.extend(inner.map(ToOwned::to_owned));
    if let Some(leaf) = tree.leaf(&before).filter(Leaf::is_whole) {
        found.extend(arguments(leaf, names, &before, &word));
    }
    (start, found.into_iter().collect())
}

/// Words that continue established commands.
fn established(before: &[String]) -> impl Iterator<Item = String> {
    ESTABLISHED.iter().filter_map(move |row| {
        // Options stand before the arguments while a line is being typed.
        let mut patterns = row.patterns().peekable();
        for word in before {
            if patterns.peek() == Some(&Pattern::Options) {
                if word.starts_with('-') {
                    continue;
                }
                patterns.next();
            }
            match patterns.next()? {
                Pattern::Literal(literal) if word.eq_ignore_ascii_case(literal) => {}
                Pattern::One(_) => {}
                Pattern::Literal(_) | Pattern::Rest(_) | Pattern::Options => return None,
            }
        }
        match patterns.next()? {
            Pattern::Literal(literal) => Some(literal.to_owned()),
            Pattern::One(_) | Pattern::Rest(_) | Pattern::Options => None,
        }
    })
}

/// Words that continue the console's own commands.
fn own(before: &[String]) -> impl Iterator<Item = String> {
    OWN.into_iter().filter_map(move |command| {
        let mut literals = command.split(' ');
        for word in before {
            literals.next().filter(|literal| word.eq_ignore_ascii_case(literal))?;
        }
        literals.next().map(ToOwned::to_owned)
    })
}

/// Options and names for a subcommand.
fn arguments(leaf: Leaf<'_>, names: &dyn Names, before: &[String], word: &str) -> Vec<String> {
    if let Some((option, begin)) = word.split_once('=') {
        let kind = option.strip_prefix("--").and_then(option_kind);
        let values = kind.map_or_else(Vec::new, |kind| values(kind, names, begin));
        return values.into_iter().map(|value| format!("{option}={value}")).collect();
    }
    if word.starts_with('-') {
        return leaf.options().filter(|option| option.starts_with(word)).collect();
    }
    let is_value = before.last().is_some_and(|last| last.starts_with("--"));
    match leaf.name_kind(before) {
        Some(NameKind::Account) if !is_value => account_words(leaf, names, before, word),
        Some(kind) => values(kind, names, word),
        None => Vec::new(),
    }
}

/// Whole names, as one word each.
fn values(kind: NameKind, names: &dyn Names, begin: &str) -> Vec<String> {
    match kind {
        NameKind::Region => regions(names, begin),
        NameKind::Account => names.accounts(begin).iter().map(|name| quoted(name)).collect(),
    }
}

fn regions(names: &dyn Names, begin: &str) -> Vec<String> {
    let begin = begin.to_lowercase();
    let known = names.regions().into_iter().filter(|name| name.to_lowercase().starts_with(&begin));
    known.map(|name| quoted(&name)).collect()
}

/// First and last name as words of their own, as subcommands take them: both, or the last name behind the first one.
fn account_words(leaf: Leaf<'_>, names: &dyn Names, before: &[String], word: &str) -> Vec<String> {
    let behind = before.get(leaf.depth..).unwrap_or_default();
    match (leaf.n_positionals(behind), before.last()) {
        (0, _) => names.accounts(word),
        (1, Some(first)) => {
            let accounts = names.accounts(&format!("{first} {word}"));
            let last = |name: &String| name.split_once(' ').map(|(_, last)| last.to_owned());
            accounts.iter().filter_map(last).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Names for Known {
        fn regions(&self) -> Vec<String> {
            ["Harbour", "Old Town", "Quay's End"].map(str::to_owned).into()
        }

        fn accounts(&self, begins: &str) -> Vec<String> {
            let all = ["Ada Lovelace", "Ada Byron", "Eve Byron"].map(str::to_owned);
            let begins = begins.to_lowercase();
            all.into_iter().filter(|name| name.to_lowercase().starts_with(&begins)).collect()
        }
    }

    fn completed(line: &str) -> (usize, Vec<String>) {
        complete(&CommandTree::new(), &Known, line)
    }

    fn words(line: &str) -> Vec<String> {
        completed(line).1
    }

    #[test]
    fn commands_of_both_consoles_are_completed_word_by_word() {
        assert_eq!(completed("sho"), (0, vec!["show".into()]));
        let shown = words("show ");
        assert!(shown.contains(&"users".into()) && shown.contains(&"regions".into()), "{shown:?}");
        assert_eq!(completed("show us"), (5, vec!["users".into()]));
        assert_eq!(words("terrain f"), ["fill"]);
        // The same word in both.
        assert_eq!(words("region res"), ["restart"]);
        assert_eq!(words("chan"), ["change"]);
        assert_eq!(words("user onl"), ["online"]);
        assert_eq!(words("xyz"), Vec::<String>::new());
        assert_eq!(words("# sho"), Vec::<String>::new());
    }

    #[test]
    fn options_and_names_of_regions_are_completed() {
        assert_eq!(words("terrain fill 21 --reg"), ["--region"]);
        assert_eq!(words("terrain fill 21 --region H"), ["Harbour"]);
        assert_eq!(words("terrain fill 21 --region=ol"), ["--region='Old Town'"]);
        assert_eq!(completed("change region \"Old"), (14, vec!["'Old Town'".into()]));
        assert_eq!(words("change region q"), ["\"Quay's End\""]);
        assert_eq!(words("Remove-Region ha"), ["Harbour"]);
        assert_eq!(words("delete-region old"), ["'Old Town'"]);
        assert_eq!(words("create region "), Vec::<String>::new());
        assert_eq!(words("region rename Ha"), ["Harbour"]);
        assert_eq!(words("region create Quay --wa"), ["--water"]);
        assert_eq!(words("region save "), ["\"Quay's End\"", "'Old Town'", "Harbour"]);
    }

    #[test]
    fn names_of_accounts_are_completed_as_their_subcommands_take_them() {
        assert_eq!(words("user ban Ad"), ["Ada Byron", "Ada Lovelace"]);
        assert_eq!(words("user ban Ada L"), ["Lovelace"]);
        assert_eq!(words("kick eve "), ["Byron"]);
        assert_eq!(words("objects list --owner ev"), ["'Eve Byron'"]);
        assert_eq!(words("alert Hello --user ada l"), Vec::<String>::new());
        assert_eq!(words("alert Hello --user \"ada l"), ["'Ada Lovelace'"]);
    }
}
