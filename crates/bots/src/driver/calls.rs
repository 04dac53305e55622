//! HTTP calls of carrying bots, beside their logins and event queues.
//!
//! The circuits' thread hands a call over and continues; the answer comes back as a [`Notice`]. A bot bounds its calls itself, so the queue has no other bound.

use super::http::{self, Http, HttpAnswer, HttpError};
use super::notices::{Notice, NoticeSender};
use crate::carry::calls::{CallAnswer, CallBody, CallTarget, HttpCall};
use hyper::Uri;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use wire::llsd::{Llsd, xml};

/// Deadline of a call: longer than a bot waits for its answer.
const CALL_MAX: Duration = Duration::from_secs(30);

/// A call of a bot.
#[derive(Debug)]
pub(super) struct BotCall {
    pub(super) bot: u32,
    pub(super) call: HttpCall,
}

/// The queue of calls.
pub(super) fn channel() -> (UnboundedSender<BotCall>, UnboundedReceiver<BotCall>) {
    unbounded_channel()
}

/// Capabilities that seeds have granted, by bot.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants(Arc<Mutex<BTreeMap<u32, Llsd>>>);

impl Grants {
    pub(super) fn set(&self, bot: u32, grants: Llsd) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(bot, grants);
    }

    /// Addresses of a bot's capabilities by name; none before its seed has answered.
    pub(super) fn addresses(&self, bot: u32) -> Option<BTreeMap<String, String>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = all.get(&bot)?.as_map()?.iter();
        Some(entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect())
    }

    fn address(&self, bot: u32, target: &CallTarget) -> Result<Uri, String> {
        match target {
            CallTarget::Address(address) => http::parse_uri(address),
            CallTarget::Capability { name, query } => {
                let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let granted = all.get(&bot).and_then(|grants| grants.get(name).as_str());
                let granted = granted.ok_or_else(|| format!("{name} is not granted"))?;
                let separator = if query.is_empty() { "" } else { "?" };
                http::parse_uri(&format!("{granted}{separator}{query}"))
            }
        }
    }
}

/// Makes the calls of all bots, until there is nothing that makes any.
pub(super) async fn serve(
    http: Http,
    mailbox: NoticeSender,
    grants: Grants,
    mut calls: UnboundedReceiver<BotCall>,
) {
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            call = calls.recv() => match call {
                Some(call) => {
                    under_way.spawn(answer(http.clone(), mailbox.clone(), grants.clone(), call));
                }
                None => break,
            },
            Some(ended) = under_way.join_next() => ended.expect("a call's task neither panics nor is cancelled"),
        }
    }
}

async fn answer(http: Http, mailbox: NoticeSender, grants: Grants, call: BotCall) {
    let BotCall { bot, call: HttpCall { id, target, body } } = call;
    let answer = match grants.address(bot, &target) {
        Ok(uri) => send(&http, &uri, body).await.map_err(|error| error.to_string()),
        Err(why) => Err(why),
    };
    mailbox.post(Notice::Answer { bot, id, answer });
}

async fn send(http: &Http, uri: &Uri, body: CallBody) -> Result<CallAnswer, HttpError> {
    let answer = match body {
        CallBody::None => http.get(uri, CALL_MAX).await,
        CallBody::Llsd(value) => http.post(uri, "application/llsd+xml", xml::encode(&value), CALL_MAX).await,
        CallBody::Bytes(bytes) => http.post(uri, "application/octet-stream", bytes, CALL_MAX).await,
    };
    let HttpAnswer { status, body } = answer?;
    Ok(CallAnswer { status: status.as_u16(), body: body.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_go_to_the_capabilities_of_their_bot() {
        let grants = Grants::default();
        grants.set(
            3,
            Llsd::map([("ViewerAsset", "http://127.0.0.1:1/cap/7/ViewerAsset")].map(|(k, v)| (k, v.into()))),
        );
        let call = |name, query: &str| CallTarget::Capability { name, query: query.to_owned() };
        let address = |bot, target: &CallTarget| grants.address(bot, target).map(|uri| uri.to_string());
        let with_query = call("ViewerAsset", "texture_id=5");
        assert_eq!(
            address(3, &with_query),
            Ok("http://127.0.0.1:1/cap/7/ViewerAsset?texture_id=5".to_owned())
        );
        assert_eq!(
            address(3, &call("ViewerAsset", "")),
            Ok("http://127.0.0.1:1/cap/7/ViewerAsset".to_owned())
        );
        for (bot, target) in
            [(4, with_query), (3, call("GetTexture", "")), (3, CallTarget::Address("x".into()))]
        {
            assert!(address(bot, &target).is_err(), "{target:?}");
        }
        assert_eq!(grants.addresses(3).map(|addresses| addresses.len()), Some(1));
        assert_eq!(grants.addresses(4), None);
    }
}
