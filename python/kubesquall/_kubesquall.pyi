from typing import Any, List, Optional, final

VERSION: str

@final
class Table:
    """A table of a result, by columns. What takes Arrow through the PyCapsule interface takes it as it is: `pyarrow.table(table)`,
    `pandas.DataFrame.from_arrow(table)`, `polars.DataFrame(table)`, DuckDB by the name of the variable."""

    @property
    def file(self) -> str:
        """The name of the file that holds it in a directory of results."""
    @property
    def holds(self) -> str:
        """What a row is."""
    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in the order of the file."""
    @property
    def columns(self) -> list[tuple[str, str, str, str]]:
        """What the columns are: of each its name, its type as Arrow calls it, its unit and its meaning."""
    def column(self, name: str) -> list[Any]:
        """The values of a column; `None` where the file has nothing."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Pod:
    """A pod that waits for a node, or is on one."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> dict[str, str]: ...
    @property
    def requests(self) -> dict[str, int]:
        """What its containers ask for: `cpu` in thousandths, `memory` and `ephemeral-storage` in bytes, others in pieces."""
    @property
    def priority(self) -> int: ...
    @property
    def scheduler_name(self) -> str: ...

@final
class Node:
    """A node that a pod might run on, as the scheduler knows it."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> dict[str, str]: ...
    @property
    def allocatable(self) -> dict[str, int]:
        """In the units of `Pod.requests`, with the number of `pods`."""
    @property
    def requested(self) -> dict[str, int]:
        """What the pods on it ask for together."""
    @property
    def pods(self) -> list[Pod]:
        """The pods that are counted on it. Their order says nothing."""

@final
class Cluster:
    """The cluster as a controller reads it: as it stands, for as long as the controller is called."""

    @property
    def now(self) -> float:
        """The instant, in seconds since the run began."""
    def get(self, path: str) -> Optional[dict[str, Any]]:
        """An object by its path, such as ``/apis/apps/v1/namespaces/shop/deployments/web``; none if it is not there."""
    def list(self, path: str) -> List[dict[str, Any]]:
        """The objects of a collection, such as ``/api/v1/pods?labelSelector=app=web``, in the order of namespace and name."""

@final
class Report:
    def __new__(cls, dir: str) -> Report: ...
    def summary(self) -> str: ...
    def tables(self) -> list[str]: ...
    def table(self, file: str) -> Table: ...
    def charts(self) -> list[tuple[str, str]]: ...
    def page(self) -> str: ...
    def explain(self, object: str, in_full: bool) -> tuple[str, str]: ...
    def diff(self, after: Report, with_page: bool) -> tuple[bool, str, Optional[str]]: ...

@final
class Results:
    @property
    def kind(self) -> str: ...
    @property
    def written(self) -> Optional[str]: ...
    @property
    def warnings(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def holds(self) -> bool: ...
    @property
    def variants(self) -> list[list[str]]: ...
    @property
    def baseline(self) -> int: ...
    @property
    def best(self) -> Optional[int]: ...
    @property
    def note(self) -> Optional[str]: ...
    def summary(self) -> str: ...
    def tables(self) -> list[str]: ...
    def table(self, file: str) -> Table: ...
    def write(self, dir: str, force: bool, charts: bool) -> str: ...
    def verdict(self) -> list[str]: ...
    def lock_file(self) -> str: ...
    def metric(self, name: str) -> Optional[list[tuple[float, float, float]]]: ...
    def patches(self) -> list[tuple[str, str, str]]: ...
    def answer(self) -> Optional[list[tuple[str, int]]]: ...

def run(
    source: Any,
    reading: Any,
    writing: Any,
    *,
    until: Optional[str],
    sample: Optional[str],
    observed: Optional[str],
    plugins: list[Any],
    progress: Any,
) -> Results: ...
def study(source: Any, reading: Any, writing: Any, playing: Any, *, progress: Any) -> Results: ...
def check_study(source: Any, reading: Any, writing: Any, *, tunes: bool) -> None: ...
def merge(parts: list[str], writing: Any) -> Results: ...
def plan(
    source: Any,
    reading: Any,
    writing: Any,
    *,
    threads: Optional[int],
    exhaustive: bool,
    headroom: list[str],
    blast_radius: Optional[str],
    placements: Optional[int],
    progress: Any,
) -> Results: ...
def sensitivity(
    source: Any,
    reading: Any,
    writing: Any,
    *,
    threads: Optional[int],
    trajectories: Optional[int],
    replications: Optional[int],
    variant: Optional[str],
    resume: bool,
    progress: Any,
) -> Results: ...
def forecast(source: Any, reading: Any, writing: Any, forecasting: Any, *, progress: Any) -> Results: ...
def schedule(
    source: Any,
    *,
    pods: Optional[list[str]],
    allow_partial: bool,
    kubernetes_version: Optional[str],
    config: Optional[str],
) -> tuple[str, list[tuple[str, list[str]]], str]: ...
def check(source: Any, reading: Any) -> tuple[Optional[str], bool, str]: ...
def import_cluster(paths: list[str], *, allow_partial: bool) -> tuple[list[tuple[str, str]], list[str], str]: ...
def import_faults(tables: list[tuple[str, str]], faults: Any) -> tuple[list[tuple[str, str]], list[str], str]: ...
def import_latencies(
    paths: list[str], *, min_samples: int, allow_partial: bool
) -> tuple[list[tuple[str, str]], list[str], str]: ...
def import_outage(
    evidence: list[str], cluster: list[str], outage: Any
) -> tuple[list[tuple[str, str]], list[str], str]: ...
