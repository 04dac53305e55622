//! Appearance of a user, as a file that NPCs can wear (`docs/operating/npcs.md`).

use super::operator::Admin;
use super::reply::error;
use axum::extract::{Extension, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use grid::tokens::Caller;
use link::{Appearance, Looks, LooksError};
use serde::Deserialize;
use std::fmt::Write as _;
use std::sync::Arc;

/// The user.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Whose {
    /// "First Last".
    #[param(min_length = 1, max_length = 63)]
    name: String,
}

/// Appearance of a user, as a file for NPCs.
#[utoipa::path(get, path = "/v1/appearance", operation_id = "take_down_appearance", params(Whose), responses(
    (status = 200, description = "A file for NPCs, in the form that a template's population refers to.", body = String,
        content_type = "application/toml"),
    (status = 404, description = "No user of that name is present, or the client has not sent its appearance yet."),
    (status = 409, description = "The appearance that the client has sent cannot be worn by NPCs."),
))]
pub(super) async fn appearance(
    State(admin): State<Arc<Admin>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(Whose { name }): Query<Whose>,
) -> Response {
    let appearance = admin.state.sessions.with(|hub| hub.appearance_of(&name));
    match take_down(&name, appearance.as_deref()) {
        Ok(file) => {
            tracing::info!(token = caller.name, name, "took down how a user looks");
            ([(header::CONTENT_TYPE, "application/toml")], file).into_response()
        }
        Err((status, why)) => error(status, &why),
    }
}

fn take_down(name: &str, appearance: Option<&Appearance>) -> Result<String, (StatusCode, String)> {
    let Some(appearance) = appearance else {
        let why = format!("{name:?} is not here, or has not said yet how they look.");
        return Err((StatusCode::NOT_FOUND, why));
    };
    appearance_file(appearance).map_err(|error| {
        let why = format!("NPCs cannot look as the client of {name:?} says: {error}.");
        (StatusCode::CONFLICT, why)
    })
}

/// Looks as TOML, with all bytes in hexadecimal digits.
///
/// # Errors
/// If [`Looks::worn`] would refuse the file.
pub fn appearance_file(appearance: &Appearance) -> Result<String, LooksError> {
    let Appearance { visual_params, texture_entry, .. } = appearance;
    Looks::check(visual_params, texture_entry)?;
    let digits = |bytes: &[u8]| {
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("a string takes everything");
            digits
        })
    };
    let (params, entry) = (digits(visual_params), digits(texture_entry));
    Ok(format!("visual_params = \"{params}\"\ntexture_entry = \"{entry}\"\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_appearances_that_npcs_can_wear_are_recorded() {
        let of = |params, entry| Appearance {
            visual_params: vec![0x2a; params],
            texture_entry: vec![0xff; entry],
            cof_version: 0,
            height_m: 1.8,
        };
        let status = |appearance: Option<&Appearance>| {
            take_down("Ada Lovelace", appearance).map_err(|(status, _)| status)
        };
        assert_eq!(status(None), Err(StatusCode::NOT_FOUND));
        assert_eq!(status(Some(&of(217, 47))), Err(StatusCode::CONFLICT));
        assert_eq!(status(Some(&of(218, 0))), Err(StatusCode::CONFLICT));
        let file = status(Some(&of(218, 2))).expect("it can be worn");
        assert_eq!(file, format!("visual_params = \"{}\"\ntexture_entry = \"ffff\"\n", "2a".repeat(218)));
    }
}
