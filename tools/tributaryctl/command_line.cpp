#include "tools/tributaryctl/command_line.hpp"

#include "tools/tributaryctl/shared_options.hpp"
#include "tributary/wire/frame_kind.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace tributary::cli {
namespace {

/// Checks across options.
void check(const Command& command) {
  using Verb = Command::Verb;
  using terminal::UsageError;
  if (command.verb == Verb::show && !command.port.empty() && command.what != "queues") {
    throw UsageError("--port applies to \"show queues\" only");
  }
  if (command.verb == Verb::trace && command.what != "dump") {
    const char* const wrong = command.follow                 ? "--follow"
                              : command.drops                ? "--drops"
                              : command.tree                 ? "--tree"
                              : !command.port.empty()        ? "--port"
                              : !command.switch_name.empty() ? "--switch"
                                                             : nullptr;
    if (wrong != nullptr) {
      throw UsageError(fmt::format("{} applies to events that are printed; omit it, or \"{}\"",
                                   wrong, command.what));
    }
  }
  if (command.verb == Verb::explain && command.frame != "-" &&
      command.frame.find_first_not_of("0123456789abcdefABCDEF :\n") != std::string::npos) {
    throw UsageError(
        fmt::format("HEX takes hexadecimal digits, blanks and colons, not \"{}\"", command.frame));
  }
  if (command.verb != Verb::capture) {
    return;
  }
  if (!command.port.empty() && command.switch_name.empty()) {
    throw UsageError("--port needs --switch: ports of two switches may have the same name");
  }
  if (command.drops && command.direction == "sent") {
    throw UsageError("only received frames are dropped; omit --drops or --direction sent");
  }
  if (command.cookie && !command.kind.empty() && command.kind != "reduction" &&
      command.kind != "wide") {
    throw UsageError(
        fmt::format("frames of kind {} have no cookie; omit --cookie or --kind", command.kind));
  }
  if ((command.kind == "hello" || command.kind == "lldp") && (command.vni || command.tree)) {
    const char* const wrong = command.vni ? "vni" : "tree";
    throw UsageError(fmt::format("frames of kind {} have no {}; omit --{} or --kind", command.kind,
                                 wrong, wrong));
  }
  if (command.kind == "rdma" && command.tree) {
    throw UsageError("frames of kind rdma go to a host, not to a tree; omit --tree or --kind");
  }
}

} // namespace

