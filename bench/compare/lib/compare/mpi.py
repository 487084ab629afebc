"""Open MPI and MPICH as contenders: each rank in a network namespace of its own, talking TCP.

(Open MPI was measured with MPICH's preloaded waiting, too: no difference.)
"""

from compare import host_network
from tributary.mpi_library import MPICH, OPENMPI, Hosts, write_remote_shell

# Their names in tables and in --peers, and their packages.
LIBRARIES = {"openmpi": OPENMPI, "mpich": MPICH}
PACKAGES = {"openmpi": "openmpi-bin", "mpich": "mpich"}


def hosts(size, folder):
    return Hosts([host_network.host_name(n) for n in range(size)], host_network.SUBNET, host_network.GATEWAY,
                 host_network.BRIDGE_SIDE, write_remote_shell(folder))
