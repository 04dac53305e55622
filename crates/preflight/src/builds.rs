//! Commits to binaries: one build per commit, always in the same way.
//!
//! A commit is checked out into a work tree below one directory and built there in release. Compiled dependencies, and
//! crates that two commits share, are compiled once. Builds of one commit in two directories execute the same instructions
//! (measured by the experiment `preflight`), although their debug information differs in its paths.
//!
//! ```text
//! DIR/lock                        held during a build
//! DIR/tree/                       work tree of the latest commit
//! DIR/target/                     cargo's target directory
//! DIR/binaries/COMMIT-RECIPE      binary of each commit
//! ```

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Version of the build procedure. A change of the procedure increments it, so that older binaries are not reused.
const RECIPE: u32 = 2;
/// Environment variables that would change the build, by name and by prefix.
const UNWANTED: [&str; 4] = ["RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTUP_TOOLCHAIN"];
const UNWANTED_BEGINNINGS: [&str; 4] =
    ["CARGO_BUILD_", "CARGO_INCREMENTAL", "CARGO_PROFILE_", "CARGO_TARGET_"];

/// A commit has no binary.
#[derive(Debug, Error)]
pub enum CommitBuildError {
    /// The commit does not exist.
    #[error("{name} is neither a file nor a commit of {repository}")]
    Unknown {
        /// Name from the command line.
        name: String,
        /// Repository that was searched.
        repository: PathBuf,
    },
    /// A tool failed or is missing.
    #[error("{tool} failed for {commit}: {message}")]
    Tool {
        /// Name of the tool.
        tool: &'static str,
        /// Commit or name that it was run for.
        commit: String,
        /// The last lines of its error output.
        message: String,
    },
    /// The operating system refused an operation.
    #[error("cannot {step} {path}")]
    Io {
        /// Operation, as a verb.
        step: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Builds commits of one repository under one directory.
#[derive(Clone, Debug)]
pub struct CommitBuilder {
    repository: PathBuf,
    directory: PathBuf,
}

/// A commit with its binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Full hash.
    pub commit: String,
    /// Path of the binary.
    pub binary: PathBuf,
}

impl CommitBuilder {
    /// A builder for `repository` that writes below `directory`, which it creates if missing.
    ///
    /// # Errors
    /// When one of the paths cannot be used.
    pub fn new(repository: &Path, directory: &Path) -> Result<Self, CommitBuildError> {
        let failed = |step, path: &Path| {
            let path = path.to_owned();
            move |source| CommitBuildError::Io { step, path, source }
        };
        fs::create_dir_all(directory.join("binaries")).map_err(failed("create", directory))?;
        Ok(Self {
            repository: repository.canonicalize().map_err(failed("find", repository))?,
            directory: directory.canonicalize().map_err(failed("find", directory))?,
        })
    }

    /// Copies compiled dependencies from `target`, a target directory of cargo, so that the first build compiles only the
    /// workspace's own crates. Those are always compiled here, and cargo recompiles each dependency that does not fit.
    /// No-op after a first build, or without a release build in `target`.
    ///
    /// # Errors
    /// When files cannot be copied.
    pub fn take_dependencies(&self, target: &Path, name: &str) -> Result<(), CommitBuildError> {
        let commit = self.resolve(name)?;
        let _lock = self.lock()?;
        let (from, to) = (target.join("release"), self.directory.join("target/release"));
        if to.exists() || !from.join(".fingerprint").is_dir() {
            return Ok(());
        }
        let partial = self.directory.join("target/partial");
        let failed = |source| CommitBuildError::Io { step: "create", path: partial.clone(), source };
        fs::create_dir_all(&partial).map_err(failed)?;
        // Cargo compares modification times and writes to these files, so the copy keeps times and makes no links.
        let parts = [".fingerprint", "build", "deps"].map(|part| from.join(part));
        run("cp", &commit, Command::new("cp").arg("-a").args(&parts).arg(&partial))?;
        fs::rename(&partial, &to).map_err(failed)?;
        self.check_out(&commit)?;
        let tree = self.directory.join("tree");
        run("cargo", &commit, self.cargo("clean").args(["--locked", "--workspace"]).current_dir(&tree))
    }

