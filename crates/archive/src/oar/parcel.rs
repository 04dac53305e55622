//! Parcels of a region: one document each, with the covered squares as a bitmap.

use crate::fields::{
    DocumentError, DocumentField, DocumentLayout, DocumentSource, FieldContent, Plain, ReadDocument,
    document_methods, field,
};
use crate::xml::XmlElement;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ids::Uuid;
use std::fmt::Write as _;

/// Side of a square of the bitmap, metres.
pub const SQUARE_M: u32 = 4;

/// Bytes of a bitmap: one bit for each square of the largest region.
const BITMAP_BYTES_MAX: usize = 128 * 1_024;

/// Entries of an access list that are read.
const ACCESS_MAX: usize = 4_096;

const ROOT: &str = "LandData";

/// A parcel. Numbers are those of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchivedParcel {
    /// Its id on its grid.
    pub id: Uuid,
    /// Its number in its region, from 1.
    pub local_id: i32,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Owner: an account, or the group if it is owned by one.
    pub owner: Uuid,
    /// Group; null for none.
    pub group: Uuid,
    /// Owned by the group.
    pub is_group_owned: bool,
    /// One bit for each square of [`SQUARE_M`], row by row from the south-west corner, the lowest bit of a byte first.
    pub bitmap: Vec<u8>,
    /// Its size as stated, square metres.
    pub area_m2: i32,
    /// Number of an auction; 0 for none.
    pub auction: u32,
    /// The one account to which it is for sale; null for any.
    pub buyer: Uuid,
    /// Category of the search.
    pub category: i8,
    /// Time of its purchase, seconds since 1970.
    pub claimed_s: i32,
    /// Price of its purchase.
    pub claim_price: i32,
    /// Flags of parcels.
    pub flags: u32,
    /// Arrival of teleports: 0 blocked, 1 at the landing point, 2 anywhere.
    pub landing_type: u8,
    /// Leased 0, pending 1, abandoned 2.
    pub status: i8,
    /// Media on a texture.
    pub media: ArchivedMedia,
    /// Address of its music.
    pub music_url: String,
    /// Accounts that may enter, or may not.
    pub access: Vec<ParcelAccess>,
    /// Duration of a pass, hours.
    pub pass_hours: f32,
    /// Price of a pass.
    pub pass_price: i32,
    /// Price of the parcel.
    pub sale_price: i32,
    /// Picture; null for none.
    pub snapshot: Uuid,
    /// Landing point, metres.
    pub landing_at: [f32; 3],
    /// View at the landing point, a direction.
    pub landing_look: [f32; 3],
    /// Traffic.
    pub dwell: f32,
    /// Objects of others return after that time, minutes; 0 for never.
    pub autoreturn_min: i32,
    /// Avatars in it are seen from outside.
    pub sees_avatars: bool,
    /// Avatars of all accounts are heard from outside.
    pub hears_avatars: bool,
    /// Avatars of the group are heard from outside.
    pub hears_group: bool,
    /// Its own environment as LLSD in notation; none uses that of the region.
    pub environment: Option<String>,
    /// The document that it was read from.
    pub source: DocumentSource,
}

/// Media on a texture of a parcel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedMedia {
    /// The texture that shows it.
    pub texture: Uuid,
    /// Its address.
    pub url: String,
    /// Its MIME type.
    pub mime_type: String,
    /// Description.
    pub description: String,
    /// Height, pixels; 0 for any.
    pub height_px: i32,
    /// Width, pixels; 0 for any.
    pub width_px: i32,
    /// It fills the texture.
    pub auto_scale: u8,
    /// It begins again at its end.
    pub is_looped: bool,
    /// Its address is hidden.
    pub is_obscured: bool,
}

/// An entry of an access list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParcelAccess {
    /// The account.
    pub agent: Uuid,
    /// Time of its end, seconds since 1970; 0 for never.
    pub expires_s: i32,
    /// 1: it may enter; 2: it may not.
    pub flags: u32,
    /// Elements that are not known here, as they stand in the document.
    pub unknown: Box<str>,
}

/// Of a parcel without elements, as OpenSimulator makes it.
impl Default for ArchivedParcel {
    fn default() -> Self {
        Self {
            id: Uuid::nil(),
            local_id: 0,
            name: String::new(),
            description: String::new(),
            owner: Uuid::nil(),
            group: Uuid::nil(),
            is_group_owned: false,
            bitmap: Vec::new(),
            area_m2: 0,
            auction: 0,
            buyer: Uuid::nil(),
            category: 0,
            claimed_s: 0,
            claim_price: 0,
            flags: 0,
            landing_type: 2,
            status: 0,
            media: ArchivedMedia { mime_type: "none/none".to_owned(), ..ArchivedMedia::default() },
            music_url: String::new(),
            access: Vec::new(),
            pass_hours: 0.0,
            pass_price: 0,
            sale_price: 0,
            snapshot: Uuid::nil(),
            landing_at: [0.0; 3],
            landing_look: [0.0; 3],
            dwell: 0.0,
            autoreturn_min: 0,
            sees_avatars: true,
            hears_avatars: true,
            hears_group: true,
            environment: None,
            source: DocumentSource::default(),
        }
    }
}

