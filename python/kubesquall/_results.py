"""Results as objects."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, TypeVar

from . import _kubesquall
from ._errors import ArgumentError, Diagnostic, diagnostics_of
from ._inputs import Path
from ._kubesquall import Table

Self = TypeVar("Self", bound="Result")

_HEIGHT = 720
"""Of a page within a notebook, in pixels."""


class Chart(str):
    """A chart as the text of its SVG; a notebook draws it."""

    def _repr_svg_(self) -> str:
        return str(self)


class Page(str):
    """A page as its HTML; a notebook shows it in a frame."""

    def _repr_html_(self) -> str:
        frame = '<iframe srcdoc="{}" width="100%" height="{}" style="border: 0"></iframe>'
        return frame.format(html.escape(str(self), quote=True), _HEIGHT)


class Tables(Mapping[str, Table]):
    """The tables of a result by the names of their files. Each is made when it is asked for, and once."""

    def __init__(self, of: _kubesquall.Results | _kubesquall.Report) -> None:
        self._of = of
        self._names = of.tables()
        self._made: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        """A table by the name of its file, ``pods.csv``, or that without its ending."""
        file = next((file for file in self._names if name in (file, file.rsplit(".", 1)[0])), None)
        if file is None:
            raise KeyError(f"there is no table `{name}`; the tables are {', '.join(self._names)}")
        if file not in self._made:
            self._made[file] = self._of.table(file)
        return self._made[file]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<kubesquall.Tables {', '.join(self._names)}>"


class _Drawn:
    """What has a directory of results, from which charts and page are drawn."""

    tables: Tables
    """Its tables by the names of their files."""

    def _report(self) -> _kubesquall.Report:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def __getattr__(self, name: str) -> Table:
        # `run.pods` is the table pods.csv.
        if not name.startswith("_"):
            file = name.replace("_", "-")
            tables = self.__dict__.get("tables", {})
            found = next((known for known in tables if known.rsplit(".", 1)[0] == file), None)
            if found is not None:
                return self.tables[found]
        raise AttributeError(f"`{type(self).__name__}` has no attribute and no table `{name}`")

    def __dir__(self) -> list[str]:
        tables = [name.rsplit(".", 1)[0].replace("-", "_") for name in self.tables]
        return sorted({*super().__dir__(), *tables})

    @property
    def charts(self) -> dict[str, Chart]:
        """The charts by the names of their files."""
        return {name: Chart(svg) for name, svg in self._report().charts()}

    @property
    def page(self) -> Page:
        """The page, which needs no network: ``report.html`` of the directory."""
        return Page(self._report().page())

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


class Report(_Drawn):
    """The directory of a finished run, study, plan or forecast."""

    def __init__(self, dir: Path) -> None:
        self.dir = FilePath(dir)
        self._opened = _kubesquall.Report(os.fspath(dir))
        self.tables = Tables(self._opened)

    @property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        summary: dict[str, Any] = json.loads(self._opened.summary())
        return summary

    def explain(self, object: str, *, all: bool = False) -> Explanation:
        """Tells the story of an object of a run: ``pod/NAMESPACE/NAME``, ``node/NAME``, ``deployment/NAMESPACE/NAME``, or a part of that
        which nothing else is called; with `all` every step with all of its causes."""
        return _explained(self._opened, object, all)

    def diff(self, after: Run | Report) -> Diff:
        """What differs from this run to a later one."""
        return _compared(self, after)

    def _report(self) -> _kubesquall.Report:
        return self._opened

    def __repr__(self) -> str:
        return f"<kubesquall.Report {self.dir}>"


class Result(_Drawn):
    """What a run, a study, a plan or a forecast gave."""

    def __init__(self, results: _kubesquall.Results) -> None:
        self._results = results
        self._written = None if results.written is None else FilePath(results.written)
        self._drawn: _kubesquall.Report | None = None
        self._place: tempfile.TemporaryDirectory[str] | None = None
        self.tables = Tables(results)

    @property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``; of a forecast that of ``forecast.json``."""
        summary: dict[str, Any] = json.loads(self._results.summary())
        return summary

    @property
    def dir(self) -> FilePath | None:
        """The directory that `out` named; none if the results are in memory only."""
        return self._written

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What of the documents may not mean what their author thinks."""
        return diagnostics_of(self._results.warnings)

    def write(self, dir: Path, *, force: bool = False, charts: bool = True) -> FilePath:
        """Writes the directory of results, with the same bytes as the command line; gives its path. An earlier result of the same takes
        its place, and with `force` anything."""
        return FilePath(self._results.write(os.fspath(dir), force, charts))

    def _moved(self: Self, out: Path | None, force: bool) -> Self:
        """The same results, written there, or in memory only if nowhere: where they were written before does not stay."""
        self._written = None if out is None else self.write(out, force=force)
        return self

    def _report(self) -> _kubesquall.Report:
        # Charts, pages and stories are made of files alone.
        if self._drawn is None:
            dir = None if self._written is None else os.fspath(self._written)
            if dir is None:
                self._place = tempfile.TemporaryDirectory(prefix="kubesquall-")
                dir = self._results.write(os.path.join(self._place.name, "results"), False, False)
            self._drawn = _kubesquall.Report(dir)
        return self._drawn


class Run(Result):
    """A run that is over."""

    @property
    def name(self) -> str:
        """The name of the scenario."""
        name: str = self.summary["scenario"]
        return name

    @property
    def seed(self) -> int:
        """The seed that was played."""
        return self._results.seed

    @property
    def digest(self) -> str:
        """Equal for runs in which the same events happened at the same instants in the same order."""
        return self._results.digest

    @property
    def holds(self) -> bool:
        """Whether everything holds that the scenario's ``expect`` says."""
        return self._results.holds

    @property
    def metrics(self) -> dict[str, float | None]:
        """The metrics by their names."""
        metrics: dict[str, float | None] = self.summary["metrics"]
        return metrics

    @property
    def verdict(self) -> list[str]:
        """What somebody who reads one thing should read, a sentence each."""
        return self._results.verdict()

    @property
    def lock_file(self) -> str:
        """One document that plays this run again, anywhere."""
        return self._results.lock_file()

    def explain(self, object: str, *, all: bool = False) -> Explanation:
        """Tells the story of an object: ``pod/NAMESPACE/NAME``, ``node/NAME``, ``deployment/NAMESPACE/NAME``, or a part of that which
        nothing else is called; with `all` every step with all of its causes."""
        return _explained(self._report(), object, all)

    def diff(self, after: Run | Report) -> Diff:
        """What differs from this run to a later one."""
        return _compared(self, after)

    def __repr__(self) -> str:
        return f"<kubesquall.Run {self.name}, seed {self.seed}, digest {self.digest}>"


