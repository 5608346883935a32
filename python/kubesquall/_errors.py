"""What can go wrong, as exceptions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One problem with a document or a file that it names.

    It is printed as one line: ``error[scenario::unknown_field]: ... (scenario.yaml:4:24)``.
    """

    code: str
    """Stable, such as ``scenario::unknown_field``; docs/diagnostics.md has all."""
    severity: str
    """``error`` or ``warning``."""
    message: str
    """What is wrong."""
    file: str | None
    """In which file; none if the problem has no place."""
    line: int | None
    """In which line of it, from 1."""
    column: int | None
    """At which character of the line, from 1."""
    text: str
    """What stands there, in words; may be empty."""
    help: tuple[str, ...]
    """What would be valid, and what can be done."""

    def __str__(self) -> str:
        at = "" if self.file is None else f" ({self.file}:{self.line}:{self.column})" if self.line else f" ({self.file})"
        return f"{self.severity}[{self.code}]: {self.message}{at}"


class KubesquallError(Exception):
    """Why something cannot be done. The text is for people."""

    diagnostics: tuple[Diagnostic, ...] = ()
    """What is wrong with documents and manifests, all of it at once."""
    help: str | None = None
    """What to do about it, where the text does not say it."""


class InputError(KubesquallError, ValueError):
    """A document, or a file that it names, is wrong, missing or unreadable: see ``diagnostics``."""


class ArgumentError(KubesquallError, ValueError):
    """An argument is wrong, such as an option or a name, or what is asked has no answer here."""


class PlaceError(KubesquallError):
    """The place for results is taken: by other results, by files of somebody else, or by somebody who writes to it."""


class ResultsError(KubesquallError):
    """A directory of results is missing, damaged, unreadable, or of another kind."""


class HostError(KubesquallError):
    """The operating system refuses to write results, or to start a thread. It may go well another time."""


class PluginError(KubesquallError):
    """A filter, score or controller of one's own has failed: ``__cause__`` is what it raised. Nothing of the run is left."""


class InternalError(KubesquallError):
    """A bug of kubesquall."""


def diagnostics_of(text: str) -> tuple[Diagnostic, ...]:
    """Problems out of their JSON."""
    return tuple(_diagnostic(problem) for problem in json.loads(text))


def _diagnostic(problem: dict[str, Any]) -> Diagnostic:
    label = problem["labels"][0] if problem["labels"] else None
    location = label["location"] if label else {}
    return Diagnostic(
        code=problem["code"],
        severity=problem["severity"],
        message=problem["message"],
        file=location.get("file"),
        line=location.get("line") or None,
        column=location.get("column") or None,
        text=label["text"] if label else "",
        help=tuple(problem["help"]),
    )


def _make(name: str, message: str, help: str | None, diagnostics: str) -> KubesquallError:
    """An exception of that class."""
    error: KubesquallError = globals()[name](message if help is None else f"{message}\n  = help: {help}")
    error.diagnostics = diagnostics_of(diagnostics)
    error.help = help
    return error
