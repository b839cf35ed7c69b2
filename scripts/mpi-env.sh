# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Settings that let MPI programs run on any one machine: as root in a container, with more ranks than cores, together
# with other MPI programs. Source it; a value that the caller has set stays.

# Open MPI refuses to run as root unless told twice.
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# More ranks than cores: allowed, and a waiting rank gives its core away.
: "${OMPI_MCA_rmaps_base_oversubscribe:=1}"
: "${OMPI_MCA_mpi_yield_when_idle:=1}"
# Two MPI programs at once would otherwise both be bound to the first cores.
: "${OMPI_MCA_hwloc_base_binding_policy:=none}"
# Containers forbid the system call behind single copies; Open MPI then warns on every rank.
: "${OMPI_MCA_btl_vader_single_copy_mechanism:=none}"
# Messages stay in memory: to look for networks takes longer than a short run.
: "${OMPI_MCA_pml:=ob1}"
export OMPI_MCA_pml OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle
export OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_btl_vader_single_copy_mechanism

# MPICH: a waiting rank gives its core away at once.
: "${MPIR_CVAR_POLLS_BEFORE_YIELD:=1}"
export MPIR_CVAR_POLLS_BEFORE_YIELD

# Open MPI 5 reads the first and the third of these under other names.
: "${PRTE_MCA_rmaps_default_mapping_policy:=:oversubscribe}"
: "${PRTE_MCA_hwloc_default_binding_policy:=none}"
export PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_hwloc_default_binding_policy
