# Copyright 2026 Plumbline contributors. SPDX-License-Identifier: BSD-3-Clause

from spack.package import *


class PyPlumbline(PythonPackage):
    """Keeps an MPI installation true to its performance guidelines."""

    homepage = "https://example.org/plumbline"
    # A folder of a repository of yours: `spack develop` or this line says where the sources are.
    git = "file:///opt/src/plumbline"

    license("BSD-3-Clause")

    version("0.1.0", tag="v0.1.0")

    variant("pages", default=False, description="Pages in a browser, /metrics, and pictures")

    depends_on("c", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:89", type="build")
    depends_on("gmake", type=("build", "run"))
    depends_on("pkgconfig", type=("build", "run"))
    depends_on("mpi", type=("build", "link", "run"))
    depends_on("hwloc", type=("build", "link", "run"))
    depends_on("xxhash", type=("build", "link"))
    depends_on("papi", type=("build", "link", "run"))

    depends_on("py-apsw@3.51.3:3", type=("build", "run"))
    depends_on("py-click@8.1:8", type=("build", "run"))
    depends_on("py-msgspec@0.19:0", type=("build", "run"))
    depends_on("py-numpy@1.26:2", type=("build", "run"))
    depends_on("py-optuna@4.2:5", type=("build", "run"))
    depends_on("py-prometheus-client@0.20:0", type=("build", "run"))
    depends_on("py-rich@13.7:15", type=("build", "run"))

    with when("+pages"):
        depends_on("py-anyio@4:4", type=("build", "run"))
        depends_on("py-bcrypt@4.1:5", type=("build", "run"))
        depends_on("py-jinja2@3.1:3", type=("build", "run"))
        depends_on("py-pyyaml@6:6", type=("build", "run"))
        depends_on("py-starlette@1:1", type=("build", "run"))
        depends_on("py-uvicorn@0.54:0", type=("build", "run"))
        depends_on("py-vl-convert-python@1.7:1", type=("build", "run"))

    @run_after("install")
    def build_programs(self):
        """Probe and preload library for the MPI of this specification, as `make install` has them."""
        make("build", "MPICC={0}".format(self.spec["mpi"].mpicc), "VENV=venv")
        programs = join_path(prefix.libexec, "plumbline")
        for folder in find("build", "probe", recursive=True):
            install_tree(ancestor(folder), join_path(programs, basename(ancestor(folder))))
        install_tree("build/detection", join_path(programs, "detection"))
        install_tree("search-spaces", join_path(prefix.share, "plumbline", "search-spaces"))

    def setup_run_environment(self, env):
        env.set("PLUMBLINE_PREFIX", self.prefix)
