// tributary-run: the launcher, and the daemon that it starts on every node.

#include "endpoint/launcher/node/daemon.hpp"
#include "endpoint/launcher/run/controller.hpp"
#include "endpoint/launcher/run/options.hpp"
#include "lib/terminal/output.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int run(int argc, char** argv) {
  using namespace tributary::launch;
  try {
    int exit_code = 0;
    const auto options = run::read_options(argc, argv, exit_code);
    if (!options) {
      return exit_code;
    }
    if (options->daemon) {
      // srun starts the same command on every node, and sets the node's name.
      return node::run_daemon(
          {.channel = options->dial.empty() ? 0 : -1,
           .address = options->dial,
           .name = options->name.empty() ? environment("SLURMD_NODENAME") : options->name,
           .secret = environment("TRIBUTARY_RUN_SECRET")});
    }
    return run::run_job(*options);
  } catch (const job::NodeListError& error) {
    fmt::print(stderr, "tributary-run: {}\n", error.what());
    return run::exit_usage;
  }
}

} // namespace

int main(int argc, char** argv) {
  return tributary::terminal::with_checked_output("tributary-run", [&] { return run(argc, argv); });
}
