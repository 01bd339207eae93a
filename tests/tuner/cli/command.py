"""Runs the command line in this process, as its entry point would."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any

from plumbline.cli import main


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def plumbline(*words: object) -> Result:
    """Exit status and output of `plumbline words…`. An exception that is a bug passes through."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["plumbline", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        assert isinstance(end.code, int)
        return Result(end.code, out.getvalue(), err.getvalue())
    finally:
        sys.argv = before
    raise AssertionError("main() came back without an exit status")
