#include "tools/simulator/experiment/experiment.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tributary::simulator::experiment {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void not_a_part(std::string_view text) {
  throw ExperimentError(fmt::format(
      "\"{}\" is not a part of a fabric: write leaf:ROW,COLUMN, root:DIMENSION:ROW,COLUMN:PLANE or "
      "link:ROW,COLUMN:DIMENSION:PLANE, as leaf:3,4 or root:0:3,4:1",
      text));
}

std::uint32_t number(std::string_view digits, std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    not_a_part(text);
  }
  return value;
}

std::vector<std::uint32_t> place(std::string_view coordinates, std::string_view text) {
  std::vector<std::uint32_t> result;
  for (const std::string_view one : split(coordinates, ',')) {
    result.push_back(number(one, text));
  }
  return result;
}

} // namespace

Part parse_part(std::string_view text) {
  const std::vector<std::string_view> fields = split(text, ':');
  if (fields[0] == "leaf" && fields.size() == 2) {
    return {Part::Kind::leaf, place(fields[1], text), 0, 0};
  }
  if (fields[0] == "root" && fields.size() == 4) {
    return {Part::Kind::root, place(fields[2], text), number(fields[1], text),
            number(fields[3], text)};
  }
  if (fields[0] == "link" && fields.size() == 4) {
    return {Part::Kind::link, place(fields[1], text), number(fields[2], text),
            number(fields[3], text)};
  }
  not_a_part(text);
}

TimedFault parse_timed_fault(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw ExperimentError(fmt::format(
        "\"{}\" is not a fault during the run: write TIME=PART, as 20us=leaf:3,4", text));
  }
  return {parse_ns(text.substr(0, equals)), parse_part(text.substr(equals + 1))};
}

double parse_ns(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : units) {
    // A simulation of more than a second would never end.
    if (error == std::errc() && rest == unit.name && value >= 0 && value * unit.ns <= 1e9) {
      return value * unit.ns;
    }
  }
  throw ExperimentError(fmt::format(
      "\"{}\" is not a time of up to a second: write a number and a unit, as 1.5us or 300ns",
      text));
}

} // namespace tributary::simulator::experiment
