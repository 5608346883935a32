"""Tables are those of the files, with types, for whoever takes Arrow."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import kubesquall
from conftest import FILES, scenario, study

TYPES = {"Utf8": str, "Float64": float, "Int64": int, "UInt64": int, "Boolean": bool}


@pytest.fixture(scope="module")
def run() -> kubesquall.Run:
    return kubesquall.run(scenario(), files=FILES, seed=42)


def test_a_table_has_three_names(run: kubesquall.Run) -> None:
    assert run["pods.csv"] is run["pods"] is run.pods is run.tables["pods.csv"]
    assert run.not_modelled.file == "not-modelled.csv"
    assert "pods" in dir(run) and "not_modelled" in dir(run)
    with pytest.raises(KeyError, match="there is no table `pots`"):
        run["pots"]
    with pytest.raises(AttributeError, match="no table `pots`"):
        run.pots


@pytest.mark.parametrize("result", ["run", "sweep"])
def test_values_are_those_of_the_files(tmp_path: Path, run: kubesquall.Run, result: str) -> None:
    document, files = study(2)
    played = run if result == "run" else kubesquall.sweep(document, files=files)
    place = played.write(tmp_path / "results", charts=False)
    seen = 0
    for file, table in played.tables.items():
        if file.endswith(".jsonl"):
            continue
        with open(place / file, newline="") as lines:
            header, *rows = csv.reader(lines)
        assert len(table) == len(rows)
        types = {name: type_ for name, type_, _, _ in table.columns}
        # A column may have another name where two are alike.
        for name, cells in zip(table.column_names, zip(*rows)):
            as_text = {
                "Utf8": lambda cell: cell,
                "Boolean": lambda cell: {True: "true", False: "false", None: ""}[cell],
            }.get(types[name])
            for cell, value in zip(cells, table.column(name), strict=True):
                seen += 1
                if as_text:
                    assert as_text(value) == cell, (file, name)
                else:
                    assert value is None if cell == "" else value == float(cell), (file, name)
                    assert value is None or isinstance(value, TYPES[types[name]])
    assert seen > 500 if result == "run" else seen > 50


def test_times_keep_their_decimals(run: kubesquall.Run) -> None:
    times = [time for time in run.pods.column("ready_s") if time is not None]
    assert times and all(time == round(time, 3) for time in times)
    columns = {name: (type_, unit) for name, type_, unit, meaning in run.pods.columns if meaning}
    assert columns["created_s"] == ("Float64", "s") and columns["node"][0] == "Utf8"


def test_pyarrow_takes_every_table(run: kubesquall.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for file, table in run.tables.items():
        taken = pyarrow.table(table)
        assert taken.num_rows == len(table) and taken.column_names == table.column_names
        assert pyarrow.schema(table) == taken.schema
        for name in table.column_names:
            assert taken[name].to_pylist() == table.column(name), (file, name)
    assert pyarrow.schema(run.pods).field("created_s").metadata[b"unit"] == b"s"
    # A stream can be had again and again.
    assert pyarrow.table(run.pods) == pyarrow.table(run.pods)


def test_pandas_takes_every_table(run: kubesquall.Run) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for table in run.tables.values():
        frame = pandas.DataFrame.from_arrow(table)
        assert list(frame.columns) == table.column_names and len(frame) == len(table)
    pods = pandas.DataFrame.from_arrow(run.pods)
    assert (pods.deletion_cause == "TaintManagerEviction").sum() == run.metrics["evictions"]


def test_polars_takes_every_table(run: kubesquall.Run) -> None:
    polars = pytest.importorskip("polars")
    for table in run.tables.values():
        frame = polars.DataFrame(table)
        assert frame.columns == table.column_names and frame.height == len(table)
    evicted = polars.DataFrame(run.pods).filter(polars.col("deletion_cause") == "TaintManagerEviction")
    assert evicted.height == run.metrics["evictions"]


def test_duckdb_takes_a_table(run: kubesquall.Run) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    pods = run.pods
    query = "SELECT count(*) FROM pods WHERE deletion_cause = 'TaintManagerEviction'"
    assert duckdb.sql(query).fetchall()[0] == (run.metrics["evictions"],)


def test_a_column_that_is_not_there_is_named(run: kubesquall.Run) -> None:
    with pytest.raises(KeyError, match="`pods.csv` has no column `nod`; it has"):
        run.pods.column("nod")
