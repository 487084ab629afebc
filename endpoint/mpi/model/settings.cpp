#include "endpoint/mpi/model/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace tributary::mpi {

namespace {

class Reader {
public:
  Reader(const std::function<const char*(const char*)>& look_up, std::vector<std::string>& faults)
      : look_up_(look_up), faults_(faults) {}

  /// "" when it is not set.
  [[nodiscard]] std::string_view text(const char* name) const {
    const char* const value = look_up_(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
  }

  /// Parses the words `yes` and `no` of this variable. Returns whether it is one of them.
  bool choice(const char* name, std::string_view yes, std::string_view no, bool& value) {
    const std::string_view is = text(name);
    if (is == yes || is == no) {
      value = is == yes;
      return true;
    }
    if (!is.empty()) {
      faults_.push_back(fmt::format("{} is '{}'; it can be {} or {}", name, is, yes, no));
    }
    return false;
  }

  std::optional<std::uint32_t> number(const char* name, std::uint32_t least, std::uint32_t most) {
    const std::string_view is = text(name);
    if (is.empty()) {
      return std::nullopt;
    }
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(is.data(), is.data() + is.size(), value);
    if (error != std::errc() || end != is.data() + is.size() || value < least || value > most) {
      faults_.push_back(
          fmt::format("{} is '{}'; it is a whole number from {} to {}", name, is, least, most));
      return std::nullopt;
    }
    return value;
  }

private:
  const std::function<const char*(const char*)>& look_up_;
  std::vector<std::string>& faults_;
};

void read_tuning(const Reader& read, Settings& settings, std::vector<std::string>& faults) {
  const std::string_view text = read.text("TRIBUTARY_MPI_TUNING");
  settings.print_tuning = text == "print";
  if (text == "start" || text == "run") {
    settings.at_start = text == "start";
    settings.corrections = text == "run";
    settings.tuning_text = text;
    return;
  }
  if (text.empty() || text == "measure" || text == "print") {
    return;
  }
  try {
    settings.tuning = Tuning::parse(text);
    settings.tuning_text = text;
  } catch (const std::invalid_argument& error) {
    faults.push_back(fmt::format("TRIBUTARY_MPI_TUNING: {}", error.what()));
  }
}

} // namespace

Settings settings_from(const std::function<const char*(const char*)>& look_up,
                       std::vector<std::string>& faults) {
  constexpr std::uint32_t an_hour = 3600;
  constexpr std::uint32_t a_second_us = 1'000'000;
  Reader read(look_up, faults);
  Settings settings;
  read.choice("TRIBUTARY_MPI", "on", "off", settings.on);
  read.choice("TRIBUTARY_MPI_REQUIRE", "1", "0", settings.require);
  if (bool in_switch_results = false;
      read.choice("TRIBUTARY_MPI_IN_SWITCH_RESULTS", "1", "0", in_switch_results)) {
    settings.in_switch_results = in_switch_results;
  }
  read.choice("TRIBUTARY_SUM", "reproducible", "default", settings.reproducible);
  read.choice("TRIBUTARY_MPI_NAN", "wins", "ignored", settings.nan_wins);
  settings.interface = read.text("TRIBUTARY_MPI_INTERFACE");
  if (const auto n = read.number("TRIBUTARY_MPI_VERBOSE", 0, 2)) {
    settings.verbose = *n == 0 ? -1 : static_cast<int>(*n);
  }
  if (const auto n = read.number("TRIBUTARY_MPI_TIMEOUT", 1, an_hour)) {
    settings.timeout = std::chrono::seconds(*n);
  }
  if (const auto n = read.number("TRIBUTARY_MPI_JOIN_TIMEOUT", 1, an_hour)) {
    settings.join_limit = std::chrono::seconds(*n);
  }
  settings.spin_usec = read.number("TRIBUTARY_MPI_SPIN_USEC", 0, a_second_us);
  read_tuning(read, settings, faults);
  return settings;
}

std::string Settings::common() const {
  return fmt::format("{}/{}/{}/{}/{}/{}", on, require, reproducible, nan_wins, tuning_text,
                     timeout.count());
}

} // namespace tributary::mpi
