"""Answers that are remembered: as long as all that they depend on is unchanged, and for a day."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline.system import answers


class Counted:
    """An answer that is another one each time."""

    def __init__(self, source: Path) -> None:
        self.times, self._source = 0, source

    def ask(self, *question: str, is_kept: bool = True) -> str:
        def answer() -> str:
            self.times += 1
            return f"answer {self.times}"

        return answers.ask(question, answer, lambda _: [self._source], lambda: is_kept)


@pytest.fixture
def asked(tmp_path: Path) -> Counted:
    (tmp_path / "source").write_text("first")
    return Counted(tmp_path / "source")


def kept(folder: Path) -> Path:
    (file,) = (folder / "answers").iterdir()
    return file


def test_an_answer_is_remembered(asked: Counted, tmp_path: Path) -> None:
    assert [asked.ask("a"), asked.ask("a")] == ["answer 1", "answer 2"]  # nothing is remembered
    for _ in range(2):
        with answers.remembered(tmp_path / "answers"):
            assert asked.ask("a") == "answer 3"
    with answers.remembered(tmp_path / "answers"):
        assert asked.ask("b") == "answer 4"
        assert asked.ask("c", is_kept=False) == "answer 5"
        assert asked.ask("c") == "answer 6"


def edit(folder: Path) -> None:
    (folder / "source").write_text("second")


def remove(folder: Path) -> None:
    (folder / "source").unlink()


def age(folder: Path) -> None:
    os.utime(kept(folder), (time.time() - 90000,) * 2)


def open_to_all(folder: Path) -> None:
    kept(folder).chmod(0o666)


def make_a_link(folder: Path) -> None:
    file = kept(folder)
    file.rename(folder / "moved")
    file.symlink_to(folder / "moved")


def damage(folder: Path) -> None:
    kept(folder).write_bytes(b"{\xff")


@pytest.mark.parametrize("change", [edit, remove, age, open_to_all, make_a_link, damage])
def test_what_changed_is_asked_again(
    asked: Counted, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    with answers.remembered(tmp_path / "answers"):
        assert asked.ask("a") == "answer 1"
    change(tmp_path)
    with answers.remembered(tmp_path / "answers"):
        assert asked.ask("a") == "answer 2"


def test_a_folder_that_cannot_be_made_remembers_nothing(asked: Counted, tmp_path: Path) -> None:
    with answers.remembered(tmp_path / "source" / "answers"):
        assert [asked.ask("a"), asked.ask("a")] == ["answer 1", "answer 2"]


def test_old_answers_are_removed(asked: Counted, tmp_path: Path) -> None:
    with answers.remembered(tmp_path / "answers"):
        asked.ask("a")
        age(tmp_path)
        asked.ask("b")
    assert "answer 2" in kept(tmp_path).read_text()


def test_names_of_a_single_job_decide_nothing() -> None:
    variables = {
        "OMPI_MCA_coll": "tuned",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "a[1-2]",
        "EDITOR": "vi",
    }
    assert answers.deciding(variables) == ["OMPI_MCA_coll=tuned", "SLURM_JOB_NODELIST=a[1-2]"]
