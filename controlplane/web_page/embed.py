#!/usr/bin/env python3
"""Generates a C++ source from the files of the page: embed.py OUTPUT FILE... The function is declared in files.hpp."""

import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

target, *sources = sys.argv[1:]
texts, entries = [], []
for number, path in enumerate(sorted(map(pathlib.Path, sources), key=lambda path: path.name)):
    data = path.read_text(encoding="utf-8").encode()
    # Single bytes: a file is longer than the string literals that every compiler accepts.
    rows = (", ".join(f"'\\x{byte:02x}'" for byte in data[i : i + 16]) for i in range(0, len(data), 16))
    texts.append(f"constexpr char text_{number}[] = {{\n" + ",\n".join(rows) + "};\n")
    entries.append(f'    {{"{path.name}", "{TYPES[path.suffix]}", {{text_{number}, sizeof text_{number}}}}},\n')
pathlib.Path(target).write_text(
    '#include "controlplane/web_page/files.hpp"\n\nnamespace tributary::web_page {\nnamespace {\n\n'
    + "\n".join(texts)
    + f"\nconstexpr File all_files[] = {{\n{''.join(entries)}}};\n\n}} // namespace\n\n"
    "std::span<const File> files() { return all_files; }\n\n} // namespace tributary::web_page\n",
    encoding="utf-8",
)
