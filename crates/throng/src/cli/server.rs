//! Commands on a running server as a whole: `throng status`, `login`, `say`, `shutdown`.

use super::DataArg;
use clap::{Args, Subcommand};

/// `throng status`: version, uptime, numbers of regions and users, and problems.
#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// Answer in JSON. Times are in seconds.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng login …`. Changes hold until the server ends. Exit status 1: refused.
#[derive(Clone, Debug, Subcommand)]
pub enum LoginCommand {
    /// Open logins again.
    Enable {
        /// The server.
        #[command(flatten)]
        target: LoginTarget,
    },
    /// Refuse all logins. Present users stay.
    #[command(after_help = "Example:
  throng login disable --reason \"We move house until noon.\"")]
    Disable {
        /// Sentence that refused users are shown, at most 254 characters.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// The server.
        #[command(flatten)]
        target: LoginTarget,
    },
    /// Show whether logins are open, and the texts that users are shown.
    Status {
        /// The server.
        #[command(flatten)]
        target: LoginTarget,
    },
    /// Set the text that users are shown when they enter.
    #[command(
        after_help = "The text of the configuration (login.welcome) holds again from the next start on.
Example:
  throng login message \"Market day at the harbour.\""
    )]
    Message {
        /// The text, at most 1,000 characters.
        #[arg(value_name = "TEXT")]
        text: String,
        /// The server.
        #[command(flatten)]
        target: LoginTarget,
    },
}

/// The server of a command on logins.
#[derive(Args, Clone, Debug)]
pub struct LoginTarget {
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng say TEXT`: a line of chat that all users in a region of a running server hear. Exit status 1: refused or not found.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  throng say \"The ferry leaves.\" --region Harbour --name \"Harbour master\"")]
pub struct SayArgs {
    /// The line, at most 1,023 bytes.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Name of the region.
    #[arg(long, value_name = "NAME")]
    pub region: String,
    /// Speaker as users are shown it; the grid's name without it.
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng shutdown`: ends a running server as SIGTERM does. Exit status 1: refused.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Users are put out with the message, everything is saved, and the process ends, also under --supervise.
Example:
  throng shutdown --message \"Back at noon.\""
)]
pub struct ShutdownArgs {
    /// Message to the users, at most 254 bytes.
    #[arg(long, value_name = "TEXT", default_value = "The server is about to stop. Please come back later.")]
    pub message: String,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}
