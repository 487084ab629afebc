#include "tools/tributaryctl/fabric/command.hpp"

#include "controlplane/topology/builders.hpp"

#include "tools/tributaryctl/shared_options.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::cli {
namespace {

using Verb = FabricCommand::Verb;

CLI::App* add(CLI::App& parent, FabricCommand& command, const char* name, const char* description,
              Verb verb) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->parse_complete_callback([&command, verb] { command.verb = verb; });
  return app;
}

void add_show(CLI::App& fabric, FabricCommand& command) {
  auto* const show = add(fabric, command, "show", "State of the fabric", Verb::show);
  terminal::one_of(
      show->add_option("what", command.what, "What to show")->required()->type_name("WHAT"),
      {"topology", "switches", "hosts", "links", "groups", "trees", "transactions", "jobs", "nodes",
       "memory", "events", "routes", "paths", "faults", "managers"});
  show->add_option("id", command.id,
                   "One object in detail: a name or a number; groups: JOB/NAME; paths: a host")
      ->type_name("NAME");
  show->add_option("to", command.to, "paths: the other host; both by name or NID")
      ->type_name("NAME");
  show->add_option("--switch", command.at_switch,
                   "hosts, links, trees, memory: only objects at this switch")
      ->type_name("NAME");
  show->add_option("--job", command.job, "groups, trees: only objects of this job")
      ->type_name("JOB");
  show->add_option("--group", command.group, "trees: only trees of this group; needs its job")
      ->type_name("NAME");
  add_watch(*show, command.watch);
  show->add_flag("-f,--follow", command.follow, "events: also show new events");
  show->add_option("--after", command.after, "events: only events after this number");
  show->footer("Examples:\n"
               "  tributaryctl fabric show topology            every switch and its neighbours\n"
               "  tributaryctl fabric show groups              their state and missing members\n"
               "  tributaryctl fabric show groups j1/demo      its members\n"
               "  tributaryctl fabric show links --watch 1s    EFI: trees that cross each link\n"
               "  tributaryctl fabric show hosts --switch leaf0\n"
               "  tributaryctl fabric show trees --job j1 --group demo\n"
               "  tributaryctl fabric show memory              who holds switches' memory\n"
               "  tributaryctl fabric show nodes               what the nodes of jobs have\n"
               "  tributaryctl fabric show routes              unicast routes and their state\n"
               "  tributaryctl fabric show paths h0 h17        every hop from host to host\n"
               "  tributaryctl fabric show faults              how fast each was answered\n"
               "  tributaryctl fabric show managers            who leads, and other fabrics\n"
               "  tributaryctl fabric show events --follow");
}

void add_tree(CLI::App& fabric, FabricCommand& command) {
  auto* const tree = fabric.add_subcommand("tree", "A multicast tree");
  tree->footer("Examples:\n  tributaryctl fabric tree draw 5");
  tree->require_subcommand(1);
  auto* const draw = add(*tree, command, "draw", "Draws a tree", Verb::draw_tree);
  terminal::within(
      draw->add_option("tree", command.tree, "The tree's number")->required()->type_name("TREE"), 0,
      most_tree);
  terminal::one_of(draw->add_option("--format", command.format, "Form of the drawing")
                       ->type_name("FORMAT")
                       ->capture_default_str(),
                   {"text", "dot", "svg"});
  draw->footer("Examples:\n"
               "  tributaryctl fabric tree draw 5\n"
               "  tributaryctl fabric tree draw 5 --format svg -o tree5.svg\n"
               "  tributaryctl fabric tree draw 5 --format dot | dot -Tpdf > tree5.pdf");
}

void add_topology(CLI::App& fabric, FabricCommand& command) {
  auto* const topology =
      add(fabric, command, "topology", "Writes the discovered topology", Verb::write_topology);
  terminal::one_of(
      topology
          ->add_option("--format", command.topology_format,
                       "toml, as the manager's topology.file; netlist, as InfiniBand's tools have "
                       "it; dot, a picture for Graphviz")
          ->type_name("FORMAT")
          ->capture_default_str(),
      {"toml", "netlist", "dot"});
  topology->footer(
      "Examples:\n"
      "  tributaryctl fabric topology -o should-be.toml    what is checked from now on\n"
      "  tributaryctl fabric topology --format dot | dot -Tsvg > fabric.svg");
}

