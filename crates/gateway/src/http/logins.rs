//! The operator's rules for logins: closed or open, and the text that users are shown when they enter. They hold until the server ends.

use super::operator::Admin;
use super::reply::error;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use utoipa::ToSchema;

/// Reason shown to refused users if the operator gives none.
const CLOSED: &str = "Logins are closed at present. Please try again later.";

/// Rules of the operator; open, and without a text of their own, until set otherwise.
#[derive(Debug, Default)]
pub struct LoginRules(Mutex<Rules>);

#[derive(Clone, Debug, Default)]
struct Rules {
    /// Reason shown to users; none while logins are open.
    closed: Option<String>,
    /// Shown at login in the place of the configured text.
    welcome: Option<String>,
}

impl LoginRules {
    /// Checks that logins are open.
    ///
    /// # Errors
    /// The reason, for the user.
    pub(super) fn check(&self) -> Result<(), String> {
        self.lock().closed.clone().map_or(Ok(()), Err)
    }

    /// Text for users that enter, if the operator has set one.
    pub(super) fn welcome(&self) -> Option<String> {
        self.lock().welcome.clone()
    }

    fn apply(&self, order: LoginOrder) {
        let LoginOrder { enabled, reason, message } = order;
        let mut rules = self.lock();
        match enabled {
            Some(true) => rules.closed = None,
            Some(false) => rules.closed = Some(reason.unwrap_or_else(|| CLOSED.to_owned())),
            None => {}
        }
        if message.is_some() {
            rules.welcome = message;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change of the rules for logins: rules without a value stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = LoginsOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct LoginOrder {
    /// False to refuse all logins. Present users stay.
    #[serde(default)]
    enabled: Option<bool>,
    /// With `enabled` false: the reason that refused users are shown, without control characters.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 254, pattern = r"^[^\u0000-\u001F\u007F-\u009F]*$")]
    reason: Option<String>,
    /// Text that users are shown when they enter, without control characters.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 1000, pattern = r"^[^\u0000-\u001F\u007F-\u009F]*$")]
    message: Option<String>,
}

impl LoginOrder {
    /// Checks that the order has an effect, and texts that a login's reply can carry.
    fn check(&self) -> Result<(), &'static str> {
        let Self { enabled, reason, message } = self;
        if enabled.is_none() && message.is_none() {
            return Err("The order changes nothing: name `enabled` or `message`.");
        }
        if reason.is_some() && *enabled != Some(false) {
            return Err("A reason is for closed logins: it comes with `enabled` false.");
        }
        if [reason, message].into_iter().flatten().any(|text| text.chars().any(char::is_control)) {
            return Err("A text for users has no control characters.");
        }
        Ok(())
    }
}

/// State of logins.
#[derive(Serialize, ToSchema)]
#[schema(as = Logins)]
pub(super) struct LoginsReply {
    /// False while the operator has closed them.
    enabled: bool,
    /// The reason that refused users are shown; none while they are open.
    reason: Option<String>,
    /// Text that users are shown when they enter.
    message: String,
    /// The shortage for which logins are refused at present, whatever the operator's rules: `memory`, `load` or `connections`.
    short_of: Option<&'static str>,
    /// Users with a session.
    users: usize,
}

/// State of logins: open or closed, and the texts that users are shown.
#[utoipa::path(get, path = "/v1/logins", operation_id = "show_logins",
    responses((status = 200, body = LoginsReply)))]
pub(super) async fn show(State(admin): State<Arc<Admin>>) -> Json<LoginsReply> {
    Json(reply(&admin))
}

/// Close logins, open them, or change the text that users are shown when they enter; until the server ends.
#[utoipa::path(post, path = "/v1/logins", operation_id = "change_logins", request_body = LoginOrder, responses(
    (status = 200, description = "It is done.", body = LoginsReply),
    (status = 400, description = "The order changes nothing, or has an impossible text."),
))]
pub(super) async fn change(State(admin): State<Arc<Admin>>, Json(order): Json<LoginOrder>) -> Response {
    if let Err(why) = order.check() {
        return error(StatusCode::BAD_REQUEST, why);
    }
    tracing::info!(enabled = ?order.enabled, reason = order.reason, welcome = order.message, "logins");
    admin.state.logins.apply(order);
    Json(reply(&admin)).into_response()
}

fn reply(admin: &Admin) -> LoginsReply {
    let state = &admin.state;
    let closed = state.logins.check().err();
    LoginsReply {
        enabled: closed.is_none(),
        reason: closed,
        message: state.logins.welcome().unwrap_or_else(|| state.settings.welcome.clone()),
        short_of: state.door.check_room().err().map(|short| short.as_str()),
        users: state.sessions.with(|hub| hub.n_sessions()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(enabled: Option<bool>, reason: Option<&str>, message: Option<&str>) -> LoginOrder {
        LoginOrder { enabled, reason: reason.map(Into::into), message: message.map(Into::into) }
    }

    #[test]
    fn logins_are_open_until_they_are_closed_and_texts_stay() {
        let rules = LoginRules::default();
        assert_eq!((rules.check(), rules.welcome()), (Ok(()), None));
        rules.apply(order(Some(false), None, Some("Welcome back.")));
        assert_eq!((rules.check(), rules.welcome()), (Err(CLOSED.into()), Some("Welcome back.".into())));
        rules.apply(order(Some(false), Some("We move house."), None));
        assert_eq!(rules.check(), Err("We move house.".into()));
        rules.apply(order(Some(true), None, None));
        assert_eq!((rules.check(), rules.welcome()), (Ok(()), Some("Welcome back.".into())));
    }

    #[test]
    fn an_order_without_effect_or_with_an_impossible_text_is_refused() {
        for possible in [
            order(Some(true), None, None),
            order(Some(false), Some("Later."), Some("Hello")),
            order(None, None, Some("Hello")),
        ] {
            assert_eq!(possible.check(), Ok(()), "{possible:?}");
        }
        for impossible in [
            order(None, None, None),
            order(None, Some("Later."), None),
            order(Some(true), Some("Later."), None),
            order(Some(false), Some("Later\u{1}"), None),
            order(None, None, Some("two\nlines")),
        ] {
            assert!(impossible.check().is_err(), "{impossible:?}");
        }
    }
}
