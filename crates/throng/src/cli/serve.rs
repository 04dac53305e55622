//! `throng serve` and `throng config`.

use crate::config::{Flag, Sources};
use clap::{Args, Subcommand};
use std::net::{SocketAddr, SocketAddrV4};
use std::path::PathBuf;

/// `throng serve …`. Every flag here wins over the configuration's file and the environment.
#[derive(Args, Clone, Debug, Default)]
pub struct ServeArgs {
    /// Directory of the database, the admin token and run.json; created when missing [default: data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address of the database: sqlite:, sqlite:PATH or postgres://USER@HOST/DATABASE [default: sqlite:].
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Address of HTTP: login, capabilities and the page [default: 127.0.0.1:9000].
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// The first of four consecutive UDP ports; port 0 picks free ones [default: 127.0.0.1:9000].
    #[arg(long, value_name = "ADDR")]
    pub udp: Option<SocketAddrV4>,
    /// Address of metrics, health checks and the operator's commands [default: 127.0.0.1:9009].
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<SocketAddr>,
    /// TOML file with the configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Create accounts at their first login; refused on addresses other than loopback.
    #[arg(long)]
    pub open_registration: bool,
    /// Allow --open-registration on any address.
    #[arg(long)]
    pub force_open_registration: bool,
    /// IPv4 address under which clients reach this server from outside, with a port if HTTP is mapped to another one.
    #[arg(long, value_name = "ADDR")]
    pub advertise: Option<String>,
    /// Start the server as a child, and again after a crash.
    #[arg(long)]
    pub supervise: bool,
    /// Process id of the supervisor, given by itself.
    #[arg(long, value_name = "PID", hide = true)]
    pub supervised_by: Option<u32>,
}

impl ServeArgs {
    /// The sources of the configuration: the file that was named, the process's environment, these flags.
    #[must_use]
    pub fn sources(&self) -> Sources {
        Sources::with_process_env(self.config.clone(), self.flags())
    }

    /// The flags that were given, as keys of the configuration.
    #[must_use]
    pub fn flags(&self) -> Vec<Flag> {
        let flag = |name, key, value: Option<String>| value.map(|value| Flag { name, key, value });
        let switch = |on: bool| on.then(|| "true".to_owned());
        [
            flag("--data", "server.data", self.data.as_ref().map(|path| path.display().to_string())),
            flag("--store", "store.url", self.store.clone()),
            flag("--http", "server.http", self.http.map(|addr| addr.to_string())),
            flag("--udp", "server.udp", self.udp.map(|addr| addr.to_string())),
            flag("--admin", "server.admin", self.admin.map(|addr| addr.to_string())),
            flag("--open-registration", "login.open_registration", switch(self.open_registration)),
            flag(
                "--force-open-registration",
                "login.force_open_registration",
                switch(self.force_open_registration),
            ),
            flag("--advertise", "server.advertise", self.advertise.clone()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// `throng config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the reference of all keys as Markdown.
    Docs,
    /// Print the configuration in effect as TOML, and where each value comes from.
    Show(ServeArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::parse;

    #[test]
    fn serve_flags_become_keys_and_absent_ones_do_not() {
        let args: ServeArgs =
            parse("--data d --http 0.0.0.0:80 --open-registration --advertise 203.0.113.7").unwrap();
        let flags: Vec<_> = args.flags().into_iter().map(|flag| (flag.key, flag.value)).collect();
        assert_eq!(
            flags,
            [
                ("server.data", "d".to_owned()),
                ("server.http", "0.0.0.0:80".to_owned()),
                ("login.open_registration", "true".to_owned()),
                ("server.advertise", "203.0.113.7".to_owned()),
            ]
        );
        assert!(parse::<ServeArgs>("").unwrap().flags().is_empty());
        assert!(parse::<ServeArgs>("--udp [::1]:9000").is_err());
    }

    #[test]
    fn every_flag_names_a_key_that_exists() {
        let all = "--data d --store sqlite:d/s --http 127.0.0.1:1 --udp 127.0.0.1:2 --admin 127.0.0.1:3 --open-registration \
                   --force-open-registration --advertise 203.0.113.7";
        let flags = parse::<ServeArgs>(all).unwrap().flags();
        let config = crate::config::load(&Sources { flags, ..Sources::default() }).unwrap().config;
        assert_eq!(config.server.admin.port(), 3);
        assert!(config.login.force_open_registration);
    }
}
