"""The script of a job: whatever is in a value, the shell sees the value."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from plumbline.launch import job_files
from plumbline.launch.job_files import JobFiles, Submission, job_script, submitted_script
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Event

NAME = 'it\'s "a" $(touch gone) `touch gone` \\ {folder} %j\nof jobs'


def written(folder: Path, words: list[str], attempt: int = 1, **more: object) -> Path:
    """The script, in its folder."""
    values = {"variables": {}, "preamble": (), "timeout_seconds": 10} | more
    text = job_script(folder=folder, attempt=attempt, words=words, **values)  # type: ignore[arg-type]
    folder.mkdir(exist_ok=True)
    return JobFiles(folder).write_script("job.sh", text)


def run(script: Path, attempt: int = 1) -> None:
    subprocess.run(
        ["/bin/bash", str(script), str(attempt)], check=False, timeout=60, capture_output=True
    )


def test_values_come_through_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    words = ["printf", "%s|", "$HOME", "a b", "'", '"', "`id`", "*", "\\n", "{words}", ""]
    script = written(folder, [*words], variables={"ODD": NAME})
    run(script)
    files = JobFiles(folder)
    done = files.done(1)
    assert done is not None and done.status == 0
    assert files.tail("stdout", 1000) == "$HOME|a b|'|\"|`id`|*|\\n|{words}||"
    assert list(tmp_path.iterdir()) == [folder]
    assert not (folder / "gone").exists()


@settings(max_examples=25)
@given(some.text(some.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_value_of_a_variable_comes_through(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    folder = tmp_path_factory.mktemp("job")
    run(written(folder, ["printenv", "--null", "ODD"], variables={"ODD": value}))
    assert (folder / "stdout").read_bytes() == value.encode() + b"\0"


def test_no_shell_can_set_every_variable(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"variable 'A-B'"):
        written(tmp_path, ["true"], variables={"A-B": "x"})


def test_setup_is_shell_text_and_seen_by_the_program(tmp_path: Path) -> None:
    run(written(tmp_path, ["printenv", "A"], preamble=["A=$((1 + 1))\nexport A; cd /"]))
    assert (tmp_path / "stdout").read_text() == "2\n"
    assert "A" in (JobFiles(tmp_path).environment() or ())


def test_a_setup_that_gives_up_leaves_no_word_of_an_end(tmp_path: Path) -> None:
    run(written(tmp_path, ["true"], preamble=["exit 3"]))
    assert JobFiles(tmp_path).done(1) is None


def test_names_of_the_environment_are_kept_without_what_the_launch_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And without what is in them: a folder of jobs is shared."""
    monkeypatch.setenv("SITE_TOKEN", "very\nsecret=word")
    run(written(tmp_path, ["true"], variables={"OURS": "1"}))
    names = JobFiles(tmp_path).environment()
    assert names is not None and {"PATH", "SITE_TOKEN"} <= set(names) and "OURS" not in names
    for one in tmp_path.iterdir():
        assert b"secret" not in one.read_bytes()
        assert one.stat().st_mode & 0o077 == 0, one


@pytest.mark.parametrize("text", [b"", b"PATH", b"PATH\0", b"PATH\0HO"])
def test_an_environment_that_is_cut_says_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "environment").write_bytes(text)
    assert JobFiles(tmp_path).environment() is None


@pytest.mark.parametrize(
    "text", [b"", b"1", b"1 0 1.5", b"1 0 17.25 18.", b"1 0 17.25 18.5", b"\0" * 20, b"1 a b c\n"]
)
def test_a_last_word_that_is_cut_is_none(tmp_path: Path, text: bytes) -> None:
    files = JobFiles(tmp_path)
    (tmp_path / "done").write_bytes(text)
    assert files.done(1) is None and files.is_cut()
    (tmp_path / "done").write_bytes(b"1 0 17.25 18.5\n")
    assert files.done(1) is not None and not files.is_cut()