    /// The binary of a commit. Built on the first call for this commit.
    ///
    /// # Errors
    /// When the commit does not exist, or cannot be checked out or built.
    pub fn build(&self, name: &str) -> Result<Built, CommitBuildError> {
        let commit = self.resolve(name)?;
        let _lock = self.lock()?;
        let binary = self.directory.join("binaries").join(format!("{commit}-{RECIPE}"));
        if !binary.is_file() {
            self.check_out(&commit)?;
            self.compile(&commit)?;
            self.store_binary(&binary)?;
        }
        Ok(Built { commit, binary })
    }

    fn resolve(&self, name: &str) -> Result<String, CommitBuildError> {
        let unknown =
            || CommitBuildError::Unknown { name: name.to_owned(), repository: self.repository.clone() };
        let revision = format!("{name}^{{commit}}");
        let mut git = self.git(&self.repository);
        let output = git.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &revision]).output();
        let output = output.map_err(|error| tool("git", name, &error.to_string()))?;
        if !output.status.success() {
            return Err(unknown());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Excludes other preflight processes that build below the same directory, perhaps the same commit.
    fn lock(&self) -> Result<File, CommitBuildError> {
        let path = self.directory.join("lock");
        let failed = |step| {
            let path = path.clone();
            move |source| CommitBuildError::Io { step, path, source }
        };
        let lock = File::create(&path).map_err(failed("create"))?;
        lock.lock().map_err(failed("lock"))?;
        Ok(lock)
    }

    fn check_out(&self, commit: &str) -> Result<(), CommitBuildError> {
        let tree = self.directory.join("tree");
        if tree.join(".git").exists() {
            let mut git = self.git(&tree);
            // Fails for a work tree of a repository that has moved: create it again.
            if run("git", commit, git.args(["checkout", "--quiet", "--force", "--detach", commit])).is_ok() {
                return Ok(());
            }
            fs::remove_dir_all(&tree).map_err(|source| CommitBuildError::Io {
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

    fn compile(&self, commit: &str) -> Result<(), CommitBuildError> {
        let tree = self.directory.join("tree");
        run(
            "cargo",
            commit,
            self.cargo("build")
                .args(["--locked", "--package", "throng", "--bin", "throng"])
                .current_dir(&tree),
        )
    }

    fn cargo(&self, command: &str) -> Command {
        let mut cargo = plain_cargo();
        cargo.args([command, "--release", "--quiet", "--target-dir"]).arg(self.directory.join("target"));
        cargo
    }

    /// Copies the binary to its name atomically.
    fn store_binary(&self, binary: &Path) -> Result<(), CommitBuildError> {
        let built = self.directory.join("target/release/throng");
        let partial = self.directory.join("binaries/partial");
        fs::copy(&built, &partial)
            .and_then(|_| fs::rename(&partial, binary))
            .map_err(|source| CommitBuildError::Io { step: "copy", path: built, source })
    }

    fn git(&self, directory: &Path) -> Command {
        let mut git = Command::new("git");
        git.arg("-C").arg(directory);
        // Git sets these inside of hooks, where they would select another repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        git
    }
}

/// Cargo without settings from the environment or from a configuration in a home directory.
fn plain_cargo() -> Command {
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let begins = |beginning: &&str| text.starts_with(*beginning);
        if UNWANTED.contains(&text.as_ref()) || UNWANTED_BEGINNINGS.iter().any(begins) {
            cargo.env_remove(&name);
        }
    }
    // An empty value takes precedence over flags in configuration files.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
    cargo
}

fn run(name: &'static str, commit: &str, command: &mut Command) -> Result<(), CommitBuildError> {
    let output = command.output().map_err(|error| tool(name, commit, &error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(tool(name, commit, &String::from_utf8_lossy(&output.stderr)))
}

/// A tool's failure with the last lines of its output, which state the reason.
fn tool(tool: &'static str, commit: &str, said: &str) -> CommitBuildError {
    let lines: Vec<&str> = said.lines().collect();
    let message = lines[lines.len().saturating_sub(20)..].join("\n");
    CommitBuildError::Tool { tool, commit: commit.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_commit_is_reported() {
        let repository = tempfile::tempdir().unwrap();
        run("git", "", Command::new("git").arg("init").arg("--quiet").arg(repository.path())).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let builder = CommitBuilder::new(repository.path(), directory.path()).unwrap();
        for name in ["no-such-branch", "--all", ""] {
            assert!(matches!(builder.build(name), Err(CommitBuildError::Unknown { .. })), "{name}");
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
        let builder = CommitBuilder::new(at, directory.path()).unwrap();
        // The empty commit has nothing to build.
        assert!(matches!(builder.build("HEAD"), Err(CommitBuildError::Tool { tool: "cargo", .. })));

        let commit = builder.resolve("HEAD").unwrap();
        let binary = builder.directory.join("binaries").join(format!("{commit}-{RECIPE}"));
        fs::write(&binary, "built before").unwrap();
        assert_eq!(builder.build("HEAD").unwrap(), Built { commit, binary });
    }

    /// A package built in release, with one dependency outside of its workspace.
    fn project(at: &Path) -> PathBuf {
        let write = |path: &str, text: &str| {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("apart/Cargo.toml", "[package]\nname = \"apart\"\nedition = \"2024\"\n");
        write("apart/src/lib.rs", "pub fn number() -> u32 { 7 }\n");
        let apart = at.join("apart");
        let manifest = format!(
            "[package]\nname = \"throng\"\nedition = \"2024\"\n[workspace]\n[dependencies]\napart = {{ path = {apart:?} }}\n"
        );
        write("checkout/Cargo.toml", &manifest);
        write("checkout/rust-toolchain.toml", include_str!("../../../rust-toolchain.toml"));
        write("checkout/src/main.rs", "fn main() { std::process::exit(apart::number() as i32); }\n");
        let checkout = at.join("checkout");
        let (mut cargo, target) = (plain_cargo(), checkout.join("target"));
        run(
            "cargo",
            "",
            cargo.args(["build", "--release", "--quiet", "--target-dir"]).arg(target).current_dir(&checkout),
        )
        .unwrap();
        let git = |words: &[&str]| {
            let identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"];
            run("git", "", Command::new("git").arg("-C").arg(&checkout).args(identity).args(words)).unwrap();
        };
        git(&["init", "--quiet"]);
        git(&["add", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "src"]);
        git(&["commit", "--quiet", "-m", "first"]);
        checkout
    }

    /// Names and modification times of the files of a crate.
    fn files_of(target: &Path, name: &str) -> Vec<(String, std::time::SystemTime)> {
        let mut files: Vec<_> = fs::read_dir(target.join("release/deps"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().modified().unwrap())
            })
            .filter(|(file, _)| file.trim_start_matches("lib").starts_with(name))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn dependencies_are_taken_over_and_the_workspace_is_compiled() {
        let directory = tempfile::tempdir().unwrap();
        let checkout = project(directory.path());
        let target = checkout.join("target");
        let builder = CommitBuilder::new(&checkout, &directory.path().join("builds")).unwrap();
        builder.take_dependencies(&target, "HEAD").unwrap();
        let taken = builder.directory.join("target");
        assert_eq!(files_of(&taken, "apart"), files_of(&target, "apart"));
        assert_eq!(files_of(&taken, "throng"), []);

        let built = builder.build("HEAD").unwrap();
        assert_eq!(Command::new(&built.binary).status().unwrap().code(), Some(7));
        assert_eq!(files_of(&taken, "apart"), files_of(&target, "apart"), "was compiled again");
        assert_ne!(files_of(&taken, "throng"), []);
        // A second call changes nothing.
        let before = files_of(&taken, "throng");
        builder.take_dependencies(&target, "HEAD").unwrap();
        assert_eq!(files_of(&taken, "throng"), before);
    }

    #[test]
    fn without_a_release_build_nothing_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let checkout = project(directory.path());
        let builder = CommitBuilder::new(&checkout, &directory.path().join("builds")).unwrap();
        builder.take_dependencies(&directory.path().join("elsewhere"), "HEAD").unwrap();
        assert!(!builder.directory.join("target").exists());
    }
}
