"""Documents, values and lengths of time in the forms that Python has them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Union

from ._errors import InputError

Path = Union[str, "os.PathLike[str]"]
Document = Union[str, "os.PathLike[str]", Mapping[str, Any]]
"""A file, a text or a dict. A ``str`` that has a line break or begins with ``{`` is a text, any other is the path of a file."""
Files = Mapping[str, Union[str, bytes, Mapping[str, Any], Sequence[Any]]]
"""Files by their paths: texts, or objects as dicts, or lists of them."""
Settings = Union[Mapping[str, Any], Iterable[str]]
"""Other values than a document says: ``{"spec.timeline[0].at": "2m"}`` or ``["spec.timeline[0].at=2m"]``."""
Length = Union[str, timedelta, float, int]
"""A length of time: ``"10m"``, a ``timedelta``, or seconds."""


def source(document: Document, files: Files | None) -> SimpleNamespace:
    """A document, and the texts of the files that it names; without these they are read from disk."""
    if isinstance(document, Mapping):
        return _text(json.dumps(document, indent=2), files)
    if isinstance(document, str) and is_text(document):
        return _text(document, files)
    if files is not None:
        raise TypeError("`files` belong to a text or a dict: a document on disk names its own")
    return SimpleNamespace(path=os.fspath(document), text=None, files=None)


def is_text(document: str) -> bool:
    return "\n" in document or document.lstrip().startswith("{")


def _text(text: str, files: Files | None) -> SimpleNamespace:
    return SimpleNamespace(path=None, text=text, files=None if files is None else texts(files))


def texts(files: Files) -> list[tuple[str, str]]:
    return [(os.fspath(name), _content(content)) for name, content in files.items()]


def _content(content: str | bytes | Mapping[str, Any] | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, bytes):
        return content.decode()
    if isinstance(content, Mapping):
        return json.dumps(content, indent=2)
    return "\n---\n".join(json.dumps(item, indent=2) for item in content)


def cluster(state: Any) -> SimpleNamespace:
    """A cluster: paths, or texts by their paths."""
    if isinstance(state, Mapping):
        if "kind" in state:
            return SimpleNamespace(paths=[], texts=[("state.json", _content(state))])
        return SimpleNamespace(paths=[], texts=texts(state))
    if isinstance(state, str) and is_text(state):
        return SimpleNamespace(paths=[], texts=[("state.yaml", state)])
    return SimpleNamespace(paths=paths(state), texts=None)


def paths(given: Path | Iterable[Path]) -> list[str]:
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    return [os.fspath(path) for path in given]


def named_text(given: Document | None, name: str) -> tuple[str, str] | None:
    """A text and how messages name it."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return (name, json.dumps(given, indent=2))
    if isinstance(given, str) and is_text(given):
        return (name, given)
    path = os.fspath(given)
    try:
        with open(path, encoding="utf-8") as file:
            return (path, file.read())
    except OSError as error:
        raise InputError(f"`{path}` cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"`{path}` cannot be read: it is not UTF-8 from byte {error.start} on") from error


def reading(set: Settings, seed: int | None, allow_partial: bool) -> SimpleNamespace:
    return SimpleNamespace(set=settings(set), seed=seed, allow_partial=allow_partial)


def forecasting(
    *,
    threads: int | None = None,
    plays: int | None = None,
    years: int | None = None,
    precision: float | None = None,
    resume: bool = False,
    rates: Document | None = None,
    catalog: Document | None = None,
) -> SimpleNamespace:
    return SimpleNamespace(
        threads=threads,
        plays=plays,
        years=years,
        precision=precision,
        resume=resume,
        rates=named_text(rates, "rates"),
        catalog=named_text(catalog, "catalog"),
        pool=None,
    )


def settings(given: Settings) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, Mapping):
        return [f"{path}={value if isinstance(value, str) else json.dumps(value)}" for path, value in given.items()]
    return list(given)


def writing(out: Path | None, force: bool, charts: bool = True) -> SimpleNamespace:
    return SimpleNamespace(out=None if out is None else os.fspath(out), force=force, charts=charts)


def length(given: Length | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    return f"{round(seconds * 1000)}ms"
