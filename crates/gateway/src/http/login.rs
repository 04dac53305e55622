//! XML-RPC `login_to_simulator`: the password is the grid's business, the session the hub's.

use super::door::NoRoom;
use super::reply::{error, failed, xml_text};
use super::{HttpState, Peer, blocking};
use crate::hub::{Login, LoginRefusal};
use crate::mail::{Look, Spot, Wearable};
use crate::places::{Place, Places};
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::response::Response;
use glam::Vec3;
use grid::inventory::worn;
use grid::login::{Links, LoginDenial, LoginReply, LoginRequest, LoginStart, Now, StartedAt};
use ids::AgentId;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Account, Location, Store, StoreError};
use wire::llsd::{Limits, Llsd};
use wire::xmlrpc::{self, XmlRpcFault};

/// The one method.
const METHOD: &str = "login_to_simulator";
/// Gestures of a login's reply, which are switched on; users have some dozens.
const GESTURES_MAX: u32 = 500;

/// `POST /`.
pub(super) async fn login(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    body: Bytes,
) -> Response {
    let call = match xmlrpc::decode_call(&body, Limits::STRANGER) {
        Ok(call) => call,
        Err(why) => return error(StatusCode::BAD_REQUEST, &format!("This is no XML-RPC call: {why}.")),
    };
    if call.method != METHOD {
        let fault = XmlRpcFault { code: 1, message: format!("There is no method {:?} here.", call.method) };
        return xml_text(xmlrpc::encode_fault(&fault));
    }
    let request = call.params.first().unwrap_or(&Llsd::Undef);
    let outcome = match LoginRequest::from_llsd(request) {
        Ok(request) => log_in(&state, peer, &request).await,
        Err(refusal) => Err(LoginError::Refused(refusal)),
    };
    match outcome {
        Ok(reply) => {
            state.counters.logins_ok.fetch_add(1, Ordering::Relaxed);
            xml_text(xmlrpc::encode_response(&reply.to_llsd()))
        }
        Err(LoginError::Refused(refusal)) => {
            state.counters.logins_refused.fetch_add(1, Ordering::Relaxed);
            tracing::info!(peer = %peer.remote, reason = refusal.label(), "login refused");
            xml_text(xmlrpc::encode_response(&refusal.to_llsd()))
        }
        Err(LoginError::Store(why)) => failed("login", &why),
    }
}

/// `GET /get_grid_info`: requested by viewers when a grid is added to their list.
pub(super) async fn grid_info(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
) -> Response {
    let address = format!("http://{}:{}/", state.address_for(peer), state.settings.http_port);
    let name = escape(&state.settings.grid_name);
    let nick = escape(&state.settings.grid_name.to_lowercase().replace(char::is_whitespace, "-"));
    xml_text(format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<gridinfo><gridname>{name}</gridname>\
         <gridnick>{nick}</gridnick><login>{address}</login><welcome>{address}</welcome>\
         <platform>OpenSim</platform></gridinfo>\n"
    ))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

enum LoginError {
    Refused(LoginDenial),
    Store(StoreError),
}

