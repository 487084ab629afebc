#include "tools/host/options.hpp"

#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <map>

namespace tributary::host {

namespace {

using workload::all_kinds;
using workload::Kind;
using workload::wide_kinds;

/// "mix" or "wide-mix", or names of kinds.
std::vector<Kind> kinds_named(const std::vector<std::string>& names) {
  std::vector<Kind> kinds;
  for (const std::string& name : names) {
    if (name == "mix") {
      kinds.insert(kinds.end(), all_kinds().begin(), all_kinds().end());
      continue;
    }
    std::vector<Kind> all = all_kinds();
    all.insert(all.end(), wide_kinds().begin(), wide_kinds().end());
    if (name == "wide-mix") {
      kinds.insert(kinds.end(), all.begin(), all.end());
      continue;
    }
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.name == name; });
    if (found == all.end()) {
      std::string known = "mix, wide-mix";
      for (const Kind& kind : all) {
        known += ", " + std::string(kind.name);
      }
      throw CLI::ValidationError("--operator", "there is no '" + name + "'; there are " + known);
    }
    kinds.push_back(*found);
  }
  return kinds;
}

/// The first line of a file.
std::string token_in(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token) || token.empty()) {
    throw CLI::ValidationError("--token-file", "no token can be read from '" + path + "'");
  }
  return token;
}

} // namespace

