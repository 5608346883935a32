//! Who may speak to the server.
//!
//! Without a token only this machine's own clients may, and no page of another site through a browser: the name by which a request calls
//! the server must be its own (a name that somebody else lets point here is not), and a page that asks must come from here.

use std::fmt;
use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use crate::rest::Status;

/// Characters that a token has at least.
const TOKEN_MIN: usize = 16;

/// Who may speak to the server.
#[derive(Clone)]
pub struct Access {
    token: Option<String>,
    names: Vec<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("names", &self.names).field("token", &self.token.is_some()).finish()
    }
}

/// Why a server would not be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsafe {
    /// Others could reach it.
    NoToken,
    /// It can be guessed.
    ShortToken,
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken => f.write_str("an address that other machines reach needs a token"),
            Self::ShortToken => write!(f, "the token is shorter than {TOKEN_MIN} characters"),
        }
    }
}

impl Access {
    /// For a server that listens there.
    ///
    /// # Errors
    /// If it could be reached by others without a token, or the token is too short.
    pub fn new(address: SocketAddr, token: Option<&str>) -> Result<Self, Unsafe> {
        let token = token.map(str::trim).filter(|token| !token.is_empty()).map(str::to_owned);
        match &token {
            None if !address.ip().is_loopback() => return Err(Unsafe::NoToken),
            Some(token) if token.len() < TOKEN_MIN => return Err(Unsafe::ShortToken),
            _ => {}
        }
        let port = address.port();
        let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), host_of(address)];
        let mut names: Vec<String> = hosts.iter().map(|host| format!("{host}:{port}")).collect();
        if port == 80 {
            names.extend(hosts);
        }
        Ok(Self { token, names })
    }

    /// The token that clients have to know.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether a request may be answered. Of a header that stands there more than once each counts.
    ///
    /// # Errors
    /// 400, 401 and 403.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Status>> {
        let forbidden = |why: String| Box::new(Status::new(403, "Forbidden", why));
        let hosts: Vec<String> = headers.get_all(header::HOST).iter().map(lower_case).collect();
        if hosts.len() > 1 {
            return Err(Box::new(Status::bad_request("the header Host stands there more than once")));
        }
        let host = hosts.first().map_or("", String::as_str);
        let is_own = |name: &str| self.names.iter().any(|own| own == name);
        // A path may name the server, too: http://localhost:6440/api.
        let named = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
        if self.token.is_none()
            && let Some(other) = [Some(host), named.as_deref()].into_iter().flatten().find(|name| !is_own(name))
        {
            return Err(forbidden(format!("this server is not called {other:?}: it is {}", self.names[0])));
        }
        for origin in headers.get_all(header::ORIGIN).iter().map(lower_case) {
            let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).unwrap_or_default();
            if of.is_empty() || !(is_own(of) || self.token.is_some() && of == host) {
                return Err(forbidden(format!("pages of {origin:?} may not use this server")));
            }
        }
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter().map(lower_case);
        if sites.any(|site| !matches!(site.as_str(), "same-origin" | "none")) {
            return Err(forbidden("pages of other sites may not use this server".to_owned()));
        }
        let Some(token) = &self.token else { return Ok(()) };
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let is_known = |value: &HeaderValue| {
            let shown = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
            is_same(token.as_bytes(), shown.trim().as_bytes())
        };
        if given.next().is_some_and(is_known) && given.next().is_none() {
            return Ok(());
        }
        Err(Box::new(Status::new(401, "Unauthorized", "Unauthorized")))
    }
}

/// Where a browser says that a request comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A value as it is compared; one that is no text is nobody's name.
fn lower_case(value: &HeaderValue) -> String {
    value.to_str().map_or_else(|_| "?".to_owned(), str::to_ascii_lowercase)
}

/// Takes as long whatever differs.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

pub(super) fn host_of(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(*name, value.parse().expect("a value"));
        }
        headers
    }

    fn check(access: &Access, of: &[(&'static str, &'static str)]) -> u16 {
        check_path(access, "/version", of)
    }

    fn check_path(access: &Access, path: &str, of: &[(&'static str, &'static str)]) -> u16 {
        let uri = path.parse().expect("a path");
        access.check(&uri, &headers(of)).map_or_else(|status| status.code, |()| 200)
    }

    #[test]
    fn without_a_token_only_this_machine_may_speak_and_no_other_site() {
        let address: SocketAddr = "127.0.0.1:6440".parse().expect("an address");
        let access = Access::new(address, None).expect("safe");
        assert_eq!(check(&access, &[("host", "127.0.0.1:6440")]), 200);
        assert_eq!(check(&access, &[("host", "localhost:6440")]), 200);
        assert_eq!(check(&access, &[("host", "LOCALHOST:6440"), ("origin", "http://localhost:6440")]), 200);
        // A name of somebody else that points here.
        assert_eq!(check(&access, &[("host", "evil.example:6440")]), 403);
        assert_eq!(check(&access, &[("host", "127.0.0.1:80")]), 403);
        assert_eq!(check(&access, &[]), 403);
        assert_eq!(check(&access, &[("host", "localhost:6440"), ("origin", "http://evil.example")]), 403);
        assert_eq!(check(&access, &[("host", "localhost:6440"), ("origin", "null")]), 403);
        assert_eq!(check(&access, &[("host", "localhost:6440"), ("sec-fetch-site", "cross-site")]), 403);
    }

    #[test]
    fn what_is_said_twice_is_checked_twice() {
        let address: SocketAddr = "127.0.0.1:6440".parse().expect("an address");
        let access = Access::new(address, None).expect("safe");
        let own = ("host", "localhost:6440");
        assert_eq!(check(&access, &[own, ("host", "evil.example")]), 400);
        let (good, evil) = (("origin", "http://localhost:6440"), ("origin", "http://evil.example"));
        assert_eq!(check(&access, &[own, good, good]), 200);
        assert_eq!(check(&access, &[own, good, evil]), 403);
        let (same, cross) = (("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site"));
        assert_eq!(check(&access, &[own, same]), 200);
        assert_eq!(check(&access, &[own, same, cross]), 403);
        assert_eq!(check(&access, &[own, ("sec-fetch-site", "Cross-Site")]), 403);
        assert_eq!(check_path(&access, "http://localhost:6440/version", &[own]), 200);
        assert_eq!(check_path(&access, "http://evil.example/version", &[own]), 403);
        let access = Access::new(address, Some(TOKEN)).expect("safe");
        let token = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(check(&access, &[own, token]), 200);
        assert_eq!(check(&access, &[own, token, ("authorization", "Bearer 0123456789abcdeX")]), 401);
    }

    #[test]
    fn other_addresses_need_a_token_that_everybody_shows() {
        let address: SocketAddr = "0.0.0.0:6440".parse().expect("an address");
        assert_eq!(Access::new(address, None).err(), Some(Unsafe::NoToken));
        assert_eq!(Access::new(address, Some("short")).err(), Some(Unsafe::ShortToken));
        let access = Access::new(address, Some(TOKEN)).expect("safe");
        assert_eq!(check(&access, &[("host", "node.example:6440")]), 401);
        assert_eq!(check(&access, &[("host", "a"), ("authorization", "Bearer 0123456789abcdeX")]), 401);
        assert_eq!(check(&access, &[("host", "a"), ("authorization", "Bearer 0123456789abcdef")]), 200);
        let from_elsewhere = [("host", "a"), ("authorization", "Bearer 0123456789abcdef"), ("origin", "http://b")];
        assert_eq!(check(&access, &from_elsewhere), 403);
    }
}
