"""What has changed since, in words; and what follows."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.daemon import looking
from plumbline.daemon.step import DaemonStep
from plumbline.daemon.watched import InForce
from plumbline.daemon.watcher import Watcher
from plumbline.libraries import Knob
from plumbline.settings.site_rules import ActiveSiteRules
from plumbline.watch.chart import CellState
from plumbline_db import campaigns, watching
from tests.db import build
from tests.tuner.daemon.watching import Site
from tests.tuner.simulated import toolchain

OURS = InForce("generation 3 of openmpi", 3, "/g/3", {"/g/3/rules": "00"}, [], {"a_knob": "1"})


def facts(**changes: object) -> dict[str, str]:
    given = {
        "machine": build.MACHINE,
        "library": build.LIBRARY,
        "knobs": {},
        "site": None,
        "in_force": OURS,
    }
    return looking.fingerprint_facts(**given | changes)


def test_each_change_is_said_by_name() -> None:
    kernel = msgspec.structs.replace(build.MACHINE, kernel="6.1.0-19-amd64")
    (change,) = looking.changes(facts(), facts(machine=kernel))
    assert change.text == "kernel: 6.1.0-18-amd64, now 6.1.0-19-amd64" and change.makes_stale
    library = msgspec.structs.replace(build.LIBRARY, fingerprint="other")
    (change,) = looking.changes(facts(), facts(library=library))
    assert "openmpi-4.1.4 (other)" in change.text and change.makes_stale
    assert looking.changes(facts(), facts()) == []


def test_settings_of_the_site_are_those_of_others() -> None:
    knobs = {
        "a_knob": Knob("a_knob", "1", "int", True, {}, "file (x)"),
        "btl": Knob("btl", "tcp", "string", True, {}, "file (/etc/y)"),
        "unset": Knob("unset", "0", "int", True, {}),
    }
    (change,) = looking.changes(facts(), facts(knobs=knobs))
    assert change.text == "settings of the site: nothing, now btl = tcp"
    assert not change.makes_stale
    rules = ActiveSiteRules(Path("/etc/rules"), "1\n", "the settings")
    (change,) = looking.changes(facts(), facts(site=rules))
    assert "rules file /etc/rules" in change.text
    ours = ActiveSiteRules(Path("/g/3/rules"), "1\n", "the settings")
    assert looking.changes(facts(), facts(site=ours)) == []


def test_files_that_somebody_has_changed() -> None:
    spoilt = msgspec.structs.replace(OURS, files={"/g/3/rules": "11"}, changed=["rules"])
    (change,) = looking.changes(facts(), facts(in_force=spoilt))
    assert "of which rules changed since" in change.text


def on_another_kernel(site: Site) -> Watcher:
    tools = toolchain()
    machine = msgspec.structs.replace(tools.machine, kernel="7.0")
    other = msgspec.structs.replace(tools, machine=machine)
    watcher = site.watcher()
    watcher._find = lambda *_: (other, site.starter)
    return watcher


def test_another_kernel_makes_the_table_out_of_date(site: Site) -> None:
    site.canaries(3)
    watcher = on_another_kernel(site)
    site.clock.sleep(hours=1)
    done = watcher.advance(site.db)
    assert done.step is DaemonStep.WAIT and "out of date" in done.told[0].what
    row = watching.campaign(site.db, site.campaign.id)
    assert "kernel: " in row.stale and row.stale_since
    site.clock.sleep(hours=1)
    done = watcher.advance(site.db)
    assert done.told == [] and "run `plumbline campaign`" in done.because
    # Put back, all goes on.
    watcher._find = site.find
    site.clock.sleep(hours=1)
    watcher.advance(site.db)
    assert watching.campaign(site.db, site.campaign.id).stale == ""
    site.clock.sleep(hours=1)
    assert watcher.advance(site.db).step is DaemonStep.CANARY


def test_a_table_that_is_out_of_date_is_measured_anew_where_that_is_asked_for(site: Site) -> None:
    site.changed(search={"whole": True})
    site.canaries(2)
    watcher = on_another_kernel(site)
    steps = []
    for _ in range(4):
        site.clock.sleep(hours=1)
        steps.append(watcher.advance(site.db))
    assert [one.step for one in steps] == [
        DaemonStep.WAIT,
        DaemonStep.CAMPAIGN,
        DaemonStep.CANARY,
        DaemonStep.CANARY,
    ]
    new = campaigns.get(site.db, None)
    assert new.id != site.campaign.id and new.state == "finished"
    assert steps[-1].campaign == new.id


def test_files_that_were_spoilt_are_told_and_measured(site: Site) -> None:
    site.canaries(3)
    watcher = site.watcher()
    site.clock.sleep(hours=1)
    watcher.advance(site.db)
    spoilt = msgspec.structs.replace(site.work().in_force, changed=["ompi-rules.conf"])
    from plumbline.daemon import watched

    find, watched.files_in_force = watched.files_in_force, lambda *_: spoilt
    try:
        site.clock.sleep(minutes=11)
        done = watcher.advance(site.db)
        assert "what is in force has changed" in done.told[0].what
        assert "ompi-rules.conf changed since" in done.told[0].table
        # Too little was learnt before it: it is learnt anew, but of what no file changes.
        learning = [
            (one.role == "reference", len(msgspec.json.decode(one.state, type=CellState).learning))
            for one in watching.cells(site.db, site.campaign.id)
        ]
        assert set(learning) == {(True, 4), (False, 0)}
        assert watcher.advance(site.db).step is DaemonStep.CANARY  # at once, and not in an hour
    finally:
        watched.files_in_force = find
