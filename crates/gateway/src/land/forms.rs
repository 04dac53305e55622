//! Forms that clients send, as messages or as maps of capabilities: read here, and put over the present settings. A field that a form does not have keeps
//! its value.

use glam::Vec3;
use ids::Uuid;
use link::{
    EstateEdit, LandSale, Landing, LandingKind, Maturity, ParcelFlags, ParcelMedia, ParcelSettings, Pass,
    RegionFlags, RegionOptions, Sun,
};
use std::sync::Arc;
use wire::llsd::Llsd;
use wire::messages::ParcelPropertiesUpdateParcelData;
use wire::text::from_wire;

/// Hour of the sun from the number that the estate's form has: 1,024 units to an hour, from 6 o'clock.
const SUN_UNITS_PER_H: f32 = 1_024.0;
const SUN_FIRST_UNIT: f32 = 0x1800 as f32;

/// Settings of a parcel after the message; `None` if a value has no meaning.
pub(crate) fn parcel_of_message(
    former: &ParcelSettings,
    m: &ParcelPropertiesUpdateParcelData,
) -> Option<ParcelSettings> {
    let text = |field: &[u8]| Arc::from(from_wire(field));
    Some(ParcelSettings {
        name: text(&m.name),
        description: text(&m.desc),
        flags: ParcelFlags(m.parcel_flags),
        category: m.category,
        group: m.group_id,
        snapshot: m.snapshot_id,
        landing: Landing {
            kind: LandingKind::of_code(m.landing_type)?,
            at: m.user_location,
            look_at: m.user_look_at,
        },
        media: ParcelMedia {
            music_url: text(&m.music_url),
            url: text(&m.media_url),
            texture: m.media_id,
            is_scaled: m.media_auto_scale != 0,
            ..former.media.clone()
        },
        sale: LandSale { price: price(m.sale_price), buyer: m.auth_buyer_id },
        pass: Pass { price: price(m.pass_price), hours: m.pass_hours },
        ..former.clone()
    })
}

/// The same after the map of the capability.
pub(crate) fn parcel_of_map(former: &ParcelSettings, form: &Llsd) -> Option<ParcelSettings> {
    let text =
        |key: &str, former: &Arc<str>| form.get(key).as_str().map_or_else(|| Arc::clone(former), Arc::from);
    let id = |key: &str, former: Uuid| form.get(key).as_uuid().unwrap_or(former);
    let flag = |key: &str, former: bool| form.get(key).as_bool().unwrap_or(former);
    let vector = |key: &str, former: Vec3| form.get(key).as_vec3().unwrap_or(former);
    let price = |key: &str, former: u32| form.get(key).as_i32().map_or(former, price);
    let pixels = |key: &str, former: u16| {
        form.get(key).as_i32().map_or(former, |pixels| pixels.clamp(0, i32::from(u16::MAX)) as u16)
    };
    let kind = match form.get("landing_type").as_i32() {
        Some(code) => LandingKind::of_code(u8::try_from(code).ok()?)?,
        None => former.landing.kind,
    };
    let category = match form.get("category").as_i32() {
        Some(category) => u8::try_from(category).ok()?,
        None => former.category,
    };
    let media = &former.media;
    Some(ParcelSettings {
        name: text("name", &former.name),
        description: text("description", &former.description),
        flags: form.get("parcel_flags").as_u32().map_or(former.flags, ParcelFlags),
        category,
        group: id("group_id", former.group),
        snapshot: id("snapshot_id", former.snapshot),
        landing: Landing {
            kind,
            at: vector("user_location", former.landing.at),
            look_at: vector("user_look_at", former.landing.look_at),
        },
        media: ParcelMedia {
            music_url: text("music_url", &media.music_url),
            url: text("media_url", &media.url),
            texture: id("media_id", media.texture),
            mime_type: text("media_type", &media.mime_type),
            description: text("media_desc", &media.description),
            width: pixels("media_width", media.width),
            height: pixels("media_height", media.height),
            is_scaled: flag("auto_scale", media.is_scaled),
            is_looped: flag("media_loop", media.is_looped),
            is_hidden_outside: flag("obscure_moap", media.is_hidden_outside),
        },
        sale: LandSale {
            price: price("sale_price", former.sale.price),
            buyer: id("auth_buyer_id", former.sale.buyer),
        },
        pass: Pass {
            price: price("pass_price", former.pass.price),
            hours: form.get("pass_hours").as_f64().map_or(former.pass.hours, |hours| hours as f32),
        },
        shows_avatars: flag("see_avs", former.shows_avatars),
        has_any_sounds: flag("any_av_sounds", former.has_any_sounds),
        has_group_sounds: flag("group_av_sounds", former.has_group_sounds),
    })
}

fn price(price: i32) -> u32 {
    price.max(0).unsigned_abs()
}

