"""Several hosts: what they are asked, and what is said when one does not answer. The agent is a
shell here, each host a name."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from plumbline.core.reach import Hosts
from plumbline.launch import launcher_for
from plumbline.launch.hosts import Facts, SeveralHosts, least_units
from plumbline.libraries import Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system import machine
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from tests.db import build
from tests.tuner.jobs import job

ANSWER = """# Called as `agent.sh ARGUMENT HOST WORD`.
case $2 in
big) printf '%s\\n' big.site 64; cat {folder}/token-*; echo 'model name\t: Big CPU' ;;
silent) echo 'no route to silent' >&2; exit 255 ;;
far) printf '%s\\n' far 8 x86_64 ;;
*) exec sh -c "$3" ;;
esac
"""
TWO = Placement(nodes=2, ppn=2)


@pytest.fixture
def agent(tmp_path: Path) -> list[str]:
    script = tmp_path / "agent.sh"
    script.write_text(ANSWER.format(folder=tmp_path / "jobs"))
    return ["/bin/sh", str(script), "an argument"]


def several(folder: Path, agent: list[str], *names: str, own_folder: str = "") -> SeveralHosts:
    table = Hosts(names=list(names), agent=agent, folder=own_folder)
    made = launcher_for(table, folder)
    assert isinstance(made, SeveralHosts)
    return made


def test_the_machine_is_all_its_hosts(tmp_path: Path, agent: list[str]) -> None:
    here = machine.this_machine()
    one = several(tmp_path, agent, "invalid.", "big")
    found = one.machine(TWO)
    assert found.host == f"{here.host}, big.site"
    assert found.cpu_model.endswith(" | Big CPU")
    assert one.processing_units() == found.processing_units == min(64, here.processing_units)
    again = several(tmp_path, agent, "invalid.", "big").machine(TWO)
    assert again == found
    others = several(tmp_path, agent, "big", "invalid.").machine(TWO)
    assert len({found.id, others.id, here.id}) == 3


def test_containers_of_one_machine_share_its_processing_units(
    tmp_path: Path, agent: list[str]
) -> None:
    own = frozenset(os.sched_getaffinity(0))
    assert several(tmp_path, agent, "a", "b").processing_units() == max(1, len(own) // 2)

    def container(name: str, boot: str, *numbers: int) -> Facts:
        return Facts(name, len(numbers), "CPU", boot, frozenset(numbers))

    assert least_units([container("a", "x", 0, 1), container("b", "x", 0, 1)]) == 1
    assert least_units([container("a", "x", 0, 1), container("b", "x", 2, 3)]) == 2
    assert least_units([container("a", "x", 0, 1), container("b", "y", 0, 1)]) == 2
    assert least_units([container("a", "", 0, 1), container("b", "", 0, 1)]) == 2
    assert least_units([Facts("a", 8, "CPU")]) == 8


def test_this_host_is_not_asked_through_the_agent(tmp_path: Path) -> None:
    one = several(tmp_path, ["/bin/false"], "127.0.0.1")
    assert one.machine(TWO).host == machine.this_machine().host


def test_a_host_that_does_not_answer(tmp_path: Path, agent: list[str]) -> None:
    with pytest.raises(PlumblineError, match=r"host silent .*exit status 255: no route to silent"):
        several(tmp_path, agent, "big", "silent").machine(TWO)
    with pytest.raises(PlumblineError, match="no such program"):
        several(tmp_path, ["/nowhere/agent"], "big").machine(TWO)


def test_a_host_that_does_not_see_the_folder(tmp_path: Path, agent: list[str]) -> None:
    with pytest.raises(PlumblineError, match=rf"host far does not see the folder {tmp_path}/jobs"):
        several(tmp_path, agent, "big", "far").machine(TWO)
    (tmp_path / "file").touch()
    with pytest.raises(PlumblineError, match=r"cannot create the folder .*/file/jobs: Not a dir"):
        several(tmp_path, agent, "big", own_folder=f"{tmp_path}/file/jobs").machine(TWO)


def test_folders_of_jobs_lie_where_all_hosts_see_them(tmp_path: Path, agent: list[str]) -> None:
    with several(tmp_path, agent, "big").folder("a") as beside:
        assert beside.parent == tmp_path / "jobs"
    assert not beside.exists()
    own = tmp_path / "own"
    with several(tmp_path, agent, "big", own_folder=str(own)).folder("a") as named:
        assert named.parent == own


def test_folders_that_a_killed_process_has_left_go(tmp_path: Path, agent: list[str]) -> None:
    shared = tmp_path / "jobs"
    for name in ("job-dead", "job-busy", "job-young", "agent-old"):
        (shared / name).mkdir(parents=True)
        (shared / name / "records.ndjson.part").touch()
    two_days_ago = time.time() - 2 * 86400
    for name in ("job-dead/records.ndjson.part", "job-dead", "job-busy", "agent-old"):
        os.utime(shared / name, (two_days_ago, two_days_ago))
    with several(tmp_path, agent, "big").folder("a") as own:
        left = {one.name for one in shared.iterdir()}
    assert left == {own.name, "job-busy", "job-young", "agent-old"}


def test_what_is_asked_of_a_host_by_a_killed_process_goes(tmp_path: Path) -> None:
    shared = tmp_path / "jobs"
    shared.mkdir()
    for name in ("token-old", "token-young"):
        (shared / name).touch()
    two_days_ago = time.time() - 2 * 86400
    os.utime(shared / "token-old", (two_days_ago, two_days_ago))
    several(tmp_path, ["/bin/false"], "127.0.0.1").machine(TWO)
    assert [one.name for one in shared.iterdir()] == ["token-young"]


@pytest.mark.parametrize("how", ["text", "mode", "link", "owner"])
def test_an_agent_that_anybody_may_have_put_there_is_not_started(
    tmp_path: Path, agent: list[str], how: str
) -> None:
    known = Path(several(tmp_path, agent, "x")._agent)
    text = known.read_text()
    known.unlink()
    theirs = tmp_path / "theirs"
    theirs.write_text("#!/bin/sh\ntouch /tmp/gone\n" if how == "text" else text)
    theirs.chmod(0o777 if how == "mode" else 0o755)
    if how == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(theirs, 4321, 4321)
    known.symlink_to(theirs) if how == "link" else theirs.rename(known)
    assert several(tmp_path, agent, "x")._agent == str(known)
    facts = known.lstat()
    assert stat.S_ISREG(facts.st_mode) and facts.st_mode & 0o022 == 0
    assert facts.st_uid == os.geteuid() and known.read_text() == text


@pytest.mark.parametrize("mode", [0o777, 0o2775])
def test_a_folder_where_others_rename_is_refused(
    tmp_path: Path, agent: list[str], mode: int
) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs").chmod(mode)
    with pytest.raises(PlumblineError, match="jobs can be written to by others"):
        several(tmp_path, agent, "big").machine(TWO)
    (tmp_path / "jobs").chmod(0o1777)
    several(tmp_path, agent, "big").machine(TWO)


def test_mpirun_is_told_of_the_hosts(tmp_path: Path, agent: list[str]) -> None:
    """An agent with arguments is one program for it, whose name is the same in every launch."""
    echo = Installation(build.LIBRARY, Path("/bin/echo"), None)
    given = {"A": "1", "PATH": "/bin"}
    one = job(tmp_path, ["probe"], TWO, given, extra={"A": "1"})
    said = [
        several(tmp_path, agent, "x", "y").run(OpenMpi(), echo, one).stdout.split() for _ in "12"
    ]
    assert said[0] == said[1]
    words = said[0]
    assert words[-3:] == ["-x", "A", "probe"]
    assert words[words.index("--host") + 1] == "x:2,y:2"
    script = Path(words[words.index("plm_rsh_agent") + 1])
    assert script.parent == tmp_path / "jobs"
    assert script.read_text() == f"#!/bin/sh\nexec /bin/sh {agent[1]} 'an argument' \"$@\"\n"
    alone = launcher_for(Hosts(names=["x"], agent="ssh"), tmp_path).run(OpenMpi(), echo, one)
    assert "plm_rsh_agent ssh" in alone.stdout
