//! `throng console`.

use super::StoreArgs;
use clap::Args;
use std::path::PathBuf;

/// `throng console …`: a prompt over all subcommands, which accepts the established commands of OpenSimulator's console as well.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A line is a subcommand of throng without the program's name, or a command of the other console; the subcommand that it stands for is printed on standard error.
Without a terminal, commands are read from standard input. `help` lists the commands; docs/operating/console.md has a table of both.
Examples:
  throng console --data /var/lib/throng
  throng console --exec nightly.txt --config /etc/throng.toml
Exit status of a script: 0, or that of the first command that fails. Otherwise that of the last command."
)]
pub struct ConsoleArgs {
    /// Run the commands of a file, and stop at the first error.
    #[arg(long, value_name = "FILE")]
    pub exec: Option<PathBuf>,
    /// Region that commands are for until another one is chosen; without it, the server's only region, if it has one.
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// The server, and its database.
    #[command(flatten)]
    pub store: StoreArgs,
}
