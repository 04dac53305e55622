//! `throng bots`: from the command line to the bots and their report.

use crate::cli::{self, BotsArgs};
use bots::agent::AgentConfig;
use bots::behavior::Behavior;
use bots::carry::CarryCrew;
use bots::link::Conditions;
use bots::profile::Profile;
use bots::sender::Steadiness;
use bots::{BotsConfig, BotsError};
use std::io::{self, BufReader};
use std::path::Path;
use std::time::Duration;

/// Runs the bots. Gives the report as it is to be printed, and whether nothing went wrong.
///
/// # Errors
/// When no bots can be run at all.
pub fn run(args: &BotsArgs) -> Result<(String, bool), BotsError> {
    let config = config(args)?;
    let report = if args.control {
        bots::run_controlled(&config, BufReader::new(io::stdin()), &mut io::stdout())?
    } else {
        bots::run(&config)?
    };
    let text = if args.json { report.to_json() + "\n" } else { report.to_string() };
    Ok((text, report.is_clean()))
}

/// Bots of a record that are to be audited alone: without a behaviour and without commands.
fn audited(args: &BotsArgs) -> Result<Option<CarryCrew>, BotsError> {
    let path: Option<&Path> = args.audit.as_deref().filter(|_| args.behavior.is_none() && !args.control);
    Ok(path.map(CarryCrew::read).transpose()?.flatten())
}

fn config(args: &BotsArgs) -> Result<BotsConfig, BotsError> {
    let crew = audited(args)?;
    // Bots of different behaviours have different names, so that two runs at once do not end each other's sessions.
    let (behavior, last_name) = match args.behavior.unwrap_or(cli::BehaviorName::Stand) {
        cli::BehaviorName::Stand => (Behavior::Stand, "Stander"),
        cli::BehaviorName::Sit => (Behavior::Sit, "Sitter"),
        cli::BehaviorName::Walk => (Behavior::Walk, "Walker"),
        cli::BehaviorName::Roam => (Behavior::Roam, "Roamer"),
        cli::BehaviorName::Plaza => (Behavior::Plaza, "Marketgoer"),
        cli::BehaviorName::Stadium => (Behavior::Stadium, "Spectator"),
        cli::BehaviorName::Mingle => (Behavior::Mingle, "Mingler"),
        cli::BehaviorName::Probe => (Behavior::Probe, "Probe"),
        cli::BehaviorName::Flock => (Behavior::Flock, "Starling"),
        cli::BehaviorName::Commuter => (Behavior::Commute, "Commuter"),
        cli::BehaviorName::Play => (Behavior::Play, "Player"),
        cli::BehaviorName::Quest => (Behavior::Quest, "Quester"),
        cli::BehaviorName::Build => (Behavior::Build, "Builder"),
        cli::BehaviorName::Rez => (Behavior::Rez, "Maker"),
        cli::BehaviorName::Rush => (Behavior::Rush, "Rusher"),
        cli::BehaviorName::Tumble => (Behavior::Tumble, "Tumbler"),
        cli::BehaviorName::Soar => (Behavior::Soar, "Soarer"),
        cli::BehaviorName::Carry => (Behavior::Carry, "Carrier"),
        cli::BehaviorName::Ferry => (Behavior::Ferry, "Ferrier"),
        cli::BehaviorName::SlowReader => (Behavior::SlowReader, "Slowreader"),
        cli::BehaviorName::Hostile => (Behavior::Hostile, "Attacker"),
    };
    let of_crew = crew.as_ref().map(|crew| crew.last_name.clone());
    let last_name = args.last_name.clone().or(of_crew).unwrap_or_else(|| last_name.to_owned());
    // A record without bots is of no process: there is nothing to audit.
    let count = args.count.or_else(|| crew.as_ref().map(|crew| crew.bots)).unwrap_or(1);
    Ok(BotsConfig {
        login_uri: args.login.clone(),
        count,
        last_name,
        agent: AgentConfig {
            behavior,
            steadiness: match args.sender {
                cli::SenderName::Stable => Steadiness::Stable,
                cli::SenderName::Unstable => Steadiness::Unstable,
            },
            profile: match args.profile {
                cli::ProfileName::Viewer => Profile::Viewer,
                cli::ProfileName::NodeMetaverse => Profile::NodeMetaverse,
            },
            rate_hz: args.rate,
            plot_m: args.plot,
            throttle_bits_per_s: args.throttle,
            ping_period: args.ping_every,
            ..AgentConfig::default()
        },
        observers: args.observers,
        ramp_per_s: args.ramp,
        duration: if crew.is_some() { Duration::ZERO } else { args.duration },
        conditions: Conditions { loss: args.loss, delay: args.delay, jitter: args.jitter },
        views: args.views.clone(),
        scenes: args.scenes.clone(),
        edits: args.edits.clone(),
        audit: args.audit.clone(),
        cache: args.cache.clone(),
        server_pid: args.server_pid,
        device: args.device,
        control_echo: args.control_echo,
        ..BotsConfig::default()
    })
}
