"""The process group: which calls go where, and how torch's tensors become numpy's arrays."""

from __future__ import annotations

import time
import weakref
from datetime import timedelta
from typing import Any

import torch

try:
    from torch._C._distributed_c10d import PrefixStore, ProcessGroup, ProcessGroupGloo, ReduceOp
except ImportError as error:
    raise ImportError(f"torch {torch.__version__} lacks what the backend of Tributary needs ({error}); it is tested with torch "
                      "1.13 and 2.6, built with gloo") from error

from .._forms import BFLOAT16
from . import _plan
from ._choice import OF_GLOO, Choice
from ._counters import NETWORK
from ._engine import FabricError
from ._inner import InnerChannel
from ._operations import Barrier, Broadcast, FixedSum, Operation, Reduction
from ._plan import Plan
from ._process import Setup, process
from ._work import Work

OPERATORS = {name: getattr(ReduceOp, name) for name in ("SUM", "AVG", "MIN", "MAX", "BAND", "BOR", "BXOR", "PRODUCT")}
# Calls that are the inner backend's, whatever they have.
LEFT = ("allgather", "_allgather_base", "allgather_coalesced", "allgather_into_tensor_coalesced", "allreduce_coalesced",
        "alltoall", "alltoall_base", "gather", "monitored_barrier", "recv", "recv_anysource", "reduce_scatter_tensor_coalesced",
        "scatter", "send")


# Types that the inner backend lacks, in some versions of torch, and those that it reduces in their place.
WIDER = {"bfloat16": torch.float32, "int16": torch.int32}


def operator_name(op: Any) -> str:
    """Torch 2 has objects that compare with its constants, and not the constants with them."""
    return next((name for name, known in OPERATORS.items() if op == known), "PREMUL_SUM")


def type_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def array_of(tensor: Any) -> Any:
    """A one-dimensional array of the tensor's memory, which must be contiguous."""
    flat = tensor.detach().reshape(-1)
    if flat.dtype == torch.bfloat16:
        return flat.view(torch.int16).numpy().view(BFLOAT16)
    return flat.numpy()


def bytes_of(tensor: Any) -> Any:
    flat = tensor.detach().reshape(-1)
    return flat.view(torch.uint8).numpy()


