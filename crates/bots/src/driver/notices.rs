//! Facts that the HTTP half and the reader of commands post to the circuits.

use super::control::ControlCommand;
use crate::carry::calls::CallAnswer;
use crate::login::Credentials;
use ids::Instant;
use std::sync::mpsc::SyncSender;
use wire::llsd::Llsd;

/// Facts for the circuits.
#[derive(Debug)]
pub(super) enum Notice {
    /// A bot may open its circuit.
    LoggedIn { bot: u32, credentials: Box<Credentials>, began_at: Instant },
    /// A bot got no session.
    LoginFailed { bot: u32, reason: String },
    /// The event queue has something for a bot.
    AgentEvent { bot: u32, message: String, body: Llsd },
    /// A call of a bot was answered, or could not be made.
    Answer { bot: u32, id: u64, answer: Result<CallAnswer, String> },
    /// A request to a capability failed.
    Trouble { bot: u32, reason: String },
    /// A command for the bots; `text` is the line as read.
    Command { text: String, command: Result<ControlCommand, &'static str> },
}

/// The sending end of the notices.
#[derive(Clone, Debug)]
pub(super) struct NoticeSender {
    pub(super) notices: SyncSender<Notice>,
    pub(super) waker: net::PollWaker,
}

impl NoticeSender {
    pub(super) fn post(&self, notice: Notice) {
        // There is no reader once the run is over.
        if self.notices.send(notice).is_ok() {
            self.waker.wake();
        }
    }
}
