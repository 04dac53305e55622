//! Accounts and their inventories over the operator's address: `/v1/users`, with tokens of the scopes `operate`, `inventory.read` and `inventory.write`.
//!
//! Each request reads or changes the database on a thread of its own; no world and no session waits for it.

use axum::extract::{Json, Path, Query, State};
use axum::http::StatusCode;
use gateway::sessions::Sessions;
use grid::asset_sources::AssetSources;
use grid::inventory::{
    FolderLine, GiveError, GivenThing, InventoryOverview, InventoryParts, give_thing, overview,
};
use grid::names::Name;
use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Account, FlawedItem, Store, StoreError};
use telemetry::recorder::frame_end;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use workplace::{Clock, opaque_debug};

/// Accounts in one answer, unless the request says otherwise. The bound in the description is a literal.
const ACCOUNTS: u32 = 100;

/// A refusal: status, and a sentence for the operator.
type UserRefusal = (StatusCode, String);

/// The parts of the server that the handlers use.
#[derive(Clone)]
pub struct UserDesk {
    /// Accounts and inventories.
    pub store: Arc<Store>,
    /// The assets that given things name.
    pub assets: Arc<AssetSources>,
    /// The sessions, whose viewers hear of changes.
    pub sessions: Arc<Sessions>,
    /// The clock of the process.
    pub clock: Clock,
    /// Time when that was zero, seconds since 1970.
    pub unix_start_s: u64,
}

opaque_debug!(UserDesk);

/// The routes.
pub fn router(desk: UserDesk) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show_inventory, give))
        .with_state(Arc::new(desk))
}

impl UserDesk {
    async fn blocking<R: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<R, UserRefusal> + Send + 'static,
    ) -> Result<R, UserRefusal> {
        let desk = Arc::clone(self);
        let recorded = move || {
            let done = work(&desk);
            // The runtime marks idle time of its workers, but not of these threads.
            frame_end();
            done
        };
        let done = tokio::task::spawn_blocking(recorded).await;
        done.expect("blocking work does not panic and is not cancelled")
    }

    /// An account, by "First Last" or by id.
    fn account(&self, text: &str) -> Result<Account, UserRefusal> {
        let found = match (text.parse::<Uuid>(), Name::parse(text, "")) {
            (Ok(id), _) => self.store.account(ids::AgentId(id)),
            (Err(_), Ok(Name { first, last })) => self.store.account_by_name(&first, &last),
            (Err(_), Err(_)) => Ok(None),
        };
        let unknown = || (StatusCode::NOT_FOUND, format!("There is no account {text:?}."));
        found.map_err(|error| no_answer(&error))?.ok_or_else(unknown)
    }

    fn now_s(&self) -> i64 {
        (self.unix_start_s + (self.clock)().0 / 1_000_000_000).cast_signed()
    }
}

fn no_answer(error: &StoreError) -> UserRefusal {
    (StatusCode::SERVICE_UNAVAILABLE, format!("The database does not answer: {error}."))
}

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
struct AccountRow {
    id: Uuid,
    /// "First Last".
    name: String,
    /// Time of its creation, seconds since 1970.
    created_s: i64,
    /// Reason of a ban; none without one.
    banned: Option<String>,
}

/// Accounts that are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AccountsQuery {
    /// Begin of the first, last or whole name; all accounts without it. The bound counts characters as they stand in the address.
    #[serde(default)]
    #[param(min_length = 1, max_length = 189)]
    begins: Option<String>,
    /// Accounts to leave out, those of earlier answers.
    #[serde(default)]
    #[param(maximum = 1000000)]
    skip: u32,
    /// Accounts in the answer at most, 100 without it.
    #[serde(default)]
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Accounts by their names.
#[utoipa::path(get, path = "/v1/users", operation_id = "list_users", params(AccountsQuery), responses(
    (status = 200, description = "In the order of their names.", body = Vec<AccountRow>),
    (status = 503, description = "The database does not answer."),
))]
async fn list(
    State(desk): State<Arc<UserDesk>>,
    Query(AccountsQuery { begins, skip, limit }): Query<AccountsQuery>,
) -> Result<Json<Vec<AccountRow>>, UserRefusal> {
    let read = move |desk: &UserDesk| {
        let begins = begins.unwrap_or_default();
        desk.store
            .search_accounts(&begins, skip, limit.unwrap_or(ACCOUNTS))
            .map_err(|error| no_answer(&error))
    };
    let row = |Account { agent, first, last, created_s, ban_reason, .. }| AccountRow {
        id: agent.0,
        name: format!("{first} {last}"),
        created_s,
        banned: ban_reason,
    };
    Ok(Json(desk.blocking(read).await?.into_iter().map(row).collect()))
}