void add_group(CLI::App& fabric, FabricCommand& command) {
  auto* const group = fabric.add_subcommand("group", "Groups that reduce together");
  group->require_subcommand(1);
  group->footer("Examples:\n  tributaryctl fabric group create demo --job j1 --size 16");
  const auto add_job = [&](CLI::App* app) {
    app->add_option("--job", command.job, "Its job")
        ->type_name("JOB")
        ->default_str("TRIBUTARY_JOB_ID, or the token's");
  };
  auto* const create =
      add(*group, command, "create", "Creates a group that members will join", Verb::create_group);
  create->add_option("name", command.name, "Its name")->required()->type_name("NAME");
  create->add_option("--size", command.size, "Number of members")->required();
  terminal::within(create->add_option("--trees", command.trees,
                                      "Number of trees: 2 for twin trees, on both of which every "
                                      "reduction runs"),
                   1, 2)
      ->capture_default_str();
  create->add_option("--root-rank", command.root_rank, "Rank of the root")->default_str("any");
  create->add_flag_function(
      "--in-switch-results,!--no-in-switch-results",
      [&](std::int64_t times) { command.in_switch_results = times > 0; },
      "The switch next to the root adds the root's part, too, and sends results to all; not with "
      "two trees. Default: as the fabric manager's file says (groups.in_switch_results), where all "
      "members and that switch can");
  add_job(create);
  create->footer("The first member that joins creates its group, too; this creates it beforehand."
                 "\n\nExamples:\n"
                 "  tributaryctl fabric group create demo --job j1 --size 16");
  auto* const destroy =
      add(*group, command, "destroy", "Ends a group for all its members", Verb::destroy_group);
  destroy->add_option("name", command.name, "Its name")->required()->type_name("NAME");
  add_job(destroy);
  destroy->footer("Examples:\n  tributaryctl fabric group destroy demo --job j1");
}

void add_job(CLI::App& fabric, FabricCommand& command) {
  auto* const job = fabric.add_subcommand("job", "Jobs, which own groups (administrators)");
  job->require_subcommand(1);
  job->footer("Examples:\n  tributaryctl fabric job create j1 --group-limit 4");
  auto* const create =
      add(*job, command, "create", "Creates a job and prints its token", Verb::create_job);
  create->add_option("job", command.name, "Its ID")->required()->type_name("JOB");
  create->add_option("--group-limit", command.limit, "Largest number of groups at a time");
  create
      ->add_option("--hosts", command.hosts,
                   "The only hosts of its groups: names, NIDs, ranges of NIDs, MACs")
      ->type_name("HOST,...")
      ->default_str("any")
      ->delimiter(',');
  create
      ->add_option("--vnis", command.vnis,
                   "The only VNIs of its groups, reserved for it; numbers, ranges")
      ->type_name("VNI,...")
      ->default_str("any that no job has reserved")
      ->delimiter(',');
  create->footer("Examples:\n"
                 "  export TRIBUTARY_FABRIC_MANAGER_TOKEN=$(tributaryctl fabric job create j1)\n"
                 "  tributaryctl fabric job create j2 --group-limit 4 --hosts h0,h1 --vnis 1024\n"
                 "  tributaryctl fabric job create j3 --hosts 1-16,0:00:20 --vnis 1030-1033");
  auto* const destroy =
      add(*job, command, "destroy", "Ends a job and all its groups", Verb::destroy_job);
  destroy->add_option("job", command.name, "Its ID")->required()->type_name("JOB");
  destroy->footer("Examples:\n  tributaryctl fabric job destroy j1");
}

void add_rebalance(CLI::App& fabric, FabricCommand& command) {
  auto* const rebalance =
      add(fabric, command, "rebalance", "Reroutes trees that could be better (administrators)",
          Verb::rebalance);
  rebalance->add_flag("-n,--dry-run", command.dry_run, "Only report what would be moved");
  rebalance->footer("Twins that share a link or switch without need, trees that are higher than\n"
                    "needed, and trees over the most loaded links; some at a time. Their groups\n"
                    "continue to reduce meanwhile.\n\n"
                    "Examples:\n"
                    "  tributaryctl fabric rebalance --dry-run\n"
                    "  tributaryctl fabric rebalance");
}

