//! HTTP requests of carrying bots, as viewers make them, and their answers. Sending them is the caller's part.

use super::content::{Content, query_key};
use super::item_row::ItemRow;
use ids::Uuid;
use wire::llsd::{Limits, Llsd, xml};

/// Folders in one request, as in viewers.
pub const FOLDERS_PER_CALL: usize = 5;

/// Target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// A capability that the seed has granted.
    Capability {
        /// Its name.
        name: &'static str,
        /// Behind the question mark; empty for none.
        query: String,
    },
    /// An address that an answer has named.
    Address(String),
}

/// Body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum CallBody {
    /// None: the method is GET.
    None,
    /// POST of a value.
    Llsd(Llsd),
    /// POST of bytes.
    Bytes(Vec<u8>),
}

/// A request of a bot.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// Number that the answer repeats.
    pub id: u64,
    /// Target.
    pub target: CallTarget,
    /// Body.
    pub body: CallBody,
}

/// An answer of any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallAnswer {
    /// Status of HTTP.
    pub status: u16,
    /// Body.
    pub body: Vec<u8>,
}

impl HttpCall {
    fn post(id: u64, name: &'static str, body: Llsd) -> Self {
        let target = CallTarget::Capability { name, query: String::new() };
        Self { id, target, body: CallBody::Llsd(body) }
    }

    fn get(id: u64, name: &'static str, query: String) -> Self {
        Self { id, target: CallTarget::Capability { name, query }, body: CallBody::None }
    }

    /// The first step of a new item with content.
    #[must_use]
    pub fn new_file(id: u64, content: &Content, name: &str, folder: Uuid, next_owner_mask: u32) -> Self {
        let (asset_type, inventory_type) = content.type_names();
        let fields = [
            ("folder_id", Llsd::from(folder)),
            ("asset_type", asset_type.into()),
            ("inventory_type", inventory_type.into()),
            ("name", name.into()),
            ("description", "".into()),
            ("everyone_mask", Llsd::from(0)),
            ("group_mask", Llsd::from(0)),
            ("next_owner_mask", Llsd::from(next_owner_mask.cast_signed())),
            ("expected_upload_cost", Llsd::from(0)),
        ];
        Self::post(id, "NewFileAgentInventory", Llsd::map(fields))
    }

    /// The first step of other content of a notecard.
    #[must_use]
    pub fn update_notecard(id: u64, item: Uuid) -> Self {
        Self::post(id, "UpdateNotecardAgentInventory", Llsd::map([("item_id", Llsd::from(item))]))
    }

    /// The second step of an upload.
    #[must_use]
    pub const fn upload(id: u64, address: String, bytes: Vec<u8>) -> Self {
        Self { id, target: CallTarget::Address(address), body: CallBody::Bytes(bytes) }
    }

    /// A new folder.
    #[must_use]
    pub fn new_folder(id: u64, folder: Uuid, parent: Uuid, name: &str) -> Self {
        let fields = [
            ("folder_id", Llsd::from(folder)),
            ("parent_id", parent.into()),
            ("type", Llsd::from(-1)),
            ("name", name.into()),
        ];
        Self::post(id, "CreateInventoryCategory", Llsd::map(fields))
    }

    /// Contents of folders.
    #[must_use]
    pub fn folders(id: u64, owner: Uuid, folders: &[Uuid]) -> Self {
        Self::post(id, "FetchInventoryDescendents2", folders_request(owner, folders))
    }

    /// Items.
    #[must_use]
    pub fn items(id: u64, owner: Uuid, items: &[Uuid]) -> Self {
        let row = |&item: &Uuid| Llsd::map([("owner_id", Llsd::from(owner)), ("item_id", item.into())]);
        let rows = Llsd::array(items.iter().map(row));
        Self::post(id, "FetchInventory2", Llsd::map([("agent_id", Llsd::from(owner)), ("items", rows)]))
    }

    /// Contents of a prim.
    #[must_use]
    pub fn contents(id: u64, prim: Uuid) -> Self {
        Self::get(id, "RequestTaskInventory", format!("task_id={prim}"))
    }

    /// Bytes of an asset.
    #[must_use]
    pub fn asset(id: u64, asset: Uuid, asset_type: i8) -> Self {
        Self::get(id, "ViewerAsset", format!("{}={asset}", query_key(asset_type)))
    }
}

/// Request of FetchInventoryDescendents2.
#[must_use]
pub fn folders_request(owner: Uuid, folders: &[Uuid]) -> Llsd {
    let row = |&folder: &Uuid| {
        Llsd::map([
            ("folder_id", Llsd::from(folder)),
            ("owner_id", owner.into()),
            ("fetch_folders", true.into()),
            ("fetch_items", true.into()),
            ("sort_order", Llsd::from(1)),
        ])
    };
    Llsd::map([("folders", Llsd::array(folders.iter().map(row)))])
}