class Study(Result):
    """A study that has been played."""

    @property
    def name(self) -> str:
        """The name of the study."""
        name: str = self.summary["study"]["study"]
        return name

    @property
    def variants(self) -> list[list[str]]:
        """The variants by their values, the last axis fastest."""
        return self._results.variants

    @property
    def baseline(self) -> int:
        """The position of the variant that others are compared with."""
        return self._results.baseline

    @property
    def best(self) -> int | None:
        """The position of the variant that costs least, as far as the runs tell; none of a part."""
        return self._results.best

    @property
    def note(self) -> str | None:
        """What is to be said about earlier results in the directory, of which nothing is used."""
        return self._results.note

    @property
    def patch(self) -> str | None:
        """What applies the recommendation of `tune`: kubectl lines."""
        return next((shell for _, shell, _ in self._results.patches()), None)

    @property
    def patch_yaml(self) -> str | None:
        """The same as documents."""
        return next((yaml for _, _, yaml in self._results.patches()), None)

    def metric(self, name: str) -> list[tuple[float, float, float]]:
        """What each variant gave of a metric, such as ``cost`` or ``evictions``: the mean, and the ends of its interval."""
        found = self._results.metric(name)
        if found is None:
            raise ArgumentError(f"a study has no metric `{name}`")
        return found

    def __repr__(self) -> str:
        return f"<kubesquall.Study {self.name}: {len(self.variants)} variants>"


class Plan(Result):
    """A plan that has been worked out."""

    @property
    def name(self) -> str:
        """The name of the plan."""
        name: str = self.summary["plan"]
        return name

    @property
    def answer(self) -> dict[str, int] | None:
        """How many nodes of each pool are enough; none if even the most are not."""
        answer = self._results.answer()
        return None if answer is None else dict(answer)

    def __repr__(self) -> str:
        return f"<kubesquall.Plan {self.name}: {self.answer}>"