async fn log_in(
    state: &Arc<HttpState>,
    peer: Peer,
    request: &LoginRequest,
) -> Result<LoginReply, LoginError> {
    state.logins.check().map_err(|why| LoginError::Refused(LoginDenial::Closed(why)))?;
    state.door.check_room().map_err(no_room)?;
    let now = Now { instant: (state.clock)(), unix_s: state.unix_s() };
    let verified =
        state.login.authenticate(now, peer.client_address(), request).await.map_err(LoginError::Refused)?;
    let account = verified.account;
    let shared_spot = state.sessions.with(|hub| hub.shared_spot(account.agent));
    let (start, started_at) = arrival(&state.places, &request.start, &account, shared_spot);
    let home = account.home.as_ref().and_then(|home| spot_of(&state.places, home));
    let owner = account.agent;
    let store = Arc::clone(&state.store);
    let owned = blocking(move || {
        let gestures = store.active_gestures(owner, GESTURES_MAX)?;
        Ok((store.folders(owner)?, worn(&store, owner)?, gestures, look_of(&store, owner)?))
    });
    let (folders, worn, gestures, look) = owned.await.map_err(LoginError::Store)?;
    let wearables: Arc<[Wearable]> = worn
        .iter()
        .map(|worn| Wearable { item: worn.item, asset: worn.asset, kind: worn.wearable })
        .collect();
    let server_ip = state.address_for(peer);
    let incarnation = state.login.incarnation().await.map_err(LoginError::Refused)?;
    let login = Login {
        incarnation,
        agent: account.agent,
        first_name: account.first.as_str().into(),
        last_name: account.last.as_str().into(),
        server_ip,
        start,
        home,
        wearables,
        look,
    };
    state.door.take_room().map_err(no_room)?;
    let now = (state.clock)();
    let admission = state
        .sessions
        .with(|hub| hub.login(now, login))
        .map_err(|why| LoginError::Refused(refusal_of(why, &state.places, start)))?;
    tracing::info!(peer = %peer.remote, name = %format_args!("{} {}", account.first, account.last),
        region = %admission.place.name(), created = verified.created, "login");
    Ok(LoginReply {
        agent: account.agent,
        first: account.first,
        last: account.last,
        session: admission.session_id,
        secure_session: admission.secure_session_id,
        circuit_code: admission.code,
        simulator: SocketAddrV4::new(server_ip, admission.sim_port),
        seed_capability: admission.seed_url,
        http_port: state.settings.http_port,
        region: admission.place.handle,
        region_size_m: admission.place.ground().size_m,
        look_at: start.look_at,
        started_at,
        home: account.home,
        folders,
        gestures,
        message: state.logins.welcome().unwrap_or_else(|| state.settings.welcome.clone()),
        unix_s: state.unix_s(),
        links: Links { map_server: Some(state.map_url(server_ip)), ..Links::default() },
        attachments_max: state.settings.features.attachments_max,
    })
}

/// The appearance of an account. A damaged one is lost: the client sends another.
fn look_of(store: &Store, owner: AgentId) -> Result<Option<Look>, StoreError> {
    Ok(match store.appearance(owner)? {
        Some(Ok(stored)) => Some(stored.into()),
        Some(Err(damage)) => {
            tracing::warn!(%damage, "an avatar has no appearance until its client sends one");
            None
        }
        None => None,
    })
}

fn no_room(why: NoRoom) -> LoginError {
    LoginError::Refused(match why {
        NoRoom::Memory => LoginDenial::NoMemory,
        NoRoom::Load => LoginDenial::Overloaded,
        NoRoom::Connections => LoginDenial::ServerFull,
    })
}

fn refusal_of(why: LoginRefusal, places: &Places, start: Spot) -> LoginDenial {
    match why {
        LoginRefusal::ServerFull => LoginDenial::ServerFull,
        LoginRefusal::RegionFull => LoginDenial::RegionFull(places.get(start.place).name().to_owned()),
        LoginRefusal::Draining => LoginDenial::Draining,
    }
}

/// Destination of a login. An unknown start leads to the first region, and the login reply states it. `shared_spot` is the avatar's
/// position in the session that this login replaces.
fn arrival(
    places: &Places,
    requested: &LoginStart,
    account: &Account,
    shared_spot: Option<Spot>,
) -> (Spot, StartedAt) {
    let saved = |location: Option<&Location>| location.and_then(|location| spot_of(places, location));
    let found = match requested {
        LoginStart::Last => {
            shared_spot.or_else(|| saved(account.last_location.as_ref())).map(|spot| (spot, StartedAt::Last))
        }
        LoginStart::Home => saved(account.home.as_ref()).map(|spot| (spot, StartedAt::Home)),
        LoginStart::Region { name, position } => places.by_name(name).map(|place| {
            let position = position.unwrap_or(place.ground().landing);
            (Spot { place: place.id, position, look_at: Vec3::X }, StartedAt::Url)
        }),
    };
    found.unwrap_or_else(|| {
        let place: &Arc<Place> = places.iter().next().expect("a node has at least one place");
        // A first visit is no failure to find the last place.
        let started_at = if *requested == LoginStart::Last { StartedAt::Last } else { StartedAt::Safe };
        (Spot { place: place.id, position: place.ground().landing, look_at: Vec3::X }, started_at)
    })
}

/// A stored location in today's regions: the name decides, then the handle.
fn spot_of(places: &Places, location: &Location) -> Option<Spot> {
    let place = places.by_name(&location.region).or_else(|| places.by_handle(location.handle))?;
    Some(Spot { place: place.id, position: location.position, look_at: location.look_at })
}
