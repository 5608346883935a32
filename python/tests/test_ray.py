"""A study on two raylets, of which one dies, is that of one machine."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import kubesquall
from conftest import contents, study

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch):
    import kubesquall.ray  # noqa: F401

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 << 20}
    made = cluster_utils.Cluster(initialize_head=True, connect=False, head_node_args=head)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def test_a_study_survives_the_loss_of_a_raylet(tmp_path: Path, cluster) -> None:
    document, files = study(4)
    began = time.monotonic()
    kubesquall.sweep(document, files=files, threads=1)
    # So many runs that one thread takes about half a minute, whatever this build and this machine are.
    document["spec"]["replications"] = max(8, min(20_000, int(4 * 30 / (time.monotonic() - began))))
    alone = kubesquall.sweep(document, files=files).write(tmp_path / "alone")

    second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    died: list[float] = []

    def kill() -> None:
        # Once it has begun to work.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not _is_busy(second):
            time.sleep(0.01)
        os.kill(second.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        died.append(time.monotonic())

    ray.init(address=cluster.address, log_to_driver=False)
    assert ray.cluster_resources()["CPU"] == 2
    killer = threading.Thread(target=kill)
    killer.start()
    swept = kubesquall.ray.sweep(document, files=files, parts=16, out=tmp_path / "swept")
    ended = time.monotonic()
    killer.join()
    assert died[0] < ended, "it was to die in the middle of the study"
    assert contents(tmp_path / "swept") == contents(alone)
    assert swept.dir == tmp_path / "swept"


def _is_busy(node) -> bool:
    """Whether a worker of that raylet plays a part; Ray names its process after what it does."""
    raylet = node.all_processes["raylet"][0].process.pid
    try:
        children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
        return any(b"ray::_part" in Path(f"/proc/{child}/cmdline").read_bytes() for child in children)
    except FileNotFoundError:
        return False


def test_what_is_tuned_on_a_cluster_is_that_of_one_machine(tmp_path: Path, cluster) -> None:
    document, files = study(6)
    kubesquall.tune(document, files=files).write(tmp_path / "alone")
    ray.init(address=cluster.address, log_to_driver=False)
    kubesquall.ray.tune(document, files=files, out=tmp_path / "tuned")
    assert contents(tmp_path / "tuned") == contents(tmp_path / "alone")
    with pytest.raises(kubesquall.InputError):
        kubesquall.ray.sweep({**document, "spec": {}}, files=files)


SPEEDUP = os.environ.get("KUBESQUALL_SPEEDUP")


@pytest.mark.skipif(SPEEDUP is None, reason="KUBESQUALL_SPEEDUP says by how much; the machine has to be quiet, with two cores")
def test_two_workers_are_nearly_twice_as_fast_as_one(tmp_path: Path, cluster) -> None:
    document, files = study(8)
    began = time.monotonic()
    kubesquall.sweep(document, files=files, threads=1)
    # One worker takes about a minute.
    document["spec"]["replications"] = max(16, min(40_000, int(8 * 60 / (time.monotonic() - began))))
    ray.init(address=cluster.address, log_to_driver=False)

    def seconds(workers: int) -> float:
        assert ray.cluster_resources()["CPU"] == workers
        # Processes are up and have read everything.
        small, _ = study(2 * workers)
        kubesquall.ray.sweep(small, files=files, parts=4 * workers)
        began = time.monotonic()
        kubesquall.ray.sweep(document, files=files, parts=16, out=tmp_path / str(workers))
        return time.monotonic() - began

    alone = seconds(1)
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    together = seconds(2)
    runs = 2 * document["spec"]["replications"]
    print(f"{runs} runs: {alone:.1f} s on one worker, {together:.1f} s on two, {alone / together:.2f} times")
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert alone / together >= float(str(SPEEDUP))
