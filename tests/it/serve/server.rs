//! A server under test, and ways to ask it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

pub(super) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A server that runs until it is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) address: String,
    pub(super) dir: TempDir,
    /// What it said before it served.
    pub(super) said: String,
}

impl Server {
    pub(super) fn start(inputs: &[&str], more: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = dir.path().join("config");
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubesquall"))
            .current_dir(repository())
            .arg("serve")
            .args(inputs)
            .args(["--listen", "127.0.0.1:0", "--speed", "paused", "--kubeconfig"])
            .arg(&config)
            .arg("--record")
            .arg(dir.path().join("record.yaml"))
            .args(more)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary");
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let mut said = String::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("it ended: {said}")).expect("text");
            if let Some((_, rest)) = line.split_once("serving at http://") {
                break rest.split(',').next().expect("an address").to_owned();
            }
            said.push_str(&line);
            said.push('\n');
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, dir, said }
    }

    pub(super) fn shop() -> Self {
        Self::start(&["tests/serve/shop.yaml"], &[])
    }

    /// What kubectl prints, and whether it was content; `HOME` is empty, so that nothing is cached between servers.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("kubectl")
            .env("KUBECONFIG", self.dir.path().join("config"))
            .env("HOME", self.dir.path())
            .current_dir(repository())
            .args(arguments)
            .output()
            .expect("kubectl runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    pub(super) fn done(&self, arguments: &str) -> String {
        let (is_content, text) = self.kubectl(&arguments.split_whitespace().collect::<Vec<_>>());
        assert!(is_content, "kubectl {arguments}\n{text}");
        text
    }

    #[track_caller]
    pub(super) fn refused(&self, arguments: &str) -> String {
        let (is_content, text) = self.kubectl(&arguments.split_whitespace().collect::<Vec<_>>());
        assert!(!is_content, "kubectl {arguments}\n{text}");
        text
    }

    /// Sends bytes as they are; what comes back.
    pub(super) fn send(&self, bytes: &[u8]) -> String {
        self.send_and(bytes, |_| {})
    }

    /// Sends bytes and breaks off.
    pub(super) fn send_half(&self, bytes: &[u8]) -> String {
        self.send_and(bytes, |stream| _ = stream.shutdown(std::net::Shutdown::Write))
    }

    pub(super) fn send_and(&self, bytes: &[u8], then: impl FnOnce(&TcpStream)) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let _ = stream.write_all(bytes);
        then(&stream);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(super) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        let answer = self.send(request.as_bytes());
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        // Lists may come in chunks.
        let body = body.find('{').map_or("", |first| &body[first..]);
        let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
        (code, values.next().and_then(Result::ok).unwrap_or_default())
    }

    pub(super) fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, "", "")
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, "Content-Type: application/json\r\n", &body.to_string())
    }

    #[track_caller]
    pub(super) fn turn(&self, what: &str, body: &Value) -> Value {
        let (code, clock) = self.post(&format!("/kubesquall/v1/{what}"), body);
        assert_eq!(code, 200, "{clock}");
        clock
    }

    /// Ends it; the record that it leaves.
    pub(super) fn end(mut self) -> (PathBuf, TempDir) {
        let ended = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(ended.is_ok_and(|status| status.success()));
        assert!(self.child.wait().is_ok_and(|status| status.success()));
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().expect("a temporary directory"));
        (dir.path().join("record.yaml"), dir)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
