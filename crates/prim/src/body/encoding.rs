//! The encoding of a body. Fields that few prims have come last, as one value: it takes one byte in a prim with none of them.
//!
//! The value is read from encodings of builds without contents, too: their last field, an optional sit target, has the bytes of the first two kinds of
//! [`RareFields`].

use super::{Body, HoverText, LoopedSound, Material, Names, Ownership, PCode, Sale, SitTarget};
use crate::contents::{Carried, Contents};
use crate::extra_params::ExtraParams;
use crate::material_override::MaterialOverrides;
use crate::media::Media;
use crate::physics::PrimPhysics;
use crate::shape::Shape;
use glam::Vec3;
use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Fields of a body that few prims have, in durable formats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum RareFields {
    /// None of them.
    #[default]
    None,
    /// A sit target alone.
    Seat(SitTarget),
    /// Contents, or data of an archive.
    Kept {
        /// [`Body::sit_target`].
        sit_target: Option<SitTarget>,
        /// [`Body::contents`].
        contents: Option<Arc<Contents>>,
        /// [`Body::carried`].
        carried: Option<Arc<Carried>>,
    },
    /// An item as which the linkset is worn, and the others.
    Worn {
        /// [`Body::worn_item`].
        item: Uuid,
        /// [`Body::sit_target`].
        sit_target: Option<SitTarget>,
        /// [`Body::contents`].
        contents: Option<Arc<Contents>>,
        /// [`Body::carried`].
        carried: Option<Arc<Carried>>,
    },
}

/// The fields themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RareParts {
    /// [`Body::sit_target`].
    pub sit_target: Option<SitTarget>,
    /// [`Body::contents`].
    pub contents: Option<Arc<Contents>>,
    /// [`Body::carried`].
    pub carried: Option<Arc<Carried>>,
    /// [`Body::worn_item`].
    pub worn_item: Option<Uuid>,
}

impl RareFields {
    /// Those of a body, in the shortest form.
    #[must_use]
    pub fn of(body: &Body) -> Self {
        let Body { sit_target, contents, carried, worn_item, .. } = body;
        let sit_target = *sit_target;
        match (worn_item, sit_target, contents, carried) {
            (Some(item), ..) => {
                let (item, contents, carried) = (*item, contents.clone(), carried.clone());
                Self::Worn { item, sit_target, contents, carried }
            }
            (None, None, None, None) => Self::None,
            (None, Some(target), None, None) => Self::Seat(target),
            (None, ..) => {
                let (contents, carried) = (contents.clone(), carried.clone());
                Self::Kept { sit_target, contents, carried }
            }
        }
    }

    /// The fields.
    #[must_use]
    pub fn into_parts(self) -> RareParts {
        match self {
            Self::None => RareParts::default(),
            Self::Seat(target) => RareParts { sit_target: Some(target), ..RareParts::default() },
            Self::Kept { sit_target, contents, carried } => {
                RareParts { sit_target, contents, carried, worn_item: None }
            }
            Self::Worn { item, sit_target, contents, carried } => {
                RareParts { sit_target, contents, carried, worn_item: Some(item) }
            }
        }
    }
}

/// Fields in the order of the encoding.
#[derive(Serialize, Deserialize)]
pub(super) struct EncodedBody {
    id: Uuid,
    p_code: PCode,
    state: u8,
    material: Material,
    click_action: u8,
    scale: Vec3,
    shape: Shape,
    texture_entry: Arc<[u8]>,
    texture_animation: Arc<[u8]>,
    extra_params: ExtraParams,
    particles: Arc<[u8]>,
    hover_text: HoverText,
    media_url: Arc<str>,
    media: Option<Arc<Media>>,
    overrides: Option<Arc<MaterialOverrides>>,
    sound: Option<LoopedSound>,
    names: Names,
    ownership: Arc<Ownership>,
    created_us: u64,
    sale: Sale,
    physics: PrimPhysics,
    rare: RareFields,
}

