//! The established commands of OpenSimulator's console, and the subcommand that each stands for.
//!
//! In a command, words of capitals are arguments; with `…` at its end, an argument takes the rest of the line. In the subcommand the same words stand for them;
//! `FIRST+LAST` is both as one argument, `REGION` the chosen region, `[…]` only there with one, and `<` marks an argument that the subcommand reads from its
//! standard input. `[OPTION…]` are options of the subcommand, anywhere in the line, which come to `OPTION…`.

/// A command of the other console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Established {
    /// As it is typed.
    pub(super) command: &'static str,
    /// Arguments of this program.
    pub(super) subcommand: &'static str,
    /// Subject, by which `help` lists it.
    pub(super) topic: &'static str,
}

const fn row(topic: &'static str, command: &'static str, subcommand: &'static str) -> Established {
    Established { command, subcommand, topic }
}

/// Topics of [`ESTABLISHED`], in the order of `help`.
pub(super) const TOPICS: [&str; 7] = ["general", "users", "regions", "land", "objects", "archives", "logins"];

/// All of them. `change region`, `help`, `quit` and `exit` are the console's own.
pub(super) const ESTABLISHED: &[Established] = &[
    row("general", "show version", "status"),
    row("general", "show uptime", "status"),
    row("general", "show info", "status"),
    row("general", "shutdown", "shutdown"),
    row("users", "show users", "user online [--region=REGION]"),
    row("users", "show users full", "user online --circuits [--region=REGION]"),
    row("users", "show circuits", "user online --circuits [--region=REGION]"),
    row("users", "show connections", "user online --circuits [--region=REGION]"),
    row("users", "show account FIRST LAST", "user show FIRST LAST"),
    row("users", "show name ID", "user show ID"),
    row("users", "create user FIRST LAST", "user add FIRST LAST"),
    row("users", "create user FIRST LAST PASSWORD", "user add FIRST LAST <PASSWORD"),
    row("users", "reset user password FIRST LAST", "user passwd FIRST LAST"),
    row("users", "reset user password FIRST LAST PASSWORD", "user passwd FIRST LAST <PASSWORD"),
    row("users", "kick user FIRST LAST", "kick FIRST LAST"),
    row("users", "kick user FIRST LAST MESSAGE…", "kick --reason=MESSAGE FIRST LAST"),
    row("users", "alert MESSAGE…", "alert MESSAGE"),
    row("users", "alert-user FIRST LAST MESSAGE…", "alert --user=FIRST+LAST MESSAGE"),
    row("regions", "show regions", "region list"),
    row("regions", "show region", "region show REGION"),
    row("regions", "show scene", "region show REGION"),
    row("regions", "create region NAME", "region create NAME"),
    row("regions", "remove-region NAME…", "region remove NAME"),
    row("regions", "delete-region NAME…", "region remove --delete-content NAME"),
    row("regions", "region restart", "region restart REGION"),
    row("regions", "restart", "region restart REGION"),
    row("regions", "backup", "region save REGION"),
    row("land", "estate show", "estate show --region=REGION"),
    row("land", "show parcels", "parcel list --region=REGION"),
    row("land", "land show", "parcel list --region=REGION"),
    row("land", "land show NUMBER", "parcel show --region=REGION NUMBER"),
    row("land", "terrain load FILE", "terrain load --region=REGION FILE"),
    row("land", "terrain save FILE", "terrain save --region=REGION FILE"),
    row("land", "terrain fill METRES", "terrain fill --region=REGION METRES"),
    row("land", "terrain bake", "terrain bake --region=REGION"),
    row("objects", "show object id ID", "objects show ID"),
    row("objects", "show object owner ID", "objects list --owner=ID [--region=REGION]"),
    row("objects", "delete object owner ID", "objects delete --owner=ID --region=REGION"),
    row("archives", "load oar [OPTION…] FILE", "oar load --region=REGION OPTION… FILE"),
    row("archives", "save oar [OPTION…] FILE", "oar save --region=REGION OPTION… FILE"),
    row(
        "archives",
        "load iar [OPTION…] FIRST LAST FOLDER FILE",
        "iar load --user=FIRST+LAST --folder=FOLDER OPTION… FILE",
    ),
    row(
        "archives",
        "save iar [OPTION…] FIRST LAST FOLDER FILE",
        "iar save --user=FIRST+LAST --folder=FOLDER OPTION… FILE",
    ),
    row("logins", "login enable", "login enable"),
    row("logins", "login disable", "login disable"),
    row("logins", "login status", "login status"),
    row("logins", "login text MESSAGE…", "login message MESSAGE"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The manual's table is this one, line by line.
    #[test]
    fn the_manual_has_the_table() {
        let manual = include_str!("../../../../docs/operating/console.md");
        let mut table = String::from("| there | here |\n|---|---|\n");
        for Established { command, subcommand, .. } in ESTABLISHED {
            table.push_str(&format!("| `{command}` | `throng {subcommand}` |\n"));
        }
        assert!(manual.contains(&table), "docs/operating/console.md lacks this table:\n{table}");
    }

    #[test]
    fn each_command_stands_once_under_a_topic() {
        let commands: BTreeSet<&str> = ESTABLISHED.iter().map(|row| row.command).collect();
        assert_eq!(commands.len(), ESTABLISHED.len());
        assert!(ESTABLISHED.iter().all(|row| TOPICS.contains(&row.topic)));
        assert!(TOPICS.iter().all(|topic| ESTABLISHED.iter().any(|row| row.topic == *topic)));
    }
}
