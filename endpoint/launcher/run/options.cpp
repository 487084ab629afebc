#include "endpoint/launcher/run/options.hpp"

#include "endpoint/launcher/job/rank_environment.hpp"
#include "endpoint/launcher/start/starter.hpp"
#include "endpoint/manager_client/address.hpp"
#include "lib/terminal/command_line.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

extern char** environ;

namespace tributary::launch::run {

namespace {

constexpr const char* help_head =
    "tributary-run: starts the ranks of a parallel program, on this machine or on several, with a "
    "PMIx server on each node and the fabric manager behind it. Programs of Open MPI and MPICH run "
    "as they are.\n";

constexpr const char* help_foot =
    R"(Standard input goes to rank 0. Signals go to all ranks; a second interrupt kills them. When a rank fails, the
others are notified (PMIX_ERR_PROC_ABORTED) and are ended after --grace.

Examples:
  tributary-run -n 8 ./app                         here
  tributary-run --hostfile hosts.txt --ppn 4 ./app    other machines, through ssh: a node a line, NAME:RANKS
  tributary-run --namespaces ns1:2,ns2:2 ./app          stand-in nodes: network namespaces of this machine
  salloc -N 4 tributary-run --ppn 8 ./app          nodes of a Slurm allocation, through srun
  tributary-run -n 4 python3 app.py                  with mpi4py; --mpi where its MPI library is not found
  tributary-run -n 4 --env OMP_NUM_THREADS=2 --tag-output ./app --its-own-options)";

MpiChoice choice_of(std::string_view word) {
  return word == "ompi"    ? MpiChoice::open_mpi
         : word == "mpich" ? MpiChoice::mpich
         : word == "none"  ? MpiChoice::none
                           : MpiChoice::found;
}

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    throw terminal::UsageError(fmt::format("--hostfile: {} cannot be read", file));
  }
  return text;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

job::Variables own_environment() {
  job::Variables all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return all;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

} // namespace

