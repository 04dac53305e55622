//! Commands to running bots, a line each, so that a run's conditions can change while its logins stand.
//!
//! ```text
//! enter 200            log in until there are 200, never more than --count
//! behavior walk        stand, sit, walk, roam, plaza, stadium, mingle, probe, flock, commuter, play, quest, build, rez, rush,
//!                      tumble, soar, carry, ferry, slow-reader, hostile
//! sender unstable      stable, unstable
//! rate 60              agent updates a second, edits of bots that build, or requests of bots that carry, 1 to 125
//! mark                 the report's window begins now
//! gap                  say for how long at most, since the last time that this was asked, any observer was shown nothing new
//! pings                sum up the pings since the last time that this was asked
//! probes               sum up pings, words and the control echo since then, and what came out of order ever
//! edits                sum up the edits since the beginning, and complete the file of --edits
//! prims                say how many objects each observer displays at least
//! carry                sum up the requests of bots that carry, and complete the file of --audit
//! audit                read what all bots have, and compare the record of --audit with it
//! capabilities         list the addresses of all bots' capabilities, with their secrets
//! leave                log out; so does the end of the input
//! ```
//!
//! Each command is answered, in order, by a line of JSON when it is done: `{"done":"enter 200","logins_ok":200,
//! "logins_failed":0}`, for `gap` with `"gap_s":0.1`, for `pings` with
//! `"pings":{…}` ([`Summary`]), for `probes` with `"probes":{…}` ([`Probes`]), for `edits`
//! with `"edits":{…}` ([`EditSums`]), for `prims` with `"prims":1000`, for `carry` with `"carry":{…}` ([`CarrySums`]), for `audit` with
//! `"audit":{…}` ([`AuditFindings`]) or `"trouble":"…"` if it was not possible, for `capabilities` with `"capabilities":[…]` ([`BotCapabilities`]);
//! or `{"refused":"…","reason":"…"}`.

use super::carrying::CarrySums;
use super::findings::EditTally;
use crate::behavior::Behavior;
use crate::carry::AuditFindings;
use crate::sender::Steadiness;
use crate::summary::Summary;
use ids::Uuid;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

/// Bytes of a command at most; a longer line is refused.
const LINE_MAX: usize = 200;

/// Commands for the bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlCommand {
    Enter(u32),
    Behave(Behavior),
    Steady(Steadiness),
    Rate(u32),
    Mark,
    Gap,
    Pings,
    Probes,
    Edits,
    Prims,
    Carry,
    Audit,
    Capabilities,
    Leave,
}

impl ControlCommand {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["enter", count] => count.parse().map(Self::Enter).map_err(|_| "enter takes a number of bots"),
            ["behavior", name] => Behavior::from_name(name).map(Self::Behave).ok_or(
                "stand, sit, walk, roam, plaza, stadium, mingle, probe, flock, commuter, play, quest, build, rez, rush, tumble, soar, carry, ferry, slow-reader or hostile",
            ),
            ["sender", "stable"] => Ok(Self::Steady(Steadiness::Stable)),
            ["sender", "unstable"] => Ok(Self::Steady(Steadiness::Unstable)),
            ["sender", _] => Err("stable or unstable"),
            ["rate", rate] => match rate.parse() {
                Ok(rate @ 1..=125) => Ok(Self::Rate(rate)),
                _ => Err("a rate lies between 1 and 125"),
            },
            ["mark"] => Ok(Self::Mark),
            ["gap"] => Ok(Self::Gap),
            ["pings"] => Ok(Self::Pings),
            ["probes"] => Ok(Self::Probes),
            ["edits"] => Ok(Self::Edits),
            ["prims"] => Ok(Self::Prims),
            ["carry"] => Ok(Self::Carry),
            ["audit"] => Ok(Self::Audit),
            ["capabilities"] => Ok(Self::Capabilities),
            ["leave"] => Ok(Self::Leave),
            _ => Err(
                "enter, behavior, sender or rate with one word each, mark, gap, pings, probes, edits, prims, carry, audit, capabilities, leave",
            ),
        }
    }
}

/// Measurements of bots that probe a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Probes {
    /// Pings.
    pub(super) pings: Summary,
    /// Pings that were not answered before the next one, since the beginning.
    pub(super) pings_unanswered: u64,
    /// Words until they were heard.
    pub(super) echoes: Summary,
    /// Words that were not heard within ten seconds, since the beginning.
    pub(super) words_lost: u64,
    /// Datagrams to the control echo and back.
    pub(super) control: Summary,
    /// Datagrams and words that came behind later ones, since the beginning.
    pub(super) reordered: u64,
}

/// Edits of bots that build, since the beginning; fields as in the report ([`crate::report::RunReport`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct EditSums {
    pub(super) objects_made: u64,
    pub(super) objects_failed: u64,
    pub(super) objects_observed: u64,
    pub(super) edits_sent: u64,
    pub(super) edits_seen: u64,
    pub(super) edits_wrong: u64,
    pub(super) edits_observed: u64,
    pub(super) edits_unobserved: u64,
}

