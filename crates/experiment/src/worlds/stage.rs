//! The server with its templates, worlds and players.

use super::grounds::{self, Class};
use super::resident::{self, ResidentReadings};
use crate::bots::{Bots, BotsReport};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{Operator, Server};
use crate::{Run, clock};
use serde_json::json;
use std::time::Duration;

/// Last name of the players.
const PLAYER: &str = "Player";
/// Rest of the server before a reading: long tasks drop ended instances, and the thread that hashes passwords keeps 19 MiB for five
/// seconds.
const REST: Duration = Duration::from_secs(6);
/// Deadline for all players to reach their worlds.
const ARRIVAL_MAX: Duration = Duration::from_secs(60);

/// A server, worlds, players.
pub(super) struct WorldsTestbed<'a> {
    pub(super) run: &'a Run,
    pub(super) server: Server,
    pub(super) operator: Operator,
    /// None once they have left.
    players: Option<Bots>,
    pub(super) classes: Vec<Class>,
    /// Ids of the worlds, in the order of their players.
    pub(super) worlds: Vec<String>,
    /// Planned number of worlds.
    pub(super) count: u32,
    pub(super) memory: ResidentReadings,
}

impl<'a> WorldsTestbed<'a> {
    /// Starts server and bots. No player is in a world yet.
    pub(super) fn set(run: &'a Run, count: u32, npcs: u32) -> Result<Self, ExperimentError> {
        let classes = grounds::classes(count, npcs);
        let (config, files) = grounds::settings(&classes);
        let server = Server::start_with_files(run, "server", &config, &files)?;
        let options = ["--behavior", "quest", "--last-name", PLAYER];
        let players = Some(Bots::start(run, &server, "players", count, &options)?);
        let operator = server.operator();
        let memory = ResidentReadings::of(server.pid(), count);
        Ok(Self { run, server, operator, players, classes, worlds: Vec::new(), count, memory })
    }

    /// Creates the worlds. They stay suspended until a player enters.
    pub(super) fn found(&mut self, findings: &mut Findings) -> Result<(), ExperimentError> {
        self.rest();
        self.memory.weigh(resident::EMPTY)?;
        let began = clock::now();
        self.worlds = self.make()?;
        let each_s = began.elapsed().as_secs_f64() / f64::from(self.count);
        findings.figure("create_ms_mean", each_s * 1e3);
        self.memory.weigh(resident::ASLEEP)
    }

    /// Makes as many worlds as there are to be; their ids.
    pub(super) fn make(&self) -> Result<Vec<String>, ExperimentError> {
        let all = self.classes.iter().flat_map(|class| (0..class.worlds).map(|_| &class.name));
        all.map(|template| create(&self.operator, template)).collect()
    }

    /// Lets the players in, and sends each into a world.
    pub(super) fn enter(&mut self, findings: &mut Findings) -> Result<(), ExperimentError> {
        let count = self.count;
        self.players.as_mut().expect("they leave at the end").command(&format!("enter {count}"))?;
        self.rest();
        self.memory.weigh(resident::LOGGED_IN)?;
        for (n, world) in self.worlds.iter().enumerate() {
            self.send(&format!("Bot{:04} {PLAYER}", n + 1), world)?;
        }
        let ends_at = clock::now() + ARRIVAL_MAX;
        while self.n_inside()? < f64::from(self.count) {
            if clock::now() > ends_at {
                let inside = self.n_inside()?;
                findings.failures.push(format!("only {inside} players came into their worlds"));
                break;
            }
            clock::wait(Duration::from_millis(500));
        }
        self.memory.weigh(resident::INSIDE)
    }

    /// Sends a player into a world, unless it is on the way to another one.
    pub(super) fn send(&self, name: &str, world: &str) -> Result<(), ExperimentError> {
        let user = json!({ "user": { "name": name } });
        self.operator.order("POST", &format!("/v1/worlds/{world}/enter"), Some(&user)).map(drop)
    }

    /// Ends a world.
    pub(super) fn end(&self, world: &str) -> Result<(), ExperimentError> {
        self.operator.order("DELETE", &format!("/v1/worlds/{world}"), None).map(drop)
    }

    /// Lets the players log out.
    pub(super) fn dismiss(&mut self) -> Result<BotsReport, ExperimentError> {
        self.players.take().expect("they leave once").leave()
    }

    /// Leaves the server alone.
    pub(super) fn rest(&self) {
        clock::wait(self.run.pick(REST, Duration::ZERO));
    }

    fn n_inside(&self) -> Result<f64, ExperimentError> {
        Ok(self.server.metrics()?.with("throng_world_avatars", "world", "instances"))
    }
}

/// Makes a world; its id.
pub(super) fn create(operator: &Operator, template: &str) -> Result<String, ExperimentError> {
    let answer = operator.order("POST", "/v1/worlds", Some(&json!({ "template": template })))?;
    let created: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
    let id = created.get("id").and_then(serde_json::Value::as_str).map(str::to_owned);
    id.ok_or_else(|| ExperimentError::Operator {
        path: "/v1/worlds".to_owned(),
        source: std::io::Error::other(answer),
    })
}