void add_drain(CLI::App& fabric, FabricCommand& command) {
  auto* const drain =
      add(fabric, command, "drain", "Moves trees and routes away from a switch (administrators)",
          Verb::drain);
  drain->add_option("switch", command.name, "Its name")->required()->type_name("SWITCH");
  drain->add_flag("--force", command.force, "Also when that cuts hosts off");
  drain->add_flag("--no-wait", command.no_wait, "Do not wait until nothing leads through it");
  terminal::add_duration(*drain, "--timeout", command.timeout, "Longest wait",
                         {.most = std::chrono::hours(24)});
  drain->footer("Waits until nothing leads through the switch, and says that it may be taken out.\n"
                "It stays drained, also when the manager restarts, until undrain.\n\n"
                "Examples:\n"
                "  tributaryctl fabric drain spine3\n"
                "  tributaryctl fabric drain leaf7 --force --timeout 10s\n"
                "Exit codes:\n"
                "  0  it is out of use\n"
                "  1  refused, or not within the time\n"
                "  2  wrong command line");
  auto* const undrain =
      add(fabric, command, "undrain", "Takes a drained switch into use again (administrators)",
          Verb::undrain);
  undrain->add_option("switch", command.name, "Its name")->required()->type_name("SWITCH");
  undrain->footer("Examples:\n  tributaryctl fabric undrain spine3");
}

void add_adopt(CLI::App& fabric, FabricCommand& command) {
  auto* const adopt =
      add(fabric, command, "adopt",
          "Lets this manager take over switches that it rejects (administrators)", Verb::adopt);
  adopt->add_option("fabric", command.name, "The fabric that its messages name")
      ->required()
      ->type_name("FABRIC");
  adopt->footer("A manager changes nothing in switches that another one manages: those of another\n"
                "fabric, which has another store, and those of its own fabric that have accepted\n"
                "a newer manager. This command is the agreement that it may: it then removes what\n"
                "these switches hold and its own store does not have.\n\n"
                "Examples:\n"
                "  tributaryctl fabric show managers            the fabrics that were met\n"
                "  tributaryctl fabric adopt 00a1b2c3d4e5f607");
}

void add_failover(CLI::App& fabric, FabricCommand& command) {
  auto* const failover = add(fabric, command, "failover",
                             "Lets another manager lead (administrators)", Verb::failover);
  failover->add_option("--to", command.name, "The one that is to lead; without: any that stands by")
      ->type_name("NAME");
  failover->footer("The leader answers what it was asked, stores everything, and stands by from "
                   "then on.\n\n"
                   "Examples:\n"
                   "  tributaryctl fabric show managers            those that stand by\n"
                   "  tributaryctl fabric failover --to fabric-b");
}

void add_route(CLI::App& fabric, FabricCommand& command) {
  auto* const route = add(fabric, command, "route",
                          "Computes trees on a model of a fabric; needs no manager", Verb::route);
  route
      ->add_option("--topology", command.topologies,
                   fmt::format("{}", fmt::join(topology::model_forms(), ", ")))
      ->required()
      ->type_name("MODEL");
  route
      ->add_option("--groups", command.patterns,
                   "AxB or AxBxC: lines of a grid of processes; ~ in front for random places; "
                   "rand:GROUPS,LEAST,MOST")
      ->required()
      ->type_name("PATTERN");
  terminal::add_duration(*route, "--budget", command.budget, "Time limit of repair")
      ->default_str("by the model");
  terminal::add_share(*route, "--dead", command.dead,
                      "Share of links that are down, chosen by the seed");
  route->add_option("--seed", command.seed, "Seed of everything random")->capture_default_str();
  terminal::within(route->add_option("--runs", command.runs, "Number of runs; the fastest counts"),
                   1, 1000)
      ->capture_default_str();
  route->footer(
      "EFI is the number of trees that cross a link; the lower bound is what no algorithm can "
      "beat.\n\n"
      "Examples:\n"
      "  tributaryctl fabric route --topology ft3:16 --groups 32x32\n"
      "  tributaryctl fabric route --topology dragonfly --groups 162x163 --json");
}

} // namespace

CLI::App* add_fabric_command(CLI::App& app, FabricCommand& command) {
  auto* const fabric =
      app.add_subcommand("fabric", "Queries the fabric manager: topology, groups, trees, jobs");
  fabric->require_subcommand(1);
  terminal::add_manager_options(*fabric, command);
  add_show(*fabric, command);
  add_tree(*fabric, command);
  add_topology(*fabric, command);
  add_group(*fabric, command);
  add_job(*fabric, command);
  add_rebalance(*fabric, command);
  add_drain(*fabric, command);
  add_adopt(*fabric, command);
  add_failover(*fabric, command);
  add_route(*fabric, command);
  fabric->footer("On the manager's Unix socket, root and its own user need no token.\n\n"
                 "Examples:\n"
                 "  tributaryctl fabric show groups\n"
                 "  tributaryctl fabric tree draw 5\n"
                 "  tributaryctl fabric --manager https://fm:7580 --token-file t show topology");
  return fabric;
}

} // namespace tributary::cli