class Sensitivity(Result):
    """How far the answer of a study rests on what it assumes."""

    @property
    def name(self) -> str:
        """The name of the study."""
        name: str = self.summary["sensitivity"]
        return name

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """What is assumed: of each its range, its effects on ``cost`` and ``saving``, and how often it turns the answer round."""
        inputs: list[dict[str, Any]] = self.summary["inputs"]
        return inputs

    @property
    def verdict(self) -> list[str]:
        """What has been found, a sentence each, the answer first."""
        return [remark["text"] for remark in self.summary["verdict"]]

    def __repr__(self) -> str:
        return f"<kubesquall.Sensitivity {self.name}: {len(self.inputs)} inputs>"


class Forecast(Result):
    """A forecast of a cluster."""

    @property
    def name(self) -> str:
        """How the cluster is called."""
        name: str = self.summary["forecast"]
        return name

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What would help, the most telling first."""
        findings: list[dict[str, Any]] = self.summary["findings"]
        return findings

    @property
    def patches(self) -> dict[str, str]:
        """What applies each finding: kubectl lines by its name."""
        return {name: shell for name, shell, _ in self._results.patches()}

    def __repr__(self) -> str:
        return f"<kubesquall.Forecast {self.name}: {len(self.findings)} findings>"


class Explanation(dict[str, Any]):
    """A story as data; its text is what ``kubesquall explain`` prints."""

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        super().__init__(data)
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


class Diff(dict[str, Any]):
    """What differs between two runs: the data of ``kubesquall diff -o json``."""

    def __init__(self, alike: bool, data: dict[str, Any], before: Run | Report, after: Run | Report) -> None:
        super().__init__(data)
        self.alike = alike
        """Whether nothing differs in what came out."""
        # With them stay the directories that they may have for this alone.
        self._before, self._after = before, after

    @property
    def page(self) -> Page:
        """The page of both, on which one scrubber moves both."""
        return Page(self._before._report().diff(self._after._report(), True)[2] or "")

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


def _explained(report: _kubesquall.Report, object: str, all: bool) -> Explanation:
    text, data = report.explain(object, all)
    return Explanation(text, json.loads(data))


def _compared(before: Run | Report, after: Run | Report) -> Diff:
    alike, data, _ = before._report().diff(after._report(), False)
    return Diff(alike, json.loads(data), before, after)


class Schedule(list[dict[str, Any]]):
    """Decisions about pending pods, in the order in which they were taken; each is an item of ``kubesquall schedule -o json``."""

    def __init__(self, decisions: list[dict[str, Any]], left_out: dict[str, list[str]], warnings: str) -> None:
        super().__init__(decisions)
        self.left_out = left_out
        """Pods that are not decided about, by the reason."""
        self.warnings = diagnostics_of(warnings)
        """What of the input may not mean what its author thinks."""


class Checked:
    """A document that has been read and checked. It is true if it can be used."""

    def __init__(self, kind: str | None, usable: bool, diagnostics: str) -> None:
        self.kind = kind
        """``Scenario``, ``Study``, ``Plan`` or ``manifest``; none of what cannot be used."""
        self.usable = usable
        """Whether it can be used."""
        self.diagnostics = diagnostics_of(diagnostics)
        """Everything that is wrong with it, and warnings."""

    def __bool__(self) -> bool:
        return self.usable

    def __repr__(self) -> str:
        lines = [f"<kubesquall.Checked {self.kind or 'unusable'}>", *map(str, self.diagnostics)]
        return "\n".join(lines)


class Imported:
    """What was made of dumps and records of real clusters."""

    def __init__(self, files: list[tuple[str, str]], notes: list[str], warnings: str) -> None:
        self.files = dict(files)
        """The document and what it names: texts by names."""
        self.notes = notes
        """What to know about it, a line each."""
        self.warnings = diagnostics_of(warnings)
        """What is wrong with what was read, none of it so that the rest is of no use."""

    @property
    def document(self) -> str:
        """The document: a cluster, random processes, latencies, or the scenario of an outage."""
        return next(iter(self.files.values()))

    def write(self, dir: Path, *, force: bool = False) -> FilePath:
        """Writes its files to a directory; gives the path of the document. Files that are there are replaced only with `force`."""
        place = FilePath(dir)
        taken = [name for name in self.files if (place / name).exists()]
        if taken and not force:
            raise FileExistsError(f"`{place / taken[0]}` is there already; `force=True` replaces it")
        place.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (place / name).write_bytes(text.encode())
        return place / next(iter(self.files))

    def __str__(self) -> str:
        return self.document

    def __repr__(self) -> str:
        return f"<kubesquall.Imported {', '.join(self.files)}>"
