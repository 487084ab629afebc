#include "tools/tributaryctl/host/command.hpp"

#include "endpoint/host_client/host_client.hpp"
#include "tools/tributaryctl/shared_options.hpp"

namespace tributary::cli {
namespace {

using HostVerb = HostCommand::Verb;

CLI::App* add(CLI::App& parent, HostCommand& command, const char* name, const char* description,
              HostVerb verb) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->parse_complete_callback([&command, verb] { command.verb = verb; });
  return app;
}

void add_details(CLI::App& app, HostCommand& command) {
  app.add_option("job", command.job, "Its name, as TRIBUTARY_JOB_ID has it")
      ->required()
      ->type_name("JOB");
  terminal::within(app.add_option("--vni", command.vni, "VNI of its frames")->required(), 1,
                   most_vni);
  app.add_option("--user", command.user,
                 "User whose job it is (administrators); default: the caller")
      ->type_name("USER");
  app.add_option("--cgroup", command.cgroup,
                 "Only for processes in this cgroup, such as /system.slice/job_5")
      ->type_name("PATH");
  terminal::add_duration(app, "--lifetime", command.lifetime, "Time after which it ends by itself",
                         {.least = std::chrono::seconds(1), .most = std::chrono::hours(24 * 3660)});
  app.add_option("--manager", command.url, "The fabric manager, for its programs")
      ->type_name("ADDRESS");
  app.add_option("--ca", command.certificate_authority,
                 "CA of the manager's certificate, for its programs")
      ->type_name("PATH");
  app.add_option("--token-file", command.token_file,
                 "File with the token of the job, for its programs")
      ->type_name("FILE");
}

void add_add(CLI::App& job, HostCommand& command) {
  auto* const app = add(job, command, "add", "Declare a job on this node, or change its details",
                        HostVerb::add_job);
  add_details(*app, command);
  app->footer(
      "Users may declare jobs of their own where a [[service]] of hostd.toml gives them the\n"
      "VNI.\n\n"
      "Examples:\n"
      "  tributaryctl host job add j1 --vni 1024\n"
      "  tributaryctl host job add slurm-17 --vni 1024 --user alice \\\n"
      "      --cgroup /system.slice/slurmstepd.scope/job_17");
}

void add_run(CLI::App& job, HostCommand& command) {
  auto* const app =
      add(job, command, "run", "Run a command, and declare a job for as long as it runs",
          HostVerb::run_job);
  add_details(*app, command);
  app->add_option("command", command.words, "The command and its arguments, after --")
      ->required()
      ->type_name("COMMAND");
  app->footer(
      "The job ends with the command, or ten seconds after this program or its container is\n"
      "killed; several that run at a time hold it together. The exit code is the command's.\n\n"
      "Examples:\n"
      "  tributaryctl host job run j1 --vni 1024 -- ./app --size 4");
}

} // namespace

CLI::App* add_host_command(CLI::App& app, HostCommand& command) {
  command.socket = host_client::default_path;
  auto* const host =
      app.add_subcommand("host", "The host agent of this node, tributary-hostd: jobs and sockets");
  host->require_subcommand(1);
  host->add_option("--agent", command.socket, "The agent's socket")
      ->envname(host_client::path_variable)
      ->type_name("PATH")
      ->capture_default_str();
  auto* const show = add(*host, command, "show",
                         "Jobs on this node, their sockets, and what the guard "
                         "has dropped",
                         HostVerb::show);
  add_watch(*show, command.watch);
  show->footer("Examples:\n  tributaryctl host show --json");
  auto* const job = host->add_subcommand("job", "Jobs on this node");
  job->require_subcommand(1);
  job->footer("Examples:\n  tributaryctl host job add j1 --vni 1024");
  add_add(*job, command);
  add_run(*job, command);
  auto* const end =
      add(*job, command, "end", "End a job; its sockets send nothing any more", HostVerb::end_job);
  end->add_option("job", command.job, "Its name")->required()->type_name("JOB");
  end->footer("Examples:\n  tributaryctl host job end j1");
  host->footer("Examples:\n"
               "  tributaryctl host show\n"
               "  tributaryctl host job add j1 --vni 1024\n"
               "  tributaryctl host job end j1");
  return host;
}

} // namespace tributary::cli