/// The form of the region's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RegionForm {
    blocks_terraforming: Option<bool>,
    blocks_flying: Option<bool>,
    allows_damage: Option<bool>,
    allows_resale: Option<bool>,
    agent_limit: Option<f32>,
    object_bonus: Option<f32>,
    maturity: Option<u8>,
    restricts_pushing: Option<bool>,
    allows_parcel_changes: Option<bool>,
}

impl RegionForm {
    /// The parameters of the method `setregioninfo`; `None` if some are missing or are none.
    pub(crate) fn of_params(params: &[String]) -> Option<Self> {
        let [terraform, fly, damage, resale, agents, bonus, maturity, push, parcels, ..] = params else {
            return None;
        };
        let number = |text: &str| text.parse::<f32>().ok().filter(|number| number.is_finite());
        Some(Self {
            blocks_terraforming: Some(is_yes(terraform)),
            blocks_flying: Some(is_yes(fly)),
            allows_damage: Some(is_yes(damage)),
            allows_resale: Some(is_yes(resale)),
            agent_limit: Some(number(agents)?),
            object_bonus: Some(number(bonus)?),
            maturity: Some(maturity.parse().ok()?),
            restricts_pushing: Some(is_yes(push)),
            allows_parcel_changes: Some(is_yes(parcels)),
        })
    }

    /// The map of the capability DispatchRegionInfo.
    pub(crate) fn of_map(form: &Llsd) -> Self {
        let number = |key: &str| form.get(key).as_f64().map(|number| number as f32);
        let maturity = match form.get("sim_access").as_str() {
            Some("PG") => Some(Maturity::General as u8),
            Some("Mature") => Some(Maturity::Moderate as u8),
            Some("Adult") => Some(Maturity::Adult as u8),
            _ => form.get("sim_access").as_i32().and_then(|code| u8::try_from(code).ok()),
        };
        Self {
            blocks_terraforming: form.get("block_terraform").as_bool(),
            blocks_flying: form.get("block_fly").as_bool(),
            allows_damage: form.get("allow_damage").as_bool(),
            allows_resale: form.get("allow_land_resell").as_bool(),
            agent_limit: number("agent_limit"),
            object_bonus: number("prim_bonus"),
            maturity,
            restricts_pushing: form.get("restrict_pushobject").as_bool(),
            allows_parcel_changes: form.get("allow_parcel_changes").as_bool(),
        }
    }

    /// Settings after it.
    pub(crate) fn over(&self, former: RegionOptions) -> RegionOptions {
        let flags = [
            (RegionFlags::BLOCK_TERRAFORM, self.blocks_terraforming),
            (RegionFlags::BLOCK_FLY, self.blocks_flying),
            (RegionFlags::ALLOW_DAMAGE, self.allows_damage),
            (RegionFlags::BLOCK_LAND_RESELL, self.allows_resale.map(|allows| !allows)),
            (RegionFlags::RESTRICT_PUSH, self.restricts_pushing),
            (RegionFlags::ALLOW_PARCEL_CHANGES, self.allows_parcel_changes),
        ];
        RegionOptions {
            flags: with_flags(former.flags, &flags),
            agent_limit: self.agent_limit.map_or(former.agent_limit, |limit| limit as u32),
            object_bonus: self.object_bonus.unwrap_or(former.object_bonus),
            maturity: self.maturity.map_or(former.maturity, Maturity::of_code),
        }
    }
}

/// The form of the estate's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EstateForm {
    name: Option<Arc<str>>,
    sun: Option<Sun>,
    is_public: Option<bool>,
    allows_direct_teleport: Option<bool>,
    allows_voice: Option<bool>,
    overrides_parcel_access: Option<bool>,
}

impl EstateForm {
    /// The parameters of the method `estatechangeinfo`; `None` if some are missing or are none.
    pub(crate) fn of_params(params: &[String]) -> Option<Self> {
        let [name, flags, sun, ..] = params else { return None };
        // Some viewers write it as signed.
        let flags = flags.parse::<i64>().ok()? as u32;
        let unit: f32 = sun.parse().ok().filter(|unit: &f32| unit.is_finite())?;
        let hour = if unit == 0.0 { 0.0 } else { (unit - SUN_FIRST_UNIT) / SUN_UNITS_PER_H };
        let is = |flag: RegionFlags| Some(RegionFlags(flags).any(flag));
        Some(Self {
            name: Some(name.as_str()).filter(|name| !name.is_empty()).map(Arc::from),
            sun: Some(Sun { is_fixed: flags & 1 << 4 != 0, is_estates: unit == 0.0, hour }),
            is_public: is(RegionFlags::PUBLIC),
            allows_direct_teleport: is(RegionFlags::ALLOW_DIRECT_TELEPORT),
            allows_voice: is(RegionFlags::ALLOW_VOICE),
            overrides_parcel_access: None,
        })
    }

