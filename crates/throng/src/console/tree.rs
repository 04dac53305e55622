//! The subcommands of this program as the console sees them. No input or output.

use crate::cli::Cli;
use clap::{Arg, Command, CommandFactory};

/// Subcommands that make no sense within a console: it would wait for them without end, or for itself.
const NOT_HERE: [&str; 2] = ["console", "serve"];

/// All subcommands.
#[derive(Clone, Debug)]
pub(super) struct CommandTree(Command);

/// A subcommand that words lead to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<'a> {
    command: &'a Command,
    /// Words that lead to it.
    pub(super) depth: usize,
}

/// Kinds of names that arguments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A region.
    Region,
    /// An account.
    Account,
}

/// Connection of the console to its server, as arguments of subcommands that take them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Connection {
    /// Data directory.
    pub(super) data: String,
    /// Configuration file.
    pub(super) config: Option<String>,
    /// Address of the database.
    pub(super) store: Option<String>,
}

impl CommandTree {
    /// That of this program.
    pub(super) fn new() -> Self {
        Self(Cli::command())
    }

    /// The subcommand at the beginning of a line; none if the first word is no subcommand.
    pub(super) fn leaf(&self, words: &[String]) -> Option<Leaf<'_>> {
        let mut leaf = Leaf { command: &self.0, depth: 0 };
        for word in words {
            let inner = leaf.command.find_subcommand(word).filter(|inner| !inner.is_hide_set());
            let Some(command) = inner else { break };
            leaf = Leaf { command, depth: leaf.depth + 1 };
        }
        (leaf.depth > 0).then_some(leaf)
    }

    /// True for a subcommand that the console does not run.
    pub(super) fn is_not_here(&self, words: &[String]) -> bool {
        words.first().is_some_and(|word| NOT_HERE.contains(&word.as_str()))
    }

    /// Subcommands below the words that lead to them; all of the first level without words.
    pub(super) fn below(&self, words: &[String]) -> Vec<&str> {
        let command = match self.leaf(words) {
            Some(leaf) if leaf.depth == words.len() => leaf.command,
            None if words.is_empty() => &self.0,
            Some(_) | None => return Vec::new(),
        };
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name);
        inner.filter(|name| !words.is_empty() || !NOT_HERE.contains(name)).collect()
    }

    /// The words of all subcommands that can be run, such as `user add`, each with a sentence about it.
    pub(super) fn phrases(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut open = vec![(String::new(), &self.0)];
        while let Some((phrase, command)) = open.pop() {
            let mut inner = command.get_subcommands().filter(|inner| !inner.is_hide_set()).peekable();
            if inner.peek().is_none() && !phrase.is_empty() {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                found.push((phrase.clone(), about));
            }
            let inner = inner.filter(|inner| !phrase.is_empty() || !NOT_HERE.contains(&inner.get_name()));
            open.extend(
                inner.map(|inner| (format!("{phrase} {}", inner.get_name()).trim_start().to_owned(), inner)),
            );
        }
        found.sort();
        found
    }
}

impl<'a> Leaf<'a> {
    /// True if it can be run: it has no subcommands of its own.
    pub(super) fn is_whole(&self) -> bool {
        !self.command.has_subcommands()
    }

    fn option(&self, long: &str) -> Option<&'a Arg> {
        self.command.get_arguments().find(|arg| arg.get_long() == Some(long))
    }

    /// True for an option of it that has a value.
    pub(super) fn takes_value(&self, long: &str) -> bool {
        self.option(long).is_some_and(|arg| arg.get_action().takes_values())
    }

    /// Its options, as `--name`.
    pub(super) fn options(&self) -> impl Iterator<Item = String> {
        let longs = self.command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
        longs.map(|long| format!("--{long}"))
    }

    /// The line with what the console knows: connection, and region if the subcommand needs one and the line names none. Options come before the line's
    /// own arguments, which may end with `--`. None if a region is needed and none is chosen.
    pub(super) fn completed(
        &self,
        words: &[String],
        connection: &Connection,
        region: Option<&str>,
    ) -> Option<CompletedLine> {
        let given = |long: &str| {
            let (whole, begin) = (format!("--{long}"), format!("--{long}="));
            let mut options = words.iter().take_while(|word| *word != "--");
            options.any(|word| *word == whole || word.starts_with(&begin))
        };
        let (path, rest) = words.split_at(self.depth);
        let mut shown = path.to_vec();
        let asks_for_help = given("help") || rest.iter().any(|word| word == "-h");
        let needs_region = self.option("region").is_some_and(Arg::is_required_set) && !given("region");
        if needs_region && !asks_for_help {
            shown.push(format!("--region={}", region?));
        }
        let mut args = shown.clone();
        let Connection { data, config, store } = connection;
        for (long, value) in [("data", Some(data)), ("config", config.as_ref()), ("store", store.as_ref())] {
            if let Some(value) = value.filter(|_| self.option(long).is_some() && !given(long)) {
                args.push(format!("--{long}={value}"));
            }
        }
        shown.extend_from_slice(rest);
        args.extend_from_slice(rest);
        Some(CompletedLine { args, shown })
    }

    /// The kind of names that the next word has, behind these.
    pub(super) fn name_kind(&self, before: &[String]) -> Option<NameKind> {
        let behind = before.get(self.depth..)?;
        if let Some(long) = behind.last().and_then(|word| word.strip_prefix("--")) {
            return option_kind(long).filter(|_| self.option(long).is_some());
        }
        let positional = self.command.get_positionals().next()?;
        match positional.get_id().as_str() {
            "words" => Some(NameKind::Account),
            "name" if self.is_of_region() && self.n_positionals(behind) == 0 => Some(NameKind::Region),
            _ => None,
        }
    }

    /// Positional arguments among the words behind the subcommand.
    pub(super) fn n_positionals(&self, behind: &[String]) -> usize {
        let mut n = 0;
        let mut words = behind.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                Some(long) => {
                    if !long.contains('=') && self.takes_value(long) {
                        words.next();
                    }
                }
                None => n += 1,
            }
        }
        n
    }

    /// True below `throng region`, whose first arguments are names of regions.
    fn is_of_region(&self) -> bool {
        ["save", "show", "restart", "export", "import", "remove", "rename"].contains(&self.command.get_name())
    }
}

