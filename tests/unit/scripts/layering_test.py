"""The check of the rooms: this tree obeys its table, and each kind of violation is found in a small
tree that has exactly one."""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/runner")]

import layering  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

TABLE = """
[outside]
fmt     = { pure = true, headers = ["fmt/"] }
dpdk    = { pure = false, headers = ["rte_"] }
threads = { pure = false, headers = ["thread", "mutex"] }

[rooms."low"]
is = "types"
pure = true
namespace = "tributary::low"
uses = []

[rooms."core"]
is = "decides"
pure = true
namespace = "tributary::core"
uses = ["low"]
with = ["fmt"]

[rooms."shell"]
is = "moves bytes"
namespace = "tributary::shell"
uses = ["core", "low"]
with = ["dpdk"]

[rooms."shell/plain"]
is = "a file apart: pure"
pure = true
namespace = "tributary::shell"
uses = []

[rooms."tests"]
is = "tests"
below = true
uses = "*"
"""

SOUND = {
    "docs/develop/rooms.toml": TABLE,
    "low/types.hpp": "#pragma once\n#include <cstdint>\nnamespace tributary::low {\n}\n",
    "core/core.hpp": '#pragma once\n#include "low/types.hpp"\n#include <fmt/format.h>\n'
                     "namespace tributary::core {\nclass Core;\n}\n",
    "core/core.cpp": '#include "core/core.hpp"\n#include <vector>\nnamespace tributary::core {\n'
                     "namespace detail {\n} // not a clock: steady_clock::now\n}\n",
    "core/meson.build": "core_dep = declare_dependency(dependencies: low_dep)\n",
    "low/meson.build": "low_dep = declare_dependency()\n",
    "shell/shell.hpp": '#pragma once\n#include "core/core.hpp"\n#include "low/types.hpp"\n#include <rte_mbuf.h>\n'
                       "namespace tributary::core {\nclass Core;\n}\nnamespace tributary::shell {\n}\n",
    "shell/plain.hpp": "#pragma once\nnamespace tributary::shell {\n}\n",
    "shell/meson.build": "shell_dep = declare_dependency(dependencies: core_dep)\n",
    "tests/unit/core_test.cpp": '#include "shell/shell.hpp"\n#include <gtest/gtest.h>\n#include <thread>\n',
}


def found(changes):
    """The findings for the sound tree with these files changed: a text, or a pair to replace."""
    files = dict(SOUND)
    for name, change in changes.items():
        if isinstance(change, tuple):
            assert change[0] in files[name], change[0]
            change = files[name].replace(*change, 1)
        files[name] = change
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return layering.problems(Path(folder), list(files))


def expect(changes, *patterns):
    """Exactly one finding for each pattern, in whatever order."""
    said = found(changes)
    for pattern in patterns:
        assert any(re.search(pattern, text) for text in said), f"nothing like {pattern!r} in {said}"
    assert len(said) == len(patterns), said
    for text in said:
        if "not valid" not in text:
            assert re.match(r"\S+:\d+: ", text) and "rule: " in text and "do: " in text, text


def test_this_tree_obeys_its_table():
    said = layering.problems(ROOT, layering.listed(ROOT))
    assert not said, "\n" + "\n".join(said)


def test_a_sound_tree_is_passed():
    expect({})


def test_an_include_that_the_table_does_not_allow():
    expect({"core/core.cpp": ("#include <vector>", '#include "shell/plain.hpp"')},
           r'core/core.cpp:2: includes "shell/plain.hpp", which is in shell/plain\n.*core may use low')


def test_an_include_upward_is_reported_with_the_move_that_mends_it():
    expect({"low/types.hpp": ("<cstdint>", '"core/core.hpp"')},
           r"low/types.hpp:2: includes .*\n.*no other room\n.*core uses low: move what both need")


def test_an_include_relative_to_the_file_is_seen():
    expect({"low/types.hpp": ("<cstdint>", '"../shell/plain.hpp"')}, r"low/types.hpp:2: includes")


def test_a_file_of_its_own_room_is_not_its_folders():
    expect({"shell/plain.hpp": ("#pragma once", '#pragma once\n#include "low/types.hpp"')},
           r"shell/plain.hpp:2: includes .*which is in low")


def test_a_file_in_no_room():
    expect({"attic/old.hpp": "#pragma once\n"}, r"attic/old.hpp:1: is in no room(.|\n)*\[rooms.\"attic\"\]")


