"""The third-party programs that scripts, benchmarks and tests run, read from their sources.

    named(root) -> {"dpdk-testpmd": {"bench/compare/lib/compare/testpmd.py:42"}, ...}

In Python: the first word of a command that is given to one of CALLS, as a text or as a list, the
one behind `ip netns exec`, and PUT_TOGETHER, whose names are assembled; in shell: the arguments of
`command -v`. Programs that the build makes are left out.
"""

import ast
import re
from pathlib import Path

FOLDERS = ("scripts", "bench", "tests")
CALLS = {
    "which", "peer", "run", "Popen", "call", "check_call", "check_output", "sh", "running",
    "preferred", "output", "execvp", "shell", "popen", "need_program",
}
RUNNERS = {"subprocess", "processes", "lab"}  # others' run() is given other words
NAME = re.compile(r"[a-z][a-z0-9+_.-]*[a-z0-9]")
OURS = re.compile(r"tributary.*|unit-.*|fuzz-.*|fabric-.*|allreduce-.*")
PREFIXES = {"nice", "timeout", "setpriv", "unshare", "env"}
MPI = "bench/compare/lib/compare/mpi.py"
OVS = "bench/compare/lib/compare/open_vswitch.py"
PUT_TOGETHER = {
    "mpicc.openmpi": MPI, "mpirun.openmpi": MPI, "mpicc.mpich": MPI, "mpirun.mpich": MPI,
    "ovs-vswitchd-dpdk": OVS, "ovsdb-server": OVS, "ovsdb-tool": OVS, "ovs-vsctl": OVS,
    "ovs-ofctl": OVS, "openssl": "tests/hosts",
}
OPTIONAL = {"sudo", "git"}  # a user without root has the one; the other brought the sources


def first_words(node):
    """The programs of one argument: of "ip netns exec h1 ping -c 3" both."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, (ast.List, ast.Tuple)):
        words = [e.value if isinstance(e, ast.Constant) and isinstance(e.value, str) else "{}"
                 for e in node.elts]
        text = " ".join(words[:1] + (words[1:] if words and words[0] in {"ip", *PREFIXES} else []))
    else:
        return
    words = text.split()
    if words:
        yield words[0]
    if "exec" in words[:-2] and words[0] == "ip":
        yield words[words.index("exec") + 2]


def of_python(text):
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = getattr(node.func, "value", None)
        of_others = called == "run" and getattr(owner, "id", getattr(owner, "attr", "")) not in RUNNERS
        if called in CALLS and node.args and not of_others:
            for word in first_words(node.args[0]):
                yield word, node.lineno


def of_shell(text):
    for number, line in enumerate(text.splitlines(), 1):
        for word in re.findall(r"command -v ([^\s;|&>)]+)", line):
            yield word, number


def named(root):
    found = {program: {place} for program, place in PUT_TOGETHER.items()}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts or "corpus" in path.parts:
                continue
            try:
                text = path.read_text()
            except UnicodeDecodeError:
                continue
            first = text.partition("\n")[0]
            if path.suffix == ".py" or (first.startswith("#!") and "python" in first):
                words = of_python(text)
            elif first.startswith("#!") and re.search(r"\b(ba)?sh\b", first):
                words = of_shell(text)
            else:
                continue
            for word, line in words:
                if NAME.fullmatch(word) and not OURS.fullmatch(word) and word not in OPTIONAL:
                    found.setdefault(word, set()).add(f"{path.relative_to(root)}:{line}")
    return found


DEVELOPMENT = ("packages", "packages-mpi", "packages-test", "packages-platform")  # the lists that a
                                                                                  # plain
                                                                                  # scripts/setup
                                                                                  # installs


def release_of(root=Path("/")):
    """`debian12`, as lines of the lists name the release of the system in `root`."""
    text = (root / "etc" / "os-release").read_text(encoding="utf-8")
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return (fields.get("ID", "") + fields.get("VERSION_ID", "")).replace('"', "")


def listed(root, names=DEVELOPMENT, unpacked=False, release=None, known=lambda package: True):
    """The packages of these files in scripts/ on `release` (None: this system's): of alternatives the first that is
    `known`, or else the first. scripts/packages explains the lines."""
    release = release or release_of()
    found = []
    for name in names:
        for line in (root / "scripts" / name).read_text(encoding="utf-8").splitlines():
            package, *words = re.sub(r"\s*\|\s*", "|", line.split("#")[0]).split() or [""]
            releases = [word for word in words if word != "unpack"]
            if package and ("unpack" in words) == unpacked and releases in ([], [release]):
                alternatives = package.split("|")
                found.append(next(filter(known, alternatives), alternatives[0]))
    return found


if __name__ == "__main__":
    for program, places in sorted(named(Path(__file__).resolve().parents[2]).items()):
        print(program, *sorted(places)[:3])
