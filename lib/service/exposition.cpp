#include "lib/service/exposition.hpp"

#include "lib/service/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace tributary::service {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool equal(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](unsigned char c) { return std::tolower(c); },
      [](unsigned char c) { return std::tolower(c); });
}

/// Removes and returns the text before the separator.
std::string_view next(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view item = trimmed(text.substr(0, end));
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return item;
}

/// RFC 9110, 12.4.2; an invalid one counts as 1.
double quality_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = next(parameters, ';');
    if (parameter.size() > 2 && equal(parameter.substr(0, 2), "q=")) {
      double quality = 1;
      std::from_chars(parameter.data() + 2, parameter.data() + parameter.size(), quality);
      return quality;
    }
  }
  return 1;
}

/// Quality of "TYPE/SUBTYPE" in `accept`, from the most specific matching range; 0: unacceptable.
double quality_for(std::string_view accept, std::string_view type, std::string_view subtype) {
  double quality = 0;
  int best = 0;
  while (!accept.empty()) {
    std::string_view range = next(accept, ',');
    std::string_view name = next(range, ';');
    const std::string_view of_type = next(name, '/');
    const int specific = equal(of_type, type) ? (equal(name, subtype) ? 3
                                                 : name == "*"        ? 2
                                                                      : 0)
                         : of_type == "*"     ? 1
                                              : 0;
    if (specific > best) {
      best = specific;
      quality = quality_of(range);
    }
  }
  return quality;
}

std::uint64_t resident_bytes() {
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// In Unix time: proc(5), `btime` of the machine and `starttime` of the process.
double start_time_s() {
  std::string word;
  std::uint64_t boot_s = 0;
  for (std::ifstream of_machine("/proc/stat"); of_machine >> word;) {
    if (word == "btime") {
      of_machine >> boot_s;
      break;
    }
  }
  std::string line;
  std::getline(std::ifstream("/proc/self/stat"), line);
  constexpr int fields_between = 19; // the second is the program's name, which may contain blanks
  std::istringstream behind_name(line.substr(line.rfind(')') + 1));
  for (int i = 0; i < fields_between; ++i) {
    behind_name >> word;
  }
  std::uint64_t ticks = 0;
  behind_name >> ticks;
  return static_cast<double>(boot_s) +
         static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double processor_s() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::ptrdiff_t open_descriptors() {
  std::error_code none;
  const std::filesystem::directory_iterator all("/proc/self/fd", none);
  return none ? 0 : std::distance(begin(all), end(all)) - 1; // not the one for this read
}

std::uint64_t most_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

} // namespace

Exposition exposition_for(std::string_view accept) {
  if (trimmed(accept).empty()) {
    return Exposition::openmetrics;
  }
  const double openmetrics = quality_for(accept, "application", "openmetrics-text");
  return openmetrics > 0 && openmetrics >= quality_for(accept, "text", "plain")
             ? Exposition::openmetrics
             : Exposition::text;
}

std::string_view content_type_of(Exposition form) {
  return form == Exposition::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string exposed(std::string openmetrics, Exposition form) {
  if (form == Exposition::openmetrics) {
    return openmetrics;
  }
  std::string text;
  text.reserve(openmetrics.size() + openmetrics.size() / 16);
  std::string_view suffix; // of the family's samples
  for (std::string_view left = openmetrics; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size() - 1) + 1;
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end);
    const bool is_type = line.starts_with("# TYPE ");
    if (!is_type && !line.starts_with("# HELP ")) {
      text += line.starts_with("# EOF") ? std::string_view() : line;
      continue;
    }
    constexpr std::size_t before_name = 7;
    const std::size_t name_end = line.find(' ', before_name);
    std::string_view rest = line.substr(name_end);
    if (is_type) {
      const bool is_info = rest == " info\n";
      suffix = is_info ? "_info" : rest == " counter\n" ? "_total" : "";
      rest = is_info ? " gauge\n" : rest;
    }
    text.append(line.substr(0, name_end)).append(suffix).append(rest);
  }
  return text;
}

std::string process_metrics() {
  return fmt::format(
      "# TYPE tributary_build info\n"
      "# HELP tributary_build The program.\n"
      "tributary_build_info{{version=\"{}\"}} 1\n"
      "# TYPE process_start_time_seconds gauge\n"
      "# HELP process_start_time_seconds When the process started, in Unix time.\n"
      "process_start_time_seconds {:.2f}\n"
      "# TYPE process_cpu_seconds counter\n"
      "# HELP process_cpu_seconds Processor time, of the program and of the kernel for it.\n"
      "process_cpu_seconds_total {}\n"
      "# TYPE process_resident_memory_bytes gauge\n"
      "# HELP process_resident_memory_bytes Memory that is resident.\n"
      "process_resident_memory_bytes {}\n"
      "# TYPE process_open_fds gauge\n"
      "# HELP process_open_fds Descriptors that are open.\n"
      "process_open_fds {}\n"
      "# TYPE process_max_fds gauge\n"
      "# HELP process_max_fds Descriptors that may be open.\n"
      "process_max_fds {}\n",
      program_version, start_time_s(), processor_s(), resident_bytes(), open_descriptors(),
      most_descriptors());
}

} // namespace tributary::service
