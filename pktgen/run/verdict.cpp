#include "pktgen/run/verdict.hpp"

#include "pktgen/run/derived.hpp"
#include "pktgen/run/make_traffic.hpp"
#include "pktgen/scenario/keys.hpp"
#include "pktgen/traffic/mixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

namespace tributary::pktgen::run {

using result::Measurement;
using scenario::Part;

namespace {

/// A share that deviates by more than this, relative to the requested one, was not kept.
constexpr double share_tolerance = 0.1;

/// "unicast: " for a part, nothing for the only traffic.
std::string of_part(std::string_view part) {
  return part.empty() ? std::string() : fmt::format("{}: ", part);
}

/// A sentence about the traffic that had no result; empty when all of it had one.
std::string came_to_nothing(const Measurement& measured) {
  struct Part {
    bool reduces = false;
    bool transfers = false;
    std::uint64_t operations = 0;
    std::uint64_t expected = 0;
    std::uint64_t lost = 0;
  };
  std::map<std::string_view, Part> parts;
  for (const measure::Figure& figure : measured.tally.figures) {
    const auto [name, what] = part_and_name(figure.name);
    Part& part = parts[name];
    if (what == "operations" || what == "operations_at_leaves") {
      part.reduces = true;
      part.operations += figure.value;
    } else if (what == "transfers" || what == "writes_arrived" || what == "reads_served") {
      part.transfers = true;
      part.operations += figure.value;
    } else if (what == "expected") {
      part.expected = figure.value;
    } else if (what == "lost") {
      part.lost = figure.value;
    }
  }
  for (const auto& [name, part] : parts) {
    if (part.reduces && part.operations == 0) {
      return fmt::format(
          "{}{}; look whether the switch has the trees of this scenario (--print-switch-config "
          "prints them), give it a longer --duration or more --timeout, or fewer leaves or a "
          "smaller share of absent contributions",
          of_part(name),
          measured.tally.received.frames == 0 ? "nothing came back"
                                              : "not one operation was completed");
    }
    if (part.transfers && part.operations == 0) {
      return fmt::format(
          "{}not one transfer was completed; look whether the switch has the routes of this "
          "scenario (--print-switch-config prints them), whether the other generator runs, if "
          "there is one, and has the same seed, or give it a longer --duration",
          of_part(name));
    }
    if (part.expected != 0 && part.lost == part.expected) {
      return fmt::format(
          "{}nothing came back of {} frames that were expected; look whether the switch runs and "
          "its links are up, and whether it has the routes or trees of this scenario "
          "(--print-switch-config prints them)",
          of_part(name), part.expected);
    }
  }
  return {};
}

std::string too_much_lost(const scenario::Scenario& scenario, const Measurement& measured) {
  const double most = scenario.phases.max_loss;
  const double share = most < 1 ? lost_share(scenario, measured.tally) : 0;
  return share > most ? fmt::format("{:.4g} % was lost, and --max-loss allows {:.4g} %",
                                    100 * share, 100 * most)
                      : std::string();
}

/// Each sentence once, with how many measurements it is true of.
void add_counted(std::vector<std::string>& to, const std::vector<std::string>& sentences,
                 std::size_t measurements) {
  std::vector<std::string> said;
  for (const std::string& sentence : sentences) {
    if (sentence.empty() || std::ranges::find(said, sentence) != said.end()) {
      continue;
    }
    said.push_back(sentence);
    const auto times = std::ranges::count(sentences, sentence);
    to.push_back(measurements == 1
                     ? sentence
                     : fmt::format("in {} of {} measurements: {}", times, measurements, sentence));
  }
}

std::string why_share_is_missed(const Part& part) {
  return has_rate_of_its_own(part)
             ? "its own rate has precedence over its share"
             : "it had no more to send, or the measurement was too short for its answers";
}

void warn_of_shares(const scenario::Scenario& scenario, const result::Result& result,
                    std::vector<std::string>& warnings) {
  double shares = 0;
  for (const Part& part : scenario.parts) {
    shares += part.share;
  }
  measure::Tally sum;
  for (const Measurement& measured : result.repeats) {
    sum.merge(measured.tally);
  }
  const std::string sent = '.' + std::string(traffic::sent_figure);
  std::size_t nth = 0; // figures are in the order of the parts
  for (const measure::Figure& figure : sum.figures) {
    if (!figure.name.ends_with(sent) || nth == scenario.parts.size()) {
      continue;
    }
    const Part& part = scenario.parts[nth++];
    const double wanted = part.share / shares;
    const double got = sum.sent.frames == 0 ? 0
                                            : static_cast<double>(figure.value) /
                                                  static_cast<double>(sum.sent.frames);
    if (sum.sent.frames != 0 && std::abs(got - wanted) > share_tolerance * wanted) {
      warnings.push_back(fmt::format("{} sent {:.3g} % of the frames, not {:.3g} %{}",
                                     part_and_name(figure.name).first, 100 * got, 100 * wanted,
                                     got < wanted ? ": " + why_share_is_missed(part) : ""));
    }
  }
}

void warn_of_arm_failures(const result::Result& result, std::vector<std::string>& warnings) {
  std::uint64_t failures = 0;
  for (const Measurement& measured : result.repeats) {
    failures += measured.switch_figures ? measured.switch_figures->arm_failures : 0;
  }
  if (failures != 0) {
    warnings.push_back(fmt::format(
        "the switch could not arm {} times, as all descriptors of an engine were taken: those "
        "reductions were not, or not wholly, done in it; give it more descriptors_per_engine, put "
        "fewer operations in flight, or look who else has them (`tributaryctl show engines`)",
        failures));
  }
}

void warn_of_search(const result::SearchResult& search, std::vector<std::string>& warnings) {
  const result::SearchStep* lowest = nullptr;
  for (const result::SearchStep& step : search.steps) {
    if (!step.passed && (lowest == nullptr || step.rate < lowest->rate)) {
      lowest = &step;
    }
  }
  if (lowest != nullptr && !lowest->kept) {
    warnings.push_back(fmt::format(
        "what bounds the rate that was found is that {:.4g} operations a second were not kept "
        "({:.4g} were done), not what was lost: the generator, its ports or the operations in "
        "flight may be the limit",
        lowest->rate, lowest->achieved));
  }
}

} // namespace

void add_verdict(const scenario::Scenario& scenario, result::Result& result) {
  std::vector<std::string> nothing;
  std::vector<std::string> lost;
  for (const Measurement& measured : result.repeats) {
    if (!measured.cut_short) {
      nothing.push_back(came_to_nothing(measured));
      // A search reports the loss at each rate itself.
      lost.push_back(result.search ? std::string() : too_much_lost(scenario, measured));
    }
  }
  add_counted(result.problems, nothing, nothing.size());
  add_counted(result.problems, lost, lost.size());
  warn_of_arm_failures(result, result.warnings);
  if (scenario.traffic.kind == scenario::Kind::mixed) {
    warn_of_shares(scenario, result, result.warnings);
  }
  if (result.search) {
    warn_of_search(*result.search, result.warnings);
  }
}

} // namespace tributary::pktgen::run
