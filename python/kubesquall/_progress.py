"""How far something has got, as bars of tqdm where there is one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

Told = Callable[[str, int, int], Any]
"""Is told what is under way, how many steps of it are done, and how many there are; what it raises stops the work."""
Progress = Union[bool, Told]


@contextmanager
def told(progress: Progress) -> Iterator[Optional[Callable[[int, str, int, int], None]]]:
    if progress is False:
        yield None
    elif callable(progress):
        tell = progress
        yield lambda _part, what, done, steps: tell(what, done, steps)
    else:
        bars = _Bars()
        try:
            yield bars.show
        finally:
            bars.close()


class _Bars:
    def __init__(self) -> None:
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError as error:
            raise ModuleNotFoundError("`progress=True` needs tqdm: pip install tqdm, or give a function") from error
        self._tqdm: Any = tqdm
        self._part = 0
        self._bar: Any = None

    def show(self, part: int, what: str, done: int, steps: int) -> None:
        if part != self._part or self._bar is None:
            self.close()
            self._part, self._bar = part, self._tqdm(total=steps, desc=what, initial=done)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
