#include "tools/host/options.hpp"

#include "lib/terminal/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tributary::host {

using terminal::within;

void add_interface_options(CLI::App& app, std::string& interface, std::uint16_t& ethertype,
                           std::uint32_t& nid, int& transport) {
  app.add_option("--interface", interface, "Network interface, for example eth0")
      ->type_name("NAME")
      ->required();
  terminal::add_ethertype(app, ethertype);
  app.add_option("--nid", nid, "Own NID")
      ->default_str("low 20 bits of the interface's MAC address");
  terminal::one_of(app.add_option_function<std::string>(
                          "--transport",
                          [&transport](const std::string& name) {
                            transport = name == "raw" ? TRIBUTARY_TRANSPORT_RAW
                                                      : TRIBUTARY_TRANSPORT_AF_XDP;
                          },
                          "Transport of frames")
                       ->type_name("TRANSPORT")
                       ->default_str("TRIBUTARY_TRANSPORT, or raw"),
                   {"raw", "af_xdp"});
}

void add_own_thread(CLI::App& app, std::optional<bool>& own_thread) {
  app.add_flag_function(
         "--own-thread,!--no-own-thread",
         [&own_thread](std::int64_t times) { own_thread = times > 0; },
         "Whether a thread of the library's own makes progress, instead of the caller")
      ->default_str("TRIBUTARY_PROGRESS");
}

void add_report_options(CLI::App& app, bool& json, std::string& output) {
  app.add_flag("--json", json, "Print the report as JSON");
  app.add_option("-o,--output", output, "File for the report; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
}

namespace {

using workload::all_kinds;
using workload::Kind;
using workload::wide_kinds;

/// Calls that move blocks of the members, or reduce them.
const std::array blocks = {Call{.what = Call::What::broadcast}, Call{.what = Call::What::allgather},
                           Call{.what = Call::What::reduce_scatter}};

/// "mix" or "wide-mix", or names of kinds and of calls with blocks.
std::vector<Call> calls_named(const std::vector<std::string>& names) {
  std::vector<Call> calls;
  const auto add_all = [&calls](const std::vector<Kind>& kinds) {
    for (const Kind& kind : kinds) {
      calls.push_back({.kind = kind});
    }
  };
  for (const std::string& name : names) {
    if (name == "mix") {
      add_all(all_kinds());
      continue;
    }
    if (const auto what = std::ranges::find(blocks, name, &Call::name); what != blocks.end()) {
      calls.push_back(*what);
      continue;
    }
    std::vector<Kind> all = all_kinds();
    all.insert(all.end(), wide_kinds().begin(), wide_kinds().end());
    if (name == "wide-mix") {
      add_all(all);
      continue;
    }
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.name == name; });
    if (found == all.end()) {
      std::vector<std::string> known = {"mix", "wide-mix"};
      for (const Call& call : blocks) {
        known.emplace_back(call.name());
      }
      for (const Kind& kind : all) {
        known.emplace_back(kind.name);
      }
      throw terminal::UsageError(
          fmt::format("--operators: unknown \"{}\"; known are {}", name, fmt::join(known, ", ")));
    }
    calls.push_back({.kind = *found});
  }
  return calls;
}

} // namespace

