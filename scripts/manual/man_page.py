"""Man pages: of programs from their command lines, of configuration files from their tables of keys."""

import re

EXAMPLES = re.compile(r"\s*examples?:\s*$", re.IGNORECASE)
EXIT_CODES = re.compile(r"\s*exit codes?:?\s*(.*)$", re.IGNORECASE)
SECTION_OF_KEYS = re.compile(r"### `(\[.+\])`")
HEADLINE = {"1": "User Commands", "5": "File Formats", "8": "System Administration"}


def escaped(text):
    """Plain text as roff, with everything escaped that roff would take for a command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def first_sentence(text):
    return re.split(r"\.(?:\s|$)", text.replace("\n", " "), maxsplit=1)[0].strip()


class Footer:
    """The three parts of the text below the options of --help."""

    def __init__(self, text):
        self.examples, self.exit_codes, self.notes = [], [], []
        part = self.notes
        for line in text.strip("\n").split("\n") if text else ():
            if EXAMPLES.match(line):
                part = self.examples
                continue
            if found := EXIT_CODES.match(line):
                part = self.exit_codes
                if found.group(1):
                    part.append(found.group(1))
                continue
            if part is self.examples and line and not line.startswith(" "):
                part = self.notes
            elif part is self.exit_codes and not line:
                part = self.notes
            part.append(line)


class Page:
    """The text of one page, built up step by step."""

    def __init__(self, name, section, version, summary):
        self.lines = [
            ".\\\" Made from the program's own tables when Tributary is built; not to be edited.",
            f'.TH "{name.upper()}" {section} "" "Tributary {version}" "{HEADLINE[section]}"',
            # groff 1.23 adjusts each paragraph as AD says; long words leave no room for that.
            ".ds AD l", ".nh", ".ad l", ".SH NAME", f"{escaped(name)} \\- {escaped(summary)}",
        ]  # fmt: skip

    def add(self, *lines):
        self.lines += lines

    def paragraphs(self, text):
        for part in re.split(r"\n\s*\n", text.strip("\n")):
            if not part.strip():
                continue
            if any(line.startswith("  ") for line in part.split("\n")):
                self.verbatim(part.split("\n"))
            else:
                self.add(".PP", escaped(part))

    def verbatim(self, lines):
        self.add(".PP", ".nf", *(escaped(line) for line in lines), ".fi")

    def text(self):
        return "\n".join(self.lines) + "\n"


def synopsis(command):
    parts = [bold(" ".join(command.path))]
    if command.named:
        parts.append(f"[{italic('OPTION')}]...")
    for option in command.positionals:
        name = italic(option.names[0]) + ("..." if option.repeated else "")
        parts.append(name if option.required else f"[{name}]")
    if command.commands:
        parts.append(italic("COMMAND"))
    return " ".join(parts)


def option_entry(option):
    names = ", ".join(italic(name) if option.positional else bold(name) for name in option.names)
    value = "" if option.positional else option.value_name
    said = [option.help.strip()]
    if option.choices and (option.positional or "|" not in option.value_name):
        said.append(f"One of {', '.join(option.choices)}.")
    if option.limits:
        said.append(f"{option.limits[:1].upper()}{option.limits[1:]}.")
    if option.default:
        said.append(f"Default: {option.default}.")
    if option.environment:
        said.append(f"The variable {option.environment} stands in for it.")
    if option.needs:
        said.append(f"Needs {', '.join(option.needs)}.")
    if option.excludes:
        said.append(f"Not together with {', '.join(option.excludes)}.")
    if option.required:
        said.append("Required.")
    sentences = [text if text.endswith((".", "]", ")")) else text + "." for text in said if text]
    return [".TP", names + (f" {italic(value)}" if value else ""), escaped(" ".join(sentences))]


def add_options(page, options):
    group = "Options"
    for option in options:
        if option.group != group and option.group not in ("Options", "Positionals"):
            page.add(".PP", f"{escaped(option.group[:1].upper() + option.group[1:])}:")
        group = option.group
        page.add(*option_entry(option))


def in_all(commands):
    """Options that all of these commands share, which are listed only once."""
    if len(commands) < 3 or any(command.commands for command in commands):
        return []
    others = [[option.described for option in command.options] for command in commands[1:]]
    return [option for option in commands[0].options
            if not option.is_help and all(option.described in each for each in others)]


def add_commands(page, command, shown_footer):
    shared = in_all(command.commands)
    if shared:
        page.add(f'.SS "Options of every command"')
        add_options(page, shared)
    described = [option.described for option in shared]
    for sub in command.commands:
        page.add(f'.SS "{escaped(" ".join(sub.path))}"', synopsis(sub), ".PP", escaped(sub.summary))
        add_options(page, [one for one in sub.options if not one.is_help and one.described not in described])
        if sub.footer and sub.footer != shown_footer:
            footer = Footer(sub.footer)
            page.paragraphs("\n".join(footer.notes))
            if footer.examples:
                page.verbatim(footer.examples)
        add_commands(page, sub, shown_footer)


def of_program(command, section, see_also, more=(), sections=None):
    """`command`: the whole command line; `more`: command lines of their own, beside its commands;
    `sections`: by title, commands or pairs of a file and its description."""
    footer = Footer(command.footer)
    summary, _, rest = command.summary.partition("\n")
    version = command.version.rpartition(" ")[2]
    page = Page(command.name, section, version, first_sentence(summary))
    page.add(".SH SYNOPSIS", synopsis(command))
    page.add(".SH DESCRIPTION", escaped(summary))
    notes, exit_codes = footer.notes, list(footer.exit_codes)
    for line in rest.split("\n"):
        if found := EXIT_CODES.match(line):
            exit_codes.append("Exit code " + found.group(1))
        else:
            notes = [*notes, line]
    page.paragraphs("\n".join(notes))
    page.add(".SH OPTIONS")
    add_options(page, command.options)
    if command.commands or more:
        page.add(".SH COMMANDS")
        add_commands(page, command, command.footer)
        for one in more:
            page.add(f'.SS "{escaped(one.name)}"')
            page.paragraphs(one.summary)
            for sub in one.commands:
                page.add(f'.SS "{escaped(one.name + " " + sub.name)}"', escaped(sub.summary))
                add_options(page, [option for option in sub.options if not option.is_help])
    if footer.examples:
        page.add(".SH EXAMPLES")
        page.verbatim(footer.examples)
    if exit_codes:
        page.add(".SH EXIT STATUS")
        page.verbatim(exit_codes) if any(line.startswith("  ") for line in exit_codes) else page.add(
            escaped("\n".join(exit_codes)))
    for title, entries in (sections or {}).items():
        page.add(f".SH {title}")
        if all(isinstance(entry, str) for entry in entries):
            page.add("As root:")
            page.verbatim([f"  {entry}" for entry in entries])
            continue
        for file, what in entries:
            page.add(".TP", bold(file), escaped(what[:1].upper() + what[1:] + "."))
    add_see_also(page, see_also)
    return page.text()


def add_see_also(page, see_also):
    page.add(".SH SEE ALSO", ", ".join(f"{bold(name)}({number})" for name, number in see_also))


def plain(markdown):
    return re.sub(r"`([^`]*)`", r"\1", markdown).replace("\\|", "|").strip()


def of_keys(markdown, name, version, program, see_also):
    """A configuration file: `markdown` is the output of `program --print-keys`."""
    page = Page(name, "5", version, f"configuration file of {program}")
    page.add(".SH DESCRIPTION", escaped(
        f"A TOML file that {program} reads. `{program} --print-keys` prints this table as Markdown."))
    page.add(".SH KEYS")
    columns = []
    for line in markdown.split("\n"):
        if found := SECTION_OF_KEYS.match(line):
            page.add(f'.SS "{escaped(found.group(1))}"')
            columns = []
        elif line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not columns:
                columns = cells
            elif not set(line) <= set("|-"):
                of = dict(zip(columns, cells))
                head = f"{bold(plain(of['key']))} = {italic(plain(of['value']))}"
                page.add(".TP", head, escaped(plain(of["meaning"])))
                page.add(".br", escaped(remarks(of)))
        elif line.strip():
            page.add(escaped(plain(line)))
    add_see_also(page, see_also)
    return page.text()


def remarks(of):
    said = [plain(of["default"]) if of["default"] == "required" else f"Default: {plain(of['default'])}"]
    if "change" in of:
        said.append("takes effect at SIGHUP" if of["change"] == "live" else "takes effect at a restart")
    if of.get("kinds", "all") != "all":
        said.append(f"only of {of['kinds']}")
    text = "; ".join(said)
    return text[:1].upper() + text[1:] + "."
