"""A backend of torch.distributed whose reductions are made in the network (docs/guide/torch.md).

    import torch.distributed as distributed
    import tributary.torch                                        # not needed from torch 2.5 on, where it is installed

    distributed.init_process_group("tributary")                   # rank and size as for gloo: env://, tcp://, file://
    model = torch.nn.parallel.DistributedDataParallel(model)

Allreduce, reduce, broadcast, barrier and reduce-scatter go through the network; everything else, and groups that the fabric
refuses, through gloo. All ranks agree on it, and one line says why. `statistics` counts what went where. With
torch.use_deterministic_algorithms(True), or TRIBUTARY_SUM=reproducible, sums of floats have the same bits in every run.

Rooms: _plan, _fixed, _settings, _counters and _node's protocol are pure; _engine is the thread that owns the host; _fabric
and _node are channels to the fabric, and _inner is one to gloo, for reproducible sums of groups without a place in the
fabric; _watch knows who is alive; _process sets groups up; _backend is what torch calls.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed

if not torch.distributed.is_available():
    raise ImportError("this torch is built without torch.distributed, which the backend of Tributary is for")

from . import _backend  # noqa: E402
from ._process import process  # noqa: E402

NAME = "tributary"


def _register() -> None:
    if NAME.upper() in torch.distributed.Backend._plugins:
        return  # by the entry point
    if "devices" in torch.distributed.Backend.register_backend.__code__.co_varnames:
        torch.distributed.Backend.register_backend(NAME, _backend.create, devices=["cpu"])
    else:
        torch.distributed.Backend.register_backend(NAME, _backend.create)


def statistics() -> dict[str, Any]:
    """What this process's calls were: `network` and `calls` are numbers; `rows` has a dictionary for each kind of call,
    type, operator and way: "network", or the reason why it was left to gloo; `reproducible` counts reproducible sums,
    `failed` calls that ended with an error."""
    counters = process().counters
    here, calls = counters.totals()
    return {"network": here, "calls": calls, "reproducible": counters.reproducible, "failed": counters.failed,
            "rows": counters.rows()}


# Debian builds torch without libuv, which stores of torch 2 ask for by default.
os.environ.setdefault("USE_LIBUV", "0")
_register()
__all__ = ["NAME", "statistics"]
