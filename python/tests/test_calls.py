"""Errors, Ctrl-C, threads and progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kubesquall
from conftest import FILES, contents, on_disk, scenario, study

NODE_LOST = Path(__file__).resolve().parents[2] / "scenarios" / "outages" / "node-lost"


def test_everything_that_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    text = "\n".join(
        [
            "apiVersion: kubesquall.sim/v1alpha1",
            "kind: Scenario",
            "metadata: {name: example}",
            "spec: {duration: 10m, sead: 7, cluster: {manifests: [web.yaml]}, timeline: [{at: 1x}]}",
        ]
    )
    files = {"web.yaml": "{apiVersion: v1, kind: Node, metadata: {name: a}}"}
    with pytest.raises(kubesquall.InputError) as caught:
        kubesquall.run(text, files=files)
    problem = next(found for found in caught.value.diagnostics if found.code == "scenario::unknown_field")
    assert (problem.severity, problem.file, problem.line, problem.column) == ("error", "scenario.yaml", 4, 23)
    assert "the nearest field is `seed`" in " ".join(problem.help) + problem.message
    assert len([found for found in caught.value.diagnostics if found.severity == "error"]) > 1
    assert isinstance(caught.value, ValueError) and "sead" in str(caught.value)
    assert str(problem).startswith("error[scenario::unknown_field]: ")
    checked = kubesquall.check(text, files=files)
    codes = [found.code for found in caught.value.diagnostics]
    assert not checked and [found.code for found in checked.diagnostics] == codes


def test_errors_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(kubesquall.InputError, match="nothing.yaml"):
        kubesquall.run(tmp_path / "nothing.yaml")
    with pytest.raises(kubesquall.InputError, match="`rates.yaml` cannot be read: No such file"):
        kubesquall.forecast(scenario(timeline=[]), rates="rates.yaml")
    (tmp_path / "table.csv").write_bytes(b"node,failed\xff\n")
    with pytest.raises(kubesquall.InputError, match="not UTF-8 from byte 11 on"):
        kubesquall.import_faults(tmp_path / "table.csv")
    with pytest.raises(kubesquall.ResultsError, match="summary.json"):
        kubesquall.open(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(kubesquall.PlaceError) as caught:
        kubesquall.run(scenario(), files=FILES, out=tmp_path / "mine")
    assert caught.value.help and (tmp_path / "mine" / "letter.txt").exists()
    document, files = study()
    with pytest.raises(kubesquall.ArgumentError, match="precision"):
        kubesquall.sweep(document, files=files, precision=2.0)
    with pytest.raises(TypeError, match="files"):
        kubesquall.run(tmp_path / "scenario.yaml", files=FILES)
    for error in (kubesquall.InputError, kubesquall.ResultsError, kubesquall.PlaceError, kubesquall.InternalError):
        assert issubclass(error, kubesquall.KubesquallError)


def test_documents_are_checked() -> None:
    document, files = study()
    assert kubesquall.check(scenario(), files=FILES).kind == "Scenario"
    assert kubesquall.check(document, files=files).kind == "Study"
    assert kubesquall.check(FILES["apps/web.yaml"]).kind == "manifest"


def long_study() -> tuple[dict, dict]:
    document, files = study(400)
    files["crashes.yaml"]["spec"]["duration"] = "90d"
    return document, files


def test_a_function_is_told_and_can_stop() -> None:
    document, files = study(3)
    told: list[tuple[str, int, int]] = []
    kubesquall.sweep(document, files=files, progress=lambda *so_far: told.append(so_far))
    assert told[-1] == ("waits", 6, 6) and all(done <= steps for _, done, steps in told)

    class Enough(Exception):
        pass

    def stop(_what: str, _done: int, _steps: int) -> None:
        raise Enough

    document, files = long_study()
    began = time.monotonic()
    with pytest.raises(Enough):
        kubesquall.sweep(document, files=files, progress=stop)
    assert time.monotonic() - began < 5


def test_tqdm_shows_bars(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    kubesquall.run(scenario(), files=FILES, progress=True)
    assert "one-node-dies" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["sweep", "run"])
def test_ctrl_c_stops_within_a_second(tmp_path: Path, verb: str) -> None:
    document, files = long_study()
    on_disk(tmp_path, {"study.yaml": document, **files})
    call = "sweep('study.yaml', out='results')" if verb == "sweep" else "run('crashes.yaml', set=['spec.duration=9999d'])"
    program = f"import kubesquall\nprint('begun', flush=True)\nkubesquall.{call}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=-1, stderr=-1, text=True, env=environment)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(3)
    assert child.poll() is None, "it was to take longer"
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert time.monotonic() - began < 2
    assert said.rstrip().endswith("KeyboardInterrupt"), said
    if verb == "sweep":
        # What had been played by then is kept, and the rest can be played.
        with pytest.raises(kubesquall.PlaceError):
            kubesquall.sweep(tmp_path / "study.yaml", out=tmp_path / "results")


def test_threads_play_side_by_side() -> None:
    seeds = range(6)
    alone = [kubesquall.run(scenario(), files=FILES, seed=seed).digest for seed in seeds]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(lambda seed: kubesquall.run(scenario(), files=FILES, seed=seed).digest, seeds))
    assert together == alone and len(set(alone)) > 1


def test_python_goes_on_while_something_is_played() -> None:
    document, files = study(8)
    ticks, is_over = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not is_over.wait(0.01):
            ticks += 1

    ticking = threading.Thread(target=tick)
    ticking.start()
    began = time.monotonic()
    try:
        kubesquall.sweep(document, files=files)
        length = time.monotonic() - began
    finally:
        is_over.set()
        ticking.join()
    assert ticks > length / 0.01 / 10


def test_faults_are_imported(tmp_path: Path) -> None:
    table = "node,failed,repaired\na,10,20\nb,30,45\na,70,90\nc,100,104\n"
    imported = kubesquall.import_faults(table, nodes=40, name="crashes")
    assert "kind: Crash" in imported.document
    path = imported.write(tmp_path)
    assert path == tmp_path / "crashes.yaml" and path.read_text() == str(imported)
    with pytest.raises(FileExistsError):
        imported.write(tmp_path)
    drawn = kubesquall.import_faults(table, nodes=4, name="crashes", resample=50, seed=3)
    assert "crashes-resampled.yaml" in drawn.files and str(drawn) != str(imported)
    with pytest.raises(kubesquall.ArgumentError, match="it takes 20 to 1000"):
        kubesquall.import_faults(table, nodes=4, resample=3)
    with pytest.raises(kubesquall.ArgumentError, match="`Crush` is no kind of fault"):
        kubesquall.import_faults(table, fault="Crush")
    with pytest.raises(kubesquall.ArgumentError, match="table.csv"):
        kubesquall.import_faults("node\na\n")


def test_clusters_are_imported_as_the_command_does(tmp_path: Path, command) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    node["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    on_disk(tmp_path, {"dump.json": {"apiVersion": "v1", "kind": "List", "items": [node, FILES["apps/web.yaml"]]}})
    command("import", "cluster", "dump.json", "-o", "cluster.yaml", cwd=tmp_path)
    imported = kubesquall.import_cluster(tmp_path / "dump.json")
    assert imported.document == (tmp_path / "cluster.yaml").read_text()
    with pytest.raises(kubesquall.InputError, match="bundle"):
        kubesquall.import_cluster(tmp_path / "nothing")


def test_an_outage_is_imported_as_the_command_does(tmp_path: Path, command) -> None:
    evidence = [NODE_LOST / "events.json", NODE_LOST / "metrics.json"]
    cluster = NODE_LOST / "cluster.json"
    command("import", "outage", *evidence, "--cluster", cluster, "-o", "outage", "--refine=4", cwd=tmp_path)
    imported = kubesquall.import_outage(evidence, cluster, refine=4)
    assert imported.document == imported.files["outage.yaml"]
    assert {name: text.encode() for name, text in imported.files.items()} == contents(tmp_path / "outage")
    with pytest.raises(kubesquall.ArgumentError, match="no such offset"):
        kubesquall.import_outage(evidence, cluster, timezone="25")


def test_results_of_an_outage_are_held_against_what_was_seen(tmp_path: Path) -> None:
    seen = tmp_path / "observed.csv"
    seen.write_text("time_s,earliest_s,latest_s,fact,name,value\n108,90,120,NodeReady,worker-0,Unknown\n")
    run = kubesquall.run(scenario(), files=FILES, observed=seen)
    assert run.summary["agreement"]["same"] == 1 and len(run.agreement) == 1
    assert contents(run.write(tmp_path / "run"))["agreement.csv"]
