"""What holds for the whole process stands in the file that a user sources, beside the winners of
functions."""

from __future__ import annotations

import pytest

from plumbline_db.records import EVERY_FUNCTION
from plumbline_exporters.family.openmpi import mca_params
from plumbline_exporters.plumbline_sh import FILE_NAME
from plumbline_exporters.registry import exporters, texts
from tests.exporters.bundles import bundle, everywhere, tuned

# A setting of the process, a winner of a function (of MPICH none: it wants the library itself), and
# how the file says the setting.
OF_FAMILIES = {
    "openmpi": (
        "4.1.4",
        {"btl_vader_eager_limit": "8192", "pml": "ob1"},
        {"coll_tuned_bcast_algorithm": "binomial"},
        "export OMPI_MCA_btl_vader_eager_limit=8192\nexport OMPI_MCA_pml=ob1\n",
    ),
    "mpich": (
        "5.0.2",
        {"MPIR_CVAR_CH4_CMA_ENABLE": "0"},
        {},
        "export MPIR_CVAR_CH4_CMA_ENABLE=0\n",
    ),
    "mvapich2": (
        "2.3.7",
        {"MV2_SMP_USE_CMA": "0"},
        {"MV2_INTER_BCAST_TUNING": "8"},
        "export MV2_SMP_USE_CMA=0\n",
    ),
    "intelmpi": (
        "2021.17.2",
        {"I_MPI_SHM_CMA": "0"},
        {"I_MPI_ADJUST_BCAST": "3"},
        "export I_MPI_SHM_CMA=0\n",
    ),
    "simgrid": (
        "3.32",
        {"smpi/send-is-detached-thresh": "17408"},
        {"smpi/bcast": "binomial_tree"},
        "--cfg=smpi/send-is-detached-thresh:17408",
    ),
}


@pytest.mark.parametrize("family", OF_FAMILIES)
def test_it_is_exported_beside_the_winners_of_functions(family: str) -> None:
    version, setting, knobs, said = OF_FAMILIES[family]
    winners = [everywhere(EVERY_FUNCTION, **setting)]
    winners += [everywhere("MPI_Bcast", **knobs)] if knobs else []
    full = bundle(*winners, version=version, family=family)
    found = {name: text for _, name, text in texts(full, list(exporters(family)))}
    assert said in found[FILE_NAME]
    assert "# all functions, 4 ranks, all sizes: " in found[FILE_NAME]


def test_rules_of_functions_are_as_they_are_without_it() -> None:
    rule = tuned("MPI_Bcast", "binomial", 1024, 65536)
    setting = everywhere(EVERY_FUNCTION, btl_vader_eager_limit="8192")
    with_it, without = (
        {name: text for _, name, text in texts(one, ["ompi-rules"])}["ompi-rules.conf"]
        for one in (bundle(setting, rule), bundle(rule))
    )
    rules = [line for line in with_it.splitlines() if not line.startswith("#")]
    assert rules == [line for line in without.splitlines() if not line.startswith("#")]
    assert mca_params.parameters(bundle(setting, rule))["btl_vader_eager_limit"] == "8192"
