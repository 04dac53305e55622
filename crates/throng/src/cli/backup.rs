//! `throng verify`, `throng backup` and `throng restore`: stored data, against their loss.

use super::StoreArgs;
use clap::Args;
use std::path::PathBuf;

/// `throng verify …`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A running server of the data directory does it as a job. Without one, or with --store, this command does; nothing is changed.
Examples:
  throng verify
  throng verify --deep --json --config /etc/throng.toml"
)]
pub struct VerifyArgs {
    /// Also read all bytes of assets and compare their hashes.
    #[arg(long)]
    pub deep: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server, or its database.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `throng backup DIR …`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A running server of the data directory does it as a job, at its pace. Without one, or with --store, this command does.
Example:
  throng backup /mnt/backups --config /etc/throng.toml"
)]
pub struct BackupArgs {
    /// Directory of backups: missing, empty or with earlier ones. Files of assets that it has are not copied again.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server, or its database.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `throng restore DIR …`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  throng restore /mnt/backups --to data --config /etc/throng.toml
  throng restore /mnt/backups --backup 20261224T180000Z --to /tmp/then
  throng restore /mnt/backups --rehearse --config /etc/throng.toml")]
pub struct RestoreArgs {
    /// Directory of backups.
    #[arg(value_name = "DIR")]
    pub from: PathBuf,
    /// The data directory to make: missing or empty [default: data; with --rehearse, one within DIR]. A rehearsal leaves it as it was.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Name of the backup [default: the newest one].
    #[arg(long, value_name = "NAME")]
    pub backup: Option<String>,
    /// Restore for trial: verify every byte, run the worlds without clients for a second, record the date, and remove the copy.
    #[arg(long)]
    pub rehearse: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// TOML file with the server's configuration: its folder of assets, and its regions for a rehearsal.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::parse;

    #[test]
    fn a_backup_needs_its_directory() {
        let backup: BackupArgs = parse("/mnt/backups --data x").unwrap();
        assert_eq!((backup.directory, backup.store.data), ("/mnt/backups".into(), Some("x".into())));
        assert!(parse::<BackupArgs>("").is_err());
        assert!(parse::<BackupArgs>("a b").is_err());
        let verify: VerifyArgs = parse("--deep --json").unwrap();
        assert!(verify.deep && verify.json);
    }

    #[test]
    fn a_restore_is_of_the_newest_backup_unless_one_is_named() {
        let restore: RestoreArgs = parse("/mnt/backups").unwrap();
        assert_eq!((restore.to, restore.backup, restore.rehearse), (None, None, false));
        let restore: RestoreArgs = parse("/mnt/backups --to x --backup 20261224T180000Z --rehearse").unwrap();
        assert_eq!((restore.to, restore.backup.as_deref()), (Some("x".into()), Some("20261224T180000Z")));
        assert!(restore.rehearse);
        assert!(parse::<RestoreArgs>("--rehearse").is_err());
    }
}