std::optional<Options> read_options(int argc, char** argv, int& exit_code) {
  Options o;
  std::string hosts;
  std::string nodes;
  std::string ssh = "ssh";
  std::vector<std::string> variables;
  bool here = false;
  bool no_offload = false;
  std::string mpi = "auto";
  terminal::ManagerOptions manager;

  CLI::App app(help_head, "tributary-run");
  terminal::set_up(app);
  app.footer(help_foot);
  app.prefix_command();
  terminal::within(app.add_option("-n,--np", o.ranks, "Number of ranks"), 1, job::most_ranks)
      ->default_str("as many as the nodes take, 1 here");
  CLI::Option* const from_file =
      app.add_option("--hostfile", hosts,
                     "File of machines, reached through ssh: NAME, NAME:RANKS or NAME slots=RANKS")
          ->type_name("FILE")
          ->group("Nodes");
  CLI::Option* const stand_ins =
      app.add_option("--namespaces", nodes,
                     "Stand-in nodes, NAME[:RANKS],...: network namespaces of this machine")
          ->type_name("NODES")
          ->group("Nodes")
          ->excludes(from_file);
  app.add_flag("--here", here, "This machine alone, also within a Slurm allocation")
      ->group("Nodes")
      ->excludes(from_file)
      ->excludes(stand_ins);
  terminal::within(app.add_option("--ppn", o.per_node, "Ranks on each node"), 1, job::most_ranks)
      ->default_str("what the list of nodes says");
  app.add_option("--env", variables, "Variable to set, or NAME to pass it on; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--workdir", o.directory, "Working directory of ranks")
      ->type_name("FOLDER")
      ->default_str("this one");
  app.add_flag("--tag-output", o.tag_output, "Begin each line with its rank, [rank 3]");
  app.add_flag("--timing", o.timing, "Print the duration of each phase at the end");
  app.add_flag("-v,--verbose", o.verbose, "Log the phases of the launch");
  app.add_option("--report", o.report,
                 "File for phases, counts and how the job ended, as JSON; standard output belongs "
                 "to the ranks")
      ->type_name("FILE");
  terminal::add_duration(app, "--grace", o.grace,
                         "Time that ranks have to end by themselves when one has failed, or after "
                         "an interrupt",
                         {.most = std::chrono::hours(24)});
  terminal::add_duration(app, "--start-timeout", o.start_limit, "Time for all nodes to be ready",
                         {.least = std::chrono::seconds(1), .most = std::chrono::hours(1)});
  app.add_option("--ssh", ssh, "Command that reaches a machine, with its options")
      ->type_name("COMMAND")
      ->capture_default_str();
  app.add_option("--remote-program", o.remote_program, "tributary-run on other machines")
      ->type_name("PROGRAM")
      ->default_str("where it is on this one");
  for (CLI::Option* const option : terminal::add_manager_options(app, manager)) {
    option->group("Fabric manager");
  }
  app.add_option("--job", o.job, "Job that the manager has")
      ->type_name("JOB")
      ->default_str("TRIBUTARY_JOB_ID, or a new one")
      ->group("Fabric manager");
  app.add_option("--interface", o.interface, "Fabric interface of the nodes")
      ->type_name("NAME")
      ->default_str("the one that the manager knows")
      ->group("Fabric manager");
  app.add_option("--group-limit", o.multicast_limit,
                 "Largest number of groups at a time, of a new job")
      ->capture_default_str()
      ->group("Fabric manager");
  terminal::one_of(
      app.add_option(
          "--mpi", mpi,
          "MPI library of the program, whose reductions go to the network. auto: the one "
          "that a program of the command, or its mpi4py, is linked with; none: the "
          "program uses the host library itself"),
      {"auto", "ompi", "mpich", "none"})
      ->capture_default_str()
      ->group("Fabric manager");
  CLI::Option* const required =
      app.add_flag("--require-offload", o.require_offload,
                   "Fail without the fabric manager, without an MPI library to reduce for, and "
                   "when no rank calls MPI_Init; otherwise ranks then run without reductions in "
                   "the network")
          ->group("Fabric manager");
  app.add_flag("--no-offload", no_offload, "Do not ask the fabric manager at all")
      ->group("Fabric manager")
      ->excludes(required);
  terminal::add_exit_codes(
      app,
      {"0    every rank ended with 0; otherwise the code of the first rank that failed, or 128 "
       "and its signal",
       "1    a node was lost, or the job could not be started", "2    wrong command line",
       "127  the program could not be started"});

  CLI::App& daemon = *app.add_subcommand("daemon")->group("");
  daemon.add_option("--name", o.name);
  daemon.add_option("--dial", o.dial);

  const auto take = [&] {
    if (daemon.parsed()) {
      o.daemon = true;
      return;
    }
    o.command = app.remaining();
    if (!o.command.empty() && o.command.front() == "--") {
      o.command.erase(o.command.begin());
    } else if (!o.command.empty() && o.command.front().starts_with('-')) {
      throw terminal::UsageError(terminal::unknown_option(app, o.command.front()));
    }
    if (o.command.empty()) {
      throw terminal::UsageError("PROGRAM is missing: tributary-run [OPTIONS] PROGRAM [ARGUMENTS]");
    }
    if (!hosts.empty()) {
      o.reach = Reach::ssh;
      o.nodes = job::parse_host_file(content_of(hosts), hosts);
    } else if (!nodes.empty()) {
      o.reach = Reach::namespaces;
      o.nodes = job::parse_nodes(nodes);
    } else if (!here && !variable("SLURM_JOB_NODELIST").empty()) {
      o.reach = Reach::slurm;
      o.nodes = job::parse_slurm(variable("SLURM_JOB_NODELIST"), variable("SLURM_TASKS_PER_NODE"));
    }
    const job::Variables own = own_environment();
    if (o.reach == Reach::ssh || o.reach == Reach::slurm) {
      for (const auto& [name, value] : own) {
        if (job::travels(name)) {
          job::set_variable(o.variables, name, value);
        }
      }
    }
    for (const std::string& each : variables) {
      const auto [name, value] = job::variable_from(each, own);
      job::set_variable(o.variables, name, value);
    }
    if (manager.token_file) {
      o.token = terminal::token_in(*manager.token_file);
    }
    o.manager = manager.manager;
    o.certificate_authority = manager.certificate_authority;
    if (o.manager) {
      static_cast<void>(manager_client::parse_address(*o.manager));
    }
    o.ssh = words_of(ssh);
    if (o.ssh.empty()) {
      throw terminal::UsageError("--ssh needs a command");
    }
  };
  if (const auto done = terminal::parse(app, argc, argv, take)) {
    exit_code = *done;
    return std::nullopt;
  }
  if (o.daemon) {
    return o;
  }
  o.offload = !no_offload;
  o.mpi = choice_of(mpi);
  std::error_code ignored;
  if (o.directory.empty()) {
    o.directory = std::filesystem::current_path(ignored).string();
  }
  if (o.remote_program.empty()) {
    o.remote_program = start::own_program();
  }
  return o;
}

} // namespace tributary::launch::run