class TributaryGroup(ProcessGroup):  # type: ignore[misc]
    """A process group of the backend "tributary": an inner group of gloo, and a channel to the fabric if it got one."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._process = process()
        self._process.check_alive()
        self._own_rank, self._own_size = rank, size
        self._seconds = timeout.total_seconds()
        self._store, self._timeout = store, timeout
        self._inner = ProcessGroupGloo(store, rank, size, timeout=timeout)
        self._inner_channel: InnerChannel | None = None
        self._process.watch(store, rank, size)
        self._setup: Setup | None = None
        self._choice = Choice()

    def getBackendName(self) -> str:  # noqa: N802  torch's name
        return "tributary"

    # Where a call goes.

    def _ready(self) -> Setup:
        """Sets the group up in its first call that may go to the network: all ranks are in it."""
        self._process.check_alive()
        if self._setup is None:
            if self._own_size == 1:
                self._setup = Setup(reason=_plan.ONE_NODE)
            else:
                self._setup = self._process.set_up(self._inner, self._own_rank, self._own_size)
                if self._setup.channel is not None:
                    # At the program's end the process leaves its groups in their order.
                    weakref.finalize(self, self._process.drop, self._setup.channel).atexit = False
        self._process.check_members(self._setup.members)
        return self._setup

    @staticmethod
    def _why_not(tensors: list[Any]) -> str:
        """"", or a reason that holds for every function."""
        if len(tensors) != 1:
            return _plan.SEVERAL
        tensor = tensors[0]
        if tensor.device.type != "cpu":
            raise RuntimeError(f"Tributary torch: a tensor on {tensor.device}: the backend reduces tensors in the memory of "
                               "processors; move it there (tensor.cpu()), or use a backend for its device")
        if tensor.layout != torch.strided:
            return _plan.SPARSE
        return "" if tensor.numel() else _plan.EMPTY

    def _count(self, kind: str, tensors: list[Any], op: str, way: str) -> None:
        tensor = tensors[0] if tensors else None
        self._process.counters.count(kind, "" if tensor is None else type_name(tensor), op, way,
                                     0 if tensor is None else tensor.numel() * tensor.element_size())

    def _reduction(self, kind: str, tensors: list[Any], op: Any) -> tuple[str, Plan | str]:
        """(name of the operator, plan or reason)"""
        name = operator_name(op)
        reason = self._why_not(tensors)
        if reason:
            return name, reason
        setup = self._ready()
        if setup.channel is None:
            return name, setup.reason
        settings = self._process.settings
        if settings.tuning == "never":
            return name, _plan.FASTER
        return name, _plan.plan_reduction(name, type_name(tensors[0]), ranks=self._own_size, wide_frames=setup.wide_frames,
                                          reproducible=self._reproducible())

    def _reproducible(self) -> bool:
        return self._process.settings.reproducible or torch.are_deterministic_algorithms_enabled()

    def _fixed_by_inner(self, tensors: list[Any], op: str) -> Plan | None:
        """For calls that the network does not take: a plan if the sum has to have the network's bits all the same."""
        if self._own_size == 1 or self._why_not(tensors) or not self._reproducible():
            return None
        plan = _plan.plan_reduction(op, type_name(tensors[0]), ranks=self._own_size, wide_frames=True, reproducible=True)
        return plan if isinstance(plan, Plan) and plan.fixed else None

    def _sums_by_inner(self) -> InnerChannel:
        """All ranks are in the first call that needs it."""
        if self._inner_channel is None:
            setup = self._ready()
            inner = ProcessGroupGloo(PrefixStore("tributary/sums", self._store), self._own_rank, self._own_size,
                                     timeout=self._timeout)
            self._inner_channel = InnerChannel(inner)
            self._process.enlist(self._inner_channel, f"{setup.token} by gloo", setup.members)
            weakref.finalize(self, self._process.drop, self._inner_channel).atexit = False
        return self._inner_channel

    def _start(self, operation: Operation, channel: Any = None) -> None:
        assert self._setup is not None
        self._process.engine.submit(channel or self._setup.channel, operation)

    def _name(self, kind: str, tensor: Any, op: str) -> str:
        what = f" of {tensor.numel()} {type_name(tensor)}" if tensor is not None else ""
        return f"{kind}{what}{f' with {op}' if op else ''} at rank {self._own_rank}"

    def _over(self, work: Work, after: Any = None, channel: Any = None) -> Any:
        """What an operation calls at its end."""
        assert self._setup is not None
        channel, owner = channel or self._setup.channel, self._process

        def over(error: BaseException | None) -> None:
            try:
                if error is None and after is not None:
                    after()
            except Exception as problem:
                error = problem
            if error is not None:
                owner.counters.failed += 1
                if isinstance(error, FabricError):
                    owner.broke(channel, error)
                error = RuntimeError(f"Tributary torch: {error}")
            work.complete(error)

        return over

    def _reduce(self, kind: str, tensor: Any, plan: Plan, op: str, results: list[Any], after: Any = None,
                to_rank: int | None = None, why_not: str = "") -> Work:
        """Reduces the tensor in place; `after` is called with the reduced one, before the work is complete. With a reason
        why the network does not take it, a reproducible sum is made by the inner backend."""
        self._count(kind, [tensor], op, why_not or NETWORK)
        channel = self._sums_by_inner() if why_not else None
        work = Work(results)
        plain = tensor.detach()  # written on a thread that records gradients
        held = plain if plain.is_contiguous() else plain.contiguous()
        takes = to_rank is None or to_rank == self._own_rank
        if not takes:
            held = held.clone()
        deadline = time.monotonic() + self._seconds
        name = self._name(kind, tensor, op)

        def end() -> None:
            if not takes:
                return
            if plan.divide:
                held.div_(self._own_size)
            if held is not plain:
                plain.copy_(held)
            if after is not None:
                after()

        over = self._over(work, end, channel)
        if plan.fixed:
            self._process.counters.reproducible += 1
            self._start(FixedSum(name, deadline, over, array_of(held), self._own_size, self._process.settings.whole_calls),
                        channel)
        else:
            self._start(Reduction(name, deadline, over, array_of(held), plan, to_rank))
        return work

    # torch's functions.

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        tensors, op = _tensors(tensors), _op(opts)
        name, plan = self._reduction("allreduce", tensors, op)
        if isinstance(plan, Plan):
            way = self._choice.way_of(self, tensors[0], plan)
            if way.network:
                return way.timed(self._reduce("allreduce", tensors[0], plan, name, tensors))
            self._count("allreduce", tensors, name, way.reason)
            return way.timed(self._inner_allreduce(tensors, opts, op))
        if fixed := self._fixed_by_inner(tensors, name):
            return self._reduce("allreduce", tensors[0], fixed, name, tensors, why_not=plan)
        self._count("allreduce", tensors, name, plan)
        return self._inner_allreduce(tensors, opts, op)

    def _inner_allreduce(self, tensors: list[Any], opts: Any, op: Any) -> Any:
        """With AVG, and all types that the network has."""
        if not _is_to_be_helped(tensors, op):
            return self._inner.allreduce(tensors, *_given(opts))
        plain = tensors[0].detach()
        wider = WIDER.get(type_name(plain))
        held = plain.to(wider) if wider else plain
        averages = operator_name(op) == "AVG"

        def end() -> None:
            if averages:
                held.div_(self._own_size)
            if held is not plain:
                plain.copy_(held)

        return _when_done(self._inner.allreduce([held], ReduceOp.SUM if averages else op), Work(tensors), end)

    def reduce(self, tensors: Any, opts: Any = None, *rest: Any) -> Any:
        tensors, op = _tensors(tensors), _op(opts)
        name, plan = self._reduction("reduce", tensors, op)
        if isinstance(plan, Plan):
            return self._reduce("reduce", tensors[0], plan, name, tensors, to_rank=opts.rootRank)
        if fixed := self._fixed_by_inner(tensors, name):
            return self._reduce("reduce", tensors[0], fixed, name, tensors, to_rank=opts.rootRank, why_not=plan)
        self._count("reduce", tensors, name, plan)
        if not _is_to_be_helped(tensors, op):
            return self._inner.reduce(tensors, *_given(opts))
        whole = tensors[0].detach().clone()
        takes = opts.rootRank == self._own_rank
        return _when_done(self._inner_allreduce([whole], None, op), Work(tensors),
                          lambda: tensors[0].detach().copy_(whole) if takes else None)

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        tensors = _tensors(tensors)
        reason = self._why_not(tensors) or ("" if self._ready().channel is not None else self._ready().reason)
        if not reason and self._process.settings.tuning == "never":
            reason = _plan.FASTER
        self._count("broadcast", tensors, "", reason or NETWORK)
        if reason and (self._why_not(tensors) or type_name(tensors[0]) in OF_GLOO):
            return self._inner.broadcast(tensors, *_given(opts))
        tensor = tensors[0].detach()
        held = tensor if tensor.is_contiguous() else tensor.contiguous()
        work = Work(tensors)

        def end() -> None:
            if held is not tensor:
                tensor.copy_(held)

        if reason:
            return _when_done(self._inner.broadcast([held.reshape(-1).view(torch.uint8)], *_given(opts)), work, end)
        over = self._over(work, end)
        self._start(Broadcast(self._name("broadcast", tensor, ""), time.monotonic() + self._seconds, over, bytes_of(held),
                              opts.rootRank))
        return work

    def barrier(self, opts: Any = None) -> Any:
        setup = self._ready()
        reason = setup.reason if setup.channel is None else ""
        if not reason and self._process.settings.tuning == "never":
            reason = _plan.FASTER
        self._count("barrier", [], "", reason or NETWORK)
        if reason:
            return self._inner.barrier(*_given(opts))
        work = Work([])
        self._start(Barrier(self._name("barrier", None, ""), time.monotonic() + self._seconds, self._over(work)))
        return work

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """As an allreduce of all blocks, of which each rank takes its own."""
        (output,), (blocks,) = _tensors(outputs), (inputs if isinstance(inputs[0], (list, tuple)) else [inputs])
        whole = torch.cat([block.detach().reshape(-1) for block in blocks])
        begin = sum(block.numel() for block in blocks[: self._own_rank])
        return self._scatter("reduce_scatter", output, whole, begin, opts)

    def _reduce_scatter_base(self, output: Any, given: Any, opts: Any = None) -> Any:
        return self._scatter("reduce_scatter", output, given.detach().reshape(-1).clone(), self._own_rank * output.numel(), opts)

    def _scatter(self, kind: str, output: Any, whole: Any, begin: int, opts: Any) -> Any:
        op = _op(opts)
        name, plan = self._reduction(kind, [whole], op)

        def take() -> None:
            output.detach().copy_(whole[begin : begin + output.numel()].reshape(output.shape))

        if isinstance(plan, Plan):
            return self._reduce(kind, whole, plan, name, [output], take)
        if fixed := self._fixed_by_inner([whole], name):
            return self._reduce(kind, whole, fixed, name, [output], take, why_not=plan)
        self._count(kind, [whole], name, plan)
        work = Work([output])
        return _when_done(self._inner_allreduce([whole], None, op), work, take)

    def _set_sequence_number_for_group(self) -> None:
        self._inner._set_sequence_number_for_group()

    def _get_sequence_number_for_group(self) -> int:
        return int(self._inner._get_sequence_number_for_group())


