//! Commits to binaries: each built once, always in the same way.
//!
//! A commit is checked out into a work tree of its own under one directory and built there in release. Compiled
//! dependencies, and crates that two commits share, are compiled once. The binary does not say where it was built
//! (`--remap-path-prefix`): builds of one commit in two directories execute the same instructions.
//!
//! ```text
//! DIR/lock                        held while something is built
//! DIR/tree/                       work tree of the commit built last
//! DIR/target/                     cargo's
//! DIR/binaries/COMMIT-RECIPE      what came of each commit
//! ```

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Rises whenever the way of building changes, so that binaries built otherwise are not compared.
const RECIPE: u32 = 1;
/// Where builds seem to have been made.
const SEEMING: &str = "/throng-preflight";
/// Settings by which an environment would change the build.
const UNWANTED: [&str; 8] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_INCREMENTAL",
    "RUSTC_WRAPPER",
    "RUSTUP_TOOLCHAIN",
];

/// Why there is no binary.
#[derive(Debug, Error)]
pub enum BuildError {
    /// No such commit.
    #[error("{name} is neither a file nor a commit of {repository}")]
    Unknown {
        /// As given.
        name: String,
        /// Where it was looked for.
        repository: PathBuf,
    },
    /// A tool failed, or is not there.
    #[error("{tool} failed for {commit}: {message}")]
    Tool {
        /// Which.
        tool: &'static str,
        /// For what.
        commit: String,
        /// The end of what it said.
        message: String,
    },
    /// The system does not give or take a file.
    #[error("cannot {step} {path}")]
    Io {
        /// What was to be done.
        step: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Builds commits of one repository under one directory.
#[derive(Clone, Debug)]
pub struct Builder {
    repository: PathBuf,
    directory: PathBuf,
}

/// A commit with its binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Full hash.
    pub commit: String,
    /// Where it is.
    pub binary: PathBuf,
}

impl Builder {
    /// Builds what is in `repository` under `directory`, which is made when it is missing.
    ///
    /// # Errors
    /// When one of the paths cannot be used.
    pub fn new(repository: &Path, directory: &Path) -> Result<Self, BuildError> {
        let failed = |step, path: &Path| {
            let path = path.to_owned();
            move |source| BuildError::Io { step, path, source }
        };
        fs::create_dir_all(directory.join("binaries")).map_err(failed("create", directory))?;
        Ok(Self {
            repository: repository.canonicalize().map_err(failed("find", repository))?,
            directory: directory.canonicalize().map_err(failed("find", directory))?,
        })
    }

    /// The binary of a commit, built now if it has not been yet.
    ///
    /// # Errors
    /// When there is no such commit, or it cannot be checked out or built.
    pub fn build(&self, name: &str) -> Result<Built, BuildError> {
        let commit = self.resolve(name)?;
        let lock_path = self.directory.join("lock");
        let lock = File::create(&lock_path).map_err(|source| BuildError::Io {
            step: "create",
            path: lock_path.clone(),
            source,
        })?;
        // Another preflight builds into the same directory, and perhaps this very commit.
        lock.lock().map_err(|source| BuildError::Io { step: "lock", path: lock_path, source })?;
        let binary = self.directory.join("binaries").join(format!("{commit}-{RECIPE}"));
        if !binary.is_file() {
            self.check_out(&commit)?;
            self.compile(&commit)?;
            self.keep(&binary)?;
        }
        Ok(Built { commit, binary })
    }

