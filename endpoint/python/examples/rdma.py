"""Memory of another host: one process serves an array, another writes to it and reads it back.

    rdma.py serve INTERFACE NID VNI HANDLE-FILE
    rdma.py use INTERFACE NID HANDLE-FILE
"""

import json
import sys
from pathlib import Path

import numpy as np
from tributary import Host, TributaryError, rdma

LENGTH = 100_000


def serve(interface, nid, vni, file):
    with Host(interface, nid=int(nid)) as host:
        array = np.zeros(LENGTH, dtype=np.float64)
        with rdma.register(host, array, write=True, read=True, vni=int(vni)) as region:
            part = Path(file + ".part")
            part.write_bytes(region.handle)
            part.rename(file)  # a process that waits for the file finds all of it
            (arrival,) = rdma.wait_any(host, timeout=100)
            print(json.dumps({"kind": arrival.kind, "immediate": arrival.immediate, "nid": arrival.nid,
                              "sum": array.sum()}), flush=True)
            (last,) = rdma.wait_any(host, timeout=100)  # the peer has read
            assert last.immediate == 2


def use(interface, nid, file):
    handle = Path(file).read_bytes()
    with Host(interface, nid=int(nid)) as host:
        values = np.arange(LENGTH, dtype=np.float64)
        done = rdma.write(host, handle, values, immediate=1, timeout=60)
        back = rdma.read(host, handle, np.empty(10, dtype=np.float64), offset=8 * 90, timeout=60)
        try:
            rdma.write(host, handle, values, offset=8, timeout=60)
            beyond = None
        except TributaryError as error:
            beyond = error.name
        rdma.write(host, handle, values[:1], immediate=2, timeout=60)
        facts = rdma.describe(handle)
        print(json.dumps({"kind": done.kind, "error": done.error, "length": done.length, "back": back.tolist(),
                          "beyond": beyond, "nid": facts.nid, "writable": facts.writable}), flush=True)


if __name__ == "__main__":
    {"serve": serve, "use": use}[sys.argv[1]](*sys.argv[2:])
