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
    def __init__(self, told):
        self.names = told["names"]
        self.positional = told["positional"]
        self.flag = told["flag"]
        self.value_name = told["value"]  # FILE, raw|af_xdp; "" for a flag
        self.choices = told["choices"]
        self.limits = told["limits"]  # "1 to 64"
        self.default = told["default"]
        self.environment = told["environment"]
        self.help = told["help"]
        self.group = told["group"]
        self.required = told["required"]
        self.repeated = told["repeated"]
        self.needs = told["needs"]
        self.excludes = told["excludes"]
        self.told = told

    @property
    def is_place(self):
        return bool(PLACES.search(self.value_name))

    @property
    def is_help(self):
        return "--help" in self.names


class Command:
    def __init__(self, told, above=()):
        name = told["name"]
        self.path = (*above, name)
        self.summary = told["summary"].removeprefix(f"{name}: ")
        self.footer = told["footer"]
        self.version = told["version"]
        self.options = [Option(one) for one in told["options"]]
        self.commands = [Command(one, self.path) for one in told["commands"]]

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
