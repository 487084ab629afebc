// fabric-allreduce: the simulator's times of allreduces beside those of the virtual fabric.
#include "tests/fabric/allreduce/compare.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace {

using namespace tributary::fabric;
using namespace tributary::simulator::allreduce;

constexpr const char* examples = R"(
examples:
  build/tests/fabric/fabric-allreduce
  build/tests/fabric/fabric-allreduce --topology dragonfly:4,2,2 --hosts 64 --bytes 1048576
exit codes:
  0  all ran, whatever the ratio
  1  something went wrong in the virtual fabric
  2  wrong command line)";

} // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Compares the model of tributary-sim allreduce with the virtual fabric, which runs the "
      "product's switch core, queues, routes and collective protocol.",
      "fabric-allreduce");
  app.footer(examples);
  std::vector<std::string> topologies{"ft3:4", "ft3:8", "dragonfly:4,2,2"};
  std::vector<std::uint32_t> hosts{16, 64, 128};
  std::vector<std::uint64_t> sizes{8, 65'536, 262'144};
  Costs costs = costs_of_virtual_fabric();
  app.add_option("--topology", topologies, "Models")->delimiter(';')->capture_default_str();
  app.add_option("--hosts", hosts, "Numbers of hosts; a fabric that has fewer is left out")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--bytes", sizes, "Sizes of the vector, multiples of 8")
      ->delimiter(',')
      ->check(CLI::Range(std::uint64_t{8}, std::uint64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--payload", costs.payload, "Bytes of vector in a frame")
      ->check(CLI::Range(40U, 1408U))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  int exit_code = 0;
  try {
    fmt::print(
        "| fabric | hosts | bytes | algorithm | simulated us | virtual fabric us | simulated "
        "over it |\n|---|---|---|---|---|---|---|\n");
    for (const std::string& topology : topologies) {
      const std::uint32_t there = Paths(topology, Routes::shortest, 1).hosts();
      for (const std::uint32_t n : hosts) {
        for (const std::uint64_t bytes : sizes) {
          for (const Algorithm algorithm :
               {Algorithm::in_network, Algorithm::ring, Algorithm::recursive_doubling,
                Algorithm::rabenseifner}) {
            if (n > there) {
              continue;
            }
            const ComparedAllreduce c =
                compare_allreduce(topology, n, bytes / 8 * 8, algorithm, costs);
            fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.3f} |\n", topology, n, bytes,
                       name(algorithm), c.simulated.ns / 1e3, c.fabric_ns / 1e3, c.ratio());
            std::fflush(stdout);
            for (const std::string& violation : c.violations) {
              fmt::print(stderr, "fabric-allreduce: {}\n", violation);
              exit_code = 1;
            }
          }
        }
      }
    }
  } catch (const std::exception& problem) {
    fmt::print(stderr, "fabric-allreduce: {}\n", problem.what());
    return 1;
  }
  return exit_code;
}
