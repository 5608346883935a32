//! Filters, scores and controllers that are Python functions.

use std::panic;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use kubesquall::{
    ClientRequest, ClusterReader, Method, ObjectChange, PluginError, PluginNode, PluginPod, Plugins, SimTime,
};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyDict, PyString};

/// A function and what it is for; `kubesquall/_plugins.py` has the other side.
#[derive(FromPyObject)]
pub(crate) struct Plugin {
    name: String,
    /// `filter`, `score` or `controller`.
    what: String,
    hook: Py<PyAny>,
    weight: u32,
    kinds: Vec<String>,
}

/// Those of a run.
pub(crate) fn plugins(given: Vec<Plugin>) -> Plugins {
    given.into_iter().fold(Plugins::new(), |all, plugin| {
        let Plugin { name, what, hook, weight, kinds } = plugin;
        match what.as_str() {
            "filter" => all.filter(name, move |pod, node| Ok(Python::attach(|py| filter(py, &hook, pod, node))?)),
            "score" => all.score(name, weight, move |pod, node| Ok(Python::attach(|py| score(py, &hook, pod, node))?)),
            _ => all.controller(name, kinds, move |change, cluster| controller(&hook, change, cluster)),
        }
    })
}

fn filter(py: Python<'_>, hook: &Py<PyAny>, pod: &PluginPod<'_>, node: &PluginNode<'_>) -> PyResult<Option<String>> {
    let answer = hook.bind(py).call1((Pod::of(pod), Node::of(node)))?;
    if answer.is_none() {
        return Ok(None);
    }
    if let Ok(may) = answer.cast::<PyBool>() {
        return Ok((!may.is_true()).then(String::new));
    }
    if let Ok(reason) = answer.cast::<PyString>() {
        return Ok(Some(reason.to_string()));
    }
    let kind = answer.get_type().name()?;
    Err(PyTypeError::new_err(format!("a filter returns None, a bool or a reason as a str, not {kind}")))
}

fn score(py: Python<'_>, hook: &Py<PyAny>, pod: &PluginPod<'_>, node: &PluginNode<'_>) -> PyResult<i64> {
    let answer = hook.bind(py).call1((Pod::of(pod), Node::of(node)))?;
    if let Ok(score) = answer.extract::<i64>() {
        return Ok(score);
    }
    let kind = answer.get_type().name()?;
    Err(PyTypeError::new_err(format!("a score is an int from 0 to 100, not {kind}")))
}

/// Names with amounts or values.
type Pairs<T> = Vec<(&'static str, T)>;

/// A pod that waits for a node, or is on one.
#[pyclass(frozen, module = "kubesquall")]
#[derive(Clone)]
pub(crate) struct Pod {
    #[pyo3(get)]
    namespace: &'static str,
    #[pyo3(get)]
    name: String,
    labels: Pairs<&'static str>,
    requests: Pairs<i64>,
    #[pyo3(get)]
    priority: i32,
    #[pyo3(get)]
    scheduler_name: &'static str,
}

impl Pod {
    fn of(pod: &PluginPod<'_>) -> Self {
        Self {
            namespace: pod.namespace(),
            name: pod.name().to_owned(),
            labels: pod.labels().collect(),
            requests: pod.requests(),
            priority: pod.priority(),
            scheduler_name: pod.scheduler_name(),
        }
    }
}

#[pymethods]
impl Pod {
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.labels.iter().copied().into_py_dict(py)
    }

    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.requests.iter().copied().into_py_dict(py)
    }

    fn __repr__(&self) -> String {
        format!("<Pod {}/{}>", self.namespace, self.name)
    }
}

/// A node that a pod might run on.
#[pyclass(frozen, module = "kubesquall")]
pub(crate) struct Node {
    #[pyo3(get)]
    name: &'static str,
    labels: Pairs<&'static str>,
    allocatable: Pairs<i64>,
    requested: Pairs<i64>,
    #[pyo3(get)]
    pods: Vec<Pod>,
}

impl Node {
    fn of(node: &PluginNode<'_>) -> Self {
        Self {
            name: node.name(),
            labels: node.labels().collect(),
            allocatable: node.allocatable(),
            requested: node.requested(),
            pods: node.pods().map(|pod| Pod::of(&pod)).collect(),
        }
    }
}

