"""Filters, scores and controllers of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Optional, Union

from ._kubesquall import Cluster, Node, Pod


@dataclass(frozen=True)
class Filter:
    """A filter of kube-scheduler: keeps pods off nodes.

    Args:
        name: What it is called in messages and in summary.json.
        hook: Is called with a pod and a node. Returns a reason, such as ``"node(s) are kept free"``, or False, if the pod may not run
            there; None or True if it may.
    """

    name: str
    hook: Callable[[Pod, Node], Union[str, bool, None]]

    def _given(self) -> SimpleNamespace:
        return SimpleNamespace(name=self.name, what="filter", hook=self.hook, weight=0, kinds=[])


@dataclass(frozen=True)
class Score:
    """A score of kube-scheduler: prefers nodes.

    Args:
        name: What it is called in messages and in summary.json.
        hook: Is called with a pod and a node. Returns how good the node is for the pod, from 0 to 100.
        weight: What that counts, beside the other plug-ins, of which most have a weight of 1 or 2.
    """

    name: str
    hook: Callable[[Pod, Node], int]
    weight: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.weight < 1 << 32:
            raise ValueError(f"a weight is a whole number from 1 on, not {self.weight!r}")

    def _given(self) -> SimpleNamespace:
        return SimpleNamespace(name=self.name, what="score", hook=self.hook, weight=self.weight, kinds=[])


@dataclass(frozen=True)
class Request:
    """What a controller wants done, as the API has it.

    Args:
        method: ``"POST"``, ``"PUT"``, ``"PATCH"`` or ``"DELETE"``.
        path: ``"/apis/apps/v1/namespaces/shop/deployments/web/scale"``.
        body: An object as a dict, or a text.
        content_type: How a patch is merged; as JSON is (``application/merge-patch+json``) if it is not said.
    """

    method: str
    path: str
    body: Union[Mapping[str, Any], Sequence[Any], str, None] = None
    content_type: str = ""

    def __post_init__(self) -> None:
        if self.method not in ("POST", "PUT", "PATCH", "DELETE"):
            raise ValueError(f"a request is a POST, PUT, PATCH or DELETE, not {self.method!r}")


@dataclass(frozen=True)
class Change:
    """What a controller is told.

    Args:
        kind: ``"ADDED"``, ``"MODIFIED"``, ``"DELETED"``; or ``"ERROR"``: a request of its own was refused.
        object: The object as clients see it; of one that is gone, as it was last; of a refusal, the Status that says why.
        request: The request that was refused.
    """

    kind: str
    object: dict[str, Any]
    request: Optional[Request] = None


@dataclass(frozen=True)
class Controller:
    """A controller: watches objects and changes others, as any client of the API does.

    Args:
        name: What it is called in stories and in summary.json.
        kinds: What it watches, such as ``["Node", "Deployment"]``.
        hook: Is called with a change and the cluster. Returns what it wants done: requests, or None.
    """

    name: str
    kinds: Union[str, Iterable[str]]
    hook: Callable[[Change, Cluster], Union[Request, Iterable[Request], None]]

    def _given(self) -> SimpleNamespace:
        kinds = [self.kinds] if isinstance(self.kinds, str) else list(self.kinds)
        return SimpleNamespace(name=self.name, what="controller", hook=self._call, weight=0, kinds=kinds)

    def _call(
        self, kind: str, object: str, refused: Optional[tuple[str, str, str, str]], cluster: Cluster
    ) -> list[tuple[str, str, str, str]]:
        request = None
        if refused is not None:
            method, path, content_type, body = refused
            request = Request(method, path, body, content_type)
        wanted = self.hook(Change(kind, json.loads(object), request), cluster)
        if wanted is None:
            return []
        requests = [wanted] if isinstance(wanted, Request) else list(wanted)
        for other in requests:
            if not isinstance(other, Request):
                raise TypeError(f"a controller returns requests or None, not {type(other).__name__}")
        return [(of.method, of.path, of.content_type, _text(of.body)) for of in requests]


Plugin = Union[Filter, Score, Controller]


def given(plugins: Iterable[Plugin]) -> list[SimpleNamespace]:
    return [plugin._given() for plugin in plugins]


def _text(body: Union[Mapping[str, Any], Sequence[Any], str, None]) -> str:
    if body is None:
        return ""
    return body if isinstance(body, str) else json.dumps(body)
