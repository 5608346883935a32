"""The notebooks run from the beginning to the end, and are kept without outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["outage", "tuning"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells), "outputs are not kept"
    # KUBESQUALL_REPLICATIONS shortens studies, where somebody waits.
    replications = os.environ.get("KUBESQUALL_REPLICATIONS")
    for cell in cells:
        if replications and "parameters" in cell.metadata.get("tags", []):
            cell.source = f"replications = {int(replications)}"
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    shown = [output for cell in cells for output in cell.outputs]
    assert any("data" in output and "image/svg+xml" in output["data"] for output in shown)