impl From<Body> for EncodedBody {
    fn from(body: Body) -> Self {
        let rare = RareFields::of(&body);
        let Body {
            id,
            p_code,
            state,
            material,
            click_action,
            scale,
            shape,
            texture_entry,
            texture_animation,
            extra_params,
            particles,
            hover_text,
            media_url,
            media,
            overrides,
            sound,
            names,
            ownership,
            created_us,
            sale,
            physics,
            sit_target: _,
            contents: _,
            carried: _,
            worn_item: _,
        } = body;
        Self {
            id,
            p_code,
            state,
            material,
            click_action,
            scale,
            shape,
            texture_entry,
            texture_animation,
            extra_params,
            particles,
            hover_text,
            media_url,
            media,
            overrides,
            sound,
            names,
            ownership,
            created_us,
            sale,
            physics,
            rare,
        }
    }
}

impl From<EncodedBody> for Body {
    fn from(encoded: EncodedBody) -> Self {
        let EncodedBody {
            id,
            p_code,
            state,
            material,
            click_action,
            scale,
            shape,
            texture_entry,
            texture_animation,
            extra_params,
            particles,
            hover_text,
            media_url,
            media,
            overrides,
            sound,
            names,
            ownership,
            created_us,
            sale,
            physics,
            rare,
        } = encoded;
        let RareParts { sit_target, contents, carried, worn_item } = rare.into_parts();
        Self {
            id,
            p_code,
            state,
            material,
            click_action,
            scale,
            shape,
            texture_entry,
            texture_animation,
            extra_params,
            particles,
            hover_text,
            media_url,
            media,
            overrides,
            sound,
            names,
            ownership,
            created_us,
            sale,
            physics,
            sit_target,
            contents,
            carried,
            worn_item,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::tests::contents;
    use glam::Quat;
    use ids::AgentId;

    fn body() -> Body {
        Body::new(Uuid::from_u128(1), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(2)), 3)
    }

    fn seat() -> SitTarget {
        SitTarget { position: Vec3::Z, rotation: Quat::IDENTITY }
    }

    fn encoded(body: &Body) -> Vec<u8> {
        postcard::to_stdvec(body).expect("plain data")
    }

    #[test]
    fn every_field_survives_the_encoding() {
        let data = Carried::new(vec![1, 2, 3]).map(Arc::new).expect("few bytes");
        let with_items = Body { contents: Some(Arc::new(contents(&["a", "b"]))), ..body() };
        let bodies = [
            body(),
            Body { sit_target: Some(seat()), ..body() },
            with_items.clone(),
            Body { sit_target: Some(seat()), carried: Some(data), ..with_items.clone() },
            Body { worn_item: Some(Uuid::from_u128(9)), ..body() },
            Body { worn_item: Some(Uuid::from_u128(9)), sit_target: Some(seat()), ..with_items },
        ];
        for body in bodies {
            assert_eq!(postcard::from_bytes(&encoded(&body)), Ok(body));
        }
    }

    #[test]
    fn a_body_without_contents_has_the_bytes_of_builds_that_had_none() {
        let end_of = |target: Option<SitTarget>| postcard::to_stdvec(&target).expect("plain data");
        for sit_target in [None, Some(seat())] {
            let bytes = encoded(&Body { sit_target, ..body() });
            assert!(bytes.ends_with(&end_of(sit_target)), "{bytes:?}");
        }
        assert_eq!(end_of(None), [0]);
        assert_eq!(encoded(&body()).last(), Some(&0));
    }

    #[test]
    fn contents_and_data_of_archives_are_not_shown() {
        let filled = Body { contents: Some(Arc::new(contents(&["a"]))), ..body() };
        assert!(filled != body() && filled.shows_the_same_as(&body()) && body().shows_the_same_as(&filled));
        assert!(!filled.shows_the_same_as(&Body { click_action: 1, ..body() }));
        let worn = Body { worn_item: Some(Uuid::from_u128(9)), ..body() };
        assert!(!worn.shows_the_same_as(&body()), "viewers are told the item");
    }
}
