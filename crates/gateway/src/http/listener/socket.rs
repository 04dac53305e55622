//! A TCP connection with deadlines: for the rest between two requests, for a head, for a body, and for a client that does not read.
//!
//! They are kept where bytes are read and written, so they also hold after an upgrade to a WebSocket.

use super::connections::ConnectionSlot;
use super::table::{ConnectionOrigin, ConnectionPhase, ShareTaken};
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Deadlines of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// Between two requests, and for the first byte of the first.
    pub(super) idle: Duration,
    /// For the head of a request, from its first byte on.
    pub(super) head: Duration,
    /// For a request's body, from the end of its head on.
    pub(super) body: Duration,
    /// The same for one that may be long.
    pub(super) long_body: Duration,
    /// For reading anything at all of an answer, when the kernel holds as much of it as it takes.
    pub(super) unread: Duration,
}

/// Waiting states of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SocketStage {
    Idle,
    Head,
    Body,
    LongBody,
    Served,
}

impl SocketStage {
    const ALL: [Self; 5] = [Self::Idle, Self::Head, Self::Body, Self::LongBody, Self::Served];

    const fn phase(self) -> ConnectionPhase {
        match self {
            Self::Idle => ConnectionPhase::Idle,
            Self::Head | Self::Body | Self::LongBody => ConnectionPhase::Reading,
            Self::Served => ConnectionPhase::Served,
        }
    }
}

/// A connection's stage and its place in the table, known to its socket and to the service behind it.
#[derive(Debug)]
pub(super) struct SocketProgress {
    stage: AtomicU8,
    pub(super) slot: ConnectionSlot,
}

impl SocketProgress {
    pub(super) fn new(slot: ConnectionSlot) -> Arc<Self> {
        Arc::new(Self { stage: AtomicU8::new(SocketStage::Idle as u8), slot })
    }

    /// The connection waits for its client.
    pub(super) fn begin_wait(&self, stage: SocketStage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
        self.slot.begin_wait(stage.phase());
    }

    /// The connection's request is complete; the client owes nothing until its answer is sent.
    ///
    /// # Errors
    /// When its client has its share of connections served.
    pub(super) fn begin_service(&self, client: ConnectionOrigin) -> Result<(), ShareTaken> {
        self.stage.store(SocketStage::Served as u8, Ordering::Relaxed);
        self.slot.begin_service(client)
    }

    fn stage(&self) -> SocketStage {
        SocketStage::ALL[usize::from(self.stage.load(Ordering::Relaxed))]
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    progress: Arc<SocketProgress>,
    deadlines: Deadlines,
    /// Runs while the client owes us bytes, and of which stage.
    reading: Option<(SocketStage, Pin<Box<Sleep>>)>,
    /// Runs while the client does not read.
    writing: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(super) const fn new(stream: TcpStream, progress: Arc<SocketProgress>, deadlines: Deadlines) -> Self {
        Self { stream, progress, deadlines, reading: None, writing: None }
    }

    /// Fails once the stage has lasted too long.
    fn poll_reading(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let stage = self.progress.stage();
        let limit = match stage {
            SocketStage::Idle => self.deadlines.idle,
            SocketStage::Head => self.deadlines.head,
            SocketStage::Body => self.deadlines.body,
            SocketStage::LongBody => self.deadlines.long_body,
            SocketStage::Served => {
                self.reading = None;
                return Poll::Pending;
            }
        };
        if self.reading.as_ref().is_none_or(|(of, _)| *of != stage) {
            self.reading = Some((stage, Box::pin(sleep(limit))));
        }
        let (_, deadline) = self.reading.as_mut().expect("just set");
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(self.timed_out())
    }

    /// Fails once nothing has been read for too long; `Pending` until then.
    fn poll_unread<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let unread = self.deadlines.unread;
        let deadline = self.writing.get_or_insert_with(|| Box::pin(sleep(unread)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(self.timed_out()))
    }

    fn timed_out(&self) -> io::Error {
        self.progress.slot.count_timeout();
        io::ErrorKind::TimedOut.into()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if let Poll::Ready(result) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            if buffer.filled().len() > before && this.progress.stage() == SocketStage::Idle {
                this.progress.begin_wait(SocketStage::Head);
                this.reading = None;
            }
            return Poll::Ready(result);
        }
        Poll::Ready(Err(ready!(this.poll_reading(context))))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Poll::Ready(result) = Pin::new(&mut this.stream).poll_write(context, bytes) {
            this.writing = None;
            return Poll::Ready(result);
        }
        this.poll_unread(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Poll::Ready(result) = Pin::new(&mut this.stream).poll_write_vectored(context, slices) {
            this.writing = None;
            return Poll::Ready(result);
        }
        this.poll_unread(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
