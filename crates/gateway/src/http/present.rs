//! Users that are present, and the server as a whole, for the operator.

use super::operator::Admin;
use crate::hub::{PresentSession, SessionCircuit};
use axum::extract::{Json, Query, State};
use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// A user with a session.
#[derive(Serialize, ToSchema)]
#[schema(as = PresentUser)]
pub(super) struct SessionRow {
    /// "First Last".
    name: String,
    /// Account.
    agent: Uuid,
    /// Name of the region or instance where the avatar is, or is expected; none between two.
    region: Option<String>,
    /// True in an instance.
    instance: bool,
    /// True once the avatar is there.
    arrived: bool,
    /// Place of the avatar as clients are shown it: metres east, north and up from the region's corner.
    #[schema(value_type = Option<Vec<f32>>, min_items = 3, max_items = 3)]
    position: Option<[f32; 3]>,
    /// Circuits, the oldest first.
    circuits: Vec<CircuitRow>,
}

/// A circuit of a user.
#[derive(Serialize, ToSchema)]
#[schema(as = PresentCircuit)]
pub(super) struct CircuitRow {
    /// UDP port of this server.
    port: u16,
    /// Name of its region, or of the instance shown there.
    region: String,
    /// `announced` until the client has opened it, then `open`; `main` with the avatar behind it.
    state: &'static str,
}

impl CircuitRow {
    fn new(circuit: &SessionCircuit) -> Self {
        let state = match (circuit.is_main, circuit.is_open) {
            (true, _) => "main",
            (false, true) => "open",
            (false, false) => "announced",
        };
        Self { port: circuit.port, region: circuit.place.name().to_owned(), state }
    }
}

impl SessionRow {
    fn new(session: PresentSession) -> Self {
        let PresentSession { session, agent, name, place, has_arrived, circuits } = session;
        let position = place.as_ref().filter(|_| has_arrived).and_then(|place| {
            let replica = place.scene.feed.current();
            let own = replica.slot(replica.of_session(session)?)?;
            Some(own.motion.position.to_array())
        });
        Self {
            name,
            agent: agent.0,
            region: place.as_ref().map(|place| place.name().to_owned()),
            instance: place.is_some_and(|place| !place.scene.is_shared),
            arrived: has_arrived,
            position,
            circuits: circuits.iter().map(CircuitRow::new).collect(),
        }
    }
}

/// The part of the list that is asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsQuery {
    /// Name of a region or instance; all without it. The bound counts characters as they stand in the address.
    #[serde(default)]
    #[param(min_length = 1, max_length = 189)]
    region: Option<String>,
}

/// The users that are present, with their places and circuits.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "list_sessions", params(SessionsQuery),
    responses((status = 200, description = "In the order of their logins.", body = Vec<SessionRow>)))]
pub(super) async fn sessions(
    State(admin): State<Arc<Admin>>,
    Query(SessionsQuery { region }): Query<SessionsQuery>,
) -> Json<Vec<SessionRow>> {
    let present = admin.state.sessions.with(|hub| hub.present());
    // Positions are read without the hub's lock.
    let rows = present.into_iter().map(SessionRow::new);
    let is_of = |row: &SessionRow| match (&region, &row.region) {
        (Some(wanted), Some(region)) => wanted.eq_ignore_ascii_case(region),
        (Some(_), None) => false,
        (None, _) => true,
    };
    Json(rows.filter(is_of).collect())
}

/// The server as a whole.
#[derive(Serialize, ToSchema)]
#[schema(as = ServerStatus)]
pub(super) struct StatusReply {
    version: &'static str,
    /// Process id.
    pid: u32,
    /// Seconds since the start.
    uptime_s: u64,
    /// Time of the start, seconds since 1970.
    started_s: u64,
    /// Name of the grid.
    grid: String,
    /// Number of regions.
    regions: usize,
    /// Users with a session.
    users: usize,
    /// False while the operator has closed logins.
    logins_enabled: bool,
    /// Sentences on problems, as in `/healthz`.
    amiss: Vec<String>,
}

/// Version, uptime, and numbers of regions and users.
#[utoipa::path(get, path = "/v1/status", operation_id = "show_status",
    responses((status = 200, body = StatusReply)))]
pub(super) async fn status(State(admin): State<Arc<Admin>>) -> Json<StatusReply> {
    let state = &admin.state;
    let amiss = (admin.alive)().err().into_iter().chain((admin.amiss)()).collect();
    Json(StatusReply {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime_s: (state.clock)().0 / 1_000_000_000,
        started_s: state.settings.unix_start_s,
        grid: state.settings.grid_name.clone(),
        regions: state.places.iter().count(),
        users: state.sessions.with(|hub| hub.n_sessions()),
        logins_enabled: state.logins.check().is_ok(),
        amiss,
    })
}