impl EditSums {
    pub(super) const fn of(tally: &EditTally) -> Self {
        let EditTally { builds, watched, .. } = tally;
        Self {
            objects_made: builds.objects_made,
            objects_failed: builds.objects_failed,
            objects_observed: watched.made,
            edits_sent: builds.edits_sent,
            edits_seen: builds.edits_seen,
            edits_wrong: builds.edits_wrong,
            edits_observed: watched.seen,
            edits_unobserved: watched.unseen,
        }
    }
}

/// Capabilities of a bot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct BotCapabilities {
    pub(super) bot: u32,
    /// Its account.
    pub(super) agent: Uuid,
    /// Root folder of its inventory.
    pub(super) root: Uuid,
    /// By name.
    pub(super) addresses: BTreeMap<String, String>,
}

/// Findings of a command, by its name.
#[derive(Debug, Default, Serialize)]
pub(super) struct CommandFindings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gap_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pings: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) probes: Option<Box<Probes>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) edits: Option<Box<EditSums>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prims: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) carry: Option<Box<CarrySums>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) audit: Option<Box<AuditFindings>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trouble: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capabilities: Option<Vec<BotCapabilities>>,
}

/// An answer to a command.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and nearly all are findings")]
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum CommandAnswer<'a> {
    Done {
        done: &'a str,
        logins_ok: u32,
        logins_failed: u32,
        #[serde(flatten)]
        found: CommandFindings,
    },
    Refused {
        refused: &'a str,
        reason: &'a str,
    },
}

impl CommandAnswer<'_> {
    pub(super) fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let line = serde_json::to_string(self).expect("numbers and strings");
        writeln!(output, "{line}")?;
        output.flush()
    }
}

/// Reads commands until their end, on a thread of its own: reading blocks. `post` takes each line with its command, or with the reason why
/// it is none.
pub(super) fn listen(
    mut input: impl BufRead + Send + 'static,
    post: impl Fn(String, Result<ControlCommand, &'static str>) + Send + 'static,
) -> io::Result<()> {
    let listen = move || {
        let mut line = String::new();
        loop {
            line.clear();
            match io::Read::take(&mut input, LINE_MAX as u64).read_line(&mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let text = line.trim().to_owned();
            if text.is_empty() {
                continue;
            }
            let command = ControlCommand::parse(&text);
            post(text, command);
        }
        post("leave".to_owned(), Ok(ControlCommand::Leave));
    };
    std::thread::Builder::new().name("bots-control".to_owned()).spawn(listen).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_and_others_are_refused_with_a_reason() {
        assert_eq!(ControlCommand::parse("enter 200"), Ok(ControlCommand::Enter(200)));
        assert_eq!(ControlCommand::parse(" behavior  mingle "), Ok(ControlCommand::Behave(Behavior::Mingle)));
        for (name, behavior) in Behavior::NAMES {
            assert_eq!(
                ControlCommand::parse(&format!("behavior {name}")),
                Ok(ControlCommand::Behave(behavior))
            );
            // A request for an unknown one lists this one.
            let known = ControlCommand::parse("behavior dance").expect_err("no such behaviour");
            assert!(known.split([' ', ',']).any(|word| word == name), "{known}");
        }
        assert_eq!(
            ControlCommand::parse("sender unstable"),
            Ok(ControlCommand::Steady(Steadiness::Unstable))
        );
        assert_eq!(ControlCommand::parse("rate 125"), Ok(ControlCommand::Rate(125)));
        assert_eq!(ControlCommand::parse("mark"), Ok(ControlCommand::Mark));
        assert_eq!(ControlCommand::parse("gap"), Ok(ControlCommand::Gap));
        assert_eq!(ControlCommand::parse("pings"), Ok(ControlCommand::Pings));
        assert_eq!(ControlCommand::parse("probes"), Ok(ControlCommand::Probes));
        assert_eq!(ControlCommand::parse("carry"), Ok(ControlCommand::Carry));
        assert_eq!(ControlCommand::parse("audit"), Ok(ControlCommand::Audit));
        assert_eq!(ControlCommand::parse("capabilities"), Ok(ControlCommand::Capabilities));
        assert_eq!(ControlCommand::parse("leave"), Ok(ControlCommand::Leave));
        for wrong in
            ["", "enter", "enter -1", "rate 126", "rate 0", "sender shaky", "behavior dance", "leave now"]
        {
            assert!(ControlCommand::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn answers_are_lines_of_json() {
        let mut out = Vec::new();
        let (logins_ok, logins_failed) = (2, 0);
        let found = CommandFindings::default();
        let entered = CommandAnswer::Done { done: "enter 2", logins_ok, logins_failed, found };
        entered.write(&mut out).unwrap();
        let found = CommandFindings { gap_s: Some(0.5), ..CommandFindings::default() };
        CommandAnswer::Done { done: "gap", logins_ok, logins_failed, found }.write(&mut out).unwrap();
        CommandAnswer::Refused { refused: "x\"", reason: "why" }.write(&mut out).unwrap();
        let expected = "{\"done\":\"enter 2\",\"logins_ok\":2,\"logins_failed\":0}\n\
                        {\"done\":\"gap\",\"logins_ok\":2,\"logins_failed\":0,\"gap_s\":0.5}\n\
                        {\"refused\":\"x\\\"\",\"reason\":\"why\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
