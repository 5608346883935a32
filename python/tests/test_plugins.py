"""Filters, scores and controllers of one's own."""

from __future__ import annotations

import threading
import time
import traceback
from typing import Any

import pytest

import kubesquall
from conftest import FILES, scenario, study
from kubesquall import Change, Cluster, Controller, Filter, Node, Pod, Request, Score


def played(*plugins: kubesquall.Plugin, **spec: Any) -> kubesquall.Run:
    return kubesquall.run(scenario(**spec), files=FILES, plugins=plugins)


def nodes(run: kubesquall.Run) -> set[str]:
    """Where the pods of the beginning are."""
    pods = run["pods.csv"]
    placed = zip(pods.column("initial"), pods.column("node"))
    return {node for initial, node in placed if initial}


def prefer(name: str) -> Score:
    return Score("Prefer", lambda pod, node: 100 if node.name == name else 0, weight=1000)


def test_a_score_is_followed_and_a_run_is_the_same_twice() -> None:
    run = played(prefer("worker-2"))
    assert nodes(run) == {"worker-2"}
    assert run.digest == played(prefer("worker-2")).digest
    assert run.digest != played().digest and len(nodes(played())) == 3
    assert run.summary["plugins"] == [{"name": "Prefer", "kind": "score", "weight": 1000}]
    assert "plugins" not in played().summary


def test_a_filter_keeps_pods_off() -> None:
    for answer in ("node(s) are kept free", False):
        keep = Filter("KeepFree", lambda pod, node, answer=answer: answer if node.name == "worker-1" else None)
        assert nodes(played(keep)) == {"worker-0", "worker-2"}
    run = played(Filter("Never", lambda pod, node: "node(s) are kept free"))
    assert nodes(run) == {""} and run.metrics["pods_pending_max"] == 6
    assert any("3 node(s) are kept free" in text for text in run["events.csv"].column("message"))
    assert played(Filter("Any", lambda pod, node: True)).metrics == played().metrics


def test_what_a_plugin_sees() -> None:
    seen: list[tuple[Pod, Node]] = []

    def look(pod: Pod, node: Node) -> None:
        seen.append((pod, node))

    played(Filter("Look", look))
    pod, node = seen[0]
    assert (pod.namespace, pod.labels["app"], pod.priority, pod.scheduler_name) == ("default", "web", 0, "default-scheduler")
    assert pod.name.startswith("web-") and pod.requests == {"cpu": 100, "memory": 0, "ephemeral-storage": 0}
    assert node.name == "worker-0" and node.labels["kubernetes.io/hostname"] == "worker-0"
    assert (node.allocatable["cpu"], node.allocatable["memory"], node.allocatable["pods"]) == (4000, 8 << 30, 110)
    assert node.requested == {"cpu": 0, "memory": 0, "ephemeral-storage": 0, "pods": 0} and node.pods == []
    assert repr(pod) == f"<Pod default/{pod.name}>" and repr(node) == "<Node worker-0>"
    fullest = max((node for _, node in seen), key=lambda node: node.requested["pods"])
    assert len(fullest.pods) == fullest.requested["pods"] > 0
    assert fullest.requested["cpu"] == 100 * len(fullest.pods) and fullest.pods[0].labels == {**pod.labels}


def scale_up(replicas: int, told: list[tuple[float, str, str]]) -> Controller:
    def hook(change: Change, cluster: Cluster) -> Request | None:
        told.append((cluster.now, change.kind, change.object["metadata"]["name"]))
        ready = [of["status"] for of in change.object["status"]["conditions"] if of["type"] == "Ready"]
        path = "/apis/apps/v1/namespaces/default/deployments/web"
        web = cluster.get(path)
        assert web is not None
        if ready != ["Unknown"] or web["spec"]["replicas"] == replicas:
            return None
        assert len(cluster.list("/api/v1/namespaces/default/pods?labelSelector=app=web")) == 6
        return Request("PATCH", f"{path}/scale", {"spec": {"replicas": replicas}})

    return Controller("scale-up", "Node", hook)


def test_a_controller_scales() -> None:
    told: list[tuple[float, str, str]] = []
    run = played(scale_up(8, told))
    assert told[:3] == [(0.0, "ADDED", f"worker-{number}") for number in range(3)]
    assert run.summary["plugins"] == [{"name": "scale-up", "kind": "controller", "requests": 1, "refused": 0}]
    assert run.summary["workloads"][0]["desired"] == 8
    assert run.digest == played(scale_up(8, [])).digest


