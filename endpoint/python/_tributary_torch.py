"""Registers the backend "tributary" of torch.distributed when torch is imported: torch 2.5 and later call what the entry
point torch.backends names. Nothing else of Tributary is loaded before a process group of the backend is made."""

from __future__ import annotations

from typing import Any


def register() -> None:
    import torch.distributed as distributed

    if distributed.is_available() and "TRIBUTARY" not in distributed.Backend._plugins:
        distributed.Backend.register_backend("tributary", _create, devices=["cpu"])


def _create(*arguments: Any) -> Any:
    from tributary.torch import _backend

    return _backend.create(*arguments)
