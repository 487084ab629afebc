#!/usr/bin/env python3
"""Writes man pages and completions, from what the programs themselves say that they take.

    python3 scripts/manual [--run-by WORD... --] OUTPUT-FOLDER PROGRAM...

Each PROGRAM is as the build made it; with --run-by it is run by another one, such as qemu for a cross build.
The names of what is written are those of `scripts/manual/meson.build`, which installs it.
"""

import subprocess
import sys
from pathlib import Path

import command_line
import completion
import man_page

# Section of each program's page, and what its configuration file is called.
SECTIONS = {"tributary-switch": "8", "tributary-fabricd": "8", "tributary-hostd": "8"}
FILES = {
    "tributary-switch": "tributary-switch.toml",
    "tributary-fabricd": "tributary-fabricd.toml",
    "tributary-hostd": "tributary-hostd.toml",
    "tributary-pktgen": "tributary-pktgen.toml",
}
# What no command line describes: files, and how to start a daemon by hand.
FOLDER_OF_SOCKETS = "install -d -o root -g tributary -m 1775 /run/tributary"
MORE = {
    "tributary-switch": {
        "FILES": [("/etc/tributary/switch.toml", "the configuration; see tributary-switch.toml(5)"),
                  ("/run/tributary/switch.sock", "the control socket, for tributaryctl(1)")],
        "WITHOUT SYSTEMD": [FOLDER_OF_SOCKETS, "setpriv --regid tributary --clear-groups tributary-switch"],
    },
    "tributary-hostd": {
        "FILES": [("/etc/tributary/hostd.toml", "the configuration; see tributary-hostd.toml(5)"),
                  ("/run/tributary/host.sock", "where programs ask for their sockets"),
                  ("/run/tributary/host.json", "jobs and sockets, for a restart")],
        "WITHOUT SYSTEMD": [
            FOLDER_OF_SOCKETS,
            "setpriv --reuid tributary --regid tributary --init-groups --inh-caps +net_raw,+net_admin"
            " --ambient-caps +net_raw,+net_admin tributary-hostd"],
    },
    "tributary-fabricd": {
        "FILES": [("/etc/tributary/fabricd.toml", "the configuration; see tributary-fabricd.toml(5)"),
                  ("/run/tributary/fabricd.sock", "the HTTP API"),
                  ("/run/tributary/switches.sock", "where switches of this machine connect"),
                  ("/var/lib/tributary/fabric.db", "the store")],
        "WITHOUT SYSTEMD": [
            FOLDER_OF_SOCKETS,
            "install -d -o tributary -g tributary -m 0750 /var/lib/tributary",
            "setpriv --reuid tributary --regid tributary --init-groups tributary-fabricd"],
    },
}


def pages_beside(program, names):
    """[(name, section)] of all other pages; its own file's first."""
    others = [(other, SECTIONS.get(other, "1")) for other in names if other != program]
    return [*([(FILES[program], "5")] if program in FILES else []), *others]


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")


def main():
    words = sys.argv[1:]
    if words[:1] == ["--run-by"] and "--" in words:
        end = words.index("--")
        command_line.run_by, words = words[1:end], words[end + 1:]
    if len(words) < 2:
        sys.exit(__doc__)
    folder = Path(words[0])
    programs = {Path(path).name: Path(path) for path in words[1:]}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, path in programs.items():
            top = command_line.of(path)
            section = SECTIONS.get(name, "1")
            more = [command_line.of(path, "rdma")] if name == "tributary-host" else []
            page = man_page.of_program(top, section, pages_beside(name, programs), more, MORE.get(name, {}))
            write(folder, f"{name}.{section}", page)
            write(folder, f"{name}.bash", completion.bash(top))
            write(folder, f"{name}.zsh", completion.zsh(top))
            write(folder, f"{name}.fish", completion.fish(top))
            if name in FILES:
                keys = subprocess.run([*command_line.run_by, path, "--print-keys"], capture_output=True, text=True,
                                      check=True).stdout
                version = top.version.rpartition(" ")[2]
                write(folder, f"{FILES[name]}.5", man_page.of_keys(keys, FILES[name], version, name, [(name, section)]))
    except (command_line.DescribeError, subprocess.CalledProcessError, OSError) as problem:
        sys.exit(f"scripts/manual: {problem}")


if __name__ == "__main__":
    main()
