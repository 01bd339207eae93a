"""ReFrame checks of an MPI installation: the violations that remain after a campaign, and winners
that `plumbline check` finds slower, as performance variables.

    reframe -C site.py -c packaging/reframe -r --performance-report
    reframe -C site.py -c packaging/reframe -r -S 'ranks=128' -S 'violations=4'

References are upper bounds. The check of winners uses the database of the campaign before it."""

# ReFrame needs types at run time, so that this file has no `from __future__ import annotations`.

import json
import os
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import (
    fixture,
    performance_function,
    run_after,
    run_before,
    sanity_function,
    variable,
)

_SLOWER = 3  # exit code of `plumbline check` where a winner is slower


class PlumblineCheck(rfm.RunOnlyRegressionTest):
    """Run a command of plumbline whose JSON decides."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "plumbline"
    tags = {"performance", "mpi"}
    maintainers = ["plumbline"]

    # The command starts mpirun itself, once for each launch.
    @run_before("run")
    def start_once(self) -> None:
        self.job.launcher = getlauncher("local")()

    def document(self) -> Any:
        """Return what the command printed."""
        with open(os.path.join(self.stagedir, "results.json")) as file:
            return json.load(file)


@rfm.simple_test
class PlumblineCampaign(PlumblineCheck):
    """Measure the installation, and count the violations that no setting removes."""

    descr = "violations of MPI performance guidelines"
    time_limit = "2h"
    ranks = variable(int, value=4)
    options = variable(str, value="")
    violations = variable(int, value=0)

    @run_after("setup")
    def set_commands(self) -> None:
        self.num_tasks = self.ranks
        database = os.path.join(self.stagedir, "plumbline.db")
        self.executable_opts = ["--db", database, "campaign", "--nprocs", str(self.ranks)]
        self.executable_opts += self.options.split()
        self.postrun_cmds = [f"plumbline --db {database} results --json > results.json"]
        self.reference = {"*": {"violations_after": (self.violations, None, 0, "cells")}}

    @sanity_function
    def is_finished(self) -> Any:
        return sn.assert_eq(self.document()["state"], "finished")

    @performance_function("cells")
    def violations_before(self) -> Any:
        return len(self.document()["before"]["violations"])

    @performance_function("cells")
    def violations_after(self) -> Any:
        document = self.document()
        return len((document["after"] or document["before"])["violations"])

    @performance_function("cases")
    def wrong_results(self) -> Any:
        return len(self.document()["wrong"])

    @performance_function("winners")
    def winners(self) -> Any:
        return len(self.document()["winners"])


@rfm.simple_test
class PlumblineWinners(PlumblineCheck):
    """Check the campaign's winners by OSU, IMB and their loops."""

    descr = "winners seen by other benchmark programs"
    time_limit = "1h"
    campaign = fixture(PlumblineCampaign, scope="environment")

    @run_after("setup")
    def set_commands(self) -> None:
        self.num_tasks = self.campaign.num_tasks
        database = os.path.join(self.campaign.stagedir, "plumbline.db")
        self.executable_opts = ["--db", database, "check", "--json", "> results.json"]
        self.executable_opts += [f"|| test $? -eq {_SLOWER}"]
        self.reference = {"*": {"slower": (0, None, 0, "winners")}}

    @sanity_function
    def is_checked(self) -> Any:
        return sn.assert_gt(len(self.document()["loops"]), 0, "no program has seen a winner")

    @performance_function("winners")
    def slower(self) -> Any:
        return len(self.document()["slower"])