def test_a_controller_hears_of_refusals_and_cannot_keep_the_cluster() -> None:
    kept: list[Cluster] = []
    refusals: list[Change] = []

    def hook(change: Change, cluster: Cluster) -> list[Request]:
        if change.kind == "ERROR":
            refusals.append(change)
            return []
        kept.append(cluster)
        assert cluster.get("/api/v1/nodes/nobody") is None
        with pytest.raises(ValueError, match="names no object"):
            cluster.get("/api/v1/nodes")
        with pytest.raises(ValueError, match="cannot be read"):
            cluster.list("/api/v9/nodes")
        return [Request("DELETE", "/api/v1/nodes/nobody")] if len(kept) == 1 else []

    run = played(Controller("hopeful", ["Node"], hook))
    assert [(change.object["code"], change.request) for change in refusals] == [
        (404, Request("DELETE", "/api/v1/nodes/nobody", ""))
    ]
    assert run.summary["plugins"][0]["refused"] == 1
    with pytest.raises(RuntimeError, match="while the controller is called"):
        kept[0].get("/api/v1/nodes/worker-0")


def test_what_a_function_raises_ends_the_run_with_its_traceback() -> None:
    def careless(pod: Pod, node: Node) -> int:
        return 1 // len([other for other in node.pods if other.labels["app"] == "db"])

    def watching(change: Change, cluster: Cluster) -> None:
        raise LookupError(change.object["metadata"]["name"])

    with pytest.raises(kubesquall.PluginError, match="the plug-in `Careless` failed at .*asked to score node worker-") as caught:
        played(Score("Careless", careless))
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "careless" in "".join(traceback.format_exception(cause))
    with pytest.raises(kubesquall.PluginError, match="about Node worker-0, which is ADDED") as caught:
        played(Controller("watching", ["Node"], watching))
    assert isinstance(caught.value.__cause__, LookupError)
    # Nothing is left of it.
    assert played(prefer("worker-2")).digest == played(prefer("worker-2")).digest


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Score("S", lambda pod, node: 101), "a score is a number from 0 to 100, not 101"),
        (Score("S", lambda pod, node: 0.5), "a score is an int from 0 to 100, not float"),  # type: ignore[arg-type,return-value]
        (Filter("F", lambda pod, node: 1), "a filter returns None, a bool or a reason as a str, not int"),
        (Controller("c", "Node", lambda change, cluster: ["x"]), "a controller returns requests or None, not str"),  # type: ignore[list-item]
    ],
)
def test_answers_of_the_wrong_kind_are_refused(plugin: kubesquall.Plugin, message: str) -> None:
    with pytest.raises(kubesquall.PluginError, match=message):
        played(plugin)


def test_what_cannot_be_plugged_in_is_refused() -> None:
    with pytest.raises(kubesquall.ArgumentError, match="`NodeAffinity` is a plug-in of kube-scheduler itself"):
        played(Filter("NodeAffinity", lambda pod, node: None))
    with pytest.raises(kubesquall.ArgumentError, match="the nearest is `Deployment`"):
        played(Controller("c", "Deploymnet", lambda change, cluster: None))
    with pytest.raises(ValueError, match="a weight is a whole number"):
        Score("S", lambda pod, node: 0, weight=0)
    with pytest.raises(ValueError, match="a POST, PUT, PATCH or DELETE"):
        Request("GET", "/api/v1/nodes")
    document, files = study()
    for verb in (kubesquall.sweep, kubesquall.tune):
        with pytest.raises(TypeError, match="plugins"):
            verb(document, files=files, plugins=[prefer("worker-2")])  # type: ignore[operator]


def test_other_threads_go_on_and_runs_side_by_side_do_not_meet() -> None:
    beats = 0
    over = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not over.is_set():
            beats += 1
            time.sleep(0.001)

    digests: dict[int, str] = {}

    def play(number: int) -> None:
        digests[number] = played(prefer(f"worker-{number % 3}"), scale_up(8, [])).digest

    others = [threading.Thread(target=play, args=(number,)) for number in range(6)]
    beating = threading.Thread(target=beat)
    beating.start()
    for other in others:
        other.start()
    for other in others:
        other.join()
    over.set()
    beating.join()
    assert beats > 10
    assert all(digests[number] == digests[number + 3] for number in range(3))
    assert len(set(digests.values())) == 3


def test_a_function_that_never_ends_does_not_hold_up_ctrl_c(tmp_path: Any) -> None:
    import os
    import signal
    import subprocess
    import sys

    script = tmp_path / "hangs.py"
    script.write_text(
        "import sys, time, kubesquall\n"
        f"sys.path.insert(0, {str(os.path.dirname(__file__))!r})\n"
        "from conftest import FILES, scenario\n"
        "def slow(pod, node):\n"
        "    print('asked', flush=True)\n"
        "    time.sleep(0.2)\n"
        "try:\n"
        "    kubesquall.run(scenario(duration='30d'), files=FILES, plugins=[kubesquall.Filter('Slow', slow)])\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert any(line == "interrupted\n" for line in process.stdout)
        assert time.monotonic() - began < 5
        process.kill()
