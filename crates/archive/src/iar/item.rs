//! Items and links of an inventory: one document each.

use crate::fields::{
    DocumentError, DocumentField, DocumentLayout, DocumentSource, ReadDocument, document_methods, field,
};
use ids::Uuid;

/// Kind of the asset of a link to an item. Its asset is the id of the item.
pub const LINK_TO_ITEM: i32 = 24;

/// Kind of the asset of a link to a folder. Its asset is the id of the folder.
pub const LINK_TO_FOLDER: i32 = 25;

const ROOT: &str = "InventoryItem";

/// An item. Numbers are those of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedItem {
    /// Its id.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Kind for display in clients.
    pub inventory_type: i32,
    /// Kind of its asset; [`LINK_TO_ITEM`] and [`LINK_TO_FOLDER`] are links.
    pub asset_type: i32,
    /// Its asset, or the target of a link.
    pub asset: Uuid,
    /// Creator: an id, or a name as `ospa:n=First Last`.
    pub creator: String,
    /// Creator by its id, where `creator` is a name.
    pub creator_id: Option<String>,
    /// Grid and name of a creator of another grid.
    pub creator_data: Option<String>,
    /// Time of its making, seconds since 1970.
    pub created_s: i64,
    /// Owner.
    pub owner: Uuid,
    /// Group; null for none.
    pub group: Uuid,
    /// Owned by the group.
    pub is_group_owned: bool,
    /// Sort of its offer for sale; 0 for none.
    pub sale_type: u8,
    /// Price.
    pub sale_price: i32,
    /// Rights that can be given at all.
    pub base_mask: u32,
    /// Rights of the owner.
    pub owner_mask: u32,
    /// Rights of everyone.
    pub everyone_mask: u32,
    /// Rights of the next owner.
    pub next_owner_mask: u32,
    /// Flags by kind.
    pub flags: u32,
    /// The document that it was read from.
    pub source: DocumentSource,
}

/// In the order of OpenSimulator. Two of the masks have an odd name.
const FIELDS: [DocumentField<ArchivedItem>; 20] = [
    field!("Name", name),
    field!("ID", id),
    field!("InvType", inventory_type),
    field!("CreatorUUID", creator),
    field!("CreationDate", created_s),
    field!("Owner", owner),
    field!("Description", description),
    field!("AssetType", asset_type),
    field!("AssetID", asset),
    field!("SaleType", sale_type),
    field!("SalePrice", sale_price),
    field!("BasePermissions", base_mask),
    field!("CurrentPermissions", owner_mask),
    field!("EveryOnePermissions", everyone_mask),
    field!("NextPermissions", next_owner_mask),
    field!("Flags", flags),
    field!("GroupID", group),
    field!("GroupOwned", is_group_owned),
    field!("CreatorData", creator_data),
    field!("CreatorID", creator_id),
];

impl ArchivedItem {
    document_methods!(ROOT, FIELDS, DocumentLayout::Lines);

    /// True for a link to an item or a folder, which has no asset.
    #[must_use]
    pub const fn is_link(&self) -> bool {
        matches!(self.asset_type, LINK_TO_ITEM | LINK_TO_FOLDER)
    }

    /// Id of the creator; none for a creator with a name only. As in OpenSimulator, the id of its own element is preferred.
    #[must_use]
    pub fn creator_account(&self) -> Option<Uuid> {
        let texts = [self.creator_id.as_deref(), Some(&*self.creator)];
        let id = texts.into_iter().flatten().find_map(|text| Uuid::try_parse(text.trim()).ok());
        id.filter(|id| !id.is_nil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = "<?xml version=\"1.0\" encoding=\"utf-16\"?>
<InventoryItem>
  <Name>Chair &amp; table</Name>
  <ID>00000000-0000-0000-0000-000000000001</ID>
  <InvType>6</InvType>
  <CreatorUUID>ospa:n=Ada Lovelace</CreatorUUID>
  <CreationDate>1300000000</CreationDate>
  <Owner>00000000-0000-0000-0000-000000000002</Owner>
  <Description />
  <AssetType>6</AssetType>
  <AssetID>00000000-0000-0000-0000-000000000003</AssetID>
  <SaleType>0</SaleType>
  <SalePrice>10</SalePrice>
  <BasePermissions>2147483647</BasePermissions>
  <CurrentPermissions>-1</CurrentPermissions>
  <EveryOnePermissions>32768</EveryOnePermissions>
  <NextPermissions>532480</NextPermissions>
  <Flags>0</Flags>
  <GroupID>00000000-0000-0000-0000-000000000000</GroupID>
  <GroupOwned>False</GroupOwned>
  <Novelty>kept</Novelty>
  <CreatorData>http://grid.example/;Ada Lovelace</CreatorData>
  <CreatorID>00000000-0000-0000-0000-000000000004</CreatorID>
</InventoryItem>";

    fn sample() -> ArchivedItem {
        let read = ArchivedItem::read(SAMPLE.as_bytes()).unwrap();
        assert_eq!(read.unread, vec![]);
        read.value
    }

    #[test]
    fn every_value_is_read_and_written_as_it_was() {
        let item = sample();
        let id = Uuid::from_u128;
        let expected = ArchivedItem {
            id: id(1),
            name: "Chair & table".to_owned(),
            description: String::new(),
            inventory_type: 6,
            asset_type: 6,
            asset: id(3),
            creator: "ospa:n=Ada Lovelace".to_owned(),
            creator_id: Some(id(4).to_string()),
            creator_data: Some("http://grid.example/;Ada Lovelace".to_owned()),
            created_s: 1_300_000_000,
            owner: id(2),
            group: Uuid::nil(),
            is_group_owned: false,
            sale_type: 0,
            sale_price: 10,
            base_mask: 0x7FFF_FFFF,
            owner_mask: u32::MAX,
            everyone_mask: 0x8000,
            next_owner_mask: 532_480,
            flags: 0,
            source: item.source.clone(),
        };
        assert_eq!(item, expected);
        assert_eq!(item.write(), SAMPLE);
        let renamed = ArchivedItem { name: "Bench".to_owned(), ..item };
        assert_eq!(renamed.write(), SAMPLE.replace("Chair &amp; table", "Bench"));
    }

    #[test]
    fn a_new_item_has_the_elements_that_it_needs() {
        let item = ArchivedItem {
            source: DocumentSource::default(),
            creator_data: None,
            creator_id: None,
            creator: Uuid::from_u128(8).to_string(),
            ..sample()
        };
        let text = item.write();
        assert!(!text.contains("CreatorData") && !text.contains("CreatorID"), "{text}");
        let again = ArchivedItem::read(text.as_bytes()).unwrap().value;
        assert_eq!(ArchivedItem { source: DocumentSource::default(), ..again }, item);
        assert_eq!(item.creator_account(), Some(Uuid::from_u128(8)));
    }

    #[test]
    fn creators_are_known_by_their_ids() {
        let mut item = sample();
        assert_eq!(item.creator_account(), Some(Uuid::from_u128(4)));
        item.creator_id = None;
        assert_eq!(item.creator_account(), None);
        item.creator = Uuid::nil().to_string();
        assert_eq!(item.creator_account(), None);
        assert!(!item.is_link());
        item.asset_type = LINK_TO_FOLDER;
        assert!(item.is_link());
    }

    proptest! {
        #[test]
        fn damaged_items_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = SAMPLE.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = ArchivedItem::read(&bytes) {
                prop_assert_eq!(read.value.write().into_bytes(), bytes);
            }
        }
    }
}
