"""Every program that scripts, benchmarks and tests run is in a package of the lists, or in any
Debian. Requires a machine with the lists' packages; empty_root.py checks an empty one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).resolve().parent)]

import programs  # noqa: E402
from tributary.cases import Cases, Skip  # noqa: E402

# Lists that need not be installed, and where their programs are named.
ON_DEMAND = {
    "packages-night": ("tests/programs/", "scripts/cross/", "tests/unit/scripts/cross_test.py", "tests/packages/arm64.py"),
    "packages-machines": ("tests/machines/",),
}


def installed():
    """{package: (whether every Debian has it, the packages it needs)}; names provided count, too."""
    form = "${db:Status-Status}|${Package}|${Priority}|${Essential}|${Depends}, ${Pre-Depends}|${Provides}\\n"
    output = subprocess.run(["dpkg-query", "--show", f"--showformat={form}"], capture_output=True, text=True, check=True)
    packages = {}
    for line in output.stdout.splitlines():
        status, name, priority, essential, needs, provides = line.split("|", 5) if line.count("|") == 5 else split(line)
        if status != "installed":
            continue
        base = essential == "yes" or priority in ("required", "important")
        needed = {word.split()[0].split(":")[0] for word in needs.replace("|", ",").split(",") if word.strip()}
        for each in {name, *(word.split()[0] for word in provides.split(",") if word.strip())}:
            packages.setdefault(each, (base, needed | ({name} if each != name else set())))
    return packages


def split(line):
    """Alternatives among a package's dependencies have the separator, too."""
    status, name, priority, essential, rest = line.split("|", 4)
    needs, _, provides = rest.rpartition("|")
    return status, name, priority, essential, needs, provides


def candidates(program):
    """Its possible paths: in any folder of PATH, and through the links of alternatives."""
    found = set()
    for folder in (os.environ.get("PATH", "") + ":/usr/sbin:/sbin").split(":"):
        if folder and (path := shutil.which(program, path=folder)):
            found |= {path, os.path.realpath(path)}
    return sorted(found | {path.removeprefix("/usr") for path in found} | {f"/usr{path}" for path in found})


def owners(named):
    """{program: the package it is of}; none for those that are of no package."""
    paths = {path: program for program in named for path in candidates(program)}
    output = subprocess.run(["dpkg-query", "--search", *paths], capture_output=True, text=True, check=False).stdout
    found = {}
    for line in output.splitlines():
        packages, _, path = line.partition(": ")
        if path in paths:
            found[paths[path]] = packages.split(",")[0].split(":")[0]
    return found


def brought_by(lists, packages):
    """All dependencies of these packages, and all packages of any Debian."""
    todo = [*lists, *(name for name, (base, _) in packages.items() if base)]
    closure = set()
    while todo:
        name = todo.pop()
        if name not in closure:
            closure.add(name)
            todo.extend(packages.get(name, (False, ()))[1])
    return closure


def check():
    if shutil.which("dpkg-query") is None:
        raise Skip("this is not a Debian")
    packages = installed()

    def listed(*names, unpacked=False):
        return programs.listed(ROOT, names or programs.DEVELOPMENT, unpacked, known=packages.__contains__)

    of_peers = listed("packages-bench") + listed("packages-bench", unpacked=True)
    on_demand = listed(*ON_DEMAND)
    lacking = [name for name in listed() if name not in packages]
    if lacking:
        raise Skip(f"not installed: {' '.join(lacking)}; run scripts/setup")
    all_peers = all(name in packages for name in of_peers)
    elsewhere = tuple(place for name, named_in in ON_DEMAND.items() for place in named_in
                      if not all(package in packages for package in listed(name)))
    closure = brought_by(listed() + of_peers + on_demand, packages)
    named = programs.named(ROOT)
    package_of = owners(named)
    wrong = []
    for program, places in sorted(named.items()):
        package = package_of.get(program)
        if package is None:
            # Peers need not be installed; all other named programs must be.
            if not all_peers and (program in of_peers or set(places) & set(programs.PUT_TOGETHER.values())):
                continue
            if elsewhere and all(place.startswith(elsewhere) for place in places):
                continue
            wrong.append(f"{program} ({min(places)}): no listed package brings it")
        elif package not in closure:
            wrong.append(f"{program} ({min(places)}): it is of {package}, which no list has")
    assert not wrong, "\n".join(wrong)


def main():
    report = Cases("packages")
    with report.case("packages", "every_program_that_is_named_comes_with_a_listed_package"):
        check()
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
