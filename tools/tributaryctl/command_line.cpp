#include "tools/tributaryctl/command_line.hpp"

#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include "lib/configuration/suggest.hpp"
#include "tributary/wire/frame_kind.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace tributary::cli {
namespace {

constexpr std::string_view shown_things[] = {"ports",   "links",    "neighbours", "queues", "trees",
                                             "engines", "counters", "workers",    "manager"};

std::string suggestion_for_what(std::string_view word, std::string_view before) {
  const std::string_view near = configuration::nearest(word, shown_things);
  return near.empty() || near == word
             ? ""
             : fmt::format("Did you mean `tributaryctl {}{}`?", before, near);
}

/// Suggests what an unknown command word of a refused command line may have meant, with the words
/// that were right before it.
std::string suggestion_for(const CLI::App& program, int argc, const char* const* argv) {
  const CLI::App* at = &program;
  std::string before;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) {
      if (word == "-s" || word == "--socket") {
        ++i; // its value is not a command
      }
      continue;
    }
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const CLI::App* command : commands) {
      names.push_back(command->get_name());
      found = command->get_name() == word ? command : found;
    }
    if (found == nullptr) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      const std::string_view near = configuration::nearest(word, known);
      return near.empty() ? "" : fmt::format("Did you mean `tributaryctl {}{}`?", before, near);
    }
    before += word + ' ';
    at = found;
    if (at->get_subcommands([](const CLI::App*) { return true; }).empty()) {
      return word == "show" && i + 1 < argc ? suggestion_for_what(argv[i + 1], before) : "";
    }
  }
  return "";
}

/// Checks across options; empty if all is right.
std::string contradiction_in(const Command& command) {
  using Verb = Command::Verb;
  if (command.verb == Verb::trace && command.what != "dump") {
    const char* const wrong = command.follow                 ? "--follow"
                              : command.drops                ? "--drops"
                              : command.tree                 ? "--tree"
                              : !command.port.empty()        ? "--port"
                              : !command.switch_name.empty() ? "--switch"
                                                             : nullptr;
    return wrong == nullptr ? ""
                            : fmt::format("{} is for events that are printed; omit it, or \"{}\"",
                                          wrong, command.what);
  }
  if (command.verb != Verb::capture) {
    return "";
  }
  if (command.drops && command.direction == "transmitted") {
    return "--drops: only frames that come in are dropped; omit --direction transmitted";
  }
  if (command.cookie && !command.kind.empty() && command.kind != "reduction" &&
      command.kind != "wide") {
    return fmt::format("--cookie: frames of kind {} have none; omit one of the two", command.kind);
  }
  if ((command.kind == "hello" || command.kind == "lldp") && (command.vni || command.tree)) {
    return fmt::format("--{}: frames of kind {} have none; omit one of the two",
                       command.vni ? "vni" : "tree", command.kind);
  }
  if (command.kind == "rdma" && command.tree) {
    return "--tree: frames of kind rdma go to a host, not to a tree; omit one of the two";
  }
  return "";
}

/// In the help of every command.
constexpr const char* exit_codes =
    "Exit codes: 0 success, 1 the switch or the manager cannot be reached or refuses, 2 wrong\n"
    "command line.";

} // namespace

