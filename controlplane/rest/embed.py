#!/usr/bin/env python3
"""Generates a C++ source from a JSON file: embed.py INPUT OUTPUT FUNCTION. The function is declared in
controlplane/rest/server.hpp."""

import json
import pathlib
import sys

source, target, function = sys.argv[1:]
text = pathlib.Path(source).read_text(encoding="utf-8")
json.loads(text)  # a document that is not JSON must not be served
# Single bytes: a document is longer than the string literals that every compiler accepts.
data = text.encode("ascii")
rows = (", ".join(str(byte) for byte in data[i : i + 32]) for i in range(0, len(data), 32))
numbers = ",\n".join(rows)
pathlib.Path(target).write_text(
    '#include "controlplane/rest/server.hpp"\n\nnamespace tributary::rest {\n\n'
    f"std::string_view {function}() {{\n  static constexpr char text[] = {{\n{numbers}}};\n"
    "  return {text, sizeof text};\n}\n\n} // namespace tributary::rest\n",
    encoding="utf-8",
)
