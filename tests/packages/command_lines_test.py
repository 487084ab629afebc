"""All command lines are one family: the same name is the same thing, help and errors have one form.

    command_lines_test.py BUILD-FOLDER PROGRAM...

Walks every command of every program and compares. Prints the table of all options; those that several programs
have stand in docs/develop/command-lines.md with their type and meaning.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "manual")]

import command_line  # noqa: E402
from tributary.cases import Cases  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
PROGRAMS = {Path(path).name: BUILD / path for path in sys.argv[2:]}
PAGE = ROOT / "docs" / "develop" / "command-lines.md"
USAGE = 2
# Text of CLI11's that says nothing to a person.
INNER_TEXT = re.compile(r"\{false\}|\bU?INT\b|\bFLOAT\b|\bTEXT\b(?! )|in \[\S+ - |Could not convert|FAILED|of the following|->\d"
                        r"|\bREQUIRED\b|Excludes:|Needs:|\(Env:|Run with --help|is required|requires")
BARE_UNITS = re.compile(r"^(MICRO|MILLI)?SECONDS|^PERCENT")
# Synonyms, and the word that is used.
ONE_WORD = {
    "--iterations": "--operations", "--vector-length": "--elements", "--disarmed": "--no-armed", "--parallel": "--in-flight",
    "--mcast-limit": "--group-limit", "--warm-up": "--warmup", "--measure": "--duration", "--seconds": "--duration",
    "--again": "--retry-for", "--start-limit": "--start-timeout",
}  # fmt: skip


class Walked:
    """A command, and how it is called."""

    def __init__(self, program, command, words):
        self.program, self.command, self.words = program, command, words

    @property
    def name(self):
        return " ".join([self.program.name, *self.words])

    def run(self, *more):
        return subprocess.run([self.program, *self.words, *more], capture_output=True, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL)

    def refuses(self, *more):
        """The one line that it prints about a wrong command line."""
        done = self.run(*more)
        shown = f"{self.name} {' '.join(more)}: exit code {done.returncode}, {done.stdout}{done.stderr}"
        assert done.returncode == USAGE and not done.stdout, shown
        assert done.stderr.count("\n") == 1 and done.stderr.startswith(self.program.name), shown
        assert not INNER_TEXT.search(done.stderr), shown
        return done.stderr


def every_command():
    for path in PROGRAMS.values():
        tops = [(command_line.of(path), ())]
        if path.name == "tributary-host":
            tops.append((command_line.of(path, "rdma"), ("rdma",)))
        for top, before in tops:
            for command in top.walk():
                yield Walked(path, command, [*before, *command.path[1:]])


COMMANDS = list(every_command())


def each(check):
    """Runs a check for every command, and reports all that fail."""
    wrong = []
    for walked in COMMANDS:
        try:
            check(walked)
        except AssertionError as problem:
            wrong.append(f"{walked.name}: {problem}")
    assert not wrong, "\n".join(wrong)


def helps_have_examples_of_the_command_and_exit_codes():
    def check(walked):
        text = walked.run("--help").stdout
        examples = re.search(r"^Examples:\n((?:  .*\n|\n(?=  ))+)", text, re.MULTILINE)
        assert examples, f"no \"Examples:\" with indented lines in\n{text}"
        words = walked.name.split()
        assert any(" ".join(words) in re.sub(r" (-\S+ \S+|--\S+)(?= [a-z])", "", line) or all(
            f" {word} " in f" {line} " for word in words) for line in examples[1].split("\n")), \
            f"no example of this command in\n{examples[0]}"
        codes = re.search(r"^Exit codes:\n((?:  .*\n?)+)", text, re.MULTILINE)
        assert codes and re.search(r"^  0 ", codes[1], re.MULTILINE) and re.search(r"^  2 ", codes[1], re.MULTILINE), \
            f"no \"Exit codes:\" with lines for 0 and 2 in\n{text}"

    each(check)


def no_text_of_a_library_stands_in_help():
    def check(walked):
        found = INNER_TEXT.findall(walked.run("--help").stdout)
        assert not found, found

    each(check)


def versions_are_alike():
    said = {}
    for walked in COMMANDS:
        if not walked.words or walked.name == "tributary-host rdma":
            done = walked.run("--version")
            assert done.returncode == 0, f"{walked.name} --version: {done.returncode} {done.stderr}"
            assert done.stdout.startswith(f"{walked.name} "), done.stdout
            said[walked.name] = done.stdout.split()[-1]
    assert len(set(said.values())) == 1, said


def misspelt(name):
    """Two letters in the middle change places."""
    middle = len(name) // 2 + 1
    letters = list(name)
    letters[middle], letters[middle - 1] = letters[middle - 1], letters[middle]
    return "".join(letters)


def unknown_options_and_commands_are_guessed():
    def check(walked):
        error = walked.refuses("--no-such-option-at-all")
        assert error.startswith(f"{walked.name}: unknown option --no-such-option-at-all"), error
        long = [name for option in walked.command.named for name in option.names if len(name) > 6]
        for name in long[:2] + long[-1:]:
            if misspelt(name) != name:
                error = walked.refuses(misspelt(name))
                assert "did you mean --" in error, error
        for sub in walked.command.commands[:2]:
            error = walked.refuses(misspelt("xx" + sub.name)[2:] + "x")
            assert f"did you mean {sub.name}?" in error, error

    each(check)


def wrong_values_are_named_with_what_the_option_takes():
    def check(walked):
        for option in walked.command.named:
            if option.flag:
                continue
            name = option.names[-1]
            for value in ["not/such a value"] if option.choices or option.limits else []:
                error = walked.refuses(f"{name}={value}")
                assert name in error and value in error, error
            if option.choices:
                error = walked.refuses(name, option.choices[0] + "x")
                assert "did you mean" in error, error
            if option.value_name == "DURATION":
                error = walked.refuses(name, "5")
                assert f"{name} is a duration, such as 2s or 500ms, not \"5\"" in error, error
            if option.value_name == "SHARE":
                error = walked.refuses(name, "2 of 3")
                assert f"{name} is a share, such as 1% or 0.01" in error, error
            if option.value_name in ("N", "NUMBER"):
                assert name in walked.refuses(f"{name}=x"), name
            assert option.value_name not in ("", "TEXT", "VALUE"), f"{name} has no type of value"
            assert not BARE_UNITS.search(option.value_name), f"{name} takes {option.value_name}: a duration or a share"
        for option in walked.command.positionals:
            if option.choices:
                error = walked.refuses(option.choices[-1] + "x")
                assert f"did you mean {option.choices[-1]}?" in error, error

    each(check)


def options_by_name():
    """{name: {value: [command]}} of all long options."""
    found = {}
    for walked in COMMANDS:
        for option in walked.command.named:
            for name in (one for one in option.names if one.startswith("--")):
                value = "" if option.flag else option.value_name
                found.setdefault(name, {}).setdefault(value, []).append((walked, option))
    return found


def kind_of(value):
    """The type of a value: choices are alike, and a list of names is as one name."""
    return "flag" if value == "" else "a choice" if "|" in value else value.removesuffix(",...")


def a_name_has_one_type_everywhere():
    same = {}
    for name, values in options_by_name().items():
        if len({kind_of(value) for value in values}) > 1:
            same[name] = {value: [walked.name for walked, _ in users] for value, users in values.items()}
    assert not same, same


def json_is_a_flag_with_output_beside_it():
    names = options_by_name()
    taken = {name: {value: [walked.name for walked, _ in users] for value, users in names[name].items()}
             for name in ("--json", "--output")}
    assert list(taken["--json"]) == [""] and list(taken["--output"]) == ["FILE"], taken
    with_json = {walked.program.name for walked, _ in names["--json"][""]}
    with_output = {walked.program.name for walked, _ in names["--output"]["FILE"]}
    assert with_json <= with_output, with_json - with_output


def one_word_is_used_for_one_thing():
    names = options_by_name()
    wrong = {name: word for name, word in ONE_WORD.items() if name in names}
    assert not wrong, wrong


def documented_options():
    """{name: type} of the table in the page."""
    rows = re.findall(r"^\| `(--[\w-]+)` \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: kind.strip().strip("`") for name, kind in rows}


def what_several_programs_have_is_documented():
    documented, wrong = documented_options(), []
    for name, values in sorted(options_by_name().items()):
        programs = sorted({walked.program.name for users in values.values() for walked, _ in users})
        kinds = {kind_of(value) for value in values}
        if len(programs) > 1 and name not in ("--help", "--version") and not name.startswith("--no-"):
            if name not in documented:
                wrong.append(f"{name} ({', '.join(sorted(kinds))}) of {', '.join(programs)} is missing")
            elif kinds - {documented[name].removesuffix(",...")}:
                wrong.append(f"{name} is {documented[name]} on the page, and {', '.join(sorted(kinds))} in the programs")
    wrong += [f"{name}: no program has it" for name in documented if name not in options_by_name()]
    assert not wrong, f"{PAGE.name}:\n" + "\n".join(wrong)


def print_table():
    print(f"{'OPTION':24} {'VALUE':28} COMMANDS")
    for name, values in sorted(options_by_name().items()):
        for value, users in values.items():
            print(f"{name:24} {value or '(flag)':28} {', '.join(sorted({walked.name for walked, _ in users}))}")


CHECKS = (helps_have_examples_of_the_command_and_exit_codes, no_text_of_a_library_stands_in_help, versions_are_alike,
          unknown_options_and_commands_are_guessed, wrong_values_are_named_with_what_the_option_takes,
          a_name_has_one_type_everywhere, json_is_a_flag_with_output_beside_it, one_word_is_used_for_one_thing,
          what_several_programs_have_is_documented)


def main():
    print_table()
    report = Cases("command_lines")
    for check in CHECKS:
        with report.case("command_lines", check.__name__):
            check()
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
