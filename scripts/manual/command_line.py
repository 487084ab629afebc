"""The description of a program's command line, from the program itself: `PROGRAM --describe`.

    top = of("build/tools/tributaryctl/tributaryctl")
    for command in top.walk(): print(command.path, [option.names for option in command.options])
"""

import json
import re
import subprocess

# The name in --help of a value that is a file or a folder.
PLACES = re.compile(r"\b(FILE|PATH|DIR|FOLDER)\b")
# The command that runs programs that cannot run here natively, such as those of a cross build.
run_by = []


class DescribeError(Exception):
    """The program does not describe its command line."""


class Option:
    def __init__(self, described):
        self.names = described["names"]
        self.positional = described["positional"]
        self.flag = described["flag"]
        self.value_name = described["value"]  # FILE, raw|af_xdp; "" for a flag
        self.choices = described["choices"]
        self.limits = described["limits"]  # "1 to 64"
        self.default = described["default"]
        self.environment = described["environment"]
        self.help = described["help"]
        self.group = described["group"]
        self.required = described["required"]
        self.repeated = described["repeated"]
        self.needs = described["needs"]
        self.excludes = described["excludes"]
        self.described = described

    @property
    def is_place(self):
        return bool(PLACES.search(self.value_name))

    @property
    def is_help(self):
        return "--help" in self.names


class Command:
    def __init__(self, described, above=()):
        name = described["name"]
        self.path = (*above, name)
        self.summary = described["summary"].removeprefix(f"{name}: ")
        self.footer = described["footer"]
        self.version = described["version"]
        self.options = [Option(one) for one in described["options"]]
        self.commands = [Command(one, self.path) for one in described["commands"]]

    @property
    def name(self):
        return self.path[-1]

    @property
    def positionals(self):
        return [option for option in self.options if option.positional]

    @property
    def named(self):
        return [option for option in self.options if not option.positional]

    def walk(self):
        yield self
        for command in self.commands:
            yield from command.walk()


def of(program, *words):
    """The command line of the program at this path. Throws DescribeError."""
    done = subprocess.run([*run_by, str(program), *words, "--describe"], capture_output=True, text=True, check=False)
    try:
        if done.returncode == 0:
            return Command(json.loads(done.stdout))
    except (json.JSONDecodeError, KeyError) as problem:
        raise DescribeError(f"{program} --describe prints something else: {problem}") from problem
    raise DescribeError(f"{program} --describe ended with {done.returncode}: {done.stderr.strip()}")
