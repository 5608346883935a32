"""Studies and forecasts on a Ray cluster, with the same bytes as on one machine.

A study is cut into parts, as by ``sweep(shard=...)``. Each is a task: played anew, with the same result, if its worker or its machine is
lost, and a second time if it keeps all others waiting. Here the parts are merged.

What a forecast plays next follows from what it has played. So every worker goes through the whole of it, and makes those of its plays
that nobody else has made or is making; so does this process, which makes none.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path as FilePath
from types import SimpleNamespace
from typing import Any

import kubesquall

from . import _inputs, _kubesquall
from ._inputs import Document, Files, Path, Settings
from ._progress import Progress, told
from ._results import Forecast, Study

_PARTS_PER_CPU = 16
"""At most: a slow machine, or a part that is played anew, then holds the others up for a sixteenth of the time."""
_ONCE_SHARE = 0.05
"""Which share of the time may go to what each part does anew, which is to bring clusters up."""
_PART_S = 2.0
"""How long a part takes at least: sending one takes some hundredths of a second."""
_MEASURED_S = 1.0
"""For how long runs are measured before the study is cut."""
_RETRIES = 20
"""How often a part is played anew whose worker or machine is lost."""
_PATIENCE = 2.0
"""After how many times the length of the longest part those that are missing are played a second time."""
_LOOK_EVERY_S = 1.0
"""How often it is looked whether somebody keeps all others waiting."""
_PLAYS_AT_ONCE = 16
"""Plays of a forecast that are made side by side at most: more have to wait for what these tell."""
_PLAY_S = 30.0
"""After how long a play is given to somebody else, too, before any has ended."""
_PLAY_AGAIN_S = 1.0
"""The same at least, once it is known how long plays take."""
_POLL_S = 0.01
"""How long who waits for others waits before asking again."""
_NO_PART = f"{(1 << 64) - 1}/{(1 << 64) - 1}"
"""A part without a run: a study as it is read."""


def sweep(
    study: Document,
    *,
    address: str | None = None,
    parts: int | None = None,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    indifference: float | None = None,
    cost_by: str | None = None,
    allow_undone: bool = False,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Study:
    """Plays every variant of a study with every seed, on a Ray cluster.

    Args:
        study: The study. A path has to lead to the same files on all machines; a text or a dict with `files` needs none.
        address: The cluster, as `ray.init` takes it; none for one that is connected already, or one on this machine.
        parts: Into how many parts it is cut; none for what measuring some runs says. Of no consequence for the results.
        set: Other values than its scenario says.
        files: The files that it names, if they are not on disk.
        out: A directory for the results, on this machine.
        force: Whether to replace whatever is there.
        indifference: Calls nothing cheaper that saves a smaller share than this of what the baseline costs; none for what the study says.
        cost_by: Judges variants not by the mean cost of their runs but by bad ones, such as ``"cvar:95%"``; none for what the study says.
        allow_undone: Whether a variant may win that leaves more undone than the baseline.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
        progress: Whether to show how many parts are there, with tqdm; or a function that is told.

    Raises:
        InputError: Something is wrong with the study or what it names, here or on another machine.
        ArgumentError: The options contradict one another, or another machine reads another study.
        PlaceError: `out` is taken.
    """
    return _study(
        kubesquall.sweep,
        study,
        address,
        parts,
        out,
        force,
        progress,
        set=set,
        files=files,
        indifference=indifference,
        cost_by=cost_by,
        allow_undone=allow_undone,
        allow_partial=allow_partial,
    )


def tune(
    study: Document,
    *,
    address: str | None = None,
    parts: int | None = None,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    indifference: float | None = None,
    cost_by: str | None = None,
    allow_undone: bool = False,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Study:
    """Sweeps a study on a Ray cluster, and recommends what costs least.

    The recommendation is played against the baseline on this machine. Arguments and exceptions are those of `sweep`.
    """
    return _study(
        kubesquall.tune,
        study,
        address,
        parts,
        out,
        force,
        progress,
        set=set,
        files=files,
        indifference=indifference,
        cost_by=cost_by,
        allow_undone=allow_undone,
        allow_partial=allow_partial,
    )


def forecast(
    cluster: Document | Iterable[Path],
    *,
    address: str | None = None,
    set: Settings = (),
    seed: int | None = None,
    out: Path | None = None,
    force: bool = False,
    plays: int | None = None,
    years: int | None = None,
    precision: float | None = None,
    rates: Document | None = None,
    catalog: Document | None = None,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Forecast:
    """Finds what hurts a cluster most, on a Ray cluster: on sixteen of its CPUs at most, as what is played next follows from what was played.

    Paths have to lead to the same files on all machines; `address` is that of `sweep`. Other arguments, and exceptions, are those of
    `kubesquall.forecast`; also `ArgumentError`, if another machine reads another cluster.
    """
    source, reading = _inputs.cluster(cluster), _inputs.reading(set, seed, allow_partial)
    forecasting = _inputs.forecasting(threads=1, plays=plays, years=years, precision=precision, rates=rates, catalog=catalog)
    with told(progress) as tell, _Pool(address, source, reading, forecasting) as pool:
        forecasting.pool = pool
        return Forecast(_kubesquall.forecast(source, reading, _inputs.writing(out, force), forecasting, progress=tell))


def _study(
    verb: Callable[..., Study],
    study: Document,
    address: str | None,
    parts: int | None,
    out: Path | None,
    force: bool,
    progress: Progress,
    **keywords: Any,
) -> Study:
    if parts is not None and parts < 1:
        raise kubesquall.ArgumentError(f"a study cannot be cut into {parts} parts")
    # What is wrong is said here, before anything is sent or played.
    reading = _inputs.reading(keywords["set"], None, keywords["allow_partial"])
    source = _inputs.source(study, keywords["files"])
    _kubesquall.check_study(source, reading, _inputs.writing(out, force), tunes=verb is kubesquall.tune)
    unplayed = kubesquall.sweep(study, shard=_NO_PART, **keywords)
    cluster = _Cluster(address, study, keywords)
    if parts is None:
        parts = cluster.parts(len(unplayed.variants), unplayed.summary["study"]["replications"])
    with tempfile.TemporaryDirectory(prefix="kubesquall-") as place:
        dirs = [FilePath(place) / str(part) for part in range(1, parts + 1)]
        with told(progress) as tell:
            for done, (part, files) in enumerate(cluster.played(parts), 1):
                _expect_same(unplayed, files)
                _unpack(dirs[part - 1], files)
                if tell is not None:
                    tell(1, unplayed.name, done, parts)
        whole = os.path.join(place, "whole")
        kubesquall.merge(dirs).write(whole, charts=False)
        # With nothing left to play: as if all had been played here.
        answered = verb(study, out=whole, resume=True, **keywords)
        # From memory, to where they are to be, or to wherever charts are drawn from.
        return answered._moved(out, force)


def _connected(address: str | None) -> tuple[Any, int]:
    """Ray, and how many CPUs its cluster has."""
    ray: Any = importlib.import_module("ray")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    return ray, max(1, int(ray.cluster_resources().get("CPU", 1)))


class _Pool:
    """Workers that work a forecast out together with this process, which makes no play."""

    def __init__(self, address: str | None, *forecast: SimpleNamespace) -> None:
        self._address, self._forecast = address, forecast
        self._ray: Any = None
        self._plays: Any = None
        self._listener: _Member
        self._tasks: list[Any] = []

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_raised: object) -> None:
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        if self._plays is not None:
            self._ray.kill(self._plays)

    def begin(self, fingerprint: int) -> None:
        """All has been read and is right: the others may begin."""
        self._ray, cpus = _connected(self._address)
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        here = strategies.NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        # It is lost with this process, not with another machine.
        self._plays = self._ray.remote(num_cpus=0, scheduling_strategy=here)(_Plays).remote()
        self._listener = _Member(self._ray, self._plays, makes=False)
        self._listener.begin(fingerprint)
        source, reading, forecasting = self._forecast
        dir = os.getcwd() if source.paths else None
        given = self._ray.put((dir, source, reading, SimpleNamespace(**{**vars(forecasting), "pool": None})))
        work = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_take_part)
        self._tasks = [work.remote(given, self._plays) for _ in range(min(cpus, _PLAYS_AT_ONCE))]

    def next(self, batch: int, count: int, made: None) -> int | list[str] | None:
        # Of those who cannot take part: why.
        ended, _ = self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=0)
        self._ray.get(ended)
        return self._listener.next(batch, count, made)


class _Member:
    """Who works a forecast out with others, and makes plays or only listens."""

    def __init__(self, ray: Any, plays: Any, *, makes: bool) -> None:
        self._ray, self._plays, self._makes = ray, plays, makes

    def begin(self, fingerprint: int) -> None:
        self._ray.get(self._plays.begin.remote(fingerprint))

    def next(self, batch: int, count: int, made: tuple[int, str] | None) -> int | list[str] | None:
        answer: int | list[str] | None = self._ray.get(self._plays.next.remote(batch, count, made, self._makes))
        if answer is None:
            time.sleep(_POLL_S)
        return answer


def _take_part(forecast: tuple[str | None, SimpleNamespace, SimpleNamespace, SimpleNamespace], plays: Any) -> None:
    """Works a forecast out with others, for whoever has asked."""
    dir, source, reading, forecasting = forecast
    forecasting.pool = _Member(importlib.import_module("ray"), plays, makes=True)
    # Results name files as they were given, so that these have to be found under the same names.
    before = os.getcwd()
    try:
        if dir is not None:
            os.chdir(dir)
        _kubesquall.forecast(source, reading, _inputs.writing(None, False), forecasting, progress=None)
    except FileNotFoundError as error:
        raise kubesquall.InputError(f"a machine of the cluster has no directory `{dir}`, from which paths lead on") from error
    finally:
        os.chdir(before)


class _Plays:
    """The plays of a forecast: those that are over, and who makes which."""

    def __init__(self) -> None:
        self._fingerprint: int | None = None
        self._batches: dict[int, tuple[list[str | None], dict[int, float]]] = {}
        self._longest_s: float | None = None

    def begin(self, fingerprint: int) -> None:
        if self._fingerprint not in (None, fingerprint):
            raise kubesquall.ArgumentError(
                "a machine of the cluster reads another cluster to forecast than others: a path has to lead to the same files on all of them, "
                "and all need the same version of kubesquall"
            )
        self._fingerprint = fingerprint

    def next(self, batch: int, count: int, made: tuple[int, str] | None, makes: bool) -> int | list[str] | None:
        """The play that is to be made next, all of the batch if it is over, or nothing yet."""
        texts, begun = self._batches.setdefault(batch, ([None] * count, {}))
        now = time.monotonic()
        if made is not None:
            at, text = made
            texts[at] = text
            self._longest_s = max(self._longest_s or 0.0, now - begun.pop(at, now))
        missing = [at for at, text in enumerate(texts) if text is None]
        if not missing:
            return [text for text in texts if text is not None]
        if not makes:
            return None
        for at in missing:
            if at not in begun:
                begun[at] = now
                return at
        # Somebody is slow, hangs or is lost. Whoever ends first gives the same.
        oldest = min(missing, key=lambda at: begun[at])
        patience_s = _PLAY_S if self._longest_s is None else max(_PLAY_AGAIN_S, _PATIENCE * self._longest_s)
        if now - begun[oldest] <= patience_s:
            return None
        begun[oldest] = now
        return oldest


class _Cluster:
    """A Ray cluster that plays a study."""

    def __init__(self, address: str | None, study: Document, keywords: dict[str, Any]) -> None:
        self._ray, self._cpus = _connected(address)
        document: Document = study
        if isinstance(study, os.PathLike) or isinstance(study, str) and not _inputs.is_text(study):
            document = os.path.abspath(study)
        files = keywords["files"]
        plain = {
            **keywords,
            "set": _inputs.settings(keywords["set"]),
            "files": None if files is None else dict(_inputs.texts(files)),
        }
        # Once to each machine, not with every task.
        self._study = self._ray.put((document, plain))

    def _task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        remote = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(function)
        return remote.remote(self._study, *arguments)

    def parts(self, variants: int, replications: int) -> int:
        """Into how many parts it is to be cut, by what some of its runs cost on one of the machines."""
        once_s, run_s = self._ray.get(self._task(_cost))
        return _parts(variants, variants * replications, once_s, run_s, self._cpus)

    def played(self, parts: int) -> Iterator[tuple[int, dict[str, bytes]]]:
        """The files of each part, in the order in which they are over."""
        tasks = {self._task(_part, f"{part}/{parts}"): part for part in range(1, parts + 1)}
        missing = {*range(1, parts + 1)}
        again: set[int] = set()
        longest_s, heard_at = math.inf, time.monotonic()
        try:
            while missing:
                ended, _ = self._ray.wait(list(tasks), timeout=_LOOK_EVERY_S)
                for task in ended:
                    part = tasks.pop(task)
                    if part not in missing:
                        continue
                    took_s, files = self._ray.get(task)
                    longest_s = took_s if longest_s == math.inf else max(longest_s, took_s)
                    heard_at = time.monotonic()
                    missing.remove(part)
                    yield part, files
                # Nothing waits for a CPU, and others do nothing: a machine may be slow, or hang. Whichever ends first gives the same.
                if len(missing) < self._cpus and time.monotonic() - heard_at > _PATIENCE * longest_s:
                    for part in sorted(missing - again):
                        tasks[self._task(_part, f"{part}/{parts}")] = part
                    again |= missing
        finally:
            for task in tasks:
                self._ray.cancel(task, force=True)


def _parts(variants: int, runs: int, once_s: float, run_s: float, cpus: int) -> int:
    """Into how many parts a study is cut: many, so that nobody waits long for the last one, but not so many that bringing up clusters
    and sending take long.

    Args:
        variants: How many variants it has.
        runs: How many runs of all variants.
        once_s: How long it takes to bring up the cluster of a variant.
        run_s: How long a run takes then.
        cpus: How many parts are played at once.
    """
    whole_s = runs * run_s
    most = min(cpus * _PARTS_PER_CPU, whole_s / _PART_S)
    if once_s > 0:
        most = min(most, whole_s * _ONCE_SHARE / once_s)
    parts = max(cpus, int(most))
    # Runs are dealt out one after the other, the variants in turn: of a multiple of these each part plays one, and brings up one cluster.
    return min(runs, math.ceil(parts / variants) * variants)


class _Enough(Exception):
    pass


def _cost(study: tuple[Any, dict[str, Any]]) -> tuple[float, float]:
    """Plays the first runs of a study for a while: how long it takes to bring up a cluster, and how long a run takes then."""
    document, keywords = study
    seen: list[tuple[float, int]] = []
    began = time.monotonic()

    def look(_what: str, done: int, _steps: int) -> None:
        if done > (seen[-1][1] if seen else 0):
            seen.append((time.monotonic() - began, done))
            if len(seen) > 1 and seen[-1][0] - seen[0][0] > _MEASURED_S:
                raise _Enough

    try:
        kubesquall.sweep(document, threads=1, progress=look, **keywords)
    except _Enough:
        pass
    (first_s, first), (last_s, last) = seen[0], seen[-1]
    run_s = (last_s - first_s) / (last - first) if last > first else first_s / first
    return max(0.0, first_s - first * run_s), run_s


def _part(study: tuple[Any, dict[str, Any]], shard: str) -> tuple[float, dict[str, bytes]]:
    """Plays a part on one thread: how long it took, and its files."""
    document, keywords = study
    began = time.monotonic()
    played = kubesquall.sweep(document, shard=shard, threads=1, **keywords)
    with tempfile.TemporaryDirectory(prefix="kubesquall-") as place:
        dir = played.write(os.path.join(place, "part"), charts=False)
        files = {path.name: path.read_bytes() for path in dir.iterdir() if path.is_file()}
    return time.monotonic() - began, files


def _expect_same(unplayed: Study, files: dict[str, bytes]) -> None:
    """Refuses a part of another study than that which is read here."""

    def told(study: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in study.items() if key not in ("file", "shard")}

    if told(json.loads(files["summary.json"])["study"]) != told(unplayed.summary["study"]):
        raise kubesquall.ArgumentError(
            f"a machine of the cluster reads another study `{unplayed.name}` than this one: a path has to lead to the same files on all of "
            "them, and all need the same version of kubesquall"
        )


def _unpack(dir: FilePath, files: dict[str, bytes]) -> None:
    dir.mkdir()
    for name, content in files.items():
        (dir / name).write_bytes(content)
