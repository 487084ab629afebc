"""Reductions in the network, memory of other hosts, the manager and the traffic generator's results, from Python.

    import numpy as np
    import tributary

    with tributary.Host("eth0") as host, host.join_named("demo", rank=rank, size=16) as group:
        total = group.allreduce(np.arange(1000, dtype=np.float32), op="sum")

Host, Group and Request are the C API of libtributary with numpy arrays (docs/guide/python.md); Manager asks the fabric
manager; rdma reads and writes memory of other hosts; results reads results of tributary-pktgen.
"""

from . import rdma, results
from ._forms import (
    BFLOAT16, MINMAXLOC_DOUBLE, MINMAXLOC_INT64, REPSUM_STATE, bfloat16, from_bfloat16, from_repsum, repsum, repsum_add,
)
from ._library import TributaryError
from .host import Group, Host, Request, Result
from .manager import Manager, ManagerError

__all__ = [
    "BFLOAT16", "MINMAXLOC_DOUBLE", "MINMAXLOC_INT64", "REPSUM_STATE", "Group", "Host", "Manager", "ManagerError",
    "Request", "Result", "TributaryError", "bfloat16", "from_bfloat16", "from_repsum", "rdma", "repsum",
    "repsum_add", "results",
]
__version__ = "0.1.0"
