"""What faults come between: each scenario is run in a process of its own, again and again, until it
has come to its end."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from abc import ABC, abstractmethod
from pathlib import Path

from plumbline_db.errors import PlumblineError

_MODULE = "\x01"


class Scenario(ABC):
    """In a folder of its own; what its last process has said is in a file beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said = folder.with_name(folder.name + ".said")

    @abstractmethod
    def act(self) -> None:
        """To its end, in a process that was forked for it. Raises what ends it before."""

    @abstractmethod
    def results(self) -> list[str]:
        """All that came of it, but for times of day and names of places."""

    @abstractmethod
    def decided(self) -> list[str]:
        """What was decided: the same though a launch was taken again."""

    def run(self) -> int:
        """Exit status of the process."""
        child = os.fork()
        if child == 0:
            self._in_child()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def said(self) -> str:
        lines = self._said.read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith(_MODULE))

    def import_all(self) -> None:
        """What acting has imported, once for all processes that are forked from here on."""
        for line in self._said.read_text(errors="replace").splitlines():
            if line.startswith(_MODULE):
                with contextlib.suppress(ImportError):
                    importlib.import_module(line.removeprefix(_MODULE))

    def _in_child(self) -> None:
        status = 1
        try:
            target = os.open(self._said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            os.dup2(target, 1)
            os.dup2(target, 2)
            self.act()
            status = 0
        except PlumblineError as error:  # as the command line says it
            print(f"plumbline: {error}")
            status = error.exit_code
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                print(*(_MODULE + name for name in sorted(sys.modules)), sep="\n", flush=True)
            os._exit(status)