/// Kind of the names that an option takes.
pub(super) fn option_kind(long: &str) -> Option<NameKind> {
    match long {
        "region" | "world" => Some(NameKind::Region),
        "owner" | "user" | "from" => Some(NameKind::Account),
        _ => None,
    }
}

/// A line with what the console knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompletedLine {
    /// Arguments of this program.
    pub(super) args: Vec<String>,
    /// The same without the connection, for people.
    pub(super) shown: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(ToOwned::to_owned).collect()
    }

    fn completed(line: &str, region: Option<&str>) -> Option<(String, String)> {
        let (tree, words) = (CommandTree::new(), words(line));
        let connection = Connection { data: "d".into(), config: Some("c".into()), store: None };
        let line = tree.leaf(&words).expect("a subcommand").completed(&words, &connection, region)?;
        Some((line.args.join(" "), line.shown.join(" ")))
    }

    #[test]
    fn a_line_gets_the_connection_that_its_subcommand_takes_and_the_region_that_it_needs() {
        let both = |args: &str, shown: &str| Some((args.to_owned(), shown.to_owned()));
        assert_eq!(
            completed("terrain fill 21", Some("Harbour")),
            both("terrain fill --region=Harbour --data=d 21", "terrain fill --region=Harbour 21")
        );
        assert_eq!(completed("terrain fill 21", None), None);
        assert_eq!(
            completed("terrain fill 21 --region Quay --data=e", None),
            both("terrain fill 21 --region Quay --data=e", "terrain fill 21 --region Quay --data=e")
        );
        // It takes a region, and needs none.
        assert_eq!(completed("objects list", Some("Harbour")), both("objects list --data=d", "objects list"));
        assert_eq!(
            completed("user ban Ada -- --region", Some("Harbour")),
            both("user ban --data=d --config=c Ada -- --region", "user ban Ada -- --region")
        );
        assert_eq!(completed("say --help", None), both("say --data=d --help", "say --help"));
    }

    #[test]
    fn subcommands_are_found_by_their_words_and_aliases() {
        let tree = CommandTree::new();
        let depth = |line: &str| tree.leaf(&words(line)).map(|leaf| (leaf.depth, leaf.is_whole()));
        assert_eq!(depth("user add Ada"), Some((2, true)));
        assert_eq!(depth("users create Ada"), Some((2, true)));
        assert_eq!(depth("user"), Some((1, false)));
        assert_eq!(depth("show users"), None);
        assert_eq!(depth("workload"), None, "hidden");
        assert!(tree.is_not_here(&words("serve")) && !tree.is_not_here(&words("status")));
        let phrases = tree.phrases();
        assert!(phrases.iter().any(|(phrase, about)| phrase == "region list" && !about.is_empty()));
        assert!(!phrases.iter().any(|(phrase, _)| phrase.starts_with("serve") || phrase.is_empty()));
        assert!(tree.below(&words("terrain")).contains(&"fill"));
        assert!(tree.below(&[]).contains(&"user") && !tree.below(&[]).contains(&"console"));
        assert!(tree.below(&words("terrain fill 3")).is_empty());
    }

    #[test]
    fn arguments_have_kinds_of_names() {
        let tree = CommandTree::new();
        let kind = |line: &str| {
            let words = words(line);
            tree.leaf(&words).and_then(|leaf| leaf.name_kind(&words))
        };
        assert_eq!(kind("terrain fill 21 --region"), Some(NameKind::Region));
        assert_eq!(kind("region show"), Some(NameKind::Region));
        assert_eq!(kind("region show --json"), None, "an option without a value");
        assert_eq!(kind("region export Harbour"), None, "a file");
        assert_eq!(kind("region rename"), Some(NameKind::Region));
        assert_eq!(kind("region rename Harbour"), None, "a new name");
        assert_eq!(kind("region remove"), Some(NameKind::Region));
        assert_eq!(kind("region create"), None, "a new name");
        assert_eq!(kind("user ban"), Some(NameKind::Account));
        assert_eq!(kind("kick Ada"), Some(NameKind::Account));
        assert_eq!(kind("objects list --owner"), Some(NameKind::Account));
        assert_eq!(kind("terrain fill"), None);
    }
}
