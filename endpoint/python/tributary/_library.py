"""libtributary itself, with the declarations of its own header.

The header is next to this file where it is installed, and in the sources otherwise. TRIBUTARY_LIBRARY names another
library than libtributary.so.0.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cffi

if TYPE_CHECKING:
    from .host import Request

SONAME = "libtributary.so.0"
_HERE = Path(__file__).resolve().parent
_FOLDERS = (_HERE, _HERE.parents[2] / "include" / "tributary")
_HEADERS = ("tributary.h", "rdma.h")  # each uses declarations of earlier ones


class TributaryError(Exception):
    """A call failed. `code` is one of enum tributary_error, `name` its name; the text has cause, place and a hint.
    `request` is the Request of the operation where that continues, as after a time-out; otherwise None."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.name = ERROR_NAMES.get(code, str(code))
        self.request: Request | None = None

    @property
    def timed_out(self) -> bool:
        return self.name == "TIMEOUT"


def declarations(header: str) -> tuple[str, dict[str, int]]:
    """The declarations of the header for cffi, and the numbers that it defines by #define."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    numbers = {name: int(value, 0) for name, value in
               re.findall(r"^#define (TRIBUTARY_\w+) \(?(-?0[xX][0-9a-fA-F]+|-?\d+)u?\)?$", text, re.MULTILINE)}
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return text.replace("TRIBUTARY_API ", ""), numbers


def _load() -> tuple[cffi.FFI, Any, dict[str, int]]:
    folder = next((path for path in _FOLDERS if all((path / name).exists() for name in _HEADERS)), None)
    if folder is None:
        raise ImportError(f"{' and '.join(_HEADERS)} are in neither of {', '.join(map(str, _FOLDERS))}")
    ffi = cffi.FFI()
    numbers: dict[str, int] = {}
    for name in _HEADERS:
        text, more = declarations((folder / name).read_text(encoding="utf-8"))
        ffi.cdef(text)
        numbers |= more
    name = os.environ.get("TRIBUTARY_LIBRARY", SONAME)
    try:
        return ffi, ffi.dlopen(name), numbers
    except OSError as problem:
        raise ImportError(f"{name} cannot be loaded ({problem}); install libtributary0, or name the library of a build "
                          "in TRIBUTARY_LIBRARY") from problem


ffi, lib, DEFINED = _load()


def _names(enumeration: str, prefix: str) -> dict[str, int]:
    elements = ffi.typeof(f"enum {enumeration}").relements
    return {name.removeprefix(prefix): value for name, value in elements.items()}


ERROR_NAMES = {value: name for name, value in _names("tributary_error", "TRIBUTARY_ERR_").items()}
TYPES = _names("tributary_type", "TRIBUTARY_")
OPERATORS = {name.lower(): value for name, value in _names("tributary_op", "TRIBUTARY_").items()}
RESULTS = {value: name.lower() for name, value in _names("tributary_result_code", "TRIBUTARY_").items()}


def text_of(pointer: Any) -> str:
    return str(ffi.string(pointer).decode("utf-8", "replace")) if pointer != ffi.NULL else ""


def check(code: int, host: Any = None) -> int:
    """Raises the error of a negative return code; `host` is the handle with its text."""
    if code >= 0:
        return code
    known = text_of(lib.tributary_last_error(host if host is not None else ffi.NULL))
    raise TributaryError(code, known or text_of(lib.tributary_error_string(code)))