/// A folder of an inventory.
#[derive(Serialize, ToSchema)]
#[schema(as = InventoryFolder)]
struct FolderRow {
    id: Uuid,
    name: String,
    /// Folders above it; 0 for the root.
    depth: u32,
    /// Purpose as in the protocol, such as 46 for the current outfit; -1 for a folder of the user's.
    kind: i8,
    /// Number of its changes.
    version: i32,
    /// Items directly in it, links included.
    items: u64,
    /// Links among them.
    links: u64,
    /// Items among them whose asset is missing or damaged.
    missing: u64,
    /// True if no root leads to it, which is damage.
    lost: bool,
}

impl FolderRow {
    fn new(line: FolderLine) -> Self {
        let FolderLine { folder, depth, is_lost, counts, flawed } = line;
        Self {
            id: folder.id,
            name: folder.name,
            depth,
            kind: folder.type_default,
            version: folder.version,
            items: counts.items,
            links: counts.links,
            missing: flawed,
            lost: is_lost,
        }
    }
}

/// An item without its content.
#[derive(Serialize, ToSchema)]
#[schema(as = InventoryItemMissing)]
struct MissingRow {
    id: Uuid,
    name: String,
    folder: Uuid,
    asset: Uuid,
    /// Kind of the asset as in the protocol, such as 0 for a texture.
    kind: i8,
    /// Evidence of damage; none if there is no such asset.
    damage: Option<String>,
}

impl MissingRow {
    fn new(item: FlawedItem) -> Self {
        let FlawedItem { item, folder, name, asset, asset_type, damage } = item;
        Self { id: item, name, folder, asset, kind: asset_type, damage }
    }
}

/// An inventory in numbers.
#[derive(Serialize, ToSchema)]
#[schema(as = Inventory)]
struct InventoryReply {
    owner: Uuid,
    /// "First Last".
    owner_name: String,
    /// Items, links included.
    items: u64,
    links: u64,
    /// Items whose asset is missing or damaged.
    missing: u64,
    /// All folders, each behind its parent.
    folders: Vec<FolderRow>,
    /// The first 500 items whose asset is missing or damaged.
    missing_items: Vec<MissingRow>,
}

/// An account's inventory: its folders as a tree with counts, and the items whose content is missing.
#[utoipa::path(get, path = "/v1/users/{name}/inventory", operation_id = "show_inventory",
    params(("name" = String, Path, description = "\"First Last\", or the id of the account.")),
    security(("token" = ["inventory.read"])),
    responses(
        (status = 200, body = InventoryReply),
        (status = 404, description = "There is no such account."),
        (status = 503, description = "The database does not answer."),
    ))]
async fn show_inventory(
    State(desk): State<Arc<UserDesk>>,
    Path(name): Path<String>,
) -> Result<Json<InventoryReply>, UserRefusal> {
    let read = move |desk: &UserDesk| {
        let account = desk.account(&name)?;
        let seen = overview(&desk.store, account.agent).map_err(|error| no_answer(&error))?;
        Ok((account, seen))
    };
    let (account, seen) = desk.blocking(read).await?;
    let (items, links) = (seen.items(), seen.links());
    let InventoryOverview { folders, flawed, n_flawed } = seen;
    Ok(Json(InventoryReply {
        owner: account.agent.0,
        owner_name: format!("{} {}", account.first, account.last),
        items,
        links,
        missing: n_flawed,
        folders: folders.into_iter().map(FolderRow::new).collect(),
        missing_items: flawed.into_iter().map(MissingRow::new).collect(),
    }))
}