def test_a_sub_folder_is_no_part_of_its_room_unless_the_room_says_so():
    expect({"core/new/old.hpp": "#pragma once\n"}, r"core/new/old.hpp:1: is in no room")
    expect({"core/new/old.hpp": "#pragma once\n",
            "docs/develop/rooms.toml": ('is = "decides"', 'is = "decides"\nbelow = true')})


def test_a_room_that_is_not_there():
    expect({"docs/develop/rooms.toml": TABLE + '[rooms."gone"]\nis = "gone"\nuses = []\n'},
           r"rooms.toml:\d+: the room gone is not there")


def test_an_arrow_to_a_room_that_is_not_in_the_table():
    expect({"docs/develop/rooms.toml": ('uses = ["core", "low"]', 'uses = ["core", "low", "cellar"]')},
           r"shell uses cellar, which is no other room")


def test_an_unused_arrow():
    expect({"shell/shell.hpp": ('#include "low/types.hpp"\n', "")}, r"rooms.toml:\d+: shell does not use low")


def test_an_unused_library():
    expect({"core/core.hpp": ("#include <fmt/format.h>\n", "")}, r"rooms.toml:\d+: core is not with fmt")


def test_an_exception_is_allowed_while_it_is_needed():
    until = {"docs/develop/rooms.toml": ('with = ["fmt"]', 'with = ["fmt"]\nuntil = { "shell/plain" = "why" }')}
    expect(until, r"core does not use shell/plain(.|\n)*until")
    expect({**until, "core/core.cpp": ("#include <vector>", '#include "shell/plain.hpp"')})


def test_a_circle():
    expect({"docs/develop/rooms.toml": ('namespace = "tributary::low"\nuses = []',
                                        'namespace = "tributary::low"\nuses = ["core"]'),
            "low/types.hpp": ("<cstdint>", '"core/core.hpp"')},
           r"a circle: low -> core -> low")


def test_a_pure_room_that_includes_a_library_which_is_not():
    expect({"core/core.cpp": ("<vector>", "<thread>")},
           r"core.cpp:2: includes <thread>, that is threads\n.*core is pure")


def test_a_pure_room_that_may_use_what_is_not():
    expect({"docs/develop/rooms.toml": ('with = ["fmt"]', 'with = ["fmt", "dpdk"]'),
            "core/core.cpp": ("<vector>", "<rte_mbuf.h>")},
           r"core is pure and is with dpdk", r"core.cpp:2: is not pure: .*\(dpdk\)")
    expect({"docs/develop/rooms.toml": ('namespace = "tributary::low"', 'namespace = "tributary::low" # not pure')})
    expect({"docs/develop/rooms.toml": ('is = "types"\npure = true', 'is = "types"')},
           r"core is pure and uses low, which is not")


def test_a_pure_room_that_reaches_what_is_not_through_headers():
    expect({"docs/develop/rooms.toml": ('with = ["fmt"]', 'with = ["fmt"]\nuntil = { "shell" = "why" }'),
            "shell/middle.hpp": '#pragma once\n#include "shell/deep.hpp"\n',
            "shell/deep.hpp": "#pragma once\n#include <rte_mbuf.h>\n",
            "core/core.cpp": ("<vector>", '"shell/middle.hpp"')},
           r"core.cpp:2: is not pure: core/core.cpp:2 -> shell/middle.hpp:2 -> shell/deep.hpp:2 <rte_mbuf.h> \(dpdk\)")


def test_a_pure_room_that_reads_a_clock_or_the_environment():
    for call in ("std::chrono::steady_clock::now();", "std::random_device d;", "getenv(name);",
                 "std::this_thread::yield();", "clock_gettime(0, &t);", "thread_local int x;"):
        expect({"core/core.cpp": ("namespace detail {\n", f"namespace detail {{\n{call}\n")},
               r"core.cpp:5: is not pure: core/core.cpp:5 ")
    expect({"core/core.cpp": ("namespace detail {\n", 'namespace detail {\n// getenv(x)\nauto x = "getenv(x)";\n')})


def test_a_namespace_that_is_not_the_rooms():
    expect({"core/core.cpp": ("tributary::core", "tributary::shell")},
           r"core.cpp:3: opens namespace tributary::shell\n.*core is namespace tributary::core")
    expect({"core/core.cpp": ("tributary::core", "tributary::core_of_mine")}, r"core.cpp:3: opens namespace")


