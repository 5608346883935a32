//! HTTP: what comes in is bounded and checked, and handed to the owner of the run.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method as HttpMethod, StatusCode, header};
use axum::response::Response as HttpResponse;
use futures_core::Stream;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

use super::guard::Access;
use super::owner::{Desk, Save, WAITING_MAX, own};
use super::protobuf;
use super::reads::Shown;
use super::session::Session;
use super::stage::Stage;
use super::watching::Heard;
use crate::rest::{ClientRequest, Method, Response, Status};

/// Bytes of a body.
///
/// # Source
/// kube-apiserver, `--max-request-body-bytes` (limit of 3 MiB).
const BODY_MAX: usize = 3 << 20;
/// Bytes of the headers, and how many there may be.
const HEAD_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// Connections at once, and how many more are told that there are too many.
pub(super) const CONNECTIONS_MAX: usize = 1024;
const SURPLUS_MAX: usize = 64;
/// How long headers and bodies may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same of those that are too many.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// How long a watch lasts that does not say.
const WATCH_TIMEOUT: Duration = Duration::from_secs(3600);
/// How long those are told that the run is over who still wait for an answer.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Characters of who asks that are kept.
const USER_MAX: usize = 64;

/// How a session is served.
#[derive(Default)]
pub struct Options {
    /// Is given the record of the session now and then, and at its end.
    pub save: Option<Save>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("save", &self.save.is_some()).finish()
    }
}

/// A server that is about to be run.
#[derive(Debug)]
pub struct Serving {
    listener: TcpListener,
    access: Access,
}

impl Serving {
    /// Takes an address.
    ///
    /// # Errors
    /// If the operating system does not give it.
    pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// A server on an address that was taken.
    #[must_use]
    pub fn new(listener: TcpListener, access: Access) -> Self {
        Self { listener, access }
    }
}

#[derive(Debug)]
struct Front {
    desk: Desk,
    access: Access,
    stage: Stage,
}

/// Serves a session until `ended` does; gives it back.
///
/// # Errors
/// If the operating system refuses.
///
/// # Panics
/// If an invariant of kubesquall breaks, which is a bug.
pub fn serve(
    session: Session,
    serving: Serving,
    options: Options,
    ended: impl Future<Output = ()>,
) -> io::Result<Session> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let (tasks, waiting) = sync_channel(WAITING_MAX);
    let (over, is_over) = tokio::sync::oneshot::channel::<()>();
    let owner = std::thread::Builder::new().name("session".to_owned()).spawn(move || {
        // Dropped at the end, whatever ends it.
        let _over = over;
        own(session, &waiting, options.save)
    })?;
    let result = runtime.block_on(async {
        let front = Arc::new(Front { desk: Desk(tasks), access: serving.access, stage: Stage::default() });
        let router = Router::new().fallback(answer).with_state(front);
        let listener = tokio::net::TcpListener::from_std(serving.listener)?;
        tokio::select! {
            accepted = accept(listener, router) => accepted,
            () = ended => Ok(()),
            _ = is_over => {
                // Who waits for an answer is told that there is none.
                tokio::time::sleep(LAST_WORDS).await;
                Ok(())
            }
        }
    });
    // Connections end with the runtime, and with them the last who could hand over a task.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match owner.join() {
        Ok(session) => result.map(|()| session),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

async fn accept(listener: tokio::net::TcpListener, router: Router) -> io::Result<()> {
    let (places, surplus) = (Arc::new(Semaphore::new(CONNECTIONS_MAX)), Arc::new(Semaphore::new(SURPLUS_MAX)));
    let refusing = Router::new().fallback(too_many);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Too many files are open, or the client has gone already.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (place, router, patience) = if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            (place, &router, PATIENCE)
        } else if let Ok(place) = Arc::clone(&surplus).try_acquire_owned() {
            (place, &refusing, SHORT_PATIENCE)
        } else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _place = place;
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new()).header_read_timeout(patience);
            connection.max_buf_size(HEAD_MAX).max_headers(HEADERS_MAX);
            connection.keep_alive(patience == PATIENCE);
            // Who breaks off is told nothing.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Who comes when all places are taken.
async fn too_many() -> HttpResponse {
    let text = format!("there are {CONNECTIONS_MAX} connections already");
    let retry_after = Some(crate::units::SimDuration::from_secs(1));
    written(Response::from(Status { retry_after, ..Status::new(503, "ServiceUnavailable", text) }))
}

async fn answer(State(front): State<Arc<Front>>, request: Request) -> HttpResponse {
    match respond(&front, request).await {
        Ok(response) => response,
        Err(status) => written(Response::from(*status)),
    }
}

