// messages-campaign: messages in virtual time under every fault, from seeds; for any number of
// them.
#include "tests/messages/campaign.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace json = boost::json;
using namespace tributary::messages::test;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

struct Arguments {
  std::uint64_t messages = 100'000;
  std::uint64_t messages_a_run = 1000;
  std::uint64_t seed = 1;
  std::string scene;
  bool as_json = false;
  bool list_scenes = false;
};

json::object as_json(const CampaignReport& r) {
  return {{"sent", r.sent},      {"received", r.received}, {"truncated", r.truncated},
          {"long", r.long_ones}, {"failed", r.failed},     {"restarts", r.restarts},
          {"frames", r.frames},  {"resent", r.resent},     {"blocked", r.blocked},
          {"atomics", r.atomics}};
}

int run(const Arguments& arguments) {
  json::object by_scene;
  std::uint64_t failed_runs = 0;
  for (std::size_t s = 0; s < scenes; ++s) {
    if (!arguments.scene.empty() && arguments.scene != scene_names[s]) {
      continue;
    }
    const std::uint64_t share =
        arguments.scene.empty() ? (arguments.messages + scenes - 1) / scenes : arguments.messages;
    CampaignReport of_scene;
    for (std::uint64_t i = 0; of_scene.sent < share; ++i) {
      const CampaignRun one{.scene = static_cast<Scene>(s),
                            .seed = arguments.seed + i,
                            .messages = std::min(arguments.messages_a_run, share - of_scene.sent)};
      const CampaignReport report = run_campaign(one);
      if (!report.good()) {
        ++failed_runs;
        fmt::print(stderr,
                   "scene {} seed {} failed; to repeat it:\n  messages-campaign --scene {} "
                   "--seed {} --messages {}\n",
                   scene_names[s], one.seed, scene_names[s], one.seed, one.messages);
        for (const std::string& violation : report.violations) {
          fmt::print(stderr, "  {}\n", violation);
        }
      }
      of_scene.add(report);
      if (report.sent == 0) {
        break;
      }
    }
    if (!arguments.as_json) {
      fmt::print("{:<10} {} messages: {} received, {} of them cut, {} failed; {} frames\n",
                 scene_names[s], of_scene.sent, of_scene.received, of_scene.truncated,
                 of_scene.failed, of_scene.frames);
    }
    by_scene[scene_names[s]] = as_json(of_scene);
  }
  if (arguments.as_json) {
    fmt::print("{}\n", json::serialize(json::object{{"seed", arguments.seed},
                                                    {"failed_runs", failed_runs},
                                                    {"scenes", std::move(by_scene)}}));
  } else {
    fmt::print("seed {}: {}\n", arguments.seed, failed_runs == 0 ? "passed" : "FAILED");
  }
  return failed_runs == 0 ? 0 : exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Sends messages between programs of two hosts in virtual time while frames of every "
      "kind are lost, repeated, damaged and delayed, room is scarce, and programs restart; "
      "checks every byte, and the order.\n\n"
      "  messages-campaign --messages 1000000\n"
      "  messages-campaign --scene narrow --seed 17 --messages 1000\n"};
  app.add_option("--messages", arguments.messages, "How many, over all scenes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--messages-a-run", arguments.messages_a_run, "With one seed")
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
