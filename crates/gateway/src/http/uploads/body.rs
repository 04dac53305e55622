//! Bodies of uploads: their length and memory, by the address that their head uses up.

use super::super::HttpState;
use super::super::listener::{BodyAccount, BodyCut, LongBodies};
use super::ledger::{UploadLedger, UploadOutcome};
use crate::hub::Holder;
use axum::http::Method;
use axum::http::request::Parts;
use grid::uploads::{MODEL_BODY_BYTES_MAX, UploadPurpose};
use ids::{AgentId, Uuid};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The body of an upload, or of a request for one that may have files with it. Its memory is given back when the answer is made.
#[derive(Debug)]
pub(super) struct UploadBody {
    agent: AgentId,
    bytes_max: usize,
    /// None for a request, and once the handler has it.
    purpose: Mutex<Option<UploadPurpose>>,
    held: AtomicUsize,
    cut: OnceLock<BodyCut>,
    ledger: Arc<UploadLedger>,
}

impl UploadBody {
    pub(super) fn new(
        agent: AgentId,
        bytes_max: usize,
        purpose: Option<UploadPurpose>,
        ledger: &Arc<UploadLedger>,
    ) -> Self {
        Self {
            agent,
            bytes_max,
            purpose: Mutex::new(purpose),
            held: AtomicUsize::new(0),
            cut: OnceLock::new(),
            ledger: Arc::clone(ledger),
        }
    }

    pub(super) const fn agent(&self) -> AgentId {
        self.agent
    }

    /// Purpose of the upload; once.
    pub(super) fn take_purpose(&self) -> Option<UploadPurpose> {
        self.purpose.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reason for which the body was not read to its end.
    pub(super) fn why_cut(&self) -> Option<BodyCut> {
        self.cut.get().copied()
    }
}

impl BodyAccount for UploadBody {
    fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn take(&self, bytes: usize) -> bool {
        let is_taken = self.ledger.take(self.agent, bytes);
        if is_taken {
            self.held.fetch_add(bytes, Ordering::Relaxed);
        }
        is_taken
    }

    fn cut(&self, why: BodyCut) {
        // The first reason stays.
        let _ = self.cut.set(why);
    }
}

impl Drop for UploadBody {
    fn drop(&mut self) {
        self.ledger.release(self.agent, *self.held.get_mut());
        // No handler has seen it.
        if let Some(purpose) = self.purpose.get_mut().unwrap_or_else(PoisonError::into_inner) {
            self.ledger.count(purpose.name(), UploadOutcome::BrokenOff);
        }
    }
}

/// Long bodies of the public address: of uploads under way, up to the limit of their kind, and of requests to upload a model. A body that comes to an address of
/// an upload uses it up, whether it arrives as a whole or not.
#[must_use]
pub fn long_bodies(state: &Arc<HttpState>) -> LongBodies {
    let state = Arc::clone(state);
    LongBodies(Arc::new(move |head| {
        let body = Arc::new(open(&state, head)?);
        head.extensions.insert(Arc::clone(&body));
        Some(body as Arc<dyn BodyAccount>)
    }))
}

fn open(state: &HttpState, head: &Parts) -> Option<UploadBody> {
    let find = |secret| state.sessions.with(|hub| hub.find_holder(secret));
    let (secret, target) = upload_target(&head.method, head.uri.path())?;
    let Holder { agent, .. } = find(secret)?;
    let ledger = state.uploads.ledger();
    match target {
        UploadTarget::NewFile => Some(UploadBody::new(agent, MODEL_BODY_BYTES_MAX, None, ledger)),
        UploadTarget::Address(id) => {
            let now = (state.clock)();
            let purpose = state.uploads.with_tickets(|tickets| tickets.redeem(id, agent, now))?;
            let bytes_max = purpose.bytes_max(&state.asset_limits);
            Some(UploadBody::new(agent, bytes_max, Some(purpose), ledger))
        }
    }
}

/// Target of a request whose body may be long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UploadTarget {
    /// The capability for new files.
    NewFile,
    /// The address of an upload.
    Address(Uuid),
}

/// Secret and target in a path, if a body may be long there.
pub(super) fn upload_target(method: &Method, path: &str) -> Option<(Uuid, UploadTarget)> {
    if *method != Method::POST {
        return None;
    }
    let (secret, rest) = path.strip_prefix("/cap/")?.split_once('/')?;
    let target = match rest.strip_prefix("upload/") {
        Some(id) => UploadTarget::Address(Uuid::try_parse(id).ok()?),
        None if rest == "NewFileAgentInventory" => UploadTarget::NewFile,
        None => return None,
    };
    Some((Uuid::try_parse(secret).ok()?, target))
}