ParsedCommand parse_command_line(int argc, const char* const* argv) {
  ParsedCommand parsed;
  Command& command = parsed.command;
  CLI::App app("Inspects a running tributary-switch and queries the fabric manager.",
               "tributaryctl");
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.set_version_flag("--version", "tributaryctl " TRIBUTARY_VERSION);
  // Options of the program may also follow a command.
  app.fallthrough();
  app.require_subcommand(1);
  app.add_option("-s,--socket", command.socket, "The switch's control socket")
      ->envname("TRIBUTARY_SOCKET")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_flag("--json", command.json, "Print the answer as JSON");
  app.footer("Examples:\n"
             "  tributaryctl show ports\n"
             "  tributaryctl show engines --switch leaf0 --watch 1\n"
             "  tributaryctl capture --switch leaf0 --port host0 -o host0.pcapng\n"
             "  tributaryctl show counters --json\n"
             "  tributaryctl impair set --port host0 --loss 1%\n"
             "  tributaryctl fabric show groups\n"
             "  tributaryctl rdma show peers\n\n"
             "`tributaryctl COMMAND --help` describes a command.\n" +
             std::string(exit_codes));

  auto* show = app.add_subcommand(
      "show",
      "Ports, links, neighbours, queues, trees, engines, counters, workers or the fabric manager");
  show->add_option("what", command.what, "What to show")
      ->required()
      ->type_name("WHAT")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(shown_things), std::end(shown_things))));
  show->add_option("--switch", command.switch_name, "Only this switch")->type_name("NAME");
  show->add_option("--port", command.port, "With queues: only this port")->type_name("NAME");
  show->add_option("-w,--watch", command.watch_seconds,
                   "Repeat every so many seconds; q or Ctrl-C ends it")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0));
  show->footer("Examples:\n"
               "  tributaryctl show ports                   state, frames, drops by reason\n"
               "  tributaryctl show links                   what link hellos say of them\n"
               "  tributaryctl show neighbours              who is at the other ends, by LLDP\n"
               "  tributaryctl show queues --port host0     waiting and dropped frames by class\n"
               "  tributaryctl show trees --switch leaf0    outcome of their reductions\n"
               "  tributaryctl show engines                 with the members waited for\n"
               "  tributaryctl show counters --json         every counter under one flat name\n"
               "  tributaryctl show workers --watch 1\n"
               "  tributaryctl show manager                 the channel to it, and the neighbours");

  auto* trace = app.add_subcommand("trace", "The last events of every worker");
  trace->add_option("action", command.what, "on, off, all or dump")
      ->default_str("dump")
      ->type_name("ACTION")
      ->check(CLI::IsMember({"on", "off", "all", "dump"}));
  trace->add_option("--switch", command.switch_name, "Only events of this switch")
      ->type_name("NAME");
  trace->add_option("--port", command.port, "Only of frames that came in at this port")
      ->type_name("NAME");
  trace->add_option("--tree", command.tree, "Only of frames of this tree")
      ->type_name("N")
      ->check(CLI::Range(0, 8191));
  trace->add_flag("--drops", command.drops, "Only of frames that were dropped");
  auto* follow = trace->add_flag("-f,--follow", command.follow,
                                 "Print events as they happen, until q or Ctrl-C");
  trace->add_option("-n,--count", command.count, "With --follow: end after so many events")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->needs(follow);
  trace->footer("Left out are contributions that an engine absorbed, and unicast that is simply\n"
                "forwarded: after a millisecond nothing else would be left. `tributaryctl trace\n"
                "all` records them, too.\n\n"
                "Examples:\n"
                "  tributaryctl trace              print what is recorded, oldest first\n"
                "  tributaryctl trace off          stop recording; it is on from the start\n"
                "  tributaryctl trace all          record contributions and plain unicast, too\n"
                "  tributaryctl trace on           record all but those, as from the start\n"
                "  tributaryctl trace --follow --drops --port host0\n"
                "  tributaryctl trace --follow --tree 7 --count 100 --json");

  auto* capture = app.add_subcommand("capture", "Copy the frames of ports into a pcapng file");
  capture->add_option("--switch", command.switch_name, "Only this switch")->type_name("NAME");
  capture->add_option("--port", command.port, "Only this port of the switch")->type_name("NAME");
  capture->add_option("--tree", command.tree, "Only frames of this tree")
      ->type_name("N")
      ->check(CLI::Range(0, 8191));
  capture->add_option("--kind", command.kind, "Only frames of this kind")
      ->type_name("KIND")
      ->check(CLI::IsMember(
          std::vector<std::string>(wire::frame_kinds.begin(), wire::frame_kinds.end())));
  capture->add_option("--vni", command.vni, "Only frames of this VNI")
      ->type_name("N")
      ->check(CLI::Range(0, 65535));
  capture->add_option("--cookie", command.cookie, "Only reductions with this cookie")
      ->type_name("N")
      ->check(CLI::Range(std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max()));
  capture->add_flag("--drops", command.drops,
                    "Only frames that come in and that the switch decides to drop");
  capture->add_option("--direction", command.direction, "received or transmitted; default both")
      ->type_name("DIRECTION")
      ->check(CLI::IsMember({"received", "transmitted"}));
  capture->add_option("-n,--count", command.count, "Number of frames after which it ends")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  capture->add_option("-d,--duration", command.duration_seconds, "Seconds after which it ends")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0 * 365));
  capture->add_option("-o,--output", command.output, "File to write; - is standard output")
      ->type_name("FILE")
      ->required();
  capture->footer(
      "Ends at the count, after the duration, or with Ctrl-C; the file is then complete.\n"
      "Examples:\n"
      "  tributaryctl capture --switch leaf0 --port host0 --count 100 -o host0.pcapng\n"
      "  tributaryctl capture --tree 7 --duration 10 -o tree7.pcapng\n"
      "  tributaryctl capture --kind rdma --vni 1024 --count 1000 -o rdma.pcapng\n"
      "  tributaryctl capture --drops --duration 60 -o dropped.pcapng\n"
      "  tributaryctl capture --switch leaf0 -o - | wireshark -k -i -");

  auto* explain = app.add_subcommand("explain", "What the switch would do with a frame, and why");
  explain->add_option("--switch", command.switch_name, "The switch")->type_name("NAME")->required();
  explain->add_option("--port", command.port, "The port by which it would arrive")
      ->type_name("NAME")
      ->required();
  explain
      ->add_option("frame", command.frame,
                   "The frame in hex, from its Ethernet header on; - is standard input")
      ->type_name("HEX")
      ->required();
  explain->footer(
      "Blanks, colons and the offsets of a hex dump are ignored.\n"
      "Nothing is sent, changed or counted.\n"
      "Examples:\n"
      "  tributaryctl explain --switch leaf0 --port host0 02fe0001234502000001234588b545...\n"
      "  xxd -p frame.bin | tributaryctl explain --switch leaf0 --port host0 -");

  auto* impair = add_impair_command(app, command.impair);

  auto* reload = app.add_subcommand("reload", "Make the switch reread its configuration");
  reload->footer("Trees, routes, source guards, VNI lists and the log level change at once; what "
                 "needs a\nrestart is listed. A file with an error changes nothing.\n"
                 "Example:\n"
                 "  tributaryctl reload");

  app.add_subcommand("version", "Version of the switch and its tables in force")
      ->footer("Example:\n  tributaryctl version --json");

  auto* fabric = add_fabric_command(app, command.fabric);
  auto* rdma = add_rdma_command(app, command.rdma);
  terminal::add_exit_codes(app, exit_codes);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    parsed.exit_code = app.exit(e) == 0 ? exit_success : exit_usage;
    if (*parsed.exit_code == exit_usage && argc > 1) {
      if (const std::string hint = suggestion_for(app, argc, argv); !hint.empty()) {
        fmt::print(stderr, "{}\n", hint);
      }
    }
    return parsed;
  }
  using Verb = Command::Verb;
  command.verb = *show      ? Verb::show
                 : *trace   ? Verb::trace
                 : *capture ? Verb::capture
                 : *explain ? Verb::explain
                 : *impair  ? Verb::impair
                 : *reload  ? Verb::reload
                 : *fabric  ? Verb::fabric
                 : *rdma    ? Verb::rdma
                            : Verb::version;
  if (command.verb == Verb::trace && command.what.empty()) {
    command.what = "dump";
  }
  if (const std::string problem = contradiction_in(command); !problem.empty()) {
    fmt::print(stderr, "{}\nRun with --help for more information.\n", problem);
    parsed.exit_code = exit_usage;
  }
  return parsed;
}

} // namespace tributary::cli
