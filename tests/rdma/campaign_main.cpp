// rdma-campaign: transfers in virtual time under every fault, from seeds; for any number of them.
#include "tests/rdma/campaign.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace json = boost::json;
using namespace tributary::rdma;
using namespace tributary::rdma::test;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

struct Arguments {
  std::uint64_t transfers = 100'000;
  std::uint64_t transfers_a_run = 1000;
  std::uint64_t seed = 1;
  std::string scene;
  bool as_json = false;
  bool list_scenes = false;
};

json::object as_json(const Counters& counters) {
  json::object object;
  for_each_counter(counters, [&](std::string_view name, std::string_view, std::uint64_t value) {
    if (value > 0) {
      object[name] = value;
    }
  });
  return object;
}

json::object faults_as_json(const CampaignReport& report) {
  json::object faults;
  for (std::size_t kind = 1; kind < tributary::wire::rdma_kinds; ++kind) {
    json::object of_kind;
    for (std::size_t fault = 0; fault < fault_count; ++fault) {
      if (report.faults[kind][fault] > 0) {
        of_kind[fault_names[fault]] = report.faults[kind][fault];
      }
    }
    faults[name_of(static_cast<tributary::wire::RdmaKind>(kind))] = std::move(of_kind);
  }
  return faults;
}

json::object causes_as_json(const CampaignReport& report) {
  json::object by_cause;
  for (std::size_t cause = 0; cause < causes; ++cause) {
    if (report.failed_by[cause] > 0) {
      by_cause[name_of(static_cast<Cause>(cause))] = report.failed_by[cause];
    }
  }
  return by_cause;
}

void print(const std::string& title, const CampaignReport& r) {
  fmt::print("{:<16} {} transfers: {} done, {} failed, {} hung, {} corrupt, {} twice, {} lost; {} "
             "contexts left; {} frames\n",
             title, r.begun, r.done, r.failed, r.hung, r.corrupt, r.twice, r.lost, r.left,
             r.frames);
}

int run(const Arguments& arguments) {
  CampaignReport all;
  json::object by_scene;
  const bool shows = !arguments.as_json && isatty(STDERR_FILENO) != 0;
  std::uint64_t failed_runs = 0;
  for (std::size_t s = 0; s < scenes; ++s) {
    if (!arguments.scene.empty() && arguments.scene != scene_names[s]) {
      continue;
    }
    const std::uint64_t share =
        arguments.scene.empty() ? (arguments.transfers + scenes - 1) / scenes : arguments.transfers;
    CampaignReport of_scene;
    for (std::uint64_t i = 0; of_scene.begun < share; ++i) {
      const CampaignRun one{.scene = static_cast<Scene>(s),
                            .seed = arguments.seed + i,
                            .transfers =
                                std::min(arguments.transfers_a_run, share - of_scene.begun)};
      const CampaignReport report = run_campaign(one);
      if (!report.good()) {
        ++failed_runs;
        fmt::print(stderr,
                   "scene {} seed {} failed; to repeat it:\n  rdma-campaign --scene {} "
                   "--seed {} --transfers {}\n",
                   scene_names[s], one.seed, scene_names[s], one.seed, one.transfers);
        for (const std::string& violation : report.violations) {
          fmt::print(stderr, "  {}\n", violation);
        }
      }
      of_scene.add(report);
      if (report.begun == 0) {
        break;
      }
      if (shows && i % 16 == 0) {
        fmt::print(stderr, "\r{} {} of {}  ", scene_names[s], of_scene.begun, share);
      }
    }
    if (shows) {
      fmt::print(stderr, "\r\033[K");
    }
    if (!arguments.as_json) {
      print(scene_names[s], of_scene);
    }
    by_scene[scene_names[s]] = json::object{{"begun", of_scene.begun},
                                            {"done", of_scene.done},
                                            {"failed", of_scene.failed},
                                            {"causes", causes_as_json(of_scene)},
                                            {"hung", of_scene.hung},
                                            {"corrupt", of_scene.corrupt},
                                            {"twice", of_scene.twice},
                                            {"lost", of_scene.lost},
                                            {"contexts_left", of_scene.left},
                                            {"frames", of_scene.frames},
                                            {"faults", faults_as_json(of_scene)},
                                            {"source", as_json(of_scene.source)},
                                            {"sink", as_json(of_scene.sink)}};
    all.add(of_scene);
  }
  if (arguments.as_json) {
    fmt::print("{}\n", json::serialize(json::object{{"seed", arguments.seed},
                                                    {"transfers", all.begun},
                                                    {"failed_runs", failed_runs},
                                                    {"scenes", std::move(by_scene)}}));
  } else {
    print("all", all);
    fmt::print("seed {}: {}\n", arguments.seed, failed_runs == 0 ? "passed" : "FAILED");
  }
  return failed_runs == 0 ? 0 : exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Moves data between two hosts in virtual time while frames of every kind are lost, "
               "repeated, damaged and delayed, hosts restart, paths die, and one lies; checks "
               "every byte.\n\n"
               "  rdma-campaign --transfers 1000000\n"
               "  rdma-campaign --scene dead_path --seed 17 --transfers 1000\n"};
  app.add_option("--transfers", arguments.transfers, "How many, over all scenes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--transfers-a-run", arguments.transfers_a_run, "With one seed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", arguments.seed, "Of the first run; each further one has the next")
      ->capture_default_str();
  app.add_option("--scene", arguments.scene, "Only this one")
      ->check(CLI::IsMember(std::vector<std::string>(scene_names.begin(), scene_names.end())));
  app.add_flag("--list-scenes", arguments.list_scenes, "Print their names, a line each");
  app.add_flag("--json", arguments.as_json, "Print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_usage;
  }
  if (arguments.list_scenes) {
    for (const char* const name : scene_names) {
      fmt::print("{}\n", name);
    }
    return 0;
  }
  return run(arguments);
}
