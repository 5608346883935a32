"""A result is that of the command line, in memory as on disk."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import kubesquall
from conftest import API, FILES, contents, on_disk, scenario, study


@pytest.fixture(scope="module")
def run() -> kubesquall.Run:
    return kubesquall.run(scenario(), files=FILES, seed=42)


def test_a_dict_is_played(run: kubesquall.Run) -> None:
    assert (run.name, run.seed, run.holds) == ("one-node-dies", 42, True)
    assert run.metrics["evictions"] == 2
    assert run.summary["metrics"] == run.metrics
    assert len(run.digest) == 16 and run.digest in repr(run)
    assert run.verdict and all(isinstance(sentence, str) for sentence in run.verdict)


def test_text_path_and_dict_are_one(tmp_path: Path, run: kubesquall.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    text = json.dumps(scenario(), indent=2)
    assert kubesquall.run(text, files=FILES, seed=42).digest == run.digest
    on_disk(tmp_path, {"scenario.yaml": scenario(), **FILES})
    assert kubesquall.run(tmp_path / "scenario.yaml", seed=42).digest == run.digest
    # What a dict names is read from the current directory.
    monkeypatch.chdir(tmp_path)
    assert kubesquall.run(scenario(), seed=42).digest == run.digest
    assert kubesquall.run("scenario.yaml", seed=42).digest == run.digest
    assert kubesquall.run(run.lock_file).digest == run.digest


def test_values_are_set(run: kubesquall.Run) -> None:
    path = "spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds"
    sooner = kubesquall.run(scenario(), files=FILES, seed=42, set={path: 60})
    assert sooner.metrics["unready_replica_s"] < run.metrics["unready_replica_s"]
    assert sooner.digest == kubesquall.run(scenario(), files=FILES, seed=42, set=[f"{path}=60"]).digest
    assert sooner.summary["overrides"] == [f"{path}=60"]


def test_lengths_have_three_forms() -> None:
    played = [kubesquall.run(scenario(), files=FILES, until=until) for until in ("2m", 120, timedelta(minutes=2))]
    assert {run.summary["duration_s"] for run in played} == {120.0}
    assert len({run.digest for run in played}) == 1
    with pytest.raises(ValueError, match="no duration"):
        kubesquall.run(scenario(), files=FILES, until=0)


def test_a_run_is_written_with_the_bytes_of_the_command(tmp_path: Path, command) -> None:
    on_disk(tmp_path, {"scenario.yaml": scenario(), **FILES})
    command("run", "scenario.yaml", "--seed", 7, "--out", "by-command", cwd=tmp_path)
    run = kubesquall.run(tmp_path / "scenario.yaml", seed=7, out=tmp_path / "by-out")
    assert run.dir == tmp_path / "by-out"
    assert run.write(tmp_path / "by-write") == tmp_path / "by-write"
    expected = contents(tmp_path / "by-command")
    assert {"summary.json", "pods.csv", "report.html", "charts/node-states.svg"} <= expected.keys()
    for place in ("by-out", "by-write"):
        found = contents(tmp_path / place)
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name] != expected[name]] == []


@pytest.mark.parametrize("verb", ["sweep", "tune"])
def test_a_study_is_written_with_the_bytes_of_the_command(
    tmp_path: Path, command, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, files = study()
    on_disk(tmp_path, {"study.yaml": document, **files})
    command(verb, "study.yaml", "--out", "by-command", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    getattr(kubesquall, verb)("study.yaml").write(tmp_path / "by-write")
    getattr(kubesquall, verb)("study.yaml", out=tmp_path / "by-out", threads=1)
    expected = contents(tmp_path / "by-command")
    assert "runs.csv" in expected and ("patch.sh" in expected) == (verb == "tune")
    assert contents(tmp_path / "by-write") == expected
    assert contents(tmp_path / "by-out") == expected
    # One that is no file has no name in its summary; all else is the same.
    getattr(kubesquall, verb)(document, files=files).write(tmp_path / "of-a-dict")
    found = contents(tmp_path / "of-a-dict")
    assert [name for name in expected if found[name] != expected[name]] == ["report.html", "summary.json"]


def test_contenders_are_those_of_the_command(tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch) -> None:
    document, files = study(60)
    on_disk(tmp_path, {"study.yaml": document, **files})
    command("tune", "study.yaml", "--contenders", "--out", "by-command", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    tuned = kubesquall.tune("study.yaml", contenders=True, out=tmp_path / "by-out")
    assert contents(tmp_path / "by-out") == contents(tmp_path / "by-command")
    assert tuned.summary["study"]["selection"]["replications_max"] == 60


def test_what_an_answer_rests_on_is_written_with_the_bytes_of_the_command(
    tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, files = study(4)
    document["spec"]["assumed"] = [{"path": "spec.latency.podStart", "from": "1s", "to": "10s"}]
    on_disk(tmp_path, {"study.yaml": document, **files})
    command("sensitivity", "study.yaml", "--trajectories", "2", "--out", "by-command", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    found = kubesquall.sensitivity("study.yaml", trajectories=2, out=tmp_path / "by-out")
    found.write(tmp_path / "by-write")
    assert contents(tmp_path / "by-write") == contents(tmp_path / "by-command") == contents(tmp_path / "by-out")
    assert [of["name"] for of in found.inputs] == ["podStart"] and list(found.tables) == ["sensitivity.csv", "points.csv"]
    assert found.verdict and found.summary["trajectories"] == 2


def test_bad_runs_are_judged_as_by_the_command(tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch) -> None:
    document, files = study(60)
    document["spec"]["require"] = [{"metric": "evictions", "atMost": 1000, "probability": 0.9}]
    on_disk(tmp_path, {"study.yaml": document, **files})
    command("tune", "study.yaml", "--cost-by", "cvar:80%", "--out", "by-command", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    tuned = kubesquall.tune("study.yaml", cost_by="cvar:80%", out=tmp_path / "by-out")
    assert contents(tmp_path / "by-out") == contents(tmp_path / "by-command")
    assert tuned.summary["judged_by"]["metric"] == "cost_cvar_80" and "requirements.csv" in tuned.tables
    with pytest.raises(kubesquall.ArgumentError):
        kubesquall.sweep("study.yaml", cost_by="cvar:5%")


def test_a_plan_is_written_with_the_bytes_of_the_command(
    tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = [{"name": "worker", "min": 1, "max": 4}]
    spec = {"scenario": "scenario.yaml", "pools": pools, "survive": ["node"]}
    document = {"apiVersion": API, "kind": "Plan", "metadata": {"name": "enough"}, "spec": spec}
    files = {"scenario.yaml": scenario(timeline=[]), **FILES}
    on_disk(tmp_path, {"plan.yaml": document, **files})
    command("plan", "plan.yaml", "--blast-radius", "--out", "by-command", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    planned = kubesquall.plan("plan.yaml", blast_radius=True, out=tmp_path / "by-out")
    planned.write(tmp_path / "by-write")
    assert contents(tmp_path / "by-write") == contents(tmp_path / "by-command") == contents(tmp_path / "by-out")
    assert planned.answer == {"worker": 2} and list(planned.tables) == ["plan.csv", "cases.csv", "blast-radius.csv"]
    assert kubesquall.plan("plan.yaml", placements=3).summary["placements"]["count"] == 3
    assert planned["cases"].column_names[0] in contents(tmp_path / "by-write")["cases.csv"].decode()


def test_charts_and_page_are_those_of_the_directory(tmp_path: Path, run: kubesquall.Run) -> None:
    place = run.write(tmp_path / "run")
    assert run.page == (place / "report.html").read_text()
    assert run.charts == {path.name: path.read_text() for path in (place / "charts").iterdir()}
    assert run.charts["node-states.svg"]._repr_svg_().startswith("<svg")
    frame = run._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<script" not in frame
    opened = kubesquall.open(place)
    assert opened.summary == run.summary
    assert list(opened.tables) == list(run.tables)


def test_a_run_is_explained_and_compared(run: kubesquall.Run) -> None:
    story = run.explain("worker-0")
    assert story["object"] == "node/worker-0"
    assert str(story).startswith("node/worker-0\n") and "<pre>" in story._repr_html_()
    assert run.explain("worker-0", all=True)["chapters"]
    same = run.diff(kubesquall.run(scenario(), files=FILES, seed=42))
    assert same.alike
    other = run.diff(kubesquall.run(scenario(), files=FILES, seed=42, until="5m"))
    assert not other.alike and other.page.startswith("<!")
    with pytest.raises(kubesquall.ResultsError, match="nothing in the run is called"):
        run.explain("worker-77")


def test_a_study_tells_variants(tmp_path: Path) -> None:
    document, files = study()
    tuned = kubesquall.tune(document, files=files)
    assert tuned.variants == [["60"], ["300"]] and tuned.best in (0, 1)
    costs = tuned.metric("cost")
    assert len(costs) == 2 and all(low <= mean <= high for mean, low, high in costs)
    assert tuned.patch.startswith("#!") and list(tuned.tables) == ["runs.csv", "variants.csv", "tuning.csv"]
    assert len(tuned.runs) == 8 and tuned.charts and tuned.page
    with pytest.raises(kubesquall.ArgumentError, match="no metric"):
        tuned.metric("price")


def test_parts_of_a_study_are_the_whole(tmp_path: Path) -> None:
    document, files = study()
    whole = kubesquall.sweep(document, files=files).write(tmp_path / "whole")
    parts = [tmp_path / f"part-{part}" for part in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        kubesquall.sweep(document, files=files, shard=f"{number}/3", out=part)
    kubesquall.merge(parts, out=tmp_path / "merged")
    assert contents(tmp_path / "merged") == contents(whole)


def test_a_forecast_is_that_of_the_command(tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk(tmp_path, {"scenario.yaml": scenario(timeline=[]), **FILES})
    command("forecast", "scenario.yaml", "--plays", 12, "--years", 2, "--out", "by-command", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    worked_out = kubesquall.forecast("scenario.yaml", plays=12, years=2)
    worked_out.write(tmp_path / "by-write")
    assert contents(tmp_path / "by-write") == contents(tmp_path / "by-command")
    assert worked_out.name == "one-node-dies" and isinstance(worked_out.findings, list)


def test_pending_pods_are_scheduled() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "small"},
        "status": {
            "allocatable": {"cpu": "1", "memory": "4Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }

    def pod(name: str, cpu: str) -> dict:
        container = {"name": "web", "image": "web", "resources": {"requests": {"cpu": cpu}}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}

    decisions = kubesquall.schedule({"state.yaml": [node, pod("fits", "500m"), pod("large", "2")]})
    assert [(decision["pod"], decision["node"]) for decision in decisions] == [
        ("default/fits", "small"),
        ("default/large", None),
    ]
    assert decisions[1]["filtered"]["small"]["reasons"] == ["Insufficient cpu"]
    assert decisions.left_out == {}
    with pytest.raises(kubesquall.ArgumentError, match="there is no pod"):
        kubesquall.schedule({"state.yaml": [node]}, pods=["shop/web"])