/// A thing for an account: an asset, or a copy of an item of another account.
#[derive(Deserialize, ToSchema)]
#[schema(as = GiftOrder)]
#[serde(deny_unknown_fields)]
struct GiveBody {
    /// Id of the asset, which becomes an item with all rights.
    #[serde(default)]
    asset: Option<Uuid>,
    /// Id of the item, which its owner may copy: the copy has the rights of its next owner.
    #[serde(default)]
    item: Option<Uuid>,
    /// With `item`: its owner, "First Last" or the id of an account.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    from: Option<String>,
    /// Name of the new item: at most 63 bytes. Without it a copy keeps its name, and an asset is called by its kind.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63, extensions(("x-max-bytes" = json!(63))))]
    name: Option<String>,
}

/// An item that was given.
#[derive(Serialize, ToSchema)]
#[schema(as = Gift)]
struct GivenReply {
    /// Id of the new item.
    item: Uuid,
    name: String,
    /// Folder that holds it.
    folder: Uuid,
    asset: Uuid,
    /// Account that has it.
    owner: Uuid,
    /// First and last name of that account.
    owner_name: String,
}

/// Give an asset, or a copy of an item, to an account. It is in the inventory at once, and shown to the user if present.
#[utoipa::path(post, path = "/v1/users/{name}/inventory", operation_id = "give",
    params(("name" = String, Path, description = "\"First Last\", or the id of the account.")),
    request_body = GiveBody, security(("token" = ["inventory.write"])),
    responses(
        (status = 200, body = GivenReply),
        (status = 400, description = "Neither an asset nor an item with its owner is named, or both are."),
        (status = 404, description = "There is no such account, item or asset."),
        (status = 409, description = "It cannot be given: a link, an item that may not be copied, a full inventory."),
        (status = 503, description = "The database does not answer."),
    ))]
async fn give(
    State(desk): State<Arc<UserDesk>>,
    Path(name): Path<String>,
    Json(order): Json<GiveBody>,
) -> Result<Json<GivenReply>, UserRefusal> {
    let work = move |desk: &UserDesk| {
        let thing = thing(desk, &order)?;
        let account = desk.account(&name)?;
        let parts = InventoryParts { store: &desk.store, assets: &desk.assets };
        let given = give_thing(parts, account.agent, &thing, order.name.as_deref(), desk.now_s());
        let (item, notice) = given.map_err(|why| refusal(&why))?;
        desk.sessions.with(|hub| hub.send_notices(vec![notice]));
        Ok((account, item))
    };
    let (account, item) = desk.blocking(work).await?;
    let owner_name = format!("{} {}", account.first, account.last);
    tracing::info!(to = owner_name, item = %item.id, asset = %item.asset, name = item.name, "given");
    Ok(Json(GivenReply {
        item: item.id,
        name: item.name,
        folder: item.folder,
        asset: item.asset,
        owner: account.agent.0,
        owner_name,
    }))
}

fn thing(desk: &UserDesk, order: &GiveBody) -> Result<GivenThing, UserRefusal> {
    match order {
        GiveBody { asset: Some(asset), item: None, from: None, .. } => Ok(GivenThing::Asset(*asset)),
        GiveBody { asset: None, item: Some(item), from: Some(from), .. } => {
            Ok(GivenThing::Item { from: desk.account(from)?.agent, item: *item })
        }
        _ => Err((
            StatusCode::BAD_REQUEST,
            "A gift is either an asset, or an item together with its owner.".to_owned(),
        )),
    }
}

fn refusal(why: &GiveError) -> UserRefusal {
    let status = match why {
        GiveError::UnknownReceiver(_) | GiveError::UnknownItem(_) | GiveError::UnknownAsset(_) => {
            StatusCode::NOT_FOUND
        }
        GiveError::Link
        | GiveError::NoCopy
        | GiveError::Wearable(_)
        | GiveError::Temporary
        | GiveError::Refused(_) => StatusCode::CONFLICT,
        GiveError::Store(error) => return no_answer(error),
        GiveError::Random(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, format!("Not given: {why}."))
}
