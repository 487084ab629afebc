#!/usr/bin/env python3
"""Makes a C++ source of a text file: embed.py INPUT OUTPUT FUNCTION, the function in tributary::rest."""

import json
import pathlib
import sys

source, target, function = sys.argv[1:]
text = pathlib.Path(source).read_text(encoding="utf-8")
json.loads(text)  # a document that is not JSON must not be served
pieces = (text[i : i + 2000] for i in range(0, len(text), 2000))  # literals of any compiler's length
literals = "\n".join(f'R"document({piece})document"' for piece in pieces)
pathlib.Path(target).write_text(
    "#include <string_view>\n\nnamespace tributary::rest {\n\n"
    f"std::string_view {function}();\n\n"
    f"std::string_view {function}() {{\n  static constexpr std::string_view text =\n{literals};\n"
    "  return text;\n}\n\n} // namespace tributary::rest\n",
    encoding="utf-8",
)
