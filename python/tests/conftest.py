"""What tests share: small documents, and the command line that a wheel has to agree with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

API = "kubesquall.sim/v1alpha1"

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 6,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "100m"}}}]},
        },
    },
}


def scenario(**spec: Any) -> dict[str, Any]:
    """Three nodes, of which one dies after a minute."""
    pool = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {
        "apiVersion": API,
        "kind": "Scenario",
        "metadata": {"name": "one-node-dies"},
        "spec": {
            "duration": "15m",
            "cluster": {
                "manifests": ["apps"],
                "nodePools": [{"name": "worker", "count": 3, "template": {"status": pool}}],
            },
            "timeline": [{"at": "1m", "fault": {"kind": "Crash", "nodes": {"names": ["worker-0"]}, "for": "12m"}}],
            **spec,
        },
    }


FILES = {"apps/web.yaml": WEB}


def study(replications: int = 4) -> tuple[dict[str, Any], dict[str, Any]]:
    """Crashes by chance, with two values of a flag."""
    crashes = {
        "name": "crashes",
        "kind": "Crash",
        "nodes": {"pool": "worker"},
        "timeToFailure": {"exponential": {"mean": "2h"}},
        "timeToRepair": {"constant": "10m"},
    }
    path = "spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds"
    document = {
        "apiVersion": API,
        "kind": "Study",
        "metadata": {"name": "waits"},
        "spec": {
            "scenario": "crashes.yaml",
            "replications": replications,
            "vary": [{"name": "waits", "path": path, "values": [60, 300]}],
            "baseline": {"waits": 300},
            "cost": {"unreadyReplicaSeconds": 1, "evictions": 30},
        },
    }
    played = scenario(duration="6h", timeline=[], faults=[crashes])
    return document, {"crashes.yaml": played, **FILES}


def on_disk(place: Path, files: dict[str, Any]) -> None:
    import json

    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2))


def contents(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.fixture
def command() -> Callable[..., None]:
    """The command line, which ``KUBESQUALL`` names."""
    binary = os.environ.get("KUBESQUALL")
    if not binary:
        pytest.skip("KUBESQUALL names no binary")

    def call(*arguments: Any, cwd: Path) -> None:
        done = subprocess.run([binary, "-q", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr

    return call
