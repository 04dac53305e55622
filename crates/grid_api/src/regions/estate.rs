//! The estate of a region: as clients are shown it, and orders of the operator. Each order is one command to the region's world.

use super::answers::RegionRefusal;
use super::shared::Regions;
use axum::extract::{Json, Path, State};
use gateway::places::Place;
use ids::{AgentId, Uuid};
use link::{Estate, EstateEdit, EstateList, LandEdit, LandRefusal, Maturity, RegionFlags};
use region_threads::land_orders::LandOrderError;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// An account on a list.
#[derive(Serialize, ToSchema)]
#[schema(as = ListedAccount)]
pub(super) struct AccountRow {
    id: Uuid,
    /// First and last name of that account, if it exists.
    name: Option<String>,
}

/// The estate of a region.
#[derive(Serialize, ToSchema)]
#[schema(as = Estate)]
pub(super) struct EstateReply {
    /// Name of the region.
    region: String,
    /// Name of the estate.
    name: String,
    /// None without an owner: operators alone have the rights of one.
    owner: Option<Uuid>,
    /// First and last name of that account, if it exists.
    owner_name: Option<String>,
    managers: Vec<AccountRow>,
    /// Users who may enter an estate that is not public.
    allowed: Vec<AccountRow>,
    banned: Vec<AccountRow>,
    /// True if all users may enter but for the banned ones.
    public: bool,
    /// `general`, `moderate` or `adult`.
    maturity: &'static str,
    /// Visitors at once.
    agent_limit: u32,
    /// Height of the water, metres.
    water_m: f32,
    /// Metres by which users may raise the baked ground.
    raise_m: f32,
    /// Metres by which users may lower it.
    lower_m: f32,
    /// Rules as bits of the protocol.
    flags: u32,
}

/// Another name or owner. One of the fields is given.
#[derive(Deserialize, ToSchema)]
#[schema(as = EstateOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct EstateOrderBody {
    /// Name of the estate: at most 63 bytes, without control characters.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 63,
        pattern = r"^[^\u0000-\u001F\u007F-\u009F]*$",
        extensions(("x-max-bytes" = json!(63)))
    )]
    name: Option<String>,
    /// Its owner: "First Last", or the id of an account.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    owner: Option<String>,
    /// True for no owner.
    #[serde(default)]
    unowned: bool,
}

/// A list of an estate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = EstateListName)]
#[serde(rename_all = "snake_case")]
pub(super) enum ListName {
    /// Users with nearly all rights of the owner: at most 20.
    Managers,
    /// Users who may enter an estate that is not public: at most 500.
    Allowed,
    /// Users who may not enter: at most 500. A present user is sent away.
    Banned,
}

/// An entry of a list.
#[derive(Deserialize, ToSchema)]
#[schema(as = EstateListOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct EstateListBody {
    list: ListName,
    /// "First Last", or the id of an account.
    #[schema(min_length = 1, max_length = 63)]
    account: String,
    /// True to add it, false to remove it.
    listed: bool,
}

/// The estate is changed. Clients are shown it with the region's next frame.
#[derive(Serialize, ToSchema)]
#[schema(as = EstateChanged)]
pub(super) struct EstateChangedReply {
    /// Name of the region.
    region: String,
}

/// The estate of a region: its owner, its lists, and its settings.
#[utoipa::path(get, path = "/v1/regions/{name}/estate", operation_id = "show_estate",
    params(("name" = String, Path, description = "Name of the region.")), security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = EstateReply),
        (status = 404, description = "There is no such region, or it has no land."),
    ))]
pub(super) async fn show(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
) -> Result<Json<EstateReply>, RegionRefusal> {
    let show = move |regions: &Regions| {
        let place = regions.region(&name)?;
        let estate = estate_of(place).ok_or_else(|| RegionRefusal::absent("This region has no land."))?;
        Ok(reply(regions, place.name(), &estate))
    };
    regions.blocking(show).await.map(Json)
}

/// The estate as clients are shown it.
pub(super) fn estate_of(place: &Place) -> Option<Arc<Estate>> {
    let replica = place.scene.feed.current();
    replica.land()?.estate().map(|(estate, _)| Arc::clone(estate))
}