    fn resolve(&self, name: &str) -> Result<String, BuildError> {
        let unknown = || BuildError::Unknown { name: name.to_owned(), repository: self.repository.clone() };
        let revision = format!("{name}^{{commit}}");
        let mut git = self.git(&self.repository);
        let output = git.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &revision]).output();
        let output = output.map_err(|error| tool("git", name, &error.to_string()))?;
        if !output.status.success() {
            return Err(unknown());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn check_out(&self, commit: &str) -> Result<(), BuildError> {
        let tree = self.directory.join("tree");
        if tree.join(".git").exists() {
            let mut git = self.git(&tree);
            // A work tree of a repository that has moved is made anew.
            if run("git", commit, git.args(["checkout", "--quiet", "--force", "--detach", commit])).is_ok() {
                return Ok(());
            }
            fs::remove_dir_all(&tree).map_err(|source| BuildError::Io {
                step: "remove",
                path: tree.clone(),
                source,
            })?;
        }
        let mut git = self.git(&self.repository);
        run(
            "git",
            commit,
            git.args(["worktree", "add", "--quiet", "--force", "--detach"]).arg(&tree).arg(commit),
        )
    }

    fn compile(&self, commit: &str) -> Result<(), BuildError> {
        let tree = self.directory.join("tree");
        let mut cargo = Command::new("cargo");
        for name in UNWANTED {
            cargo.env_remove(name);
        }
        let mut flags = vec![remap(&self.directory, SEEMING)];
        if let Some(home) = cargo_home() {
            flags.push(remap(&home, "/cargo"));
        }
        cargo
            .args(["build", "--release", "--locked", "--quiet", "--package", "throng", "--bin", "throng"])
            .arg("--target-dir")
            .arg(self.directory.join("target"))
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .current_dir(&tree);
        run("cargo", commit, &mut cargo)
    }

    /// Under its name only once it is whole.
    fn keep(&self, binary: &Path) -> Result<(), BuildError> {
        let built = self.directory.join("target/release/throng");
        let partial = self.directory.join("binaries/partial");
        fs::copy(&built, &partial)
            .and_then(|_| fs::rename(&partial, binary))
            .map_err(|source| BuildError::Io { step: "copy", path: built, source })
    }

    fn git(&self, directory: &Path) -> Command {
        let mut git = Command::new("git");
        git.arg("-C").arg(directory);
        // Set inside of hooks, where they would mean another repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        git
    }
}

fn remap(from: &Path, to: &str) -> String {
    format!("--remap-path-prefix={}={to}", from.display())
}

/// Where the sources of dependencies are.
fn cargo_home() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}

fn run(name: &'static str, commit: &str, command: &mut Command) -> Result<(), BuildError> {
    let output = command.output().map_err(|error| tool(name, commit, &error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(tool(name, commit, &String::from_utf8_lossy(&output.stderr)))
}

/// The last lines of what a tool said are those that say why.
fn tool(tool: &'static str, commit: &str, said: &str) -> BuildError {
    let lines: Vec<&str> = said.lines().collect();
    let message = lines[lines.len().saturating_sub(20)..].join("\n");
    BuildError::Tool { tool, commit: commit.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_commit_is_said_to_be_none() {
        let repository = tempfile::tempdir().unwrap();
        run("git", "", Command::new("git").arg("init").arg("--quiet").arg(repository.path())).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let builder = Builder::new(repository.path(), directory.path()).unwrap();
        for name in ["no-such-branch", "--all", ""] {
            assert!(matches!(builder.build(name), Err(BuildError::Unknown { .. })), "{name}");
        }
    }

    #[test]
    fn a_commit_is_built_once() {
        let repository = tempfile::tempdir().unwrap();
        let at = repository.path();
        let git = |words: &[&str]| {
            let identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"];
            run("git", "", Command::new("git").arg("-C").arg(at).args(identity).args(words)).unwrap();
        };
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "empty"]);
        let directory = tempfile::tempdir().unwrap();
        let builder = Builder::new(at, directory.path()).unwrap();
        // Nothing to build in it.
        assert!(matches!(builder.build("HEAD"), Err(BuildError::Tool { tool: "cargo", .. })));

        let commit = builder.resolve("HEAD").unwrap();
        let binary = builder.directory.join("binaries").join(format!("{commit}-{RECIPE}"));
        fs::write(&binary, "built before").unwrap();
        assert_eq!(builder.build("HEAD").unwrap(), Built { commit, binary });
    }
}
