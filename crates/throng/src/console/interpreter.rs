//! The meaning of a line. No input or output.

use super::established::{self, RegionMissing};
use super::table::ESTABLISHED;
use super::tree::{CommandTree, CompletedLine, Connection};
use super::words::{self, WordsError, joined};

/// Commands that are suggested for an unknown one.
const NEAR_MAX: usize = 3;
/// Least likeness of a suggestion, by Jaro and Winkler, of 1.
const LIKENESS_MIN: f64 = 0.75;

/// The console's own commands.
pub(super) const OWN: [&str; 4] = ["change region", "help", "quit", "exit"];

/// The meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// An empty line, or a comment.
    Nothing,
    /// Run a subcommand.
    Run(Run),
    /// Choose a region by its name.
    ChangeRegion(String),
    /// Show help on these words.
    Help(Vec<String>),
    /// Leave the console.
    Quit,
}

/// A subcommand to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Arguments of this program.
    pub(super) args: Vec<String>,
    /// The subcommand as a line, if it is other than the typed one.
    pub(super) shown: Option<String>,
    /// Text for its standard input: a password.
    pub(super) input: Option<String>,
}

/// Reasons for which a line means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LineError {
    /// Its words.
    #[error(transparent)]
    Words(#[from] WordsError),
    /// No command begins like this.
    #[error("there is no command {command:?}{}", suggestion(.near))]
    Unknown {
        /// The words.
        command: String,
        /// Similar commands, the most similar first.
        near: Vec<String>,
    },
    /// A subcommand that has others below it.
    #[error("{command} needs one of: {}", .inner.join(", "))]
    Incomplete {
        /// The words.
        command: String,
        /// Words that may follow.
        inner: Vec<String>,
    },
    /// It needs a region.
    #[error("this command is for a region: choose one with `change region NAME`")]
    NoRegion,
    /// A region without a name.
    #[error("name the region: change region NAME")]
    RegionUnnamed,
    /// A subcommand that is none of a console.
    #[error("`{0}` is not run within a console")]
    NotHere(String),
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() {
        "; `help` lists all commands".to_owned()
    } else {
        format!("; perhaps: {}", near.join(", "))
    }
}

/// The meaning of lines, for a server and a chosen region.
#[derive(Clone, Debug)]
pub(super) struct Interpreter {
    pub(super) tree: CommandTree,
    pub(super) connection: Connection,
    /// The chosen region.
    pub(super) region: Option<String>,
}

impl Interpreter {
    /// Without a region.
    pub(super) fn new(connection: Connection) -> Self {
        Self { tree: CommandTree::new(), connection, region: None }
    }

    /// The meaning of a line.
    ///
    /// # Errors
    /// [`LineError`].
    pub(super) fn interpret(&self, line: &str) -> Result<Step, LineError> {
        let words = words::split(line)?;
        let Some(first) = words.first() else { return Ok(Step::Nothing) };
        let second = words.get(1).map(|word| word.to_ascii_lowercase());
        match (first.to_ascii_lowercase().as_str(), second.as_deref()) {
            ("quit" | "exit", None) => return Ok(Step::Quit),
            ("help" | "?", _) => return Ok(Step::Help(words[1..].to_vec())),
            ("change", Some("region")) if words.len() == 2 => return Err(LineError::RegionUnnamed),
            ("change", Some("region")) => return Ok(Step::ChangeRegion(words[2..].join(" "))),
            _ => {}
        }
        if let Some(translated) = established::translate(&self.tree, &words, self.region.as_deref()) {
            let translated = translated.map_err(|RegionMissing| LineError::NoRegion)?;
            let mut run = self.run(&translated.words)?;
            run.input = translated.input;
            run.shown = run.shown.or_else(|| shown_if_other(&translated.words, &words));
            return Ok(Step::Run(run));
        }
        if self.tree.is_not_here(&words) {
            return Err(LineError::NotHere(first.clone()));
        }
        self.run(&words).map(Step::Run)
    }

    /// A subcommand with what the console knows. The line is shown if that changes it.
    fn run(&self, words: &[String]) -> Result<Run, LineError> {
        let Some(leaf) = self.tree.leaf(words) else {
            return Err(LineError::Unknown { command: joined_beginning(words), near: self.near(words) });
        };
        let asks_for_help = words.iter().any(|word| word == "--help" || word == "-h");
        if !leaf.is_whole() && !asks_for_help {
            let inner = self.tree.below(&words[..leaf.depth]);
            return Err(LineError::Incomplete {
                command: joined_beginning(&words[..leaf.depth]),
                inner: inner.into_iter().map(ToOwned::to_owned).collect(),
            });
        }
        let completed = leaf.completed(words, &self.connection, self.region.as_deref());
        let CompletedLine { args, shown } = completed.ok_or(LineError::NoRegion)?;
        Ok(Run { args, shown: shown_if_other(&shown, words), input: None })
    }