fn reply(regions: &Regions, region: &str, estate: &Estate) -> EstateReply {
    let listed = estate.managers.iter().chain(&estate.allowed).chain(&estate.banned);
    let names = regions.owners.names(estate.owner.iter().chain(listed).copied());
    let name_of = |agent: &AgentId| names.get(agent).map(|name| name.to_string());
    let rows = |list: &[AgentId]| {
        list.iter().map(|agent| AccountRow { id: agent.0, name: name_of(agent) }).collect()
    };
    EstateReply {
        region: region.to_owned(),
        name: estate.name.to_string(),
        owner: estate.owner.map(|owner| owner.0),
        owner_name: estate.owner.as_ref().and_then(name_of),
        managers: rows(&estate.managers),
        allowed: rows(&estate.allowed),
        banned: rows(&estate.banned),
        public: estate.region.flags.any(RegionFlags::PUBLIC),
        maturity: match estate.region.maturity {
            Maturity::General => "general",
            Maturity::Moderate => "moderate",
            Maturity::Adult => "adult",
        },
        agent_limit: estate.region.agent_limit,
        water_m: estate.levels.water_m,
        raise_m: estate.levels.raise_m,
        lower_m: estate.levels.lower_m,
        flags: estate.region.flags.0,
    }
}

/// Give an estate another name, another owner, or none.
#[utoipa::path(post, path = "/v1/regions/{name}/estate", operation_id = "change_estate",
    params(("name" = String, Path, description = "Name of the region.")), request_body = EstateOrderBody,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = EstateChangedReply),
        (status = 400, description = "Not one of the fields is given, or the name is impossible."),
        (status = 404, description = "There is no such region or account."),
        (status = 409, description = "The region refuses it."),
        (status = 503, description = "The region does not answer."),
    ))]
pub(super) async fn change(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(order): Json<EstateOrderBody>,
) -> Result<Json<EstateChangedReply>, RegionRefusal> {
    let edit = match order {
        EstateOrderBody { name: Some(name), owner: None, unowned: false } => {
            if name.chars().any(char::is_control) {
                return Err(RegionRefusal::bad("The name of an estate has no control characters."));
            }
            EstateEdit::Name(name.into())
        }
        EstateOrderBody { name: None, owner: Some(owner), unowned: false } => {
            let owner = regions.blocking(move |regions| regions.account(&owner)).await?;
            EstateEdit::Owner(Some(owner))
        }
        EstateOrderBody { name: None, owner: None, unowned: true } => EstateEdit::Owner(None),
        _ => return Err(RegionRefusal::bad("An order has one of `name`, `owner` and `unowned`.")),
    };
    carry_out(&regions, &name, edit).await
}

/// Add an account to a list of an estate, or remove it.
#[utoipa::path(post, path = "/v1/regions/{name}/estate/lists", operation_id = "change_estate_list",
    params(("name" = String, Path, description = "Name of the region.")), request_body = EstateListBody,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = EstateChangedReply),
        (status = 404, description = "There is no such region or account."),
        (status = 409, description = "The list is full, or the account manages the estate and cannot be banned."),
        (status = 503, description = "The region does not answer."),
    ))]
pub(super) async fn change_list(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(EstateListBody { list, account, listed }): Json<EstateListBody>,
) -> Result<Json<EstateChangedReply>, RegionRefusal> {
    let list = match list {
        ListName::Managers => EstateList::Managers,
        ListName::Allowed => EstateList::Allowed,
        ListName::Banned => EstateList::Banned,
    };
    // An account without a row can still be removed.
    let find = move |regions: &Regions| match listed {
        true => regions.account(&account),
        false => regions.user(&account),
    };
    let AgentId(id) = regions.blocking(find).await?;
    carry_out(&regions, &name, EstateEdit::List { list, id, is_added: listed }).await
}

async fn carry_out(
    regions: &Regions,
    name: &str,
    edit: EstateEdit,
) -> Result<Json<EstateChangedReply>, RegionRefusal> {
    let place = regions.region(name)?;
    regions.land.carry_out(place.world(), &LandEdit::Estate(edit)).await.map_err(refusal)?;
    tracing::info!(region = place.name(), "the operator has changed an estate");
    Ok(Json(EstateChangedReply { region: place.name().to_owned() }))
}

/// The answer to an order that has failed.
pub(super) fn refusal(error: LandOrderError) -> RegionRefusal {
    let why = error.to_string();
    match error {
        LandOrderError::NoRegion => RegionRefusal::absent(why),
        LandOrderError::Refused(LandRefusal::Busy) | LandOrderError::Busy | LandOrderError::Lost => {
            RegionRefusal::unavailable(why)
        }
        LandOrderError::Refused(_) => RegionRefusal::conflict(why),
    }
}