/// A value that is 1 or 0 in the document; everything but 1 is false.
macro_rules! digit {
    ($name:literal, $place:ident) => {
        DocumentField {
            group: "",
            name: $name,
            read: |it, element| {
                it.$place = element.text()? == "1";
                Some(())
            },
            write: |it| FieldContent::Text(if it.$place { "1" } else { "0" }.to_owned()),
        }
    };
}

/// In the order of OpenSimulator.
const FIELDS: [DocumentField<ArchivedParcel>; 40] = [
    field!("Area", area_m2),
    field!("AuctionID", auction),
    field!("AuthBuyerID", buyer),
    field!("Category", category),
    field!("ClaimDate", claimed_s),
    field!("ClaimPrice", claim_price),
    field!("GlobalID", id),
    field!("GroupID", group),
    field!("IsGroupOwned", is_group_owned),
    DocumentField { group: "", name: "Bitmap", read: read_bitmap, write: write_bitmap },
    field!("Description", description),
    field!("Flags", flags),
    field!("LandingType", landing_type),
    field!("Name", name),
    field!("Status", status),
    field!("LocalID", local_id),
    field!("MediaAutoScale", media.auto_scale),
    field!("MediaID", media.texture),
    field!("MediaURL", media.url),
    field!("MusicURL", music_url),
    field!("MediaType", media.mime_type),
    field!("MediaDesc", media.description),
    field!("MediaH", media.height_px),
    field!("MediaW", media.width_px),
    field!("MediaLoop", media.is_looped),
    field!("ObscureMOAP", media.is_obscured),
    field!("OwnerID", owner),
    DocumentField { group: "", name: "ParcelAccessList", read: read_access, write: write_access },
    field!("PassHours", pass_hours),
    field!("PassPrice", pass_price),
    field!("SalePrice", sale_price),
    field!("SnapshotID", snapshot),
    field!("UserLocation", landing_at),
    field!("UserLookAt", landing_look),
    field!("Dwell", dwell),
    field!("OtherCleanTime", autoreturn_min),
    digit!("SeeAVs", sees_avatars),
    digit!("AnyAVSnds", hears_avatars),
    digit!("GrpAVSnds", hears_group),
    field!("Environment", environment),
];

impl ArchivedParcel {
    document_methods!(ROOT, FIELDS, DocumentLayout::Dense);

    /// Squares that it covers.
    #[must_use]
    pub fn n_squares(&self) -> u32 {
        self.bitmap.iter().map(|byte| byte.count_ones()).sum()
    }
}

fn read_bitmap(parcel: &mut ArchivedParcel, element: &XmlElement<'_>) -> Option<()> {
    let text = element.text()?;
    let dense: String = text.split_ascii_whitespace().collect();
    parcel.bitmap = BASE64_STANDARD.decode(dense).ok().filter(|bitmap| bitmap.len() <= BITMAP_BYTES_MAX)?;
    Some(())
}

fn write_bitmap(parcel: &ArchivedParcel) -> FieldContent {
    FieldContent::Text(BASE64_STANDARD.encode(&parcel.bitmap))
}

/// Entries whose account or flags cannot be read make the list unreadable; times of old archives may be no numbers, and are ignored by OpenSimulator.
fn read_access(parcel: &mut ArchivedParcel, element: &XmlElement<'_>) -> Option<()> {
    let mut access = Vec::new();
    for child in element.children() {
        if child.name() != "ParcelAccessEntry" || access.len() == ACCESS_MAX {
            return None;
        }
        let mut entry = ParcelAccess::default();
        let mut unknown = String::new();
        for value in child.children() {
            match value.name() {
                "AgentID" => entry.agent = Plain::read(&value.text()?)?,
                "AccessList" => entry.flags = Plain::read(&value.text()?)?,
                "Time" => match Plain::read(&value.text()?) {
                    Some(expires_s) => entry.expires_s = expires_s,
                    None => unknown.push_str(value.outer()),
                },
                _ => unknown.push_str(value.outer()),
            }
        }
        entry.unknown = unknown.into();
        access.push(entry);
    }
    parcel.access = access;
    Some(())
}

fn write_access(parcel: &ArchivedParcel) -> FieldContent {
    let mut markup = String::new();
    for ParcelAccess { agent, expires_s, flags, unknown } in &parcel.access {
        write!(markup, "<ParcelAccessEntry><AgentID>{agent}</AgentID>").expect("a text takes all characters");
        if !unknown.starts_with("<Time") {
            write!(markup, "<Time>{expires_s}</Time>").expect("a text takes all characters");
        }
        write!(markup, "<AccessList>{flags}</AccessList>{unknown}</ParcelAccessEntry>")
            .expect("a text takes all characters");
    }
    FieldContent::Markup(markup)
}

#[cfg(test)]
mod tests;
