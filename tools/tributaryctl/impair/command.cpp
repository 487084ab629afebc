#include "tools/tributaryctl/impair/command.hpp"

#include "tools/tributaryctl/impair/units.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>

#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using Action = ImpairCommand::Action;

/// An option of `set` whose text `convert` turns into the value of a key.
template <typename Convert>
CLI::Option* add_setting(CLI::App& set, ImpairCommand& command, const char* option, const char* key,
                         const char* type, const char* description, Convert convert) {
  return set
      .add_option_function<std::string>(
          option,
          [&command, option, key, convert](const std::string& text) {
            try {
              command.settings[key] = convert(text);
            } catch (const std::invalid_argument& error) {
              throw CLI::ValidationError(option, error.what());
            }
          },
          description)
      ->type_name(type);
}

std::uint64_t count_of(const std::string& text) {
  std::uint64_t value = 0;
  if (!CLI::detail::lexical_cast(text, value)) {
    throw std::invalid_argument("\"" + text + "\" is no whole number");
  }
  return value;
}

void add_settings(CLI::App& set, ImpairCommand& command) {
  const auto chance = [&](const char* option, const char* key, const char* description) {
    add_setting(set, command, option, key, "P", description, probability_of);
  };
  const auto time = [&](const char* option, const char* key, const char* description) {
    add_setting(set, command, option, key, "TIME", description, microseconds_of);
  };
  const auto number = [&](const char* option, const char* key, const char* description) {
    add_setting(set, command, option, key, "N", description, count_of);
  };
  chance("--loss", "loss", "Probability that a frame is lost");
  chance("--good-to-bad", "good_to_bad",
         "Burst loss (Gilbert-Elliott): probability that the bad state begins before a frame");
  chance("--bad-to-good", "bad_to_good", "Probability that it ends; it lasts 1/P frames");
  chance("--loss-good", "loss_good", "Probability of loss in the good state; default 0");
  chance("--loss-bad", "loss_bad", "Probability of loss in the bad state; default 1");
  chance("--duplicate", "duplicate", "Probability that a frame is duplicated");
  chance("--corrupt", "corrupt", "Probability that bits of a frame are changed");
  number("--corrupt-bits", "corrupt_bits", "How many bits; default 1");
  time("--delay", "delay_us", "Delay of every frame");
  time("--jitter", "jitter_us", "Random time of up to so much on top of the delay");
  chance("--reorder", "reorder", "Probability that a frame is held back behind later ones");
  number("--reorder-distance", "reorder_distance",
         "How many later frames pass it; default: it is held for a time");
  time("--reorder-hold", "reorder_hold_us",
       "That time; with a distance, the longest time; default 200us");
  add_setting(set, command, "--rate", "rate_kbps", "RATE", "Rate limit, in bits per second",
              kilobits_of);
  number("--rate-burst", "rate_burst_bytes", "Bytes that may pass at once; default 16384");
  number("--rate-queue", "rate_queue_bytes",
         "Bytes that may wait; what comes on top is dropped; default 131072");
  number("--held-frames", "held_frames",
         "Frames that may be delayed at once; what comes on top is dropped; default 2048");
  number("--seed", "seed", "Seed that makes the faults repeatable; default: drawn, and shown");
  set.add_option_function<std::vector<std::string>>(
         "--kinds",
         [&command](const std::vector<std::string>& kinds) {
           command.settings["kinds"] = json::array(kinds.begin(), kinds.end());
         },
         "Kinds of frames concerned, e.g. reduction,result; default all. The others:\n"
         "multicast, unicast, control, foreign")
      ->delimiter(',')
      ->type_name("KIND,...");
}

CLI::App* add(CLI::App& parent, ImpairCommand& command, const char* name, const char* description,
              Action action) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->parse_complete_callback([&command, action] { command.action = action; });
  app->add_option("--switch", command.switch_name,
                  "The switch; needed where several have a port of this name")
      ->type_name("NAME");
  app->add_option("--port", command.port, "The port")->type_name("NAME");
  app->add_option("--direction", command.direction, "received or sent by the port; default both")
      ->type_name("DIRECTION")
      ->check(CLI::IsMember({"received", "sent"}));
  return app;
}

} // namespace

CLI::App* add_impair_command(CLI::App& app, ImpairCommand& command) {
  auto* const impair = app.add_subcommand(
      "impair", "Faults on purpose at ports: loss, delay, a rate limit and more");
  impair->require_subcommand(1);
  auto* const show =
      add(*impair, command, "show", "Impairments in force, and what they did", Action::show);
  show->footer("Shows what is impaired, or has been. With --port: both directions in any case.\n"
               "Examples:\n"
               "  tributaryctl impair show\n"
               "  tributaryctl impair show --port host0 --json");
  auto* const set =
      add(*impair, command, "set", "Impair a port from now on, instead of as it was", Action::set);
  set->get_option("--port")->required();
  add_settings(*set, command);
  set->footer(
      "What is not given is off: the new settings replace all of the old ones. Frames that are\n"
      "held keep their time. Probabilities are 0.01 or 1%, times 100us or 1.5ms, rates 10M or 1G.\n"
      "Examples:\n"
      "  tributaryctl impair set --port p0 --direction sent --loss 1% --seed 7\n"
      "  tributaryctl impair set --port p0 --good-to-bad 0.1% --bad-to-good 25%\n"
      "  tributaryctl impair set --port p0 --direction received --delay 1ms --jitter 200us\n"
      "  tributaryctl impair set --port p0 --reorder 2% --reorder-distance 8\n"
      "  tributaryctl impair set --port p0 --direction sent --rate 100M --rate-queue 65536\n"
      "  tributaryctl impair set --port p0 --corrupt 0.1% --corrupt-bits 3 --kinds unicast");
  auto* const clear = add(*impair, command, "clear",
                          "End impairments; what they hold leaves at once", Action::clear);
  auto* const all = clear->add_flag("--all", command.everything, "Of all ports");
  all->excludes(clear->get_option("--port"));
  clear->footer("Examples:\n"
                "  tributaryctl impair clear --port p0 --direction sent\n"
                "  tributaryctl impair clear --all");
  clear->final_callback([&command] {
    if (command.port.empty() && !command.everything) {
      throw CLI::RequiredError("--port NAME or --all");
    }
  });
  set->final_callback([&command] {
    if (command.settings.empty()) {
      throw CLI::RequiredError("what is to go wrong, e.g. --loss 1%; see --help. It");
    }
  });
  return impair;
}

json::value request_of(const ImpairCommand& command) {
  constexpr const char* actions[] = {"show", "set", "clear"};
  json::object request{{"command", "impair"},
                       {"action", actions[static_cast<std::size_t>(command.action)]}};
  const auto add_text = [&](const char* name, const std::string& text) {
    if (!text.empty()) {
      request[name] = text;
    }
  };
  add_text("switch", command.switch_name);
  add_text("port", command.port);
  add_text("direction", command.direction);
  if (command.action == Action::set) {
    request["settings"] = command.settings;
  }
  return request;
}

} // namespace tributary::cli
