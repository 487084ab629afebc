#include "tools/tributaryctl/rdma/command.hpp"

#include "tools/tributaryctl/shared_options.hpp"

namespace tributary::cli {
namespace {

using RdmaVerb = RdmaCommand::Verb;

CLI::App* add(CLI::App& parent, RdmaCommand& command, const char* name, const char* description,
              RdmaVerb verb) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->parse_complete_callback([&command, verb] { command.verb = verb; });
  return app;
}

CLI::Option* add_vni(CLI::App& app, RdmaCommand& command, const char* description) {
  return terminal::within(app.add_option("--vni", command.vni, description), 0, most_vni);
}

void add_show(CLI::App& rdma, RdmaCommand& command) {
  auto* const show = add(rdma, command, "show", "Policy in force, and failing or quarantined peers",
                         RdmaVerb::show);
  terminal::one_of(
      show->add_option("what", command.what, "What to show")->required()->type_name("WHAT"),
      {"policy", "peers", "transfers", "exceptions"});
  add_vni(*show, command, "policy: only of this VNI");
  terminal::within(show->add_option("--lines", command.lines, "Largest number of lines"), 1, 10'000)
      ->capture_default_str();
  add_watch(*show, command.watch);
  show->footer("Examples:\n"
               "  tributaryctl rdma show policy --vni 1024   in force there, and what was set\n"
               "  tributaryctl rdma show peers --watch 1s    failing, quarantined, being probed\n"
               "  tributaryctl rdma show transfers           those with the most time-outs\n"
               "  tributaryctl rdma show exceptions --json   by cause, and the latest");
}

void add_policy(CLI::App& rdma, RdmaCommand& command) {
  auto* const set = rdma.add_subcommand("set", "Changes the policy (administrators)");
  set->footer("Examples:\n  tributaryctl rdma set policy window=512 --vni 1024");
  set->require_subcommand(1);
  auto* const set_policy =
      add(*set, command, "policy", "Sets fields of the retransmit policy", RdmaVerb::set_policy);
  set_policy->add_option("fields", command.fields, "What is set")
      ->required()
      ->type_name("FIELD=VALUE");
  add_vni(*set_policy, command, "Only of this VNI; default: of all that have none of their own");
  set_policy->footer(
      "Times take ns, us, ms and s; flags on and off. All fields or none are set.\n\n"
      "Examples:\n"
      "  tributaryctl rdma set policy window=512\n"
      "  tributaryctl rdma set policy spraying=on initial_timeout_ns=2ms --vni 1024");
  auto* const reset = rdma.add_subcommand("reset", "Takes settings back (administrators)");
  reset->footer("Examples:\n  tributaryctl rdma reset policy --vni 1024");
  reset->require_subcommand(1);
  auto* const reset_policy =
      add(*reset, command, "policy", "As it was before it was set", RdmaVerb::reset_policy);
  reset_policy->add_option("fields", command.fields, "Only these; default: all that were set")
      ->type_name("FIELD");
  add_vni(*reset_policy, command, "Of this VNI; default: of all that have none of their own");
  reset_policy->footer("Examples:\n"
                       "  tributaryctl rdma reset policy window\n"
                       "  tributaryctl rdma reset policy --vni 1024");
}

void add_quarantine(CLI::App& rdma, RdmaCommand& command) {
  auto* const quarantine =
      add(rdma, command, "quarantine",
          "Have hosts start no transfers with a peer until it is released (administrators)",
          RdmaVerb::quarantine);
  auto* const release = add(
      rdma, command, "release",
      "End the quarantine of a peer and forget reports on it (administrators)", RdmaVerb::release);
  for (CLI::App* const app : {quarantine, release}) {
    app->add_option("host", command.host, "The peer, by name or NID")
        ->required()
        ->type_name("HOST");
    add_vni(*app, command, "In this VNI")->required();
  }
  quarantine->footer("Examples:\n  tributaryctl rdma quarantine h7 --vni 1024");
  release->footer("Ends the quarantine, regardless of who began it. Hosts report the peer "
                  "again if their\ntransfers fail again.\n\n"
                  "Examples:\n  tributaryctl rdma release h7 --vni 1024");
}

} // namespace

CLI::App* add_rdma_command(CLI::App& app, RdmaCommand& command) {
  auto* const rdma = app.add_subcommand(
      "rdma", "RDMA's retransmit handling by the fabric manager: policy, peers, exceptions");
  rdma->require_subcommand(1);
  terminal::add_manager_options(*rdma, command.manager);
  add_show(*rdma, command);
  add_policy(*rdma, command);
  add_quarantine(*rdma, command);
  rdma->footer("Examples:\n"
               "  tributaryctl rdma show peers\n"
               "  tributaryctl rdma set policy window=512 --vni 1024");
  return rdma;
}

} // namespace tributary::cli