ParsedCommand parse_command_line(int argc, const char* const* argv) {
  using terminal::one_of;
  using terminal::within;
  ParsedCommand parsed;
  Command& command = parsed.command;
  CLI::App app(
      "Inspects a running tributary-switch, and queries the fabric manager and the host agent.",
      "tributaryctl");
  terminal::set_up(app);
  // Options of the program may also follow a command.
  app.fallthrough();
  app.require_subcommand(1);
  app.add_option("-s,--socket", command.socket, "The switch's control socket")
      ->envname("TRIBUTARY_SOCKET")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_flag("--json", command.json, "Print the answer as JSON");
  app.add_option("-o,--output", command.output,
                 "File for the answer, or for what is captured; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  auto* show = app.add_subcommand(
      "show",
      "Ports, links, neighbours, queues, trees, engines, counters, workers or the fabric manager");
  one_of(show->add_option("what", command.what, "What to show")->required()->type_name("WHAT"),
         {"ports", "links", "neighbours", "queues", "trees", "engines", "counters", "workers",
          "manager"});
  show->add_option("--switch", command.switch_name, "Only this switch")->type_name("NAME");
  show->add_option("--port", command.port, "With queues: only this port")->type_name("NAME");
  add_watch(*show, command.watch);
  show->footer("Examples:\n"
               "  tributaryctl show ports                   state, frames, drops by reason\n"
               "  tributaryctl show links                   what link hellos say of them\n"
               "  tributaryctl show neighbours              who is at the other ends, by LLDP\n"
               "  tributaryctl show queues --port host0     waiting and dropped frames by class\n"
               "  tributaryctl show trees --switch leaf0    outcome of their reductions\n"
               "  tributaryctl show engines                 with the members waited for\n"
               "  tributaryctl show counters --json         every counter under one flat name\n"
               "  tributaryctl show workers --watch 1s\n"
               "  tributaryctl show manager                 the channel to it, and the neighbours");

  auto* trace = app.add_subcommand("trace", "The last events of every worker");
  one_of(trace->add_option("action", command.what, "What to do")
             ->default_str("dump")
             ->type_name("ACTION"),
         {"on", "off", "all", "dump"});
  trace->add_option("--switch", command.switch_name, "Only events of this switch")
      ->type_name("NAME");
  trace->add_option("--port", command.port, "Only of frames that came in at this port")
      ->type_name("NAME");
  within(trace->add_option("--tree", command.tree, "Only of frames of this tree"), 0, most_tree);
  trace->add_flag("--drops", command.drops, "Only of frames that were dropped");
  auto* follow = trace->add_flag("-f,--follow", command.follow,
                                 "Print events as they occur, until q or Ctrl-C");
  within(trace->add_option("-n,--count", command.count, "End after this many events"), 1,
         any_number)
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
  within(capture->add_option("--tree", command.tree, "Only frames of this tree"), 0, most_tree);
  one_of(capture->add_option("--kind", command.kind, "Only frames of this kind")->type_name("KIND"),
         {wire::frame_kinds.begin(), wire::frame_kinds.end()});
  within(capture->add_option("--vni", command.vni, "Only frames of this VNI"), 0, most_vni);
  within(capture->add_option("--cookie", command.cookie, "Only reductions with this cookie"), 0,
         std::numeric_limits<std::uint32_t>::max());
  capture->add_flag("--drops", command.drops,
                    "Only frames that come in and that the switch decides to drop");
  add_direction(*capture, command.direction);
  within(capture->add_option("-n,--count", command.count, "Number of frames after which it ends"),
         0, any_number);
  terminal::add_duration(*capture, "-d,--duration", command.duration, "Time after which it ends");
  capture->footer(
      "Ends at the count, after the duration, or with Ctrl-C; the file is then complete.\n\n"
      "Examples:\n"
      "  tributaryctl capture --switch leaf0 --port host0 --count 100 -o host0.pcapng\n"
      "  tributaryctl capture --tree 7 --duration 10s -o tree7.pcapng\n"
      "  tributaryctl capture --kind rdma --vni 1024 --count 1000 -o rdma.pcapng\n"
      "  tributaryctl capture --drops --duration 1min -o dropped.pcapng\n"
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
      "Nothing is sent, changed or counted.\n\n"
      "Examples:\n"
      "  tributaryctl explain --switch leaf0 --port host0 02fe0001234502000001234588b545...\n"
      "  xxd -p frame.bin | tributaryctl explain --switch leaf0 --port host0 -");

  auto* impair = add_impair_command(app, command.impair);

  auto* reload = app.add_subcommand("reload", "Make the switch reread its configuration");
  reload->footer(
      "Trees, routes, source guards, VNI lists and the log level change immediately; what "
      "needs a\nrestart is listed. A file with an error changes nothing.\n\n"
      "Examples:\n"
      "  tributaryctl reload");

  app.add_subcommand("version", "Version of the switch and its tables in force")
      ->footer("Examples:\n  tributaryctl version --json");

  auto* fabric = add_fabric_command(app, command.fabric);
  auto* rdma = add_rdma_command(app, command.rdma);
  auto* host = add_host_command(app, command.host);
  auto* store = add_store_command(app, command.store);
  app.footer("`tributaryctl COMMAND --help` describes a command.\n\n"
             "Examples:\n"
             "  tributaryctl show ports\n"
             "  tributaryctl show engines --switch leaf0 --watch 1s\n"
             "  tributaryctl capture --switch leaf0 --port host0 -o host0.pcapng\n"
             "  tributaryctl show counters --json\n"
             "  tributaryctl impair set --port host0 --loss 1%\n"
             "  tributaryctl fabric show groups\n"
             "  tributaryctl rdma show peers\n"
             "  tributaryctl host show\n"
             "  tributaryctl store export -o fabric.export");

  terminal::add_exit_codes(app, {"0  success",
                                 "1  the switch or the manager cannot be reached, or refuses",
                                 "2  wrong command line"});

  parsed.exit_code = terminal::parse(app, argc, argv, [&] {
    using Verb = Command::Verb;
    command.verb = *show      ? Verb::show
                   : *trace   ? Verb::trace
                   : *capture ? Verb::capture
                   : *explain ? Verb::explain
                   : *impair  ? Verb::impair
                   : *reload  ? Verb::reload
                   : *fabric  ? Verb::fabric
                   : *rdma    ? Verb::rdma
                   : *host    ? Verb::host
                   : *store   ? Verb::store
                              : Verb::version;
    if (command.verb == Verb::trace && command.what.empty()) {
      command.what = "dump";
    }
    if (command.verb == Verb::capture && app.count("--output") == 0) {
      throw terminal::UsageError("--output is missing: a file, or - for standard output");
    }
    check(command);
  });
  return parsed;
}

} // namespace tributary::cli
