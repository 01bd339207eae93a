# Copyright 2026 Plumbline contributors. SPDX-License-Identifier: BSD-3-Clause

from spack.package import *

try:  # Spack 1 keeps its build systems beside its packages
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Plumbline(MakefilePackage):
    """Keeps an MPI installation true to its performance guidelines."""

    homepage = "https://example.org/plumbline"
    # A repository of yours; `spack dev-build plumbline@0.1.0` takes the folder that it is typed in.
    git = "file:///opt/src/plumbline"

    license("BSD-3-Clause")

    version("0.1.0", tag="v0.1.0")

    variant("pages", default=False, description="Pages in a browser, /metrics, and pictures")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("gmake", type=("build", "run"))
    depends_on("pkgconfig", type=("build", "run"))
    depends_on("mpi", type=("build", "link", "run"))
    depends_on("hwloc", type=("build", "link", "run"))
    depends_on("xxhash", type=("build", "link"))
    depends_on("papi", type=("build", "link", "run"))

    # Python parts are those that requirements/ names, each by its hash: Spack lacks some of them.
    def build(self, spec, prefix):
        make("setup", "build", *self._words())

    def install(self, spec, prefix):
        make("install", "PREFIX={0}".format(prefix), *self._words())

    def _words(self):
        words = ["MPICC={0}".format(self.spec["mpi"].mpicc)]
        words.append("PYTHON={0}".format(self.spec["python"].command.path))
        return words + ["EXTRAS=pages"] * self.spec.satisfies("+pages")

    def setup_run_environment(self, env):
        env.set("PLUMBLINE_PYTHON", self.spec["python"].command.path)