#[pymethods]
impl Node {
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.labels.iter().copied().into_py_dict(py)
    }

    #[getter]
    fn allocatable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.allocatable.iter().copied().into_py_dict(py)
    }

    #[getter]
    fn requested<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.requested.iter().copied().into_py_dict(py)
    }

    fn __repr__(&self) -> String {
        format!("<Node {}>", self.name)
    }
}

/// A path that somebody wants to read, and where the answer goes: JSON, or why there is none.
struct Question {
    path: String,
    wants_list: bool,
    answer: Sender<Result<String, String>>,
}

/// The cluster, as long as a controller is called.
#[pyclass(frozen, module = "kubesquall")]
pub(crate) struct Cluster {
    now: SimTime,
    questions: Mutex<Option<Sender<Question>>>,
}

impl Cluster {
    fn ask<'py>(&self, py: Python<'py>, path: String, wants_list: bool) -> PyResult<Bound<'py, PyAny>> {
        let questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_over = || PyRuntimeError::new_err("the cluster can be read while the controller is called, not later");
        let questions = questions.ok_or_else(is_over)?;
        let answered = py.detach(move || {
            let (answer, answered) = mpsc::channel();
            questions.send(Question { path, wants_list, answer }).ok()?;
            answered.recv().ok()
        });
        let text = answered.ok_or_else(is_over)?.map_err(PyValueError::new_err)?;
        py.import("json")?.getattr("loads")?.call1((text,))
    }
}

#[pymethods]
impl Cluster {
    #[getter]
    fn now(&self) -> f64 {
        self.now.as_nanos() as f64 / 1e9
    }

    fn get<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, path, false)
    }

    fn list<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, path, true)
    }

    fn __repr__(&self) -> String {
        format!("<Cluster at {}>", self.now)
    }
}

/// Method, path, content type and body.
type Wanted = (String, String, String, String);

/// Calls a controller on a thread of its own, and answers here what it asks of the cluster: that is lent for as long as the call lasts.
fn controller(
    hook: &Py<PyAny>,
    change: &ObjectChange<'_>,
    cluster: &ClusterReader<'_>,
) -> Result<Vec<ClientRequest>, PluginError> {
    let (asking, questions) = mpsc::channel();
    let now = cluster.now();
    let wanted = thread::scope(|scope| -> Result<Vec<Wanted>, PluginError> {
        let calling = thread::Builder::new().name("kubesquall-controller".to_owned());
        let called = calling.spawn_scoped(scope, move || Python::attach(|py| call(py, hook, change, now, asking)))?;
        answer(&questions, cluster);
        called.join().unwrap_or_else(|thrown| panic::resume_unwind(thrown)).map_err(PluginError::from)
    })?;
    wanted.into_iter().map(request).collect()
}

fn call(
    py: Python<'_>,
    hook: &Py<PyAny>,
    change: &ObjectChange<'_>,
    now: SimTime,
    asking: Sender<Question>,
) -> PyResult<Vec<Wanted>> {
    let cluster = Bound::new(py, Cluster { now, questions: Mutex::new(Some(asking)) })?;
    let refused = change.request.map(|of| (of.method.as_str(), &of.path, &of.content_type, &of.body));
    let called = hook.bind(py).call1((change.kind.as_str(), change.object.to_string(), refused, &cluster));
    // Whoever keeps it cannot ask any more, and nobody waits for questions.
    cluster.get().questions.lock().unwrap_or_else(PoisonError::into_inner).take();
    called?.extract()
}

/// Answers until nobody can ask any more.
fn answer(questions: &Receiver<Question>, cluster: &ClusterReader<'_>) {
    for Question { path, wants_list, answer } in questions {
        let found = if wants_list {
            cluster.list(&path).map(serde_json::Value::from)
        } else {
            cluster.get(&path).map(Option::unwrap_or_default)
        };
        // Who asked may have been interrupted.
        let _ = answer.send(found.map(|value| value.to_string()).map_err(|error| error.to_string()));
    }
}

fn request((method, path, content_type, body): Wanted) -> Result<ClientRequest, PluginError> {
    let method = match method.as_str() {
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => return Err(format!("`{other}` is no method that changes something: POST, PUT, PATCH, DELETE").into()),
    };
    let request = ClientRequest::new(method, path, body);
    Ok(if content_type.is_empty() { request } else { ClientRequest { content_type, ..request } })
}
