"""Completions for bash, zsh and fish, from a program's command line."""

import re


def quoted(text):
    """For all three shells: in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def function_name(program):
    return "_" + re.sub(r"\W", "_", program)


def long_names(command):
    return [name for option in command.named for name in option.names]


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def first_words(text):
    """The longest text that fits into a list of completions."""
    return re.split(r"[.;:](?:\s|$)", one_line(text), maxsplit=1)[0][:72]


BASH = """\
# bash completion of {program}; made from its command line when it was built
{function}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} path={program} before word i
  COMPREPLY=()
  # What each command takes: its commands and the choices of its arguments, its options, those of
  # them that a value follows, and what that value may be.
  local -A words=() options=() with_value=() values=()
{tables}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    if [[ " ${{with_value[$path]}} ${{with_value[{program}]}} " == *" $word "* ]]; then
      ((++i))
      [[ ${{COMP_WORDS[i]}} == "=" ]] && ((++i))
    elif [[ -n ${{options["$path $word"]+known}} ]]; then
      path="$path $word"
    fi
  done
  before=${{COMP_WORDS[COMP_CWORD - 1]}}
  if [[ $cur == "=" ]]; then
    cur=
  elif [[ $before == "=" ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  local key="$path|$before"
  [[ -n ${{values[$key]+known}} ]] || key="{program}|$before"
  if [[ " ${{with_value[$path]}} ${{with_value[{program}]}} " == *" $before "* ]]; then
    if [[ -n ${{values[$key]}} ]]; then
      mapfile -t COMPREPLY < <(compgen -W "${{values[$key]}}" -- "$cur")
    else
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${{options[$path]}}" -- "$cur")
  elif [[ -n ${{words[$path]}} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${{words[$path]}}" -- "$cur")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}
complete -F {function} {program}
"""


def bash(top):
    tables = []
    for command in top.walk():
        path = " ".join(command.path)
        offered = [sub.name for sub in command.commands]
        for option in command.positionals:
            offered += option.choices
        tables.append(f"  words[{quoted(path)}]={quoted(' '.join(offered))}")
        tables.append(f"  options[{quoted(path)}]={quoted(' '.join(long_names(command)))}")
        valued = [name for option in command.named if not option.flag for name in option.names]
        tables.append(f"  with_value[{quoted(path)}]={quoted(' '.join(valued))}")
        for option in command.named:
            for name in option.names if option.choices else ():
                tables.append(f"  values[{quoted(path + '|' + name)}]={quoted(' '.join(option.choices))}")
    return BASH.format(program=top.name, function=function_name(top.name), tables="\n".join(tables))


def zsh_text(text):
    """Within an argument of _arguments."""
    return re.sub(r"([\[\]:\\])", r"\\\1", first_words(text))


def zsh_action(option):
    if option.choices:
        return "(" + " ".join(option.choices) + ")"
    return "_files" if option.is_place else " "


def zsh_option(option):
    names = "{" + ",".join(option.names) + "}" if len(option.names) > 1 else option.names[0]
    rest = f"[{zsh_text(option.help)}]"
    if not option.flag:
        rest += f":{zsh_text(option.value_name)}:{zsh_action(option)}"
    if len(option.names) > 1:
        return f"'({' '.join(option.names)})'{names}{quoted(rest)}"
    return quoted(("*" if option.repeated else "") + names + rest)


def zsh_function(command, program):
    name = "_".join([function_name(program), *(re.sub(r"\W", "_", word) for word in command.path[1:])])
    lines = [f"{name}() {{", "  local context state state_descr line", "  typeset -A opt_args"]
    lines.append("  _arguments -C \\")
    lines += [f"    {zsh_option(option)} \\" for option in command.named]
    if command.commands:
        lines += ["    '1: :->command' \\", "    '*:: :->rest'"]
        lines += ["  case $state in", "    command)", "      local -a commands=("]
        lines += [f"        {quoted(sub.name + ':' + first_words(sub.summary))}" for sub in command.commands]
        lines += ["      )", "      _describe command commands ;;", "    rest)", "      case $line[1] in"]
        lines += [f"        {sub.name}) {name}_{re.sub(r'[^A-Za-z0-9]', '_', sub.name)} ;;" for sub in command.commands]
        lines += ["      esac ;;", "  esac"]
    else:
        lines += [f"    {quoted(':' + zsh_text(option.names[0]) + ':' + zsh_action(option))} \\"
                  for option in command.positionals]
        lines.append("    '*: :_files'")
    return "\n".join([*lines, "}", ""])


def zsh(top):
    parts = [f"#compdef {top.name}", "# made from its command line when it was built", ""]
    parts += [zsh_function(command, top.name) for command in top.walk()]
    return "\n".join([*parts, f'{function_name(top.name)} "$@"', ""])


FISH = """\
# fish completion of {program}; made from its command line when it was built
function _{function}_at
    # Whether the commands so far are these; those behind -- must not follow.
    set -l path
    set -l next
    set -l to path
    for word in $argv
        if test "$word" = "--"
            set to next
        else
            set -a $to $word
        end
    end
    set -l at 1
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $at -le (count $path); and test "$word" = "$path[$at]"
            set at (math $at + 1)
        else if test $at -gt (count $path); and contains -- "$word" $next
            return 1
        end
    end
    test $at -gt (count $path)
end
"""


def fish(top):
    function = re.sub(r"\W", "_", top.name)
    lines = [FISH.format(program=top.name, function=function)]
    for command in top.walk():
        words = [*command.path[1:], "--", *(sub.name for sub in command.commands)]
        base = f"complete -c {top.name} -n {quoted(f'_{function}_at ' + ' '.join(words))}"
        if command.commands or any(option.choices for option in command.positionals):
            base += " -f"
        for sub in command.commands:
            lines.append(f"{base} -a {sub.name} -d {quoted(first_words(sub.summary))}")
        for option in command.positionals:
            if option.choices:
                lines.append(f"{base} -a {quoted(' '.join(option.choices))} -d {quoted(first_words(option.help))}")
        for option in command.named:
            said = base
            for name in option.names:
                said += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
            if option.choices:
                said += f" -x -a {quoted(' '.join(option.choices))}"
            elif not option.flag:
                said += " -r"
            lines.append(f"{said} -d {quoted(first_words(option.help))}")
    return "\n".join([*lines, ""])
