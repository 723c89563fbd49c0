//! Lines that wait to be written, and the task that writes them.
//!
//! A sender writes directly if nothing waits, so that a message costs no task switch. Bytes that the stream does not take go
//! to the buffer, and one task writes the buffer in large pieces.

use std::{
    io, mem,
    pin::Pin,
    sync::{Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::{Notify, Semaphore, SemaphorePermit, TryAcquireError},
};
use tokio_util::sync::CancellationToken;
use troop_model::lock;

use super::PeerError;

/// The limit of the buffer, also for lines that do not wait for room.
const MAX_UNREAD: usize = 64 * 1024 * 1024;

type OutboxWriter = Pin<Box<dyn AsyncWrite + Send>>;

pub(super) struct Outbox {
    state: Mutex<OutboxState>,
    /// One permit for each free byte.
    room: Semaphore,
    capacity: u32,
    /// Wakes the writing task.
    work: Notify,
    /// Cancelled when nothing more will be written.
    over: CancellationToken,
}

struct OutboxState {
    /// None while the writing task has it.
    writer: Option<OutboxWriter>,
    buffer: Vec<u8>,
    /// The permits of the lines in the buffer.
    n_permits: usize,
    is_unflushed: bool,
    is_closing: bool,
}

/// The next step of the writing task.
enum WriteStep {
    Wait,
    Write { writer: OutboxWriter, batch: Vec<u8>, n_permits: usize },
    Shutdown(OutboxWriter),
}

impl Outbox {
    pub(super) fn new(writer: OutboxWriter, capacity: u32) -> Self {
        let state = OutboxState {
            writer: Some(writer),
            buffer: Vec::new(),
            n_permits: 0,
            is_unflushed: false,
            is_closing: false,
        };
        Self {
            state: Mutex::new(state),
            room: Semaphore::new(capacity as usize),
            capacity,
            work: Notify::new(),
            over: CancellationToken::new(),
        }
    }

    /// Writes a line as soon as there is room for it, in the order of the calls.
    pub(super) async fn send(&self, line: &[u8]) -> Result<(), PeerError> {
        let permit =
            self.room.acquire_many(self.cost(line)).await.map_err(|_| PeerError::Closed)?;
        self.push(line, Some(permit))
    }

    /// Writes a line even if there is no room. Beyond the limit of the buffer the other side is not reading at all, and the
    /// stream is dropped.
    pub(super) fn send_at_once(&self, line: &[u8]) -> Result<(), PeerError> {
        self.push(line, None)
    }

    /// Writes a line if there is room for it.
    pub(super) fn try_send(&self, line: &[u8]) -> Result<(), PeerError> {
        match self.room.try_acquire_many(self.cost(line)) {
            Ok(permit) => self.push(line, Some(permit)),
            Err(TryAcquireError::NoPermits) => Err(PeerError::Full),
            Err(TryAcquireError::Closed) => Err(PeerError::Closed),
        }
    }

    fn push(&self, line: &[u8], permit: Option<SemaphorePermit<'_>>) -> Result<(), PeerError> {
        let mut state = self.lock();
        if state.is_closing {
            return Err(PeerError::Closed);
        }
        let written = state.write_at_once(line);
        let Some(n_written) = written.ok().filter(|_| state.buffer.len() <= MAX_UNREAD) else {
            self.end(state);
            return Err(PeerError::Closed);
        };
        let rest = line.get(n_written..).unwrap_or_default();
        if rest.is_empty() && !state.is_unflushed {
            return Ok(());
        }
        state.buffer.extend_from_slice(rest);
        if let Some(permit) = permit {
            state.n_permits += permit.num_permits();
            permit.forget();
        }
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Accepts nothing more. Pending lines are still written, then the stream is shut down.
    pub(super) fn close(&self) {
        self.lock().is_closing = true;
        self.room.close();
        self.work.notify_one();
    }

    /// Waits until nothing more will be written.
    pub(super) async fn closed(&self) {
        self.over.cancelled().await;
    }

    /// Writes what senders could not write directly, until the outbox is closed or the stream breaks.
    pub(super) async fn run(&self) {
        self.over.run_until_cancelled(self.write_batches()).await;
        self.cut();
    }

    async fn write_batches(&self) {
        loop {
            match self.next_step() {
                WriteStep::Wait => self.work.notified().await,
                WriteStep::Write { mut writer, batch, n_permits } => {
                    if write(&mut writer, &batch).await.is_err() {
                        return;
                    }
                    self.lock().writer = Some(writer);
                    self.room.add_permits(n_permits);
                }
                WriteStep::Shutdown(mut writer) => {
                    // It makes no difference now whether the other side still listens.
                    drop(writer.shutdown().await);
                    return;
                }
            }
        }
    }

    fn next_step(&self) -> WriteStep {
        let mut state = self.lock();
        let has_work = !state.buffer.is_empty() || mem::take(&mut state.is_unflushed);
        if !has_work && !state.is_closing {
            return WriteStep::Wait;
        }
        match state.writer.take() {
            Some(writer) if has_work => WriteStep::Write {
                writer,
                batch: mem::take(&mut state.buffer),
                n_permits: mem::take(&mut state.n_permits),
            },
            Some(writer) => WriteStep::Shutdown(writer),
            None => WriteStep::Wait,
        }
    }

    /// Drops the stream at once. Senders that wait for room fail.
    pub(super) fn cut(&self) {
        self.end(self.lock());
    }

    fn cost(&self, line: &[u8]) -> u32 {
        u32::try_from(line.len()).unwrap_or(u32::MAX).min(self.capacity)
    }

    fn end(&self, mut state: MutexGuard<'_, OutboxState>) {
        state.is_closing = true;
        state.buffer = Vec::new();
        let writer = state.writer.take();
        drop(state);
        drop(writer);
        self.room.close();
        self.over.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        lock(&self.state)
    }
}

impl OutboxState {
    /// Writes as much as the stream takes without waiting, unless other lines wait before it. Returns how much that was.
    fn write_at_once(&mut self, line: &[u8]) -> io::Result<usize> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.buffer.is_empty()) else {
            return Ok(0);
        };
        // No wake-up is needed: the writing task polls again for the rest.
        let mut cx = Context::from_waker(Waker::noop());
        let mut n_written = 0;
        while let Some(rest @ [_, ..]) = line.get(n_written..) {
            match writer.as_mut().poll_write(&mut cx, rest)? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(n) => n_written += n,
                Poll::Pending => return Ok(n_written),
            }
        }
        self.is_unflushed = writer.as_mut().poll_flush(&mut cx)?.is_pending();
        Ok(n_written)
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("room", &self.room.available_permits()).finish()
    }
}

async fn write(writer: &mut OutboxWriter, batch: &[u8]) -> io::Result<()> {
    writer.write_all(batch).await?;
    writer.flush().await
}
