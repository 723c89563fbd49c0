//! Standard input and output of this process as asynchronous streams.
//!
//! A pipe is opened again through `/proc`, which gives a separate file description: the one that parents, children and
//! terminals share must not become non-blocking. Anything but pipes and sockets is read and written by tokio's threads.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as StdUnixStream,
    },
    pin::Pin,
};

use rustix::fs::{FileType, fstat};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};

pub type StdinStream = Pin<Box<dyn AsyncRead + Send>>;
pub type StdoutStream = Pin<Box<dyn AsyncWrite + Send>>;

/// The standard input and output of this process. Call it once, on a runtime: other readers or writers would interfere.
pub fn stdio() -> (StdinStream, StdoutStream) {
    (stdin(), stdout())
}

fn stdin() -> StdinStream {
    if let Ok(receiver) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
        return Box::pin(receiver);
    }
    match socket(io::stdin()) {
        Some(socket) => Box::pin(socket),
        None => Box::pin(tokio::io::stdin()),
    }
}

fn stdout() -> StdoutStream {
    if let Ok(sender) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
        return Box::pin(sender);
    }
    match socket(io::stdout()) {
        Some(socket) => Box::pin(socket),
        None => Box::pin(tokio::io::stdout()),
    }
}

/// A socket cannot be opened again. Programs that give one to a child keep only the other end, so this end is ours.
fn socket(file: impl AsFd) -> Option<UnixStream> {
    let is_socket =
        fstat(&file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_socket());
    if !is_socket {
        return None;
    }
    let owned: OwnedFd = file.as_fd().try_clone_to_owned().ok()?;
    let socket = StdUnixStream::from(owned);
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}