def _left(name: str) -> Any:
    def function(self: TributaryGroup, *arguments: Any, **named: Any) -> Any:
        self._process.check_alive()
        given = getattr(self._inner, name, None)
        if given is None:
            raise RuntimeError(f"Tributary torch: {name.strip('_')} is neither a function of the network nor of gloo in this "
                               f"version of torch ({torch.__version__})")
        self._process.counters.count(name.strip("_"), "", "", _plan.FUNCTION, 0)
        return given(*arguments, **named)

    function.__name__ = name
    return function


for _name in LEFT:
    setattr(TributaryGroup, _name, _left(_name))


def _is_to_be_helped(tensors: list[Any], op: Any) -> bool:
    """Whether it is a reduction of the network that the inner backend lacks."""
    if len(tensors) != 1:
        return False
    averages = operator_name(op) == "AVG" and tensors[0].is_floating_point()
    return averages or (tensors[0].layout == torch.strided and type_name(tensors[0]) in WIDER)


def _tensors(given: Any) -> list[Any]:
    return [given] if isinstance(given, torch.Tensor) else list(given)


def _op(opts: Any) -> Any:
    """Of options, or an operator itself; SUM without any."""
    if opts is None:
        return ReduceOp.SUM
    return getattr(opts, "reduceOp", opts)


def _given(opts: Any) -> tuple[Any, ...]:
    return () if opts is None else (opts,)


def _when_done(inner: Any, work: Work, after: Any) -> Work:
    """Completes the work when a work of the inner backend's, or of ours, is done."""

    def done(future: Any) -> None:
        try:
            future.value()
            after()
        except BaseException as problem:
            work.complete(problem)
            return
        work.complete()

    inner.get_future().add_done_callback(done)
    return work


def create(store: Any, rank: int, size: int, timeout: timedelta) -> TributaryGroup:
    return TributaryGroup(store, rank, size, timeout)