async fn respond(front: &Front, request: Request) -> Result<HttpResponse, Box<Status>> {
    // The buffer of a connection grows in steps, and may hold some more.
    let size = |(name, value): (&header::HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    if request.headers().iter().map(size).sum::<usize>() > HEAD_MAX {
        let text = format!("the headers are larger than {} KiB", HEAD_MAX >> 10);
        return Err(Box::new(Status::new(431, "RequestHeaderFieldsTooLarge", text)));
    }
    front.access.check(request.uri(), request.headers())?;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let text = |name: header::HeaderName| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let method = match parts.method {
        HttpMethod::GET | HttpMethod::HEAD => {
            let accept = text(header::ACCEPT);
            match parts.uri.path() {
                // Browsers say that they want a page; others ask for the paths that there are.
                "/" if accept.contains("text/html") => return Ok(page(front.stage.page(&front.desk).await?)),
                "/metrics" => return Ok(exposition(front.stage.metrics(&front.desk).await?)),
                _ => {}
            }
            let shown = front.desk.ask(move |session| session.read(&path, &accept)).await?;
            return Ok(match shown {
                Shown::Document(code, bytes) => document(code, bytes, &HeaderMap::new()),
                Shown::Watch(heard) => watch(heard),
            });
        }
        HttpMethod::POST => Method::Post,
        HttpMethod::PUT => Method::Put,
        HttpMethod::PATCH => Method::Patch,
        HttpMethod::DELETE => Method::Delete,
        _ => return Err(Box::new(Status::method_not_allowed())),
    };
    let content_type = text(header::CONTENT_TYPE);
    let user: String = text(header::USER_AGENT).split('/').next().unwrap_or_default().chars().take(USER_MAX).collect();
    let user: String = user.chars().filter(|c| !c.is_control()).collect();
    let user = if user.is_empty() { "client".to_owned() } else { user };
    let bytes = read_body(body).await?;
    if matches!(method, Method::Post) && parts.uri.path() == "/kubesquall/v1/replay" {
        return Ok(bytes_of(front.stage.answer(bytes, &front.desk).await?));
    }
    let (content_type, body) = text_of(content_type, bytes)?;
    let request = ClientRequest { method, path, content_type, body, user };
    let response = front.desk.ask(move |session| session.do_it(request)).await?;
    Ok(written(response))
}

async fn read_body(body: Body) -> Result<Bytes, Box<Status>> {
    match tokio::time::timeout(PATIENCE, to_bytes(body, BODY_MAX)).await {
        Err(_) => Err(Box::new(Status::new(408, "Timeout", "the body of the request does not come"))),
        Ok(Err(_)) => {
            let text = format!("Request entity too large: limit is {BODY_MAX}");
            Err(Box::new(Status::new(413, "RequestEntityTooLarge", text)))
        }
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

/// A body as text. What typed clients send is turned into JSON, so that a record can be read.
fn text_of(content_type: String, bytes: Bytes) -> Result<(String, String), Box<Status>> {
    if content_type.contains("cbor") {
        return Err(Box::new(Status::unsupported("application/json, application/yaml")));
    }
    if content_type.contains("protobuf") {
        if bytes.is_empty() {
            return Ok((String::new(), String::new()));
        }
        let value = protobuf::decode(&bytes);
        let value =
            value.map_err(|_| Box::new(Status::bad_request("the body of the request is no object as protobuf")))?;
        return Ok(("application/json".to_owned(), value.to_string()));
    }
    let text = String::from_utf8(bytes.into());
    let text = text.map_err(|_| Box::new(Status::bad_request("the body of the request is not UTF-8")))?;
    Ok((content_type, text))
}

fn written(response: Response) -> HttpResponse {
    let mut headers = HeaderMap::new();
    for warning in &response.warnings {
        let text: String = warning.chars().filter(|c| !c.is_control() && c.is_ascii()).collect();
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            headers.append(header::WARNING, value);
        }
    }
    if let Some(wait) = response.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
    }
    document(response.code, Bytes::from(response.body.to_string()), &headers)
}

fn document(code: u16, bytes: Bytes, headers: &HeaderMap) -> HttpResponse {
    let kind = match bytes.first() {
        Some(b'{' | b'[') => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    let mut response = HttpResponse::new(Body::from(bytes));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let own = response.headers_mut();
    own.extend(headers.clone());
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    own.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The page says itself what it may load.
fn page(bytes: Bytes) -> HttpResponse {
    of_kind(bytes, "text/html; charset=utf-8")
}

/// # Source
/// Prometheus, exposition formats: the content type of the text format.
fn exposition(bytes: Bytes) -> HttpResponse {
    of_kind(bytes, "text/plain; version=0.0.4; charset=utf-8")
}

fn bytes_of(bytes: Bytes) -> HttpResponse {
    of_kind(bytes, "application/octet-stream")
}

fn of_kind(bytes: Bytes, kind: &'static str) -> HttpResponse {
    let mut response = document(200, bytes, &HeaderMap::new());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What somebody hears who watches, until his time is over.
struct Lines {
    first: std::vec::IntoIter<Bytes>,
    rest: tokio::sync::mpsc::Receiver<Bytes>,
    end: Pin<Box<tokio::time::Sleep>>,
}

impl Stream for Lines {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(line) = self.first.next() {
            return Poll::Ready(Some(Ok(line)));
        }
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        self.rest.poll_recv(context).map(|line| line.map(Ok))
    }
}

fn watch(heard: Heard) -> HttpResponse {
    let timeout = heard.timeout_s.map_or(WATCH_TIMEOUT, |seconds| Duration::from_secs(seconds).min(WATCH_TIMEOUT));
    let end = Box::pin(tokio::time::sleep(timeout));
    let lines = Lines { first: heard.first.into_iter(), rest: heard.rest, end };
    let mut response = HttpResponse::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