    /// The map of the capability EstateChangeInfo.
    pub(crate) fn of_map(form: &Llsd) -> Self {
        let hour = form.get("sun_hour").as_f64().map(|hour| hour as f32);
        Self {
            name: form.get("estate_name").as_str().filter(|name| !name.is_empty()).map(Arc::from),
            sun: hour.map(|hour| Sun {
                is_fixed: form.get("is_sun_fixed").as_bool().unwrap_or(false),
                is_estates: hour == 0.0,
                hour,
            }),
            is_public: form.get("is_externally_visible").as_bool(),
            allows_direct_teleport: form.get("allow_direct_teleport").as_bool(),
            allows_voice: form.get("allow_voice_chat").as_bool(),
            overrides_parcel_access: form.get("override_public_access").as_bool(),
        }
    }

    /// The edits that it asks for.
    pub(crate) fn edits(&self, former: RegionOptions) -> Vec<EstateEdit> {
        let flags = [
            (RegionFlags::PUBLIC, self.is_public),
            (RegionFlags::ALLOW_DIRECT_TELEPORT, self.allows_direct_teleport),
            (RegionFlags::ALLOW_VOICE, self.allows_voice),
            (RegionFlags::ALLOW_PARCEL_ACCESS, self.overrides_parcel_access.map(|overrides| !overrides)),
        ];
        let flags = with_flags(former.flags, &flags);
        let mut edits = Vec::new();
        if flags != former.flags {
            edits.push(EstateEdit::Region(RegionOptions { flags, ..former }));
        }
        edits.extend(self.name.clone().map(EstateEdit::Name));
        edits.extend(self.sun.map(EstateEdit::Sun));
        edits
    }
}

/// A yes as viewers write it in parameters.
pub(crate) fn is_yes(text: &str) -> bool {
    ["y", "yes", "t", "true", "1"].contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Flags with these set or cleared.
fn with_flags(former: RegionFlags, flags: &[(RegionFlags, Option<bool>)]) -> RegionFlags {
    flags.iter().fold(former, |flags, (flag, is_set)| match is_set {
        Some(true) => flags.union(*flag),
        Some(false) => flags.without(*flag),
        None => flags,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> RegionOptions {
        link::Estate::new("Hills", None, 20.0).region
    }

    fn params(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_regions_form_sets_and_clears_flags() {
        let form =
            RegionForm::of_params(&params(&["Y", "N", "N", "N", "40", "1.5", "21", "Y", "N"])).unwrap();
        let after = form.over(options());
        assert!(after.flags.any(RegionFlags::BLOCK_TERRAFORM) && after.flags.any(RegionFlags::RESTRICT_PUSH));
        assert!(after.flags.any(RegionFlags::BLOCK_LAND_RESELL) && after.flags.any(RegionFlags::PUBLIC));
        assert!(!after.flags.any(RegionFlags::ALLOW_PARCEL_CHANGES.union(RegionFlags::BLOCK_FLY)));
        assert_eq!((after.agent_limit, after.object_bonus, after.maturity), (40, 1.5, Maturity::Moderate));
        assert_eq!(RegionForm::of_params(&params(&["Y", "N"])), None);
        assert_eq!(RegionForm::of_params(&params(&["Y", "N", "N", "N", "many", "1", "21", "Y", "N"])), None);
    }

    #[test]
    fn a_field_that_a_form_lacks_keeps_its_value() {
        assert_eq!(RegionForm::of_map(&Llsd::map([("x", Llsd::from(1))])).over(options()), options());
        assert_eq!(EstateForm::of_map(&Llsd::map([("x", Llsd::from(1))])).edits(options()), []);
        let former = ParcelSettings::new("Old");
        assert_eq!(parcel_of_map(&former, &Llsd::map([("x", Llsd::from(1))])), Some(former.clone()));
        let form = Llsd::map([("name", Llsd::from("New")), ("parcel_flags", Llsd::from_u32(5))]);
        let after = parcel_of_map(&former, &form).unwrap();
        assert_eq!((&*after.name, after.flags), ("New", ParcelFlags(5)));
        assert_eq!(parcel_of_map(&former, &Llsd::map([("landing_type", Llsd::from(7))])), None);
    }

    #[test]
    fn the_estates_form_has_the_sun_in_units_from_six_o_clock() {
        let form = EstateForm::of_params(&params(&["Hills", "-2147450864", "14336"])).unwrap();
        let edits = form.edits(options());
        assert!(
            edits.contains(&EstateEdit::Sun(Sun { is_fixed: true, is_estates: false, hour: 8.0 })),
            "{edits:?}"
        );
        assert!(edits.contains(&EstateEdit::Name("Hills".into())));
        let EstateEdit::Region(after) = &edits[0] else { panic!("{edits:?}") };
        assert!(after.flags.any(RegionFlags::PUBLIC) && !after.flags.any(RegionFlags::ALLOW_VOICE));
    }
}
