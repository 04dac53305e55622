//! The console's help. No input or output.

use super::interpreter::{Interpreter, Run};
use super::table::{ESTABLISHED, Established, TOPICS};
use std::fmt::Write as _;

/// Help on a topic, or the subcommand that prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Help {
    /// This text.
    Text(String),
    /// The subcommand's own help.
    OfSubcommand(Run),
}

/// Help on these words: all topics without any, a topic, a subcommand, or commands that begin with them.
pub(super) fn help(interpreter: &Interpreter, words: &[String]) -> Help {
    let wanted = words.join(" ").to_lowercase();
    if words.is_empty() {
        return Help::Text(overview(interpreter));
    }
    let rows: Vec<&Established> = ESTABLISHED
        .iter()
        .filter(|row| row.topic == wanted || row.command.to_lowercase().starts_with(&wanted))
        .collect();
    let leaf = interpreter.tree.leaf(words).filter(|leaf| leaf.depth == words.len());
    match (rows.is_empty(), leaf) {
        (true, None) => Help::Text(format!("There is no help on {wanted:?}. `help` lists all topics.\n")),
        (true, Some(_)) => {
            let mut args = words.to_vec();
            args.push("--help".to_owned());
            Help::OfSubcommand(Run { args, shown: None, input: None })
        }
        (false, leaf) => {
            let mut text = table(&rows);
            if leaf.is_some() {
                let _ = writeln!(text, "\n`{wanted} --help` has all arguments of the subcommand.");
            }
            Help::Text(text)
        }
    }
}

fn table(rows: &[&Established]) -> String {
    let width = rows.iter().map(|row| row.command.chars().count()).max().unwrap_or_default();
    let mut out = String::new();
    for row in rows {
        let _ = writeln!(out, "{:<width$}  throng {}", row.command, row.subcommand);
    }
    out
}

fn overview(interpreter: &Interpreter) -> String {
    let mut out = String::from(
        "Established commands by topic (help TOPIC lists them with the subcommand that each stands for):\n",
    );
    for topic in TOPICS {
        let phrases = ESTABLISHED.iter().filter(|row| row.topic == topic).map(Established::phrase);
        let mut phrases: Vec<String> = phrases.collect();
        phrases.dedup();
        let _ = writeln!(out, "  {topic}: {}", phrases.join(", "));
    }
    out.push_str(
        "Of the console itself: change region NAME (or root for none), help, quit, exit\nSubcommands:\n",
    );
    let phrases = interpreter.tree.phrases();
    let width = phrases.iter().map(|(phrase, _)| phrase.len()).max().unwrap_or_default();
    for (phrase, about) in phrases {
        let first = about.lines().next().unwrap_or_default();
        let _ = writeln!(out, "  {phrase:<width$}  {first}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tree::Connection;

    fn help_on(line: &str) -> Help {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        help(&Interpreter::new(Connection::default()), &words)
    }

    fn text(line: &str) -> String {
        match help_on(line) {
            Help::Text(text) => text,
            Help::OfSubcommand(run) => panic!("{line}: {run:?}"),
        }
    }

    #[test]
    fn help_names_every_command_of_both_consoles() {
        let all = text("");
        for row in ESTABLISHED {
            assert!(all.contains(&row.phrase()), "{}", row.command);
        }
        for (phrase, _) in Interpreter::new(Connection::default()).tree.phrases() {
            assert!(all.contains(&phrase), "{phrase}");
        }
    }

    #[test]
    fn help_on_a_topic_or_a_command_shows_its_subcommand() {
        assert!(text("Users").contains("show users") && !text("users").contains("terrain"));
        assert!(text("kick").contains("throng kick --reason=MESSAGE FIRST LAST"));
        assert!(text("terrain").contains("`terrain --help`"));
        assert!(text("xyzzy").starts_with("There is no help"));
        let Help::OfSubcommand(run) = help_on("inventory show") else { panic!("it has help of its own") };
        assert_eq!(run.args, ["inventory", "show", "--help"]);
    }
}
