"""Open MPI 4.1.4, in as much as is read of it: what `ompi_info --parsable` says, with `--all` of
some parameters."""

from __future__ import annotations

from tests.tuner.families.installations import CC

INFO = """package:Open MPI root@host Distribution
ompi:version:full:4.1.4
ident:4.1.4
path:prefix:/opt/openmpi
config:user:somebody
config:timestamp:Thu May 26 2022
config:cli:--prefix=/opt/openmpi
mca:coll:tuned:version:"mca:2.1.0, api:2.4.0, component:4.1.4"
"""
ALL = """mca:coll:tuned:param:coll_tuned_gather_algorithm:value:ignore
mca:coll:tuned:param:coll_tuned_gather_algorithm:type:int
mca:coll:tuned:param:coll_tuned_gather_algorithm:status:writeable
mca:coll:tuned:param:coll_tuned_gather_algorithm:help:Which gather: 0 ignore, 1 basic linear
mca:coll:tuned:param:coll_tuned_gather_algorithm:enumerator:value:0:ignore
mca:coll:tuned:param:coll_tuned_gather_algorithm:enumerator:value:2:binomial
mca:coll:tuned:param:coll_tuned_priority:value:30
mca:coll:tuned:param:coll_tuned_priority:status:read-only
mca:btl:tcp:param:btl_tcp_links:value:a:b:c
mca:coll:tuned:version:x
option:something:else
"""
HEADER = """#define OMPI_MAJOR_VERSION 4
#define OMPI_MINOR_VERSION 1
#define OMPI_RELEASE_VERSION 4
"""

FILES = {
    "bin/mpirun": "#!/bin/sh\nexit 1\n",
    "bin/mpicc": CC,
    "bin/ompi_info": """#!/bin/sh
[ "$*" = --version ] && exec echo "Open MPI v4.1.4"
case "$*" in *--all*) cat "${0%/bin/*}/all" ;; *) cat "${0%/bin/*}/info" ;; esac
""",
    "include/mpi.h": HEADER,
    "info": INFO,
    "all": ALL,
}