    /// Commands that are similar to the beginning of a line, the most similar first.
    fn near(&self, words: &[String]) -> Vec<String> {
        let known = self.tree.phrases().into_iter().map(|(phrase, _)| phrase);
        let established = ESTABLISHED.iter().map(|row| row.phrase());
        let own = OWN.into_iter().map(ToOwned::to_owned);
        let mut near: Vec<(f64, String)> = known
            .chain(established)
            .chain(own)
            .filter_map(|command| {
                // Compared with as many words as it has.
                let n_words = command.split(' ').count();
                let typed = words.iter().take(n_words).map(|word| word.to_ascii_lowercase());
                let likeness = strsim::jaro_winkler(&typed.collect::<Vec<_>>().join(" "), &command);
                (likeness >= LIKENESS_MIN).then_some((likeness, command))
            })
            .collect();
        near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
        near.dedup_by(|(_, one), (_, other)| one == other);
        near.into_iter().take(NEAR_MAX).map(|(_, command)| command).collect()
    }
}

/// A line of these words, if they are other ones than those that were typed.
fn shown_if_other(words: &[String], typed: &[String]) -> Option<String> {
    (words != typed).then(|| joined(words.iter().map(String::as_str)))
}

/// The first words of a line, for a message.
fn joined_beginning(words: &[String]) -> String {
    words.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpreter(region: Option<&str>) -> Interpreter {
        let connection = Connection { data: "d".into(), ..Connection::default() };
        Interpreter { region: region.map(Into::into), ..Interpreter::new(connection) }
    }

    fn run(line: &str) -> Run {
        match interpreter(Some("Harbour")).interpret(line) {
            Ok(Step::Run(run)) => run,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn an_established_command_is_run_as_a_subcommand_and_shown() {
        let restart = run("region restart");
        assert_eq!(restart.args, ["region", "restart", "--data=d", "Harbour"]);
        assert_eq!(restart.shown.as_deref(), Some("region restart Harbour"));
        let create = run("create user Ada Lovelace secret");
        assert_eq!(create.args, ["user", "add", "--data=d", "Ada", "Lovelace"]);
        assert_eq!(
            (create.shown.as_deref(), create.input.as_deref()),
            (Some("user add Ada Lovelace"), Some("secret\n"))
        );
        assert_eq!(run("backup").shown.as_deref(), Some("region save Harbour"));
        let merge = run("load oar --merge house.oar");
        assert_eq!(merge.args, ["oar", "load", "--data=d", "--region=Harbour", "--merge", "house.oar"]);
        let all = interpreter(None).interpret("save oar --all grid.oar");
        assert!(
            matches!(all, Ok(Step::Run(run)) if run.args == ["oar", "save", "--data=d", "--all", "grid.oar"])
        );
    }

    #[test]
    fn a_subcommand_is_run_as_it_stands_and_shown_if_a_region_is_added() {
        let list = run("user list --json");
        assert_eq!((list.args.join(" ").as_str(), list.shown), ("user list --data=d --json", None));
        let say = run("say Hello");
        assert_eq!(say.shown.as_deref(), Some("say --region=Harbour Hello"));
        assert_eq!(run("backup /mnt/backups").args, ["backup", "--data=d", "/mnt/backups"]);
        assert_eq!(run("terrain --help").args, ["terrain", "--help"]);
    }

    #[test]
    fn the_consoles_own_commands_are_no_subcommands() {
        let interpret = |line: &str| interpreter(None).interpret(line);
        assert_eq!(interpret(""), Ok(Step::Nothing));
        assert_eq!(interpret("  # later"), Ok(Step::Nothing));
        assert_eq!(interpret("QUIT"), Ok(Step::Quit));
        assert_eq!(interpret("change region Old Town"), Ok(Step::ChangeRegion("Old Town".into())));
        assert_eq!(interpret("change region"), Err(LineError::RegionUnnamed));
        assert_eq!(interpret("help users"), Ok(Step::Help(vec!["users".into()])));
        assert_eq!(interpret("backup"), Err(LineError::NoRegion));
        assert_eq!(interpret("say Hello"), Err(LineError::NoRegion));
        assert_eq!(interpret("serve"), Err(LineError::NotHere("serve".into())));
        assert!(matches!(interpret("say \"Hello"), Err(LineError::Words(WordsError::OpenQuote(5)))));
        let incomplete = interpret("login").unwrap_err().to_string();
        assert!(
            incomplete.starts_with("login needs one of: ") && incomplete.contains("disable"),
            "{incomplete}"
        );
    }

    #[test]
    fn unknown_commands_suggest_near_ones() {
        let near = |line: &str| match interpreter(None).interpret(line) {
            Err(LineError::Unknown { near, .. }) => near,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(near("show userz")[0], "show users");
        assert_eq!(near("creat user Ada Lovelace")[0], "create user");
        assert_eq!(near("chnage region Harbour")[0], "change region");
        assert!(near("xyzzy").is_empty());
        let unknown = interpreter(None).interpret("shw regions now please").unwrap_err().to_string();
        assert!(
            unknown.starts_with("there is no command \"shw regions now\"; perhaps: show regions"),
            "{unknown}"
        );
    }
}
