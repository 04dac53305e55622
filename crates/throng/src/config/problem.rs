//! Problems of a configuration.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing wrong with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The key, such as `gateway.send_hz` or `region[0].name`.
    pub key: String,
    /// The value that was given, as TOML; empty when the key itself is the problem.
    pub value: String,
    /// Its source: the file, a variable, a flag.
    pub origin: String,
    /// The problem, with the allowed values.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.key)?;
        if !self.value.is_empty() {
            write!(f, " = {}", self.value)?;
        }
        if !self.origin.is_empty() {
            write!(f, " ({})", self.origin)?;
        }
        write!(f, " {}", self.message)
    }
}

/// A configuration that the server does not start with.
#[derive(Debug)]
pub struct ConfigError {
    kind: ConfigErrorKind,
}

#[derive(Debug)]
enum ConfigErrorKind {
    Unreadable { path: PathBuf, source: Box<figment::Error> },
    Problems(Vec<ConfigProblem>),
}

impl ConfigError {
    pub(super) const fn new(problems: Vec<ConfigProblem>) -> Self {
        Self { kind: ConfigErrorKind::Problems(problems) }
    }

    pub(super) fn unreadable(path: &Path, error: figment::Error) -> Self {
        Self { kind: ConfigErrorKind::Unreadable { path: path.to_owned(), source: Box::new(error) } }
    }

    /// Problems by key; empty if the file could not be read at all.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        match &self.kind {
            ConfigErrorKind::Unreadable { .. } => &[],
            ConfigErrorKind::Problems(problems) => problems,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ConfigErrorKind::Unreadable { path, source } => {
                write!(f, "cannot read {}: {source}", path.display())
            }
            ConfigErrorKind::Problems(problems) => {
                f.write_str("the configuration is not valid:")?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}
