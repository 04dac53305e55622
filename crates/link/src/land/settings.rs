//! Settings of a parcel that its owner changes in one form.

use glam::Vec3;
use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of a name at most.
const NAME_MAX: usize = 63;
/// Bytes of a description, an address, and a type of media at most.
const TEXT_MAX: usize = 255;
/// Highest price: messages have 31 bits.
const PRICE_MAX: u32 = i32::MAX.unsigned_abs();
/// Highest category, that of rentals.
const CATEGORY_MAX: u8 = 14;
/// Longest pass, hours: a year.
const PASS_MAX_H: f32 = 8_766.0;

/// The settings of a parcel that its owner changes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParcelSettings {
    /// At most 63 bytes.
    pub name: Arc<str>,
    /// At most 255 bytes.
    pub description: Arc<str>,
    /// Rules for users of the parcel.
    pub flags: ParcelFlags,
    /// Subject in searches, as in messages.
    pub category: u8,
    /// Its group; null for none. Groups have no members yet.
    pub group: Uuid,
    /// Picture.
    pub snapshot: Uuid,
    /// Place of arrivals.
    pub landing: Landing,
    /// Media and music.
    pub media: ParcelMedia,
    /// Conditions of a sale, in force with [`ParcelFlags::FOR_SALE`].
    pub sale: LandSale,
    /// Conditions of a pass.
    pub pass: Pass,
    /// Avatars inside are shown to avatars outside.
    pub shows_avatars: bool,
    /// Avatars of all users make sounds there.
    pub has_any_sounds: bool,
    /// Avatars of the group make sounds there.
    pub has_group_sounds: bool,
}

/// Place of arrivals on a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landing {
    /// Rule for teleports.
    pub kind: LandingKind,
    /// The landing point, metres from the region's corner; zero for none.
    pub at: Vec3,
    /// Direction to face there.
    pub look_at: Vec3,
}

impl Landing {
    /// Teleports to any point.
    pub const ANYWHERE: Self = Self { kind: LandingKind::Anywhere, at: Vec3::ZERO, look_at: Vec3::ZERO };
}

/// Rule for teleports to a parcel, with its code in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum LandingKind {
    /// No teleports.
    Blocked = 0,
    /// All to the landing point.
    Point = 1,
    /// To any point.
    #[default]
    Anywhere = 2,
}

impl LandingKind {
    /// The rule with this code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Blocked),
            1 => Some(Self::Point),
            2 => Some(Self::Anywhere),
            _ => None,
        }
    }
}

/// Media and music of a parcel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParcelMedia {
    /// Address of the music, at most 255 bytes.
    pub music_url: Arc<str>,
    /// Address of the media, at most 255 bytes.
    pub url: Arc<str>,
    /// Texture in whose place the media are shown.
    pub texture: Uuid,
    /// MIME type, at most 255 bytes.
    pub mime_type: Arc<str>,
    /// At most 255 bytes.
    pub description: Arc<str>,
    /// Pixels; 0 for the media's own.
    pub width: u16,
    /// Pixels; 0 for the media's own.
    pub height: u16,
    /// Stretched to the face.
    pub is_scaled: bool,
    /// Repeated at the end.
    pub is_looped: bool,
    /// Media on prims are for avatars on the parcel only.
    pub is_hidden_outside: bool,
}

/// Conditions of a sale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandSale {
    /// In the grid's currency.
    pub price: u32,
    /// The only buyer; null for any.
    pub buyer: Uuid,
}

/// Conditions of a pass. Passes are not sold yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// In the grid's currency.
    pub price: u32,
    /// Hours for which it holds.
    pub hours: f32,
}

/// Settings of a parcel as a set of bits, those of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParcelFlags(pub u32);

impl ParcelFlags {
    /// Avatars may fly.
    pub const ALLOW_FLY: Self = Self(1);
    /// Scripts of all owners run.
    pub const ALLOW_OTHER_SCRIPTS: Self = Self(1 << 1);
    /// It can be bought.
    pub const FOR_SALE: Self = Self(1 << 2);
    /// Landmarks can be made.
    pub const ALLOW_LANDMARK: Self = Self(1 << 3);
    /// All users may edit the ground.
    pub const ALLOW_TERRAFORM: Self = Self(1 << 4);
    /// Avatars can be hurt.
    pub const ALLOW_DAMAGE: Self = Self(1 << 5);
    /// All users may build.
    pub const CREATE_OBJECTS: Self = Self(1 << 6);
    /// Objects on it are for sale.
    pub const FOR_SALE_OBJECTS: Self = Self(1 << 7);
    /// Members of the group may enter beside those of the access list.
    pub const USE_ACCESS_GROUP: Self = Self(1 << 8);
    /// Only users of the access list may enter.
    pub const USE_ACCESS_LIST: Self = Self(1 << 9);
    /// Users of the ban list may not enter.
    pub const USE_BAN_LIST: Self = Self(1 << 10);
    /// Passes are sold.
    pub const USE_PASS_LIST: Self = Self(1 << 11);
    /// Listed in searches.
    pub const SHOW_DIRECTORY: Self = Self(1 << 12);
    /// May be deeded to the group.
    pub const ALLOW_DEED_TO_GROUP: Self = Self(1 << 13);
    /// The owner contributes to the group's land.
    pub const CONTRIBUTE_WITH_DEED: Self = Self(1 << 14);
    /// Sounds on it are heard on it only.
    pub const SOUND_LOCAL: Self = Self(1 << 15);
    /// Objects of the owner are sold with it.
    pub const SELL_PARCEL_OBJECTS: Self = Self(1 << 16);
    /// Published on the web.
    pub const ALLOW_PUBLISH: Self = Self(1 << 17);
    /// Moderate content.
    pub const MATURE_PUBLISH: Self = Self(1 << 18);
    /// The media address is a web page.
    pub const URL_WEB_PAGE: Self = Self(1 << 19);
    /// The media address is HTML.
    pub const URL_RAW_HTML: Self = Self(1 << 20);
    /// Objects of other owners do not push avatars.
    pub const RESTRICT_PUSH: Self = Self(1 << 21);
    /// Only users with known payment may enter.
    pub const DENY_ANONYMOUS: Self = Self(1 << 22);
    /// Scripts of the group run.
    pub const ALLOW_GROUP_SCRIPTS: Self = Self(1 << 25);
    /// Members of the group may build.
    pub const CREATE_GROUP_OBJECTS: Self = Self(1 << 26);
    /// Objects of all owners may enter.
    pub const ALLOW_OBJECT_ENTRY: Self = Self(1 << 27);
    /// Objects of the group may enter.
    pub const ALLOW_GROUP_OBJECT_ENTRY: Self = Self(1 << 28);
    /// Voice.
    pub const ALLOW_VOICE: Self = Self(1 << 29);
    /// Voice on the estate's channel.
    pub const USE_ESTATE_VOICE: Self = Self(1 << 30);
    /// Only adults may enter.
    pub const DENY_AGE_UNVERIFIED: Self = Self(1 << 31);

