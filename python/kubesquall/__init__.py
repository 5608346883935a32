"""kubesquall: a deterministic discrete-event simulator of a Kubernetes cluster under chaos.

It plays node failures, zone outages, drains and rollouts second by second through a model of the control plane, and tells who is
evicted when, who stays Pending and why. The same inputs and seed give the same bytes as the command line, on any machine.

A document is the path of a file, a text, or a dict. What it names is read from disk, relative to the file, or to the current directory
if it is none; with ``files`` nothing is read from disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from types import SimpleNamespace

from . import _inputs, _kubesquall, _plugins
from ._errors import (
    ArgumentError,
    Diagnostic,
    HostError,
    InputError,
    InternalError,
    KubesquallError,
    PlaceError,
    PluginError,
    ResultsError,
)
from ._inputs import Document, Files, Length, Path, Settings
from ._kubesquall import VERSION as __version__
from ._kubesquall import Cluster, Node, Pod, Table
from ._plugins import Change, Controller, Filter, Plugin, Request, Score
from ._progress import Progress, told
from ._results import (
    Chart,
    Checked,
    Diff,
    Explanation,
    Forecast,
    Imported,
    Page,
    Plan,
    Report,
    Run,
    Schedule,
    Sensitivity,
    Study,
    Tables,
)

__all__ = [
    "ArgumentError",
    "Change",
    "Chart",
    "Checked",
    "Cluster",
    "Controller",
    "Diagnostic",
    "Diff",
    "Explanation",
    "Filter",
    "Forecast",
    "HostError",
    "Imported",
    "InputError",
    "InternalError",
    "KubesquallError",
    "Node",
    "Page",
    "PlaceError",
    "Plan",
    "Plugin",
    "PluginError",
    "Pod",
    "Report",
    "Request",
    "ResultsError",
    "Run",
    "Schedule",
    "Score",
    "Sensitivity",
    "Study",
    "Table",
    "Tables",
    "__version__",
    "check",
    "forecast",
    "import_cluster",
    "import_faults",
    "import_latencies",
    "import_outage",
    "merge",
    "open",
    "plan",
    "run",
    "schedule",
    "sensitivity",
    "sweep",
    "tune",
]


def run(
    scenario: Document,
    *,
    seed: int | None = None,
    set: Settings = (),
    until: Length | None = None,
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    sample: Length | None = None,
    observed: Path | None = None,
    plugins: Iterable[Plugin] = (),
    allow_partial: bool = False,
    progress: Progress = False,
) -> Run:
    """Plays a scenario.

    Args:
        scenario: The scenario.
        seed: What chance is drawn from, in place of the scenario's seed.
        set: Other values than it says, ``{"spec.timeline[0].at": "2m"}``.
        until: An earlier end.
        files: The files that it names, if they are not on disk.
        out: A directory to write the results to; an earlier run there is replaced.
        force: Whether to replace whatever is there.
        sample: Keeps at most one row of cluster.csv and zones.csv per this length of time.
        observed: What was seen of the real cluster (``observed.csv``), to hold the run against.
        plugins: Filters, scores and controllers of your own. They make it slower, and are part of neither the lock file nor any study.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
        progress: Whether to show how far it has got, with tqdm; or a function that is told.

    Raises:
        InputError: Something is wrong with the scenario or what it names.
        PlaceError: `out` is taken.
        PluginError: One of the plug-ins has raised something, which is the cause of this.
        KeyboardInterrupt: Ctrl-C.
    """
    with told(progress) as tell:
        return Run(
            _kubesquall.run(
                _inputs.source(scenario, files),
                _inputs.reading(set, seed, allow_partial),
                _inputs.writing(out, force),
                until=_inputs.length(until),
                sample=_inputs.length(sample),
                observed=None if observed is None else os.fspath(observed),
                plugins=_plugins.given(plugins),
                progress=tell,
            )
        )


def sweep(
    study: Document,
    *,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    resume: bool = False,
    threads: int | None = None,
    shard: str | None = None,
    precision: float | None = None,
    indifference: float | None = None,
    cost_by: str | None = None,
    rare: str | None = None,
    allow_undone: bool = False,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Study:
    """Plays every variant of a study with every seed.

    Args:
        study: The study.
        set: Other values than its scenario says.
        files: The files that it names, if they are not on disk.
        out: A directory for the results; each run is there as soon as it is over, so that what is interrupted can be resumed.
        force: Whether to begin anew whatever an interrupted sweep left, and to replace whatever is there.
        resume: Whether to go on where an interrupted sweep to `out` stopped, or from the results of a finished one.
        threads: At most so many; none for one a core. Of no consequence for the results.
        shard: One part of it, such as ``"2/4"``; `merge` puts the parts together.
        precision: Adds replications until the interval of each variant's cost is at most this share of it wide, such as 0.05.
        indifference: Calls nothing cheaper that saves a smaller share than this of what the baseline costs; none for what the study says.
        cost_by: Judges variants not by the mean cost of their runs but by bad ones: ``"cvar:95%"``, the mean of the worst 5 % of runs, or
            ``"quantile:95%"``, what 95 % of runs do not exceed; none for what the study says.
        rare: Says how often a run has a figure beyond a threshold, such as ``"unready_replica_s>5000"``, however rare that is: failures are
            drawn more often than they come, and runs carry weights; none for what the study says.
        allow_undone: Whether a variant may win that leaves more undone than the baseline.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
        progress: Whether to show how far it has got, with tqdm; or a function that is told.

    Raises:
        InputError: Something is wrong with the study or what it names.
        ArgumentError: The options contradict one another.
        PlaceError: `out` is taken.
        KeyboardInterrupt: Ctrl-C.
    """
    playing = SimpleNamespace(
        tunes=False,
        contenders=False,
        allow_undone=allow_undone,
        threads=threads,
        shard=shard,
        precision=precision,
        indifference=indifference,
        cost_by=cost_by,
        rare=rare,
        resume=resume,
    )
    return _study(study, files, _inputs.reading(set, None, allow_partial), _inputs.writing(out, force), playing, progress)


def tune(
    study: Document,
    *,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    resume: bool = False,
    threads: int | None = None,
    precision: float | None = None,
    indifference: float | None = None,
    cost_by: str | None = None,
    contenders: bool = False,
    allow_undone: bool = False,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Study:
    """Sweeps a study, recommends what costs least, and plays that against the baseline on new seeds.

    The study has to have prices. Ranges are searched by few points. With `contenders` those alone are played on, after 20 runs each, that may yet be cheapest, until that is
    decided. Other arguments, and exceptions, are those of `sweep`.
    """
    playing = SimpleNamespace(
        tunes=True,
        contenders=contenders,
        allow_undone=allow_undone,
        threads=threads,
        shard=None,
        precision=precision,
        indifference=indifference,
        cost_by=cost_by,
        rare=None,
        resume=resume,
    )
    return _study(study, files, _inputs.reading(set, None, allow_partial), _inputs.writing(out, force), playing, progress)


def _study(
    study: Document,
    files: Files | None,
    reading: SimpleNamespace,
    writing: SimpleNamespace,
    playing: SimpleNamespace,
    progress: Progress,
) -> Study:
    source = _inputs.source(study, files)
    with told(progress) as tell:
        return Study(_kubesquall.study(source, reading, writing, playing, progress=tell))


def sensitivity(
    study: Document,
    *,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    resume: bool = False,
    threads: int | None = None,
    trajectories: int | None = None,
    replications: int | None = None,
    variant: str | None = None,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Sensitivity:
    """Says how far the answer of a study rests on what it assumes.

    Args:
        study: The study, which has to have prices. What it lists as ``assumed`` is moved, or what usually is.
        set: Other values than its scenario says.
        files: The files that it names, if they are not on disk.
        out: A directory for the results; each run is there as soon as it is over, so that what is interrupted can be resumed.
        force: Whether to begin anew whatever was interrupted, and to replace whatever is there.
        resume: Whether to go on where an interrupted analysis to `out` stopped.
        threads: At most so many; none for one a core. Of no consequence for the results.
        trajectories: How many; each has one point more than there are inputs. None for 10.
        replications: Runs of each of the two variants at each point; none for 20, or as many as the study has, if these are fewer.
        variant: What is played beside the baseline, such as ``"wait=60, grace=40s"``; none for what the study recommends, which is then
            played first.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
        progress: Whether to show how far it has got, with tqdm; or a function that is told.

    Raises:
        InputError: Something is wrong with the study or what it names.
        ArgumentError: There is no such variant, nothing is assumed, or it takes too many runs.
        PlaceError: `out` is taken.
        KeyboardInterrupt: Ctrl-C.
    """
    with told(progress) as tell:
        return Sensitivity(
            _kubesquall.sensitivity(
                _inputs.source(study, files),
                _inputs.reading(set, None, allow_partial),
                _inputs.writing(out, force),
                threads=threads,
                trajectories=trajectories,
                replications=replications,
                variant=variant,
                resume=resume,
                progress=tell,
            )
        )


def merge(parts: Iterable[Path], *, out: Path | None = None, force: bool = False) -> Study:
    """Puts the parts of a study together, of which each directory was written by `sweep` with `shard`.

    Raises:
        ArgumentError: Some are missing, or of another study.
        ResultsError: A directory is damaged.
    """
    return Study(_kubesquall.merge(_inputs.paths(parts), _inputs.writing(out, force)))


def plan(
    plan: Document,
    *,
    set: Settings = (),
    files: Files | None = None,
    out: Path | None = None,
    force: bool = False,
    threads: int | None = None,
    exhaustive: bool = False,
    headroom: Iterable[str] = (),
    blast_radius: bool | str = False,
    placements: int | None = None,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Plan:
    """Finds the fewest nodes that survive given failures.

    Args:
        plan: The plan.
        set: Other values than its scenarios say.
        files: The files that it names, if they are not on disk.
        out: A directory to write the results to.
        force: Whether to replace whatever is there.
        threads: At most so many; none for one a core. Of no consequence for the answer.
        exhaustive: Whether to play the loss of every node and set of nodes, even of those that are alike.
        headroom: Workloads, such as ``deployment/shop/web``, of which to find how many more replicas the answer survives.
        blast_radius: Whether to rank the losses of nodes, pairs and zones by what they cost; a label of nodes for its domains, too.
        placements: In how many draws of where pods go each count has to survive; none for what the plan says.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
        progress: Whether to show how far it has got, with tqdm; or a function that is told.

    Raises:
        InputError: Something is wrong with the plan or what it names.
        ArgumentError: What is asked besides cannot be answered.
        PlaceError: `out` is taken.
        KeyboardInterrupt: Ctrl-C.
    """
    label = blast_radius if isinstance(blast_radius, str) else "" if blast_radius else None
    with told(progress) as tell:
        return Plan(
            _kubesquall.plan(
                _inputs.source(plan, files),
                _inputs.reading(set, None, allow_partial),
                _inputs.writing(out, force),
                threads=threads,
                exhaustive=exhaustive,
                headroom=[headroom] if isinstance(headroom, str) else list(headroom),
                blast_radius=label,
                placements=placements,
                progress=tell,
            )
        )


def forecast(
    cluster: Document | Iterable[Path],
    *,
    set: Settings = (),
    seed: int | None = None,
    out: Path | None = None,
    force: bool = False,
    resume: bool = False,
    threads: int | None = None,
    plays: int | None = None,
    years: int | None = None,
    precision: float | None = None,
    rates: Document | None = None,
    catalog: Document | None = None,
    allow_partial: bool = False,
    progress: Progress = False,
) -> Forecast:
    """Finds what hurts a cluster most, why, what to change, and proof that it helps.

    Args:
        cluster: What ``kubectl get`` saves, manifests, or a scenario: paths, a text, an object as a dict, or texts by their paths.
        set: Other values of the scenario that it is played as.
        seed: What chance is drawn from.
        out: A directory to write the results to.
        force: Whether to replace whatever is there.
        resume: Whether to go on where a forecast to `out` stopped.
        threads: At most so many; none for one a core. Of no consequence for the results.
        plays: At most so many plays, the most telling first. The same number gives the same bytes.
        years: So many years of random failures.
        precision: Adds years until the interval of the whole cost is at most this share of it wide.
        rates: Random processes of your own, as `import_faults` makes them.
        catalog: Incidents of your own.
        allow_partial: Whether to go on without objects that cannot be read or would be refused.
        progress: Whether to show how far it has got, with tqdm; or a function that is told.

    Raises:
        InputError: Something is wrong with what is read.
        PlaceError: `out` is taken.
        KeyboardInterrupt: Ctrl-C.
    """
    forecasting = _inputs.forecasting(
        threads=threads,
        plays=plays,
        years=years,
        precision=precision,
        resume=resume,
        rates=rates,
        catalog=catalog,
    )
    source = _inputs.cluster(cluster)
    reading, writing = _inputs.reading(set, seed, allow_partial), _inputs.writing(out, force)
    with told(progress) as tell:
        return Forecast(_kubesquall.forecast(source, reading, writing, forecasting, progress=tell))


def schedule(
    cluster: Document | Iterable[Path],
    *,
    pods: Iterable[str] | None = None,
    kubernetes_version: str | None = None,
    config: Path | None = None,
    allow_partial: bool = False,
) -> Schedule:
    """Tells where kube-scheduler would put pending pods, and why.

    Args:
        cluster: Nodes, pods and what else there is: paths, a text, an object as a dict, or texts by their paths.
        pods: These pods, each ``NAMESPACE/NAME``, in this order; none for all that wait, in the order of the queue.
        kubernetes_version: The version of Kubernetes, such as ``1.34``.
        config: The file of a KubeSchedulerConfiguration, or the path of one of the texts.
        allow_partial: Whether to go on with what can be read.

    Raises:
        InputError: Something is wrong with what is read.
        ArgumentError: There is no such pod.
    """
    decisions, left_out, warnings = _kubesquall.schedule(
        _inputs.cluster(cluster),
        pods=None if pods is None else [pods] if isinstance(pods, str) else list(pods),
        allow_partial=allow_partial,
        kubernetes_version=kubernetes_version,
        config=None if config is None else os.fspath(config),
    )
    return Schedule(json.loads(decisions), dict(left_out), warnings)


def check(
    document: Document, *, set: Settings = (), files: Files | None = None, allow_partial: bool = False
) -> Checked:
    """Reads and checks a scenario, study, plan or manifests without playing anything."""
    source, reading = _inputs.source(document, files), _inputs.reading(set, None, allow_partial)
    return Checked(*_kubesquall.check(source, reading))


def open(dir: Path) -> Report:
    """Opens the directory of a finished run, study, plan or forecast.

    Raises:
        ResultsError: It is not such a directory, or damaged.
    """
    return Report(dir)


def import_cluster(inputs: Path | Iterable[Path], *, allow_partial: bool = False) -> Imported:
    """Makes dumps, support bundles, backups and recordings into a cluster to play.

    Raises:
        InputError: Nothing of a cluster was found, or a part of it cannot be read.
    """
    return Imported(*_kubesquall.import_cluster(_inputs.paths(inputs), allow_partial=allow_partial))


def import_faults(
    tables: Path | Iterable[Path],
    *,
    name: str | None = None,
    fault: str | None = None,
    nodes: int | None = None,
    since: str | None = None,
    until: str | None = None,
    new: bool = False,
    distribution: str | None = None,
    resample: int | None = None,
    seed: int = 0,
) -> Imported:
    """Makes tables of failures and repairs into a random process for a scenario's ``spec.faults``.

    Args:
        tables: CSV files or texts.
        name: The name of the process.
        fault: The kind of the fault; none for ``Crash``.
        nodes: How many nodes were watched, those that never failed among them.
        since: When the observation began.
        until: When the observation ended.
        new: The nodes were new when the observation began; they had been running before if not.
        distribution: ``exponential``, ``weibull``, ``lognormal``, ``gamma``, ``empirical``; none for the one that goes best.
        resample: Draws the records anew so often, 20 to 1000 times, and fits each time: another file, which a study names under
            ``inputs``. 100 do as a rule.
        seed: What they are drawn from.

    Raises:
        ArgumentError: A table cannot be used, there are too few records, or an option means nothing.
    """
    given = [tables] if isinstance(tables, (str, os.PathLike)) else list(tables)
    texts = [_inputs.named_text(table, "table.csv") for table in given]
    faults = SimpleNamespace(
        name=name,
        kind=fault,
        nodes=nodes,
        since=since,
        until=until,
        new=new,
        distribution=distribution,
        resample=resample,
        seed=seed,
    )
    return Imported(*_kubesquall.import_faults([text for text in texts if text is not None], faults))


def import_latencies(
    inputs: Path | Iterable[Path], *, min_samples: int = 10, allow_partial: bool = False
) -> Imported:
    """Makes a cluster's pods, nodes and events into the latencies of a scenario.

    Raises:
        InputError: Nothing of use was read, or a part cannot be read.
    """
    paths = _inputs.paths(inputs)
    return Imported(*_kubesquall.import_latencies(paths, min_samples=min_samples, allow_partial=allow_partial))


def import_outage(
    evidence: Path | Iterable[Path],
    cluster: Path | Iterable[Path],
    *,
    name: str | None = None,
    grace: Length | None = None,
    timezone: str | None = None,
    year: int | None = None,
    latencies: Document | None = None,
    refine: int | None = None,
    allow_partial: bool = False,
) -> Imported:
    """Makes records of an outage into a scenario that plays it again.

    Args:
        evidence: Events, audit logs, metrics, dumps, logs and notices: files, archives and directories.
        cluster: Manifests, a dump or a bundle of the cluster, from before or after.
        name: The name of the scenario.
        grace: kube-controller-manager's ``--node-monitor-grace-period``.
        timezone: By how much clocks that do not say it are ahead of UTC, such as ``+02:00``.
        year: The year of logs that name none.
        latencies: A document with a ``latency`` block.
        refine: Plays the outage, so many times at most, and moves what the evidence leaves open to where it agrees best.
        allow_partial: Whether to go on without what cannot be read.

    Raises:
        InputError: Nothing of use was read, or a part cannot be read.
        ArgumentError: An option means nothing.
    """
    outage = SimpleNamespace(
        name=name,
        grace=_inputs.length(grace),
        timezone=timezone,
        year=year,
        latencies=_inputs.named_text(latencies, "latencies"),
        refine=refine,
        allow_partial=allow_partial,
    )
    return Imported(*_kubesquall.import_outage(_inputs.paths(evidence), _inputs.paths(cluster), outage))
