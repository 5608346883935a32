"""A study on two raylets, of which one dies or hangs, is that of one machine."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kubesquall
from conftest import WEB, contents, on_disk, study

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")
import kubesquall.ray  # noqa: E402


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 << 20}
    made = cluster_utils.Cluster(initialize_head=True, connect=False, head_node_args=head)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def long_study(seconds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """So many runs that one thread takes about so long, whatever this build and this machine are."""
    document, files = study(4)
    began = time.monotonic()
    kubesquall.sweep(document, files=files, threads=1)
    document["spec"]["replications"] = max(8, min(40_000, int(4 * seconds / (time.monotonic() - began))))
    return document, files


@contextmanager
def once_it_plays(node: Any, do: Any) -> Iterator[list[float]]:
    """Does something to a raylet and the worker of it that plays a part: when."""
    at: list[float] = []

    def wait() -> None:
        raylet = node.all_processes["raylet"][0].process.pid
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not at:
            if worker := player(raylet):
                do(raylet, worker)
                at.append(time.monotonic())
            time.sleep(0.01)

    waiting = threading.Thread(target=wait)
    waiting.start()
    try:
        yield at
    finally:
        waiting.join()


def player(raylet: int) -> int | None:
    """The worker of a raylet that plays a part; Ray names its process after what it does."""
    try:
        children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
        commands = ((int(child), Path(f"/proc/{child}/cmdline").read_bytes()) for child in children)
        return next((child for child, command in commands if b"ray::_part" in command or b"ray::_take_part" in command), None)
    except FileNotFoundError:
        return None


def test_a_study_survives_the_loss_of_a_raylet(tmp_path: Path, cluster) -> None:
    document, files = long_study(30)
    alone = kubesquall.sweep(document, files=files).write(tmp_path / "alone")
    second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, log_to_driver=False)
    assert ray.cluster_resources()["CPU"] == 2
    with once_it_plays(second, lambda raylet, _worker: os.kill(raylet, signal.SIGKILL)) as died:
        swept = kubesquall.ray.sweep(document, files=files, parts=16, out=tmp_path / "swept")
        ended = time.monotonic()
    assert died[0] < ended, "it was to die in the middle of the study"
    assert contents(tmp_path / "swept") == contents(alone)
    assert swept.dir == tmp_path / "swept"


def test_a_worker_that_hangs_holds_nobody_up(tmp_path: Path, cluster) -> None:
    document, files = long_study(12)
    alone = kubesquall.sweep(document, files=files).write(tmp_path / "alone")
    second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, log_to_driver=False)
    stopped: list[int] = []

    def stop(_raylet: int, worker: int) -> None:
        os.kill(worker, signal.SIGSTOP)
        stopped.append(worker)

    try:
        with once_it_plays(second, stop) as hung:
            kubesquall.ray.sweep(document, files=files, parts=16, out=tmp_path / "swept")
            ended = time.monotonic()
        assert hung[0] < ended and Path(f"/proc/{stopped[0]}/stat").read_text().split()[2] == "T", "it was to hang to the end"
    finally:
        for worker in stopped:
            os.kill(worker, signal.SIGKILL)
    assert contents(tmp_path / "swept") == contents(alone)


def test_what_is_played_on_a_cluster_is_that_of_one_machine(
    tmp_path: Path, cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, files = study(6)
    on_disk(tmp_path, {"study.yaml": document, **files})
    monkeypatch.chdir(tmp_path)
    ray.init(address=cluster.address, log_to_driver=False)
    told: list[tuple[str, int, int]] = []
    for verb in ("sweep", "tune"):
        alone, remote = getattr(kubesquall, verb), getattr(kubesquall.ray, verb)
        alone("study.yaml", out="alone", force=True)
        remote("study.yaml", out="remote", force=True, parts=3, progress=lambda *so_far: told.append(so_far))
        assert contents(tmp_path / "remote") == contents(tmp_path / "alone")
        assert told[-3:] == [("waits", 1, 3), ("waits", 2, 3), ("waits", 3, 3)]
        # Where nearly everything is as good as everything else, other things are said.
        alone(document, files=files, indifference=0.9).write("indifferent")
        played = remote(document, files=files, indifference=0.9, parts=1)
        assert played.dir is None and played.summary["study"]["indifference"] == 0.9 and played.charts
        assert contents(played.write("remote-indifferent")) == contents(tmp_path / "indifferent")
        alone(document, files=files).write("of-a-dict")
        assert contents(tmp_path / "of-a-dict") != contents(tmp_path / "indifferent")
    with pytest.raises(kubesquall.ArgumentError, match="-1 parts"):
        kubesquall.ray.sweep(document, files=files, parts=-1)

    def change(*_so_far: Any) -> None:
        # At once: another process may be reading it.
        on_disk(tmp_path, {"other.yaml": {**document, "spec": {**document["spec"], "cost": {"evictions": 7}}}})
        os.replace("other.yaml", "study.yaml")

    with pytest.raises(kubesquall.ArgumentError, match="another study `waits`"):
        kubesquall.ray.sweep("study.yaml", parts=12, progress=change)


def to_forecast() -> dict[str, Any]:
    """Four nodes in two zones, and a service."""
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}

    def node(number: int) -> dict[str, Any]:
        labels = {"kubernetes.io/hostname": f"node-{number}", "topology.kubernetes.io/zone": "ab"[number % 2]}
        status = {"allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}", "labels": labels}, "status": status}

    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    return {"nodes.yaml": [node(number) for number in range(4)], "web.yaml": [WEB, service]}


def test_a_forecast_survives_the_loss_of_a_raylet(tmp_path: Path, cluster) -> None:
    alone = kubesquall.forecast(to_forecast(), years=6).write(tmp_path / "alone")
    second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    ray.init(address=cluster.address, log_to_driver=False)
    told: list[Any] = []
    with once_it_plays(second, lambda raylet, _worker: os.kill(raylet, signal.SIGKILL)) as died:
        forecast = kubesquall.ray.forecast(to_forecast(), years=6, out=tmp_path / "together", progress=lambda *so_far: told.append(so_far))
        ended = time.monotonic()
    assert died[0] < ended, "it was to die in the middle of the forecast"
    assert contents(tmp_path / "together") == contents(alone)
    assert forecast.dir == tmp_path / "together" and told


def test_a_forecast_of_files_is_that_of_one_machine(tmp_path: Path, cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk(tmp_path, {"state/" + name: content for name, content in to_forecast().items()})
    monkeypatch.chdir(tmp_path)
    ray.init(address=cluster.address, log_to_driver=False)
    kubesquall.forecast("state", plays=60, seed=3, out="alone")
    kubesquall.ray.forecast("state", plays=60, seed=3, out="together")
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


def test_what_is_wrong_with_a_forecast_is_said_before_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_arguments: Any) -> None:
        raise AssertionError("nothing is to be sent")

    monkeypatch.setattr(kubesquall.ray, "_connected", connect)
    with pytest.raises(kubesquall.InputError):
        kubesquall.ray.forecast({"web.yaml": "kind: ["})
    with pytest.raises(kubesquall.ArgumentError, match="no precision"):
        kubesquall.ray.forecast(to_forecast(), precision=2.0)
    document, files = study(4)
    kubesquall.sweep(document, files=files, out=tmp_path / "taken")
    with pytest.raises(kubesquall.PlaceError):
        kubesquall.ray.forecast(to_forecast(), out=tmp_path / "taken")
    with pytest.raises(AssertionError, match="nothing is to be sent"):
        kubesquall.ray.forecast(to_forecast())


def test_who_reads_another_cluster_takes_no_part() -> None:
    plays = kubesquall.ray._Plays()
    plays.begin(7)
    plays.begin(7)
    with pytest.raises(kubesquall.ArgumentError, match="another cluster"):
        plays.begin(8)


def test_a_play_that_nobody_ends_is_given_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(kubesquall.ray.time, "monotonic", lambda: now[0])
    plays = kubesquall.ray._Plays()
    assert [plays.next(0, 2, None, True) for _ in range(3)] == [0, 1, None]
    assert plays.next(0, 2, None, False) is None
    now[0] += 0.4
    assert plays.next(0, 2, (1, "one"), True) is None, "nobody is slow yet"
    now[0] += 0.7
    assert plays.next(0, 2, None, True) == 0, "twice as long as the longest, and a second"
    assert plays.next(0, 2, (0, "zero"), True) == ["zero", "one"]
    assert plays.next(0, 2, (0, "zero"), False) == ["zero", "one"], "who was slow gives the same"


def test_what_is_wrong_is_said_before_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_arguments: Any) -> None:
        raise AssertionError("nothing is to be sent")

    monkeypatch.setattr(kubesquall.ray, "_Cluster", connect)
    document, files = study(6)
    with pytest.raises(kubesquall.InputError):
        kubesquall.ray.sweep({**document, "spec": {}}, files=files)
    with pytest.raises(kubesquall.ArgumentError, match="too small a saving"):
        kubesquall.ray.sweep(document, files=files, indifference=2.0)
    without_prices = {**document, "spec": {key: value for key, value in document["spec"].items() if key != "cost"}}
    with pytest.raises(kubesquall.ArgumentError, match="has a price"):
        kubesquall.ray.tune(without_prices, files=files)
    kubesquall.tune(document, files=files, out=tmp_path / "tuned")
    with pytest.raises(kubesquall.PlaceError, match="what `tune` recommended"):
        kubesquall.ray.sweep(document, files=files, out=tmp_path / "tuned")
    kubesquall.run(files["crashes.yaml"], files=files, out=tmp_path / "taken")
    with pytest.raises(kubesquall.PlaceError, match="something else than a study"):
        kubesquall.ray.sweep(document, files=files, out=tmp_path / "taken")
    for document_that_can_be_played in (document, without_prices):
        with pytest.raises(AssertionError, match="nothing is to be sent"):
            kubesquall.ray.sweep(document_that_can_be_played, files=files, out=tmp_path / "taken", force=True)


@pytest.mark.parametrize(
    ("why", "expected", "variants", "runs", "once_s", "run_s", "cpus"),
    [
        ("sixteen for each CPU, and of each variant alike", 3204, 6, 1_000_000, 0.2, 0.031, 200),
        ("no more than bring clusters up in a twentieth of the time", 102, 6, 12_000, 60.0, 10.0, 8),
        ("no shorter than two seconds", 42, 6, 2_400, 0.0, 0.035, 4),
        ("each CPU one at least", 204, 6, 1_200, 60.0, 20.0, 200),
        ("no more than there are runs", 12, 6, 12, 60.0, 20.0, 200),
        ("each variant one at least", 1_000, 1_000, 2_000, 1.0, 0.001, 2),
    ],
)
def test_a_study_is_cut_by_what_it_costs(
    why: str, expected: int, variants: int, runs: int, once_s: float, run_s: float, cpus: int
) -> None:
    assert kubesquall.ray._parts(variants, runs, once_s, run_s, cpus) == expected, why


def test_what_a_study_costs_is_measured() -> None:
    # Clusters of three nodes are there at once; a year takes longer than six hours.
    document, files = study(50)
    once_s, run_s = kubesquall.ray._cost((document, {"files": files}))
    files["crashes.yaml"]["spec"]["duration"] = "120d"
    longer_once_s, longer_run_s = kubesquall.ray._cost((document, {"files": files}))
    assert once_s >= 0 and longer_once_s >= 0 and longer_run_s > 5 * run_s > 0


SPEEDUP = os.environ.get("KUBESQUALL_SPEEDUP")


@pytest.mark.skipif(SPEEDUP is None, reason="KUBESQUALL_SPEEDUP says by how much; the machine has to be quiet, with two cores")
def test_two_workers_are_nearly_twice_as_fast_as_one(tmp_path: Path, cluster) -> None:
    document, files = long_study(60)
    ray.init(address=cluster.address, log_to_driver=False)

    def seconds(workers: int) -> float:
        assert ray.cluster_resources()["CPU"] == workers
        # Processes are up and have read everything.
        small, _ = study(400 * workers)
        kubesquall.ray.sweep(small, files=files, parts=4 * workers)
        began = time.monotonic()
        kubesquall.ray.sweep(document, files=files, out=tmp_path / str(workers))
        return time.monotonic() - began

    alone = seconds(1)
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    together = seconds(2)
    runs = 2 * document["spec"]["replications"]
    print(f"{runs} runs: {alone:.1f} s on one worker, {together:.1f} s on two, {alone / together:.2f} times")
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert alone / together >= float(str(SPEEDUP))