    /// Those of a new parcel.
    pub const NEW: Self = Self(
        Self::ALLOW_FLY.0
            | Self::ALLOW_LANDMARK.0
            | Self::ALLOW_OBJECT_ENTRY.0
            | Self::ALLOW_DEED_TO_GROUP.0
            | Self::CREATE_OBJECTS.0
            | Self::ALLOW_OTHER_SCRIPTS.0
            | Self::ALLOW_VOICE.0,
    );

    /// Withdrawn when the owner changes.
    pub const OF_SALE: Self = Self(
        Self::FOR_SALE.0 | Self::FOR_SALE_OBJECTS.0 | Self::SELL_PARCEL_OBJECTS.0 | Self::SHOW_DIRECTORY.0,
    );

    /// Never set by an owner: bits without a meaning, and objects for sale.
    const FIXED: Self = Self(Self::FOR_SALE_OBJECTS.0 | 1 << 23 | 1 << 24);

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without the bits of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl ParcelSettings {
    /// Those of a new parcel.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            description: "".into(),
            flags: ParcelFlags::NEW,
            category: 0,
            group: Uuid::nil(),
            snapshot: Uuid::nil(),
            landing: Landing::ANYWHERE,
            media: ParcelMedia::default(),
            sale: LandSale::default(),
            pass: Pass::default(),
            shows_avatars: true,
            has_any_sounds: true,
            has_group_sounds: true,
        }
    }

    /// The nearest settings within all bounds: texts are cut, numbers clamped, bits without a meaning cleared. `None` with a number that is none.
    #[must_use]
    pub fn bounded(mut self, size_m: u32) -> Option<Self> {
        let Landing { at, look_at, .. } = &mut self.landing;
        if !at.is_finite() || !look_at.is_finite() || !self.pass.hours.is_finite() {
            return None;
        }
        let most = Vec3::new(size_m as f32, size_m as f32, crate::terrain::CEILING_M);
        *at = at.clamp(Vec3::ZERO, most);
        *look_at = look_at.clamp(-Vec3::ONE, Vec3::ONE);
        cut(&mut self.name, NAME_MAX);
        cut(&mut self.description, TEXT_MAX);
        let ParcelMedia { music_url, url, mime_type, description, .. } = &mut self.media;
        for text in [music_url, url, mime_type, description] {
            cut(text, TEXT_MAX);
        }
        self.flags = self.flags.without(ParcelFlags::FIXED);
        self.category = self.category.min(CATEGORY_MAX);
        self.sale.price = self.sale.price.min(PRICE_MAX);
        self.pass.price = self.pass.price.min(PRICE_MAX);
        self.pass.hours = self.pass.hours.clamp(0.0, PASS_MAX_H);
        Some(self)
    }
}

/// Cuts a text that is longer than `bytes_max`, between two characters.
pub(super) fn cut(text: &mut Arc<str>, bytes_max: usize) {
    if text.len() > bytes_max {
        *text = text[..text.floor_char_boundary(bytes_max)].into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_cut_and_clamped_between_characters() {
        let wide = ParcelSettings {
            name: "é".repeat(40).into(),
            flags: ParcelFlags(u32::MAX),
            category: 200,
            landing: Landing { at: Vec3::new(-3.0, 900.0, 9e9), ..Landing::ANYWHERE },
            sale: LandSale { price: u32::MAX, ..LandSale::default() },
            pass: Pass { price: 5, hours: -1.0 },
            ..ParcelSettings::new("")
        };
        let bounded = wide.bounded(256).unwrap();
        assert_eq!(bounded.name.len(), 62);
        assert_eq!(bounded.landing.at, Vec3::new(0.0, 256.0, 4_096.0));
        assert_eq!((bounded.category, bounded.sale.price, bounded.pass.hours), (14, PRICE_MAX, 0.0));
        assert!(
            !bounded.flags.any(ParcelFlags::FOR_SALE_OBJECTS) && bounded.flags.any(ParcelFlags::FOR_SALE)
        );
        assert_eq!(bounded.clone().bounded(256), Some(bounded));
        let broken = ParcelSettings { pass: Pass { price: 0, hours: f32::NAN }, ..ParcelSettings::new("") };
        assert_eq!(broken.bounded(256), None);
    }
}
