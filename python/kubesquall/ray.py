"""Studies on a Ray cluster, with the same bytes as on one machine.

A study is cut into parts, as by ``sweep(shard=...)``. Each is a task: played anew, with the same result, if its worker or its machine is
lost. Here the parts are merged.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path as FilePath
from typing import Any

import kubesquall

from . import _inputs
from ._inputs import Document, Files, Path, Settings
from ._results import Study

_PARTS_PER_CPU = 4
"""So that a slow machine, or a part that is played anew, holds the others up for a quarter of the time at most."""
_RETRIES = 20
"""How often a part is played anew whose worker or machine is lost."""


def sweep(
    study: Document,
    *,
    address: str | None = None,
    parts: int | None = None,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    allow_undone: bool = False,
    allow_partial: bool = False,
) -> Study:
    """Plays every variant of a study with every seed, on a Ray cluster.

    Args:
        study: The study. A path has to lead to the same files on all machines; a text or a dict with `files` needs none.
        address: The cluster, as `ray.init` takes it; none for one that is connected already, or one on this machine.
        parts: Into how many parts it is cut; none for four for each CPU of the cluster. Of no consequence for the results.
        set: Other values than its scenario says.
        files: The files that it names, if they are not on disk.
        out: A directory for the results, on this machine.
        force: Whether to replace whatever is there.
        allow_undone: Whether a variant may win that leaves more undone than the baseline.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
    """
    ray: Any = _connected(address)
    if parts is None:
        parts = max(1, _PARTS_PER_CPU * int(ray.cluster_resources().get("CPU", 1)))
    if parts < 1:
        raise kubesquall.ArgumentError(f"a study cannot be cut into {parts} parts")
    # What is wrong with it is said here, before anything is sent.
    checked = kubesquall.check(study, set=set, files=files, allow_partial=allow_partial)
    if not checked:
        kubesquall.sweep(study, set=set, files=files, allow_partial=allow_partial)
    document: Document = study
    if isinstance(study, os.PathLike) or isinstance(study, str) and not _inputs.is_text(study):
        document = os.path.abspath(study)
    keywords = {
        "set": _inputs.settings(set),
        "files": None if files is None else dict(_inputs.texts(files)),
        "allow_undone": allow_undone,
        "allow_partial": allow_partial,
    }
    remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_part)
    tasks = [remote.remote(document, keywords, f"{part}/{parts}") for part in range(1, parts + 1)]
    with tempfile.TemporaryDirectory(prefix="kubesquall-") as place:
        try:
            dirs = [_unpacked(FilePath(place) / str(part), ray.get(task)) for part, task in enumerate(tasks)]
        except BaseException:
            for task in tasks:
                ray.cancel(task)
            raise
        return kubesquall.merge(dirs, out=out, force=force)


def tune(
    study: Document,
    *,
    address: str | None = None,
    parts: int | None = None,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    allow_undone: bool = False,
    allow_partial: bool = False,
) -> Study:
    """Sweeps a study on a Ray cluster, and recommends what costs least.

    The recommendation is played against the baseline on this machine. Arguments are those of `sweep`.
    """
    keywords: dict[str, Any] = {"set": set, "files": files, "allow_undone": allow_undone, "allow_partial": allow_partial}
    with tempfile.TemporaryDirectory(prefix="kubesquall-") as place:
        swept = os.path.join(place, "swept")
        sweep(study, address=address, parts=parts, out=swept, **keywords)
        tuned = kubesquall.tune(study, out=swept, resume=True, **keywords)
        # From memory, to where they are to be, or to wherever charts are drawn from.
        return tuned._moved(out, force)


def _connected(address: str | None) -> Any:
    ray: Any = importlib.import_module("ray")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    return ray


def _part(document: Any, keywords: dict[str, Any], shard: str) -> dict[str, bytes]:
    """Plays a part on one thread: its files."""
    played = kubesquall.sweep(document, shard=shard, threads=1, **keywords)
    with tempfile.TemporaryDirectory(prefix="kubesquall-") as place:
        dir = played.write(os.path.join(place, "part"), charts=False)
        return {path.name: path.read_bytes() for path in dir.iterdir() if path.is_file()}


def _unpacked(dir: FilePath, files: dict[str, bytes]) -> FilePath:
    dir.mkdir()
    for name, content in files.items():
        (dir / name).write_bytes(content)
    return dir