std::optional<Options> read_options(int argc, char** argv, int& exit_code) {
  Options o;
  const tributary_host_options host = tributary_host_defaults("");
  o.ethertype = host.ethertype;
  o.group = tributary_group_defaults();
  std::vector<std::string> operators = {"mix"};
  bool armed = true;
  std::optional<bool> in_switch_results;
  std::chrono::microseconds member_timeout{0};
  std::chrono::microseconds retry{o.group.retry_usec};
  std::optional<std::chrono::microseconds> spin;
  std::optional<std::uint32_t> root;
  terminal::ManagerOptions manager;

  CLI::App app("tributary-host: one member of a reduction group. Runs reductions with all the "
               "others and checks every result bit for bit against its own arithmetic.\n"
               "`tributary-host rdma --help` is about memory of other hosts.",
               "tributary-host");
  terminal::set_up(app);
  add_interface_options(app, o.interface, o.ethertype, o.nid, o.transport);
  terminal::add_duration(app, "--spin", spin, "Time to poll for frames before sleeping",
                         {.most = most_time})
      ->default_str("30us, where a reduction has few frames");
  add_own_thread(app, o.own_thread);
  CLI::Option* named =
      app.add_option("--group", o.name, "Group to join through the fabric manager; this or --tree")
          ->type_name("NAME");
  CLI::Option* fixed = within(app.add_option("--tree", o.group.tree,
                                             "Tree that is installed in the switches; this or "
                                             "--group"),
                              0, 8191)
                           ->excludes(named);
  within(app.add_option("--twin-tree", o.group.twin_tree, "Second one of twin trees"), 0, 8191)
      ->needs(fixed);
  within(app.add_option("--vni", o.group.vni, "Protection key"), 0, 65'535)
      ->needs(fixed)
      ->capture_default_str();
  app.add_option("--cookie", o.group.cookie, "Cookie of the group")
      ->needs(fixed)
      ->capture_default_str();
  CLI::Option* slots =
      app.add_option("--slots", o.group.slots,
                     "With --tree: reductions in flight that the tree has: 8, 16, 32, 64 or 128; "
                     "with --group: the most that this member takes")
          ->default_str(fmt::format("{}; with --group 128", o.group.slots));
  CLI::Option* payload =
      app.add_option("--payload", o.group.payload,
                     "With --tree: bytes of elements in a frame, as installed in the switches: 32, "
                     "or a multiple of 64, such as 1408 with an MTU of 1500; with --group: the "
                     "most that this member takes")
          ->default_str(
              fmt::format("{}; with --group what the interface carries", o.group.payload));
  app.add_flag_function(
         "--in-switch-results,!--no-in-switch-results",
         [&](std::int64_t times) { in_switch_results = times > 0; },
         "In-switch results: the top switch adds the root's part and multicasts the result. With "
         "--tree: as the tree was installed there, the same at all members; with --group: "
         "requests or refuses it")
      ->default_str("with --group as the manager's file says");
  app.add_flag_function(
         "--shared,!--no-shared", [&](std::int64_t times) { o.group.shared = times > 0 ? 1 : 0; },
         "Whether the tree is shared in all its switches, so that broadcasts and allgathers "
         "multicast; the same at all members")
      ->needs(fixed)
      ->default_str("--no-shared");
  within(app.add_option("--trees", o.trees, "Number of trees; 2 for twin trees"), 1, 2)
      ->needs(named)
      ->capture_default_str();
  app.add_option("--job", o.job, "Job of the group")
      ->needs(named)
      ->type_name("JOB")
      ->default_str("TRIBUTARY_JOB_ID, or the token's");
  for (CLI::Option* const option : terminal::add_manager_options(app, manager)) {
    option->needs(named);
  }
  terminal::add_duration(app, "--wait", o.wait, "Time for all members to join")->needs(named);
  app.add_option("--rank", o.group.rank, "Own rank")->required();
  app.add_option("--size", o.group.size, "Number of members")->required();
  app.add_option("--root-rank", root, "Rank of the root")
      ->default_str("0; with --group the manager's choice");
  app.add_option("--root-nid", o.group.root_nid,
                 "NID of the root; leaves ignore frames of other senders");
  app.add_flag("--armed,!--no-armed", armed,
               "Whether the engines reduce; otherwise the root bypasses them")
      ->default_str("--armed");
  terminal::add_duration(app, "--retry", retry, "Time before the root's first retry",
                         {.most = most_time});
  terminal::add_duration(
      app, "--member-timeout", member_timeout,
      "Time after which a missing member ends the group; the same at all members; 0s: never",
      {.most = most_time});
  app.add_option("--operations", o.iterations, "Number of operations to run")
      ->capture_default_str();
  app.add_option("--operators", operators,
                 "Operators, comma-separated, used in turn; mix for all that frames of 32 bytes "
                 "carry, wide-mix for those of wide frames, too; broadcast and allgather move "
                 "elements of 8 bytes, and reduce-scatter adds them up")
      ->type_name("OPERATOR,...")
      ->delimiter(',')
      ->default_str("mix");
  app.add_option("--elements", o.length,
                 "Number of elements of each operation; in an allgather or reduce-scatter, of each "
                 "member")
      ->capture_default_str();
  within(app.add_option("--in-flight", o.in_flight,
                        "Number of operations started before waiting for the first"),
         1, 1e18)
      ->capture_default_str();
  app.add_option("--seed", o.seed, "Seed of the operands; the same at all members")
      ->capture_default_str();
  terminal::add_duration(app, "--timeout", o.timeout, "Time that one operation may take",
                         {.least = std::chrono::microseconds(1)});
  app.add_flag("--check,!--no-check", o.check, "Whether to compare every result with the reference")
      ->default_str("--check");
  app.add_flag("--progress", o.progress, "Report progress on standard error twice a second");
  add_report_options(app, o.json, o.output);
  app.footer(
      "Examples:\n"
      "  tributary-host --interface eth0 --group demo --job j1 --rank 0 --size 16\n"
      "  tributary-host --interface eth0 --tree 7 --cookie 9 --root-nid 1 --rank 3 --size 4\n"
      "  tributary-host rdma --help          memory of other hosts");
  terminal::add_exit_codes(app, {"0  every result is right",
                                 "1  a reduction failed, a result is wrong, or the network or the "
                                 "manager cannot be reached",
                                 "2  wrong command line"});
  const auto done = terminal::parse(app, argc, argv, [&] {
    if (named->count() + fixed->count() == 0) {
      throw terminal::UsageError("--group or --tree is missing");
    }
    o.calls = calls_named(operators);
    if (manager.token_file) {
      o.token = terminal::token_in(*manager.token_file);
    }
  });
  if (done) {
    exit_code = *done;
    return std::nullopt;
  }
  o.manager = manager.manager;
  o.certificate_authority = manager.certificate_authority;
  o.spin_usec = spin ? static_cast<std::uint32_t>(spin->count()) : o.spin_usec;
  o.group.retry_usec = static_cast<std::uint32_t>(retry.count());
  o.group.armed = armed ? 1 : 0;
  o.group.member_timeout_usec = static_cast<std::uint32_t>(member_timeout.count());
  o.group.root_rank = root.value_or(0);
  o.named_root = root;
  o.group.in_switch_results = in_switch_results.value_or(false) ? 1 : 0;
  if (!o.name.empty()) { // the largest, unless less is asked for
    o.group.slots = slots->count() == 0 ? 0 : o.group.slots;
    o.group.payload = payload->count() == 0 ? 0 : o.group.payload;
    o.group.in_switch_results =
        in_switch_results ? o.group.in_switch_results : TRIBUTARY_IN_SWITCH_RESULTS_AUTO;
  }
  return o;
}

} // namespace tributary::host
