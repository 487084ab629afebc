"""Compiles every public header alone, so that each includes everything it needs.

    check.py ROOT COMPILER [ARGUMENT...]      COMPILER as C++; tributary*.h also as C, with cc

The header is included twice, which also shows that it guards itself.
"""

import os
import subprocess
import sys
from pathlib import Path

root = Path(sys.argv[1])
sys.path.insert(0, str(root / "scripts"))

from tributary.cases import Cases, Failed, wanted  # noqa: E402


def compile_alone(header, command, language):
    source = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run(
        [*command, "-x", language, "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
         "-I", str(root / "include"), "-"],
        input=source, capture_output=True, text=True, check=False,
    )
    if done.returncode:
        raise Failed(done.stderr)


def main():
    report = Cases("headers")
    compiler = sys.argv[2:]
    for path in sorted((root / "include").rglob("*.h*")):
        header = path.relative_to(root / "include").as_posix()
        ways = [("cpp", [*compiler, "-std=c++20"])]
        if path.suffix == ".h":
            ways.append(("c", [os.environ.get("CC", "cc"), "-std=c11"]))
        for language, command in ways:
            name = header.replace("/", "_").replace(".", "_")
            if wanted(f"headers.{name}_as_{language}"):
                with report.case("headers", f"{name}_as_{language}"):
                    compile_alone(header, command, "c++" if language == "cpp" else "c")
    return report.finish()


sys.exit(main())
