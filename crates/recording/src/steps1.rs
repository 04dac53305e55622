//! Steps of version 1, whose commands named no author: read, and no longer written.

use crate::step::Step;
use ids::{Instant, SessionKey, Tick};
use link::{Action, Command};
use record::Unreadable;
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
struct UnauthoredStep {
    tick: Tick,
    at: Instant,
    dt: Duration,
    dilation: f32,
    commands: Vec<UnauthoredCommand>,
    state_hash: Option<u64>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
struct UnauthoredCommand {
    session: SessionKey,
    sequence: u64,
    action: Action,
}

impl UnauthoredCommand {
    /// The author follows from what the builds of the time wrote: the node sent resyncs, and dismissals, which alone have sequence 0
    /// (`link::WorldCensus::dismissals`).
    fn with_author(self) -> Command {
        let Self { session, sequence, action } = self;
        match &action {
            Action::Resync => Command::by_node(session, sequence, action),
            Action::Leave if sequence == 0 => Command::by_node(session, sequence, action),
            _ if session == SessionKey::NODE => Command::by_node(session, sequence, action),
            _ => Command::by_session(session, sequence, action),
        }
    }
}

/// A body of version 1 in version 2.
pub(crate) fn upgrade(mut body: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut upgraded = Vec::with_capacity(body.len() + body.len() / 8);
    while !body.is_empty() {
        let (step, rest): (UnauthoredStep, _) =
            postcard::take_from_bytes(body).map_err(|_| Unreadable("a step"))?;
        let UnauthoredStep { tick, at, dt, dilation, commands, state_hash } = step;
        let commands = commands.into_iter().map(UnauthoredCommand::with_author).collect();
        let step = Step { tick, at, dt, dilation, commands, state_hash };
        upgraded = postcard::to_extend(&step, upgraded).map_err(|_| Unreadable("a step"))?;
        body = rest;
    }
    Ok(upgraded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::Author;

    #[test]
    fn commands_without_an_author_get_their_sender() {
        let command = |session, sequence, action| UnauthoredCommand { session, sequence, action };
        let visitor = SessionKey(7);
        let commands = vec![
            command(visitor, 1 << 32, Action::AlwaysRun(true)),
            command(visitor, 5, Action::Leave),
            command(visitor, 0, Action::Leave),
            command(SessionKey::NODE, 3, Action::Resync),
        ];
        let step = UnauthoredStep {
            tick: Tick(9),
            at: Instant::ZERO,
            dt: Duration::from_millis(50),
            dilation: 1.0,
            commands,
            state_hash: Some(1),
        };
        let body = postcard::to_allocvec(&step).unwrap();
        let upgraded = upgrade(&[body.clone(), body.clone()].concat()).unwrap();
        let (first, rest): (Step, _) = postcard::take_from_bytes(&upgraded).unwrap();
        let (second, rest): (Step, _) = postcard::take_from_bytes(rest).unwrap();
        assert!(first == second && rest.is_empty());
        assert_eq!((first.tick, first.commands.len()), (Tick(9), 4));
        let authors: Vec<Author> = first.commands.iter().map(|command| command.author).collect();
        let session = Author::Session(visitor);
        assert_eq!(authors, [session, session, Author::Node, Author::Node]);
        assert!(upgrade(&body[..body.len() - 1]).is_err());
    }
}
