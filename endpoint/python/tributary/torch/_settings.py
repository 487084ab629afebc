"""What the environment asks of the backend. Pure; docs/guide/torch.md has the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

PREFIX = "TRIBUTARY_TORCH"


class SettingsError(ValueError):
    """A variable has a value that it cannot have."""


@dataclasses.dataclass(frozen=True)
class Settings:
    on: bool = True
    interface: str = ""  # "": the host agent's
    require: bool = False
    verbose: bool = False
    reproducible: bool = False  # sums, also without torch.use_deterministic_algorithms
    whole_calls: bool = False  # exponents of reproducible sums are of whole calls
    tuning: str = "measure"
    join_seconds: float = 10.0

    @property
    def common(self) -> str:
        """What must be the same at all ranks."""
        return f"{self.on} {self.require} {self.reproducible} {self.whole_calls} {self.tuning}"


def _choice(environment: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    value = environment.get(name) or known[0]
    if value not in known:
        raise SettingsError(f"{name} is {value!r}; it is one of {', '.join(known)}")
    return value


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The first of the words that a variable may have is its default. SettingsError."""
    seconds = environment.get(f"{PREFIX}_JOIN_TIMEOUT") or "10"
    try:
        join_seconds = float(seconds)
    except ValueError:
        join_seconds = 0
    if not 0 < join_seconds < 1e6:
        raise SettingsError(f"{PREFIX}_JOIN_TIMEOUT is {seconds!r}; it is a number of seconds")
    return Settings(
        on=_choice(environment, PREFIX, ("on", "off")) == "on",
        interface=environment.get(f"{PREFIX}_INTERFACE") or environment.get("TRIBUTARY_MPI_INTERFACE") or "",
        require=_choice(environment, f"{PREFIX}_REQUIRE", ("0", "1")) == "1",
        verbose=_choice(environment, f"{PREFIX}_VERBOSE", ("0", "1")) == "1",
        reproducible=_choice(environment, "TRIBUTARY_SUM", ("default", "reproducible")) == "reproducible",
        whole_calls=_choice(environment, f"{PREFIX}_EXPONENTS", ("element", "call")) == "call",
        tuning=_choice(environment, f"{PREFIX}_TUNING", ("measure", "always", "never")),
        join_seconds=join_seconds,
    )
