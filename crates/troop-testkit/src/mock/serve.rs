//! Connections to the mock: HTTP by hand, because no library makes the mistakes of real servers.

use std::{io, sync::Arc};

use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream, tcp::OwnedWriteHalf},
    task::JoinSet,
};
use troop_model::lock;

use super::{Answer, Break, MockState, Reply, form, request};

/// Serves until it is dropped; all connections end with it.
pub(super) async fn serve(listener: TcpListener, told: Arc<MockState>) {
    let mut connections = JoinSet::new();
    for nth in 1.. {
        let Ok((stream, _)) = listener.accept().await else { return };
        let told = Arc::clone(&told);
        // A client may disconnect early.
        connections.spawn(async move { drop(converse(stream, &told, nth).await) });
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: TcpStream, told: &MockState, nth: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(seen) = request::read(&mut reader, nth).await {
        let answer = {
            let mut script = lock(&told.script);
            lock(&told.seen).push(seen.clone());
            script(&seen)
        };
        match answer {
            Answer::Close => return Ok(()),
            Answer::Hang => std::future::pending().await,
            Answer::Status { status, headers, body } => {
                write_status(&mut writer, status, &headers, &body).await?;
            }
            Answer::Garbage(bytes) => {
                let stream = Streamed { bytes, ..Streamed::default() };
                stream.write(&mut writer).await?;
            }
            Answer::Reply(reply) => {
                let Some(api) = seen.api() else {
                    let unknown = format!("there is no {}", seen.path);
                    write_status(&mut writer, 404, &[], &unknown).await?;
                    continue;
                };
                let bytes = form::events(api, &reply).into_bytes();
                let Reply { way, .. } = reply;
                let left = Streamed { bytes, way }.write(&mut writer).await?;
                if left == ConnectionState::Broken {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

async fn write_status(
    writer: &mut OwnedWriteHalf,
    status: u16,
    headers: &[(String, String)],
    body: &str,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Told\r\n");
    if headers.iter().all(|(name, _)| name != "content-type") {
        head.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    writer.write_all(head.as_bytes()).await
}

#[derive(Debug, Default)]
struct Streamed {
    bytes: Vec<u8>,
    way: super::Way,
}

/// Whether a connection stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    Usable,
    Broken,
}

impl Streamed {
    async fn write(self, writer: &mut OwnedWriteHalf) -> io::Result<ConnectionState> {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        writer.write_all(head).await?;
        let n_told = self.way.broken.map_or(self.bytes.len(), |(n_bytes, _)| n_bytes);
        let told = self.bytes.get(..n_told).unwrap_or(&self.bytes);
        for piece in told.chunks(self.way.pieces.unwrap_or(told.len()).max(1)) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            writer.write_all(&chunk).await?;
            if let Some(pause) = self.way.pause {
                tokio::time::sleep(pause).await;
            }
        }
        match self.way.broken {
            Some((_, Break::Cut)) => Ok(ConnectionState::Broken),
            Some((_, Break::Hang)) => std::future::pending().await,
            Some((_, Break::End)) | None => {
                writer.write_all(b"0\r\n\r\n").await?;
                Ok(ConnectionState::Usable)
            }
        }
    }
}
