# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack (https://spack.io). From a tree of the sources:
#
#     spack repo create ~/equipoise-repo equipoise
#     mkdir ~/equipoise-repo/packages/equipoise && cp packaging/spack/package.py ~/equipoise-repo/packages/equipoise
#     spack repo add ~/equipoise-repo && spack dev-build equipoise@0.2.0
from spack.package import *


class Equipoise(MesonPackage):
    """Load balancing of MPI N-body codes by their interactions: libraries, a sampler without MPI, and three programs
    that compare methods of balancing."""

    license("BSD-3-Clause")

    version("0.2.0")

    variant("lib", default=True, description="The libraries that need MPI, and the programs; without: the sampler alone")
    variant("shared", default=True, description="Shared libraries beside the static ones")
    variant("zoltan", default=True, when="+lib", description="The methods of Zoltan")
    variant("hdf5", default=True, when="+lib", description="HDF5 files")
    variant("metis", default=False, when="+lib", description="The method metis")
    variant("fortran", default=False, when="+lib", description="The Fortran module")
    variant("docs", default=True, description="Manual pages")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.6:", type="build")
    depends_on("scdoc", type="build", when="+docs")
    with when("+lib"):
        depends_on("mpi@3:")
        depends_on("jansson")
        depends_on("zlib-api")
    depends_on("zoltan", when="+zoltan")
    depends_on("hdf5@1.10.5: ~mpi", when="+hdf5")  # each rank reads its part by itself
    depends_on("metis@5: ~int64", when="+metis")
    depends_on("fortran", type="build", when="+fortran")

    # What Spack has not resolved is not taken from the machine: every option is named.
    features = ("lib", "zoltan", "hdf5", "metis", "fortran")

    def meson_args(self):
        def state(feature):
            return "enabled" if "+" + feature in self.spec else "disabled"

        args = [f"-D{feature}={state(feature)}" for feature in self.features]
        args.append("-Ddefault_library=" + ("both" if "+shared" in self.spec else "static"))
        args.append("-Dtests=" + ("auto" if self.run_tests else "disabled"))
        return args + ["-Dbench=false"]

    def setup_build_environment(self, env):
        if "+lib" in self.spec:
            env.set("MPICC", self.spec["mpi"].mpicc)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def smoke(self):
        """The program says its version, and compares methods on one rank."""
        if "+lib" in self.spec:
            barneshut = Executable(self.prefix.bin.barneshut)
            barneshut("--version")
            barneshut("--generate", "plummer:n=500", "--compare", "sfc", "--parts", "4")
