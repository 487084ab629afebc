"""Whether an option that the documentation shows exists: in the program, and in the command that it is shown with."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "manual"))
import command_line  # noqa: E402

OPTION = re.compile(r"^(--?[a-zA-Z][\w-]*)")
PROGRAM = re.compile(r"^(?:\.\./|\./)*(?:[\w./-]*/)?(tributary-(?:switch|fabricd|hostd|pktgen|run|sim|host)|tributaryctl)$")
SCRIPT = re.compile(r"^(?:\./)?((?:scripts|bench|tests)/[\w./-]+|build/bench/[\w-]+)$")
# Options of other programs that pages show on their own, and the programs they belong to.
OTHERS = {
    "--prefix": "meson", "--buildtype": "meson", "-Dsanitize": "meson", "--allow-downgrades": "apt",
    "--force-confold": "dpkg", "--destdir": "meson", "--repeat": "make", "--gtest_filter": "GoogleTest",
    "--gtest_list_tests": "GoogleTest", "--tlsv1.3": "curl", "--pdeathsig": "setpriv", "--mca": "Open MPI",
    "--cap-add": "Docker", "--ipc": "podman", "--userns": "podman",
}


def words_of(text):
    try:
        return shlex.split(text.removeprefix("$ "), comments=True)
    except ValueError:  # a quotation that continues in the next line
        return text.split()


class Options:
    def __init__(self, programs):
        """`programs`: {name: path} of the programs that describe themselves."""
        self._tops = {name: [command_line.of(path)] for name, path in programs.items()}
        if "tributary-host" in programs:
            self._tops["tributary-host"].append(command_line.of(programs["tributary-host"], "rdma"))
        self._all = {option for tops in self._tops.values() for top in tops for option in self._names(top, None)}
        self._helps, self._words = {}, set()

    def _names(self, top, words):
        """Options at the commands that `words` go through; for None those of all commands."""
        command, found = top, set()
        for one in top.walk() if words is None else ():
            found |= self._of(one)
        if words is not None:
            found = self._of(top)
            for word in words:
                following = [sub for sub in command.commands if sub.name == word]
                if following:
                    command = following[0]
                    found |= self._of(command)
            if command.commands:  # a synopsis without its last command
                for one in command.walk():
                    found |= self._of(one)
        return found

    @staticmethod
    def _of(command):
        names = {name for option in command.named for name in option.names}
        return names | {f"--no-{name[2:]}" for name in names if name.startswith("--")}

    def _help(self, script):
        if script not in self._helps:
            path = ROOT / script
            text = ""
            if path.is_file() and os.access(path, os.X_OK):
                done = subprocess.run([path, "--help"], capture_output=True, text=True, check=False, cwd=ROOT,
                                      stdin=subprocess.DEVNULL, timeout=60)
                text = done.stdout + done.stderr
            self._helps[script] = text
        return self._helps[script]

    def unknown(self, text):
        """The errors in the options of this piece of code: [message]."""
        wrong = []
        for part in re.split(r"&&|\|\||[|;]| \$\(", text):
            words = words_of(part)
            at = next((i for i, word in enumerate(words) if PROGRAM.match(word) or SCRIPT.match(word)), None)
            if at is None:
                continue
            name = words[at]
            shown = [m.group(1) for word in words[at + 1 :] if (m := OPTION.match(word.strip("[]<>.,;")))]
            program = PROGRAM.match(name)
            if program and program.group(1) == "tributary-run":
                shown = self._before_program(words[at + 1 :], shown)
            if program and program.group(1) in self._tops:
                tops = self._tops[program.group(1)]
                known = set().union(*(self._names(top, words[at + 1 :]) for top in tops))
            elif program:
                continue
            else:
                script = SCRIPT.match(name).group(1)
                if script.startswith("build/") or not (ROOT / script).is_file() or not shown:
                    continue
                help_text = self._help(script)
                known = {option for option in shown if option in help_text}
            wrong += [f"{name} has no {option}" for option in shown if option not in known and option != "-"]
        return wrong

    def _before_program(self, words, shown):
        """tributary-run's own: those before the program that it starts."""
        valued = {name for option in self._tops["tributary-run"][0].named if not option.flag for name in option.names}
        own, skip = [], False
        for word in words:
            if skip:
                skip = False
                continue
            if not word.startswith(("-", "[")):
                break
            own.append(word.strip("[]"))
            skip = word in valued
        return [option for option in shown if option in own]

    def alone(self, text):
        """Whether an option shown on its own belongs to any program."""
        found = OPTION.match(text)
        if not found or " " in text.strip() and not found:
            return True
        name = found.group(1)
        if name in self._all or name in OTHERS or not name.startswith("--"):
            return True
        return name in self._scripts()

    def _scripts(self):
        """All options of scripts and benchmarks."""
        if not self._words:
            for folder in ("scripts", "bench", "tests/packages", "tests/mutation", "tests/docs"):
                for path in (ROOT / folder).rglob("*"):
                    if path.is_file() and path.suffix in ("", ".py", ".cpp", ".in"):
                        text = path.read_text(encoding="utf-8", errors="replace")
                        self._words |= set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
        return self._words