def test_two_rooms_with_one_namespace():
    expect({"docs/develop/rooms.toml": ('namespace = "tributary::core"', 'namespace = "tributary::shell"'),
            "core/core.hpp": ("tributary::core", "tributary::shell"),
            "core/core.cpp": ("tributary::core", "tributary::shell"),
            "shell/shell.hpp": ("namespace tributary::core {\nclass Core;\n}\n", "")},
           r"shell has the namespace of core, tributary::shell", r"shell/plain has the namespace of core")


def test_a_namespace_within_the_rooms_that_is_another_rooms():
    expect({"docs/develop/rooms.toml": ('namespace = "tributary::core"', 'namespace = "tributary::low::core"'),
            "core/core.hpp": ("tributary::core", "tributary::low::core"),
            "core/core.cpp": ("tributary::core", "tributary::low::core"),
            "shell/shell.hpp": ("tributary::core", "tributary::low::core"),
            "low/types.hpp": ("tributary::low", "tributary::low::core")},
           r"low/types.hpp:3: opens namespace tributary::low::core\n.*low is namespace tributary::low")


def test_another_rooms_namespace_is_for_declaring_its_classes_only():
    expect({"shell/shell.hpp": ("class Core;\n", "class Core { int x; };\n")},
           r"shell.hpp:5: opens namespace tributary::core")


def test_a_header_from_outside_that_is_not_listed():
    expect({"core/core.cpp": ("<vector>", "<sqlite3.h>")}, r"core.cpp:2: includes <sqlite3.h>, which is not in the table")


def test_a_path_that_leads_nowhere():
    expect({"core/core.cpp": ("<vector>", '"low/typse.hpp"')}, r"core.cpp:2: includes low/typse.hpp, which is not in")


def test_a_room_that_links_what_it_may_not_use():
    expect({"core/meson.build": ("low_dep", "shell_dep")}, r"core/meson.build:1: links shell_dep of shell")


def test_a_room_that_links_a_library_itself():
    linked = "shell_lib = static_library('shell')\n"
    expect({"shell/meson.build": linked, "core/meson.build": "x = library('x', link_with: [shell_lib])\n"},
           r"core/meson.build:1: links shell_lib of shell")


def test_a_room_that_compiles_a_source_of_another():
    expect({"shell/shell.cpp": '#include "shell/shell.hpp"\nnamespace tributary::shell {\n}\n',
            "core/meson.build": "x = library('x',\n  '../shell/shell.cpp',\n)\n"},
           r"core/meson.build:2: compiles shell/shell.cpp of shell")


def test_an_include_of_a_macro():
    expect({"core/core.cpp": SOUND["core/core.cpp"] + "#include CORE_HEADER\n"}, r"core/core.cpp:7: .*the macro CORE_HEADER")


def test_a_pure_room_that_declares_a_system_call():
    declared = 'extern "C" int usleep(unsigned);\n'
    expect({"core/core.cpp": SOUND["core/core.cpp"] + declared}, r"core/core.cpp:7: .*declares what is elsewhere")


def test_a_pure_room_that_runs_algorithms_on_threads():
    run = "#include <execution>\nauto policy = std::execution::par;\n"
    expect({"core/core.cpp": SOUND["core/core.cpp"] + run}, r"core/core.cpp:8: .*runs threads")


def test_a_picture_that_is_not_the_tables():
    page = "<!-- the house: begin -->\n```\n{}```\n<!-- the house: end -->\n"
    expect({"docs/develop/building.md": page.format("")}, r"building.md:1: the picture of the house")
    drawn = layering.picture(layering.Table(TABLE))
    expect({"docs/develop/building.md": page.format(drawn)})
    rows = {name: i for i, line in enumerate(drawn.splitlines()) for name in line.replace("*", "").split()}
    assert rows["shell"] < rows["core"] < rows["low"] and "core*" in drawn and "tests" not in rows, drawn


def test_a_table_that_cannot_be_read():
    for broken, word in (("[rooms", "not valid TOML"), ('[rooms."low"]\nis = "x"\n', "no .'uses'."),
                         ('[rooms."low"]\nis = "x"\nuses = []\nusess = 1\n', "unknown keys")):
        said = found({"docs/develop/rooms.toml": broken})
        assert len(said) == 1 and re.search(word, said[0]), said


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("layering.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("layering")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"layering.{short}"):
            with report.case("layering", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
