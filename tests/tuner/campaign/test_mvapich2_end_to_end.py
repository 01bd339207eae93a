"""MVAPICH2's variables from the command line. Its part is played by Open MPI with an MPI_Reduce
that chooses among algorithms as that of 2.3.7 does (reduce_osu.c, reduce_tuning.c): slow for large
messages as it is, ranges of sizes where the indexed mode is off, a crash where it is not, and
another algorithm, without a word, for a number that it does not have there. Everything else is as
with the real one. A whole campaign is in mvapich2_campaign.py."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tuner import started
from tests.tuner.families.installations import write
from tests.tuner.families.recorded.mvapich2 import FILES
from tests.tuner.simulated import ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

MPIEXEC = """#!/bin/sh
here=${0%/bin/*}
while true; do
    case $1 in
    -n) ranks=$2; shift 2 ;;
    -genv) export "$2=$3"; shift 3 ;;
    *) break ;;
    esac
done
{ echo launch; env | sed -n '/^MV2_/p'; } >>"$here/seen"
if [ -n "${MV2_INTER_REDUCE_TUNING-}" ] && [ -n "${MPIR_CVAR_REDUCE_COLLECTIVE_ALGORITHM-}" ]; then
    echo "Fatal error in MPI_Init" >&2
    exit 1
fi
if [ "${MV2_SHOW_ENV_INFO-}" = 2 ]; then cat "$here/report" >&2; fi
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \\
    exec mpirun.openmpi -np "$ranks" --oversubscribe -x LD_PRELOAD="$here/slow.so" "$@"
"""
SLOW = """#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define REDUCE const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, \\
               MPI_Comm comm
#define GIVEN from, to, count, type, op, root, comm
enum { LARGE = 8192 };
static int bytes(int count, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    return count * size;
}
static int after(int slow, REDUCE)
{
    const struct timespec delay = {.tv_nsec = 600000};
    if (slow)
        nanosleep(&delay, NULL);
    return PMPI_Reduce(GIVEN);
}
int MPIR_Reduce_binomial_MV2(REDUCE) { return after(bytes(count, type) >= LARGE, GIVEN); }
int MPIR_Reduce_redscat_gather_MV2(REDUCE) { return after(bytes(count, type) < LARGE, GIVEN); }
int MPIR_Reduce_inter_knomial_wrapper_MV2(REDUCE) { return after(1, GIVEN); }
int MPIR_Reduce_Zcpy_MV2(REDUCE) { return after(1, GIVEN); }
int MPIR_Reduce_allreduce_MV2(REDUCE) { return after(1, GIVEN); }
static int is_off(const char *name)
{
    const char *value = getenv(name);
    return value && atoi(value) != 1;
}
static int algorithm(int number, int in_ranges, REDUCE)
{
    switch (in_ranges && number > 5 ? 2 : number) {
    case 1:
        return MPIR_Reduce_binomial_MV2(GIVEN);
    case 5:
        return MPIR_Reduce_redscat_gather_MV2(GIVEN);
    case 6:
        return MPIR_Reduce_Zcpy_MV2(GIVEN);
    case 8:
        return MPIR_Reduce_allreduce_MV2(GIVEN);
    default:
        return MPIR_Reduce_inter_knomial_wrapper_MV2(GIVEN);
    }
}
/* The default stands in a table too, so that both ways to choose cost the same. */
static const char *choice;
static int ranges = 2, numbers[8] = {1, 2}, ends[8] = {LARGE - 1};
__attribute__((constructor)) static void read_once(void)
{
    const char *word = choice = getenv("MV2_INTER_REDUCE_TUNING");
    if (!word)
        return;
    ranges = 0;
    if (!strchr(word, ','))
        return;
    if (!is_off("MV2_USE_INDEXED_TUNING") || !is_off("MV2_USE_INDEXED_REDUCE_TUNING"))
        return;
    for (; ranges < 8; word = strchr(word, ',') + 1) {
        numbers[ranges] = atoi(word);
        ends[ranges++] = atoi(strchr(word, '-') + 1);
        if (!strchr(word, ','))
            return;
    }
}
int MPI_Reduce(REDUCE)
{
    int at = 0;
    if (!ranges && strchr(choice, ','))
        abort();
    if (!ranges)
        return algorithm(atoi(choice), 0, GIVEN);
    while (at < ranges - 1 && bytes(count, type) > ends[at])
        ++at;
    return algorithm(numbers[at], 1, GIVEN);
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = sorted((ROOT / "build").glob("openmpi-4*/probe"))
    if not built or shutil.which("mpirun.openmpi") is None:
        pytest.skip("no probe is built for Debian's Open MPI: make build")
    prefix = tmp_path_factory.mktemp("mvapich2")
    files = {name: text for name, text in FILES.items() if not name.startswith("libexec")}
    write(prefix, files | {"bin/mpiexec": MPIEXEC})
    programs = prefix / "libexec" / "plumbline" / "mvapich2-2.3.7"
    programs.parent.mkdir(parents=True)
    programs.symlink_to(built[-1].parent)
    (prefix / "share" / "plumbline").mkdir(parents=True)
    (prefix / "share" / "plumbline" / "search-spaces").symlink_to(ROOT / "search-spaces")
    (prefix / "slow.c").write_text(SLOW)
    words = ["mpicc.openmpi", "-O2", "-shared", "-fPIC", "-o", "slow.so", "slow.c"]
    subprocess.run(words, check=True, cwd=prefix)
    return prefix


def plumbline(prefix: Path, *words: object) -> subprocess.CompletedProcess[str]:
    here = ("--mpi", prefix, "--db", prefix / "plumbline.db")
    return started.plumbline(*words, *here, seconds=560, PLUMBLINE_PREFIX=str(prefix))


def launches(prefix: Path) -> list[dict[str, str]]:
    """MV2_* of every launch."""
    found = []
    for text in (prefix / "seen").read_text().split("launch\n")[1:]:
        found.append(dict(line.split("=", 1) for line in text.splitlines()))
    return found


def test_doctor_tries_what_it_can_and_says_what_it_cannot(prefix: Path) -> None:
    done = plumbline(prefix, "doctor")
    said = " ".join(done.stdout.split())
    assert "2.3.7 (" in said and "search space" in said, done.stdout + done.stderr
    assert "takes MV2_INTER_BCAST_TUNING=1" in said
    assert "parameters cannot be checked" in said
    assert "MVAPICH2 was run by Plumbline as 2.3.7 on one node" in said
    assert {"MV2_INTER_BCAST_TUNING": "1"}.items() <= launches(prefix)[-1].items()