std::optional<Options> read_options(int argc, char** argv, int& exit_code) {
  Options o;
  const tributary_host_options host = tributary_host_defaults("");
  o.ethertype = host.ethertype;
  o.group = tributary_group_defaults();
  std::vector<std::string> operators = {"mix"};
  bool disarmed = false;
  std::optional<bool> turn;
  double member_timeout_seconds = 0;
  std::optional<std::uint32_t> root;
  std::optional<std::string> token_file;

  CLI::App app("tributary-host: one member of a reduction group. Runs reductions with all the "
               "others and checks every result bit for bit against its own arithmetic.\n"
               "`tributary-host rdma --help` is about memory of other hosts.",
               "tributary-host");
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.add_option("--interface", o.interface, "Network interface, for example eth0")->required();
  app.add_option("--ethertype", o.ethertype, "EtherType of the frames")->capture_default_str();
  app.add_option("--nid", o.nid, "Own NID; default: low 20 bits of the interface's MAC address");
  app.add_option("--spin", o.spin_usec,
                 "Microseconds to poll for frames before sleeping; default: 30, where a reduction "
                 "has few frames");
  app.add_option("--transport", o.transport,
                 "Transport of frames: raw or af_xdp; default: TRIBUTARY_TRANSPORT, or raw")
      ->transform(CLI::CheckedTransformer(std::map<std::string, int>{
          {"raw", TRIBUTARY_TRANSPORT_RAW}, {"af_xdp", TRIBUTARY_TRANSPORT_AF_XDP}}));
  app.add_flag("--own-thread", o.own_thread,
               "Make progress on a thread of the library's own; default: TRIBUTARY_PROGRESS");
  CLI::Option_group& from = *app.add_option_group("where the tree comes from");
  CLI::Option* named =
      from.add_option("--group", o.name, "Join this group through the fabric manager");
  CLI::Option* fixed = from.add_option("--tree", o.group.tree,
                                       "Tree number, 0 to 8191, as installed in the switches");
  from.require_option(1);
  app.add_option("--twin-tree", o.group.twin_tree,
                 "With --tree: number of the second one of twin trees")
      ->needs(fixed);
  app.add_option("--vni", o.group.vni, "With --tree: protection key")
      ->needs(fixed)
      ->capture_default_str();
  app.add_option("--cookie", o.group.cookie, "With --tree: the group's cookie")
      ->needs(fixed)
      ->capture_default_str();
  CLI::Option* slots =
      app.add_option("--slots", o.group.slots,
                     "With --tree: reductions in flight that the tree has: 8, 16, 32, 64 or 128; "
                     "with --group: the most that this member takes, default 128")
          ->capture_default_str();
  CLI::Option* payload =
      app.add_option("--payload", o.group.payload,
                     "With --tree: bytes of elements in a frame, as installed in the switches: 32, "
                     "or a multiple of 64, such as 1408 with an MTU of 1500; with --group: the "
                     "most that this member takes, default what the interface carries")
          ->capture_default_str();
  app.add_flag_function(
      "--turn,!--no-turn", [&](std::int64_t times) { turn = times > 0; },
      "The switch next to the root turns results round: with --tree, as the tree was installed "
      "there (turn = true), the same at all members; with --group, asks for it, and --no-turn "
      "refuses it; default there: as the fabric manager's file says");
  app.add_option("--trees", o.trees, "With --group: number of trees, 1, or 2 for twin trees")
      ->check(CLI::Range(1, 2))
      ->needs(named)
      ->capture_default_str();
  app.add_option("--job", o.job, "With --group: the job; default: TRIBUTARY_JOB_ID, or the token's")
      ->needs(named);
  app.add_option("--manager", o.manager,
                 "With --group: unix:/path, http://host:port or https://host:port of the fabric "
                 "manager; default: TRIBUTARY_FABRIC_MANAGER_URL, or its socket on this machine")
      ->needs(named);
  app.add_option("--token-file", token_file,
                 "With --group: file with the job's token; default: TRIBUTARY_FABRIC_MANAGER_TOKEN")
      ->needs(named);
  app.add_option(
         "--ca", o.certificate_authority,
         "With --group: CA of the manager's certificate: a PEM file or directory, yes for the "
         "system's CAs, no for no check; default: TRIBUTARY_FABRIC_MANAGER_CACERT, or yes")
      ->needs(named);
  app.add_option("--wait", o.wait_seconds, "With --group: seconds for all members to join")
      ->check(CLI::NonNegativeNumber)
      ->needs(named)
      ->capture_default_str();
  app.add_option("--rank", o.group.rank, "Own rank")->required();
  app.add_option("--size", o.group.size, "Members of the group")->required();
  app.add_option("--root", root, "Rank of the root; default: 0, or the manager's choice");
  app.add_option("--root-nid", o.group.root_nid,
                 "NID of the root; leaves ignore frames of other senders");
  app.add_flag("--disarmed", disarmed, "Root: bypass the engines of the switches");
  app.add_option("--retry", o.group.retry_usec, "Microseconds before the root retries")
      ->capture_default_str();
  app.add_option(
         "--member-timeout", member_timeout_seconds,
         "Seconds after which a missing member ends the group; the same at all members; 0: never")
      ->check(CLI::Range(0.0, 4294.0))
      ->capture_default_str();
  app.add_option("--iterations", o.iterations, "Number of reductions to run")
      ->capture_default_str();
  app.add_option("--operator", operators,
                 "Operators, used in turn; 'mix' for all that frames of 32 bytes carry, 'wide-mix' "
                 "for those "
                 "of wide frames, too")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--vector-length", o.length, "Elements of each reduction")->capture_default_str();
  app.add_option("--in-flight", o.in_flight,
                 "Number of reductions started before waiting for the first")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", o.seed, "Seed of the operands; the same at all members")
      ->capture_default_str();
  app.add_option("--timeout", o.timeout_seconds, "Seconds that one reduction may take")
      ->capture_default_str();
  app.add_flag("--check,!--no-check", o.check, "Compare every result with the reference (default)");
  app.add_flag("--progress", o.progress, "Report progress on standard error twice a second");
  app.add_flag("--json", o.json, "Report as one line of JSON");
  terminal::name_values(app, {{"NAME", {"--interface", "--job", "--group"}},
                              {"ADDRESS", {"--manager"}},
                              {"PATH", {"--token-file", "--ca"}},
                              {"OPERATOR", {"--operator"}},
                              {"MICROSECONDS", {"--spin", "--retry"}},
                              {"SECONDS", {"--wait", "--member-timeout", "--timeout"}}});
  app.footer(
      "Examples:\n"
      "  tributary-host --interface eth0 --group demo --job j1 --rank 0 --size 16\n"
      "  tributary-host --interface eth0 --tree 7 --cookie 9 --root-nid 1 --rank 3 --size 4\n"
      "  tributary-host rdma --help          memory of other hosts\n\n"
      "Exit codes: 0 every result is right, 1 a reduction failed, a result is wrong, or the\n"
      "network or the manager cannot be reached, 2 wrong command line.");
  try {
    app.parse(argc, argv);
    o.kinds = kinds_named(operators);
    if (token_file) {
      o.token = token_in(*token_file);
    }
  } catch (const CLI::ParseError& error) {
    constexpr int usage_error = 2;
    exit_code = app.exit(error) == 0 ? 0 : usage_error;
    return std::nullopt;
  }
  o.group.armed = disarmed ? 0 : 1;
  o.group.member_timeout_usec = static_cast<std::uint32_t>(member_timeout_seconds * 1e6);
  o.group.root_rank = root.value_or(0);
  o.named_root = root;
  o.group.turn = turn.value_or(false) ? 1 : 0;
  if (!o.name.empty()) { // the largest, unless less is asked for
    o.group.slots = slots->count() == 0 ? 0 : o.group.slots;
    o.group.payload = payload->count() == 0 ? 0 : o.group.payload;
    o.group.turn = turn ? o.group.turn : TRIBUTARY_TURN_AUTO;
  }
  return o;
}

} // namespace tributary::host