impl CallAnswer {
    /// The value of a success; none of anything else.
    #[must_use]
    pub fn llsd(&self) -> Option<Llsd> {
        let is_success = (200..300).contains(&self.status);
        is_success.then(|| xml::decode(&self.body, Limits::REPLY).ok()).flatten()
    }
}

/// The answer to a step of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadAnswer {
    /// The bytes are to go there.
    Uploader(String),
    /// The upload is durable.
    Complete {
        /// Its asset.
        asset: Uuid,
        /// Its item; nil for content of an item that was there.
        item: Uuid,
    },
    /// It is refused, for this reason.
    Refused(String),
    /// Anything else: nothing is known.
    Unclear,
}

impl UploadAnswer {
    /// Reads the answer.
    #[must_use]
    pub fn of(answer: &CallAnswer) -> Self {
        let Some(value) = answer.llsd() else { return Self::Unclear };
        match value.get("state").as_str() {
            Some("upload") => match value.get("uploader").as_str() {
                Some(uploader) => Self::Uploader(uploader.to_owned()),
                None => Self::Unclear,
            },
            Some("complete") => match value.get("new_asset").as_uuid() {
                Some(asset) => {
                    let item = value.get("new_inventory_item").as_uuid().unwrap_or_default();
                    Self::Complete { asset, item }
                }
                None => Self::Unclear,
            },
            Some("error") => Self::Refused(value.get("message").as_str().unwrap_or_default().to_owned()),
            _ => Self::Unclear,
        }
    }
}

/// Items of an answer of FetchInventory2, or of RequestTaskInventory.
#[must_use]
pub fn item_rows(value: &Llsd) -> Vec<ItemRow> {
    let rows = value.get("items").as_array().iter().chain(value.get("contents").as_array());
    rows.filter_map(ItemRow::of_llsd).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn answer(status: u16, value: &Llsd) -> CallAnswer {
        CallAnswer { status, body: xml::encode(value).into_bytes() }
    }

    #[test]
    fn both_steps_of_an_upload_are_told_apart_by_their_state() {
        let of = |entries: &[(&str, Llsd)]| {
            UploadAnswer::of(&answer(200, &Llsd::map(entries.iter().map(|(k, v)| (*k, v.clone())))))
        };
        let uploader = of(&[("state", "upload".into()), ("uploader", "http://127.0.0.1/cap/1".into())]);
        assert_eq!(uploader, UploadAnswer::Uploader("http://127.0.0.1/cap/1".into()));
        let (asset, item) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let complete = [
            ("state", Llsd::from("complete")),
            ("new_asset", asset.into()),
            ("new_inventory_item", item.into()),
        ];
        assert_eq!(of(&complete), UploadAnswer::Complete { asset, item });
        let refused = of(&[("state", "error".into()), ("message", "No.".into())]);
        assert_eq!(refused, UploadAnswer::Refused("No.".into()));
        for unclear in [vec![], vec![("state", "upload".into())], vec![("state", "complete".into())]] {
            assert_eq!(of(&unclear), UploadAnswer::Unclear, "{unclear:?}");
        }
        assert_eq!(UploadAnswer::of(&answer(500, &Llsd::map(complete))), UploadAnswer::Unclear);
    }

    #[test]
    fn requests_have_the_fields_that_servers_read() {
        let mut rng = Rng::new(1, 0);
        let folder = Uuid::from_u128(3);
        let call = HttpCall::new_file(7, &Content::texture(&mut rng, 100), "carry-0-1", folder, 1 << 31);
        let CallBody::Llsd(body) = &call.body else { panic!("{call:?}") };
        assert_eq!((call.id, body.get("folder_id").as_uuid()), (7, Some(folder)));
        assert_eq!(body.get("next_owner_mask").as_u32(), Some(1 << 31));
        assert_eq!(body.get("asset_type").as_str(), Some("texture"));
        let call = HttpCall::folders(8, folder, &[folder, folder]);
        let CallBody::Llsd(body) = &call.body else { panic!("{call:?}") };
        assert_eq!(body.get("folders").as_array().len(), 2);
        assert_eq!(body.get("folders").at(0).get("fetch_items").as_bool(), Some(true));
        let call = HttpCall::asset(9, folder, 7);
        let query = format!("notecard_id={folder}");
        assert_eq!(call.target, CallTarget::Capability { name: "ViewerAsset", query });
        assert_eq!(call.body, CallBody::None);
    }

    #[test]
    fn items_are_read_from_inventories_and_from_prims() {
        let row = |id| Llsd::map([("item_id", Llsd::from(Uuid::from_u128(id)))]);
        let rows = [Llsd::array([row(1), row(2)]), Llsd::array([row(3), Llsd::from(4)])];
        let [items, contents] = rows;
        assert_eq!(item_rows(&Llsd::map([("items", items)])).len(), 2);
        assert_eq!(item_rows(&Llsd::map([("contents", contents)])).len(), 1);
        assert_eq!(item_rows(&Llsd::Undef).len(), 0);
    }
}
