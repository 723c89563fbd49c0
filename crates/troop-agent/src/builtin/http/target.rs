//! The address of an API.

use hyper::{Uri, http::uri::Scheme};

use super::HttpError;

/// Host, port, and the prefix of all paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpTarget {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
    authority: String,
    prefix: String,
}

impl HttpTarget {
    /// Parses a base URL, such as `http://localhost:11434/v1`.
    pub(crate) fn parse(url: &str) -> Result<Self, HttpError> {
        let bad = || HttpError::BadUrl(without_user(url).to_owned());
        let uri: Uri = url.trim().parse().map_err(|_| bad())?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(bad()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(bad)?;
        let port = uri.port_u16();
        let authority = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self {
            // IPv6 addresses are in brackets.
            host: host.trim_matches(['[', ']']).to_owned(),
            port: port.unwrap_or(if is_secure { 443 } else { 80 }),
            is_secure,
            authority,
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The whole path of a request.
    pub(crate) fn path(&self, path: &str) -> String {
        let path = format!("{}{path}", self.prefix);
        if path.is_empty() { "/".to_owned() } else { path }
    }

    /// Host and port for the `Host` header.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }
}

/// A URL without user name and password.
fn without_user(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    //! Addresses.

    use super::HttpTarget;

    #[test]
    fn a_base_url_gives_the_address_and_the_path_prefix() {
        let read = |url: &str| {
            let target = HttpTarget::parse(url).unwrap();
            (target.authority().to_owned(), target.port, target.is_secure, target.path("/x"))
        };
        let is = |authority: &str, port, is_secure, path: &str| {
            (authority.to_owned(), port, is_secure, path.to_owned())
        };
        assert_eq!(read("https://api.openai.com/v1"), is("api.openai.com", 443, true, "/v1/x"));
        assert_eq!(read("http://[::1]:11434/v1/"), is("[::1]:11434", 11434, false, "/v1/x"));
        assert_eq!(read("http://localhost"), is("localhost", 80, false, "/x"));
        assert_eq!(HttpTarget::parse("http://[::1]").unwrap().host, "::1");
    }

    #[test]
    fn an_invalid_url_is_refused_without_showing_its_password() {
        for bad in ["", "api.openai.com", "ftp://x", "https://", "http://a b", "/v1"] {
            assert!(HttpTarget::parse(bad).is_err(), "`{bad}` is taken");
        }
        let error = HttpTarget::parse("ftp://pat:geheim@host").unwrap_err().to_string();
        assert!(!error.contains("geheim"), "{error}");
    }
}
