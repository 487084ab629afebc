#include "tools/tributaryctl/impair/command.hpp"

#include "dataplane/impairment/frame_kind.hpp"
#include "tools/tributaryctl/impair/units.hpp"
#include "tools/tributaryctl/shared_options.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary::cli {
namespace {

namespace json = boost::json;
using Action = ImpairCommand::Action;

/// Options of `set` go into `settings` by the names and in the units of the configuration's keys.
void add_settings(CLI::App& set, ImpairCommand& command) {
  const auto chance = [&](const char* option, const char* key, const char* description) {
    return terminal::add_share(
        set, option, [&command, key](double share) { command.settings[key] = share; }, description);
  };
  const auto time = [&](const char* option, const char* key, const char* description) {
    return terminal::add_duration(
        set, option,
        [&command, key](terminal::FineDuration given) {
          command.settings[key] = std::chrono::round<std::chrono::microseconds>(given).count();
        },
        description, {.step = std::chrono::microseconds(1)});
  };
  const auto number = [&](const char* option, const char* key, const char* description) {
    return terminal::within(
        set.add_option_function<std::uint64_t>(
            option, [&command, key](std::uint64_t given) { command.settings[key] = given; },
            description),
        0, any_number);
  };
  chance("--loss", "loss", "Probability that a frame is lost");
  chance("--good-to-bad", "good_to_bad",
         "Burst loss (Gilbert-Elliott): probability that the bad state begins before a frame");
  chance("--bad-to-good", "bad_to_good", "Probability that it ends; it lasts 1/P frames");
  chance("--loss-good", "loss_good", "Probability of loss in the good state")->default_str("0%");
  chance("--loss-bad", "loss_bad", "Probability of loss in the bad state")->default_str("100%");
  chance("--duplicate", "duplicate", "Probability that a frame is duplicated");
  chance("--corrupt", "corrupt", "Probability that bits of a frame are changed");
  number("--corrupt-bits", "corrupt_bits", "Number of bits changed")->default_str("1");
  time("--delay", "delay_us", "Delay of every frame");
  time("--jitter", "jitter_us", "Random time of up to so much on top of the delay");
  chance("--reorder", "reorder", "Probability that a frame is held back behind later ones");
  number("--reorder-distance", "reorder_distance",
         "Number of later frames that pass it; without it, it is held for a time");
  time("--reorder-hold", "reorder_hold_us", "That time; with a distance, the longest time")
      ->default_str("200us");
  set.add_option_function<std::string>(
         "--rate",
         [&command](const std::string& text) {
           try {
             command.settings["rate_kbps"] = kilobits_of(text);
           } catch (const std::invalid_argument& error) {
             throw terminal::UsageError(fmt::format("--rate: {}", error.what()));
           }
         },
         "Rate limit in bits per second, such as 800k, 10M or 2.5G")
      ->type_name("RATE");
  number("--rate-burst", "rate_burst_bytes", "Bytes that may pass together")->default_str("16384");
  number("--rate-queue", "rate_queue_bytes", "Bytes that may wait; what comes on top is dropped")
      ->default_str("131072");
  number("--held-frames", "held_frames",
         "Frames that may be delayed at the same time; what comes on top is dropped")
      ->default_str("2048");
  number("--seed", "seed", "Seed that makes the faults repeatable")
      ->default_str("drawn, and shown");
  std::vector<std::string> kinds(std::begin(impairment::kind_names),
                                 std::end(impairment::kind_names));
  kinds.emplace_back(impairment::all_kinds);
  terminal::one_of(set.add_option_function<std::vector<std::string>>(
                          "--kinds",
                          [&command](const std::vector<std::string>& kinds) {
                            command.settings["kinds"] = json::array(kinds.begin(), kinds.end());
                          },
                          "Kinds of frames concerned, comma-separated")
                       ->delimiter(',')
                       ->type_name("KIND,...")
                       ->default_str("all"),
                   std::move(kinds));
}

CLI::App* add(CLI::App& parent, ImpairCommand& command, const char* name, const char* description,
              Action action) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->parse_complete_callback([&command, action] { command.action = action; });
  app->add_option("--switch", command.switch_name,
                  "The switch; needed where several have a port of this name")
      ->type_name("NAME");
  app->add_option("--port", command.port, "The port")->type_name("NAME");
  add_direction(*app, command.direction);
  return app;
}

} // namespace

CLI::App* add_impair_command(CLI::App& app, ImpairCommand& command) {
  auto* const impair = app.add_subcommand(
      "impair", "Faults on purpose at ports: loss, delay, a rate limit and more");
  impair->require_subcommand(1);
  impair->footer("Examples:\n"
                 "  tributaryctl impair set --port p0 --direction sent --loss 1%\n"
                 "  tributaryctl impair show\n"
                 "  tributaryctl impair clear --all");
  auto* const show =
      add(*impair, command, "show", "Impairments in force, and their counters", Action::show);
  show->footer("Shows what is impaired, or has been. With --port: both directions in any case.\n\n"
               "Examples:\n"
               "  tributaryctl impair show\n"
               "  tributaryctl impair show --port host0 --json");
  auto* const set =
      add(*impair, command, "set", "Replace the impairment settings of a port", Action::set);
  set->get_option("--port")->required();
  add_settings(*set, command);
  set->footer(
      "What is not given is off: the new settings replace all of the old ones. Frames that are\n"
      "held keep their time.\n\n"
      "Examples:\n"
      "  tributaryctl impair set --port p0 --direction sent --loss 1% --seed 7\n"
      "  tributaryctl impair set --port p0 --good-to-bad 0.1% --bad-to-good 25%\n"
      "  tributaryctl impair set --port p0 --direction received --delay 1ms --jitter 200us\n"
      "  tributaryctl impair set --port p0 --reorder 2% --reorder-distance 8\n"
      "  tributaryctl impair set --port p0 --direction sent --rate 100M --rate-queue 65536\n"
      "  tributaryctl impair set --port p0 --corrupt 0.1% --corrupt-bits 3 --kinds unicast");
  auto* const clear =
      add(*impair, command, "clear", "End impairments; frames that they hold leave immediately",
          Action::clear);
  auto* const all =
      clear->add_flag("--all", command.everything, "Clear the impairments of all ports");
  all->excludes(clear->get_option("--port"));
  clear->footer("Examples:\n"
                "  tributaryctl impair clear --port p0 --direction sent\n"
                "  tributaryctl impair clear --all");
  clear->final_callback([&command] {
    if (command.port.empty() && !command.everything) {
      throw terminal::UsageError("--port or --all is missing");
    }
  });
  set->final_callback([&command] {
    if (command.settings.empty()) {
      throw terminal::UsageError("no impairment is given, such as --loss 1%");
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
