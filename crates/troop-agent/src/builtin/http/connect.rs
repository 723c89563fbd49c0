//! Connections to a host, with or without TLS.

use std::sync::Arc;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use troop_model::with_causes;

use super::{Http, HttpError, HttpSender};

impl Http {
    pub(super) async fn connect(&self) -> Result<HttpSender, HttpError> {
        let host = &self.target.host;
        let unreachable = |why: String| HttpError::Unreachable { host: host.clone(), why };
        let connect = async {
            let stream = TcpStream::connect((host.as_str(), self.target.port)).await;
            let stream = stream.map_err(|error| unreachable(error.to_string()))?;
            // Small requests must not wait for more data.
            stream.set_nodelay(true).map_err(|error| unreachable(error.to_string()))?;
            if !self.target.is_secure {
                return self.handshake(stream).await;
            }
            let name = ServerName::try_from(host.clone())
                .map_err(|_| unreachable("it is not a valid host name".to_owned()))?;
            let connector = TlsConnector::from(self.tls().map_err(unreachable)?);
            let stream = connector.connect(name, stream).await;
            self.handshake(stream.map_err(|error| unreachable(with_causes(&error)))?).await
        };
        let connected = timeout(self.patience.connect, connect).await;
        connected.unwrap_or_else(|_| Err(unreachable("it does not answer".to_owned())))
    }

    async fn handshake(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<HttpSender, HttpError> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| HttpError::Broken(with_causes(&error)))?;
        // It ends when its sender and its response are dropped. They also see its errors.
        self.tracker.spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(tls) = self.tls.get() {
            return Ok(Arc::clone(tls));
        }
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err("this machine has no certificates to verify it; install `ca-certificates`"
                .to_owned());
        }
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
    }
}