@pytest.mark.parametrize("name", ["submission", "events"])
@pytest.mark.parametrize("text", [b"", b'{"attempt":1,"na', b"\xff"])
def test_what_is_known_of_a_job_and_is_cut_is_told(tmp_path: Path, name: str, text: bytes) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(PlumblineError, match=rf"{name} cannot be read .*remove {tmp_path}"):
        getattr(JobFiles(tmp_path), name)()


def test_on_a_full_disk_the_last_word_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_files, "FULL_SECONDS", (0, 0.1))
    (tmp_path / "done.part").symlink_to("/dev/full")
    run(written(tmp_path, ["true"]))
    assert not (tmp_path / "done").is_symlink() and JobFiles(tmp_path).done(1) is None


def test_when_there_is_room_again_the_last_word_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_files, "FULL_SECONDS", (0.1,) * 100)
    (tmp_path / "done.part").symlink_to("/dev/full")
    room = "(sleep 0.5; rm done.part) >/dev/null 2>&1 &"
    run(written(tmp_path, ["/bin/bash", "-c", room]))
    assert JobFiles(tmp_path).done(1) is not None


def test_a_disk_that_is_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(PlumblineError, match=r"cannot write .*over: No space left.*make room"):
        JobFiles(tmp_path).over(1)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("text", "status"), [("exit 5", 5), ("kill -SEGV $$", 139)])
def test_the_status_of_the_program_is_kept(tmp_path: Path, text: str, status: int) -> None:
    run(written(tmp_path, ["/bin/sh", "-c", text]))
    done = JobFiles(tmp_path).done(1)
    assert done is not None and done.status == status


def test_it_ends_at_the_time_limit(tmp_path: Path) -> None:
    run(written(tmp_path, ["sleep", "60"], timeout_seconds=0.2))
    done = JobFiles(tmp_path).done(1)
    assert done is not None and done.status == 124
    assert done.ended_seconds - done.begun_seconds >= 0.2


def test_another_attempt_does_nothing(tmp_path: Path) -> None:
    script = written(tmp_path, ["touch", "ran"], attempt=2)
    run(script, 1)
    assert not (tmp_path / "ran").exists() and JobFiles(tmp_path).done(1) is None
    run(script, 2)
    assert (tmp_path / "ran").exists()
    assert JobFiles(tmp_path).done(1) is None and JobFiles(tmp_path).done(2) is not None


def test_tasks_of_an_array_run_their_own_script(tmp_path: Path) -> None:
    scripts = []
    for number in range(3):
        folder = tmp_path / f"job {number}"
        scripts.append((written(folder, ["touch", "ran"], attempt=number + 1), number + 1))
    text = submitted_script(scripts, "TASK")
    (tmp_path / "all.sh").write_text(text)
    for index, expected in (("1", [1]), ("2", [1, 2]), (None, [0, 1, 2])):
        environment = {"PATH": "/usr/bin:/bin"} | ({"TASK": index} if index else {})
        subprocess.run(["/bin/bash", str(tmp_path / "all.sh")], env=environment, check=True)
        assert [n for n in range(3) if (tmp_path / f"job {n}" / "ran").exists()] == expected


def test_it_beats_while_it_runs(tmp_path: Path) -> None:
    assert JobFiles(tmp_path).beat() == 0
    run(written(tmp_path, ["sleep", "0.2"]))
    assert JobFiles(tmp_path).beat() > 0


def test_what_an_attempt_leaves_goes_and_what_is_known_stays(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    submission = Submission(attempt=1, name="n", task=0, digest="d", id="7")
    files.submitting(submission)
    files.add(Event(time="t", kind="k", text="1"))
    files.add(Event(time="t", kind="k", text="2"))
    for name in ("done", "alive", "records", "records.part", "stderr", "plan"):
        (tmp_path / name).write_text("")
    files.clear("records")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events", "plan", "submission"]
    assert files.submission() == submission
    assert [one.text for one in files.events()] == ["1", "2"]
