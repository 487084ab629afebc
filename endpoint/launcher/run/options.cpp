#include "endpoint/launcher/run/options.hpp"

#include "endpoint/launcher/job/rank_environment.hpp"
#include "endpoint/launcher/start/starter.hpp"
#include "lib/service/version.hpp"
#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

extern char** environ;

namespace tributary::launch::run {

namespace {

constexpr const char* help_head =
    "tributary-run: starts the ranks of a parallel program, on this machine or on several, with a "
    "PMIx server on each node and the fabric manager behind it. Programs of Open MPI and MPICH run "
    "as they are.\n";

constexpr const char* help_foot = R"(
Examples:
  tributary-run -n 8 ./app                         here
  tributary-run --hosts hosts.txt --ppn 4 ./app    other machines, through ssh: a node a line, NAME:RANKS
  tributary-run --nodes ns1:2,ns2:2 ./app          stand-in nodes: network namespaces of this machine
  salloc -N 4 tributary-run --ppn 8 ./app          nodes of a Slurm allocation, through srun
  tributary-run -n 4 --env OMP_NUM_THREADS=2 --tag-output ./app --its-own-options

Standard input goes to rank 0. Signals go to all ranks; a second interrupt kills them. When a rank fails, the
others are told (PMIX_ERR_PROC_ABORTED) and are ended after --grace.
Exit code: 0, or that of the first rank that failed (128 + its signal); 1: a node was lost, or the job could
not be started; 2: usage; 127: the program could not be started.)";

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    throw CLI::ValidationError("--hosts", fmt::format("{} cannot be read", file));
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

std::string first_line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) {
    throw CLI::ValidationError("--token-file", fmt::format("no token can be read from '{}'", file));
  }
  return line;
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
  std::string token_file;
  std::vector<std::string> variables;
  std::uint32_t grace = 2000;
  std::uint32_t start_limit = 60;
  bool here = false;
  bool no_offload = false;

  CLI::App app(help_head, "tributary-run");
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.footer(help_foot);
  app.set_version_flag("--version", fmt::format("tributary-run {}", service::program_version));
  app.prefix_command();
  app.add_option("-n,--np", o.ranks, "Ranks; default: as many as the nodes take, 1 here")
      ->check(CLI::Range(1U, job::most_ranks));
  CLI::Option_group& where = *app.add_option_group("nodes");
  where.add_option("--hosts", hosts,
                   "File of machines, reached through ssh: NAME, NAME:RANKS or NAME slots=RANKS");
  where.add_option("--nodes", nodes,
                   "Stand-in nodes, NAME[:RANKS],...: network namespaces of this machine");
  where.add_flag("--here", here, "This machine alone, also within a Slurm allocation");
  where.require_option(0, 1);
  app.add_option("--ppn", o.per_node, "Ranks on each node, instead of what the list says")
      ->check(CLI::Range(1U, job::most_ranks));
  app.add_option("--env", variables, "NAME=VALUE, or NAME to pass it on; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--workdir", o.directory, "Working directory of ranks; default: this one");
  app.add_flag("--tag-output", o.tag_output, "Begin each line with its rank, [rank 3]");
  app.add_flag("--timing", o.timing, "Say at the end how long each phase took");
  app.add_flag("-v,--verbose", o.verbose, "Log the phases of the launch");
  app.add_option("--report", o.report,
                 "Write phases, counts and how the job ended to this file, as JSON");
  app.add_option("--grace", grace,
                 "Milliseconds that ranks have to end by themselves when one has failed, or after "
                 "an interrupt")
      ->capture_default_str();
  app.add_option("--start-limit", start_limit, "Seconds for all nodes to be ready")
      ->check(CLI::Range(1U, 3600U))
      ->capture_default_str();
  app.add_option("--ssh", ssh, "Command that reaches a machine, with its options")
      ->capture_default_str();
  app.add_option("--remote-program", o.remote_program,
                 "tributary-run on other machines; default: where it is on this one");
  CLI::Option_group& fabric = *app.add_option_group("fabric manager");
  fabric.add_option("--manager", o.manager,
                    "unix:/path, http://host:port or https://host:port; default: "
                    "TRIBUTARY_FABRIC_MANAGER_URL, or its socket on this machine");
  fabric.add_option("--token-file", token_file,
                    "File with the job's token or the administrator's; default: "
                    "TRIBUTARY_FABRIC_MANAGER_TOKEN");
  fabric.add_option("--ca", o.certificate_authority,
                    "CA of the manager's certificate; default: TRIBUTARY_FABRIC_MANAGER_CACERT");
  fabric.add_option("--job", o.job,
                    "A job that the manager has; default: TRIBUTARY_JOB_ID, or a new one");
  fabric.add_option("--interface", o.interface,
                    "Fabric interface of the nodes; default: the one that the manager knows");
  fabric.add_option("--mcast-limit", o.multicast_limit, "Groups that a new job may have at a time")
      ->capture_default_str();
  CLI::Option* const required = fabric.add_flag("--require-offload", o.require_offload,
                                                "Do not run without the fabric manager; otherwise "
                                                "ranks then run without reductions in the network");
  fabric.add_flag("--no-offload", no_offload, "Do not ask the fabric manager at all")
      ->excludes(required);

  terminal::name_values(app, {{"PATH", {"--hosts", "--token-file", "--report", "--ca"}},
                              {"NODES", {"--nodes"}},
                              {"NAME=VALUE", {"--env"}},
                              {"FOLDER", {"--workdir"}},
                              {"COMMAND", {"--ssh"}},
                              {"PROGRAM", {"--remote-program"}},
                              {"ADDRESS", {"--manager"}},
                              {"NAME", {"--job", "--interface"}},
                              {"MILLISECONDS", {"--grace"}},
                              {"SECONDS", {"--start-limit"}}});

  CLI::App& daemon = *app.add_subcommand("daemon")->group("");
  daemon.add_option("--name", o.name);
  daemon.add_option("--dial", o.dial);

  try {
    app.parse(argc, argv);
    if (daemon.parsed()) {
      o.daemon = true;
      return o;
    }
    o.command = app.remaining();
    if (!o.command.empty() && o.command.front() == "--") {
      o.command.erase(o.command.begin());
    } else if (!o.command.empty() && o.command.front().starts_with('-')) {
      throw CLI::ExtrasError({o.command.front()});
    }
    if (o.command.empty()) {
      throw CLI::ValidationError("PROGRAM", "no program is named; tributary-run [options] PROGRAM "
                                            "[its arguments]; --help has examples");
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
    if (!token_file.empty()) {
      o.token = first_line_of(token_file);
    }
    o.ssh = words_of(ssh);
    if (o.ssh.empty()) {
      throw CLI::ValidationError("--ssh", "it is empty");
    }
  } catch (const CLI::Success& answered) {
    exit_code = app.exit(answered);
    return std::nullopt;
  } catch (const CLI::Error& error) {
    app.exit(error);
    exit_code = exit_usage;
    return std::nullopt;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tributary-run: {}\n", error.what());
    exit_code = exit_usage;
    return std::nullopt;
  }
  o.grace = std::chrono::milliseconds(grace);
  o.start_limit = std::chrono::seconds(start_limit);
  o.offload = !no_offload;
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
