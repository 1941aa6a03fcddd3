# SPDX-License-Identifier: Apache-2.0
"""Recipe for Spack. UNTESTED: nobody has run Spack with it yet.

Copy this file to packages/sluice/package.py of a Spack repository of your own, and set `url` to the source
archive that `scripts/dist DIRECTORY` makes.
"""

from spack.package import *


class Sluice(MesonPackage):
    """I/O scheduler between jobs and a shared file system."""

    url = "file:///path/to/sluice-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0")

    variant("slurm", default=False, description="Build the plugin for Slurm")

    depends_on("slurm", when="+slurm")
    depends_on("c", type="build")
    depends_on("meson@1.0.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("scdoc", type="build")
    depends_on("cjson")
    depends_on("libmicrohttpd@0.9.71:")
    depends_on("liburing")
    depends_on("libyaml")
    depends_on("ncurses")

    def meson_args(self):
        slurm = "enabled" if self.spec.satisfies("+slurm") else "disabled"
        return ["-Dtests=disabled", "-Dman=enabled", "-Dwerror=false", "-Dslurm=" + slurm]
