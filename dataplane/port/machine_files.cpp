#include "dataplane/port/machine_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace tributary::port {

namespace fs = std::filesystem;

CpuSet cpus_of(const std::string& list) {
  constexpr unsigned most = 4096; // no machine has more: a range beyond is not one
  CpuSet cpus;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    unsigned first = 0;
    const char* const end = part.data() + part.size();
    std::from_chars_result read = std::from_chars(part.data(), end, first);
    unsigned last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
    }
    if (read.ec != std::errc() || read.ptr != end || last >= most) {
      continue;
    }
    for (unsigned cpu = first; cpu <= last; ++cpu) {
      cpus.insert(cpu);
    }
  }
  return cpus;
}

std::string list_of(const CpuSet& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const unsigned first = *at;
    unsigned last = first;
    while (++at != cpus.end() && *at == last + 1) {
      last = *at;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last != first) {
      text += fmt::format("-{}", last);
    }
  }
  return text;
}

std::optional<std::string> MachineFiles::text(const std::string& path) const {
  std::error_code error;
  if (!fs::is_regular_file(root_ + path, error)) {
    return std::nullopt;
  }
  std::ifstream in(root_ + path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || !in.is_open()) {
    return std::nullopt;
  }
  text.erase(text.find_last_not_of(" \t\n\r") + 1);
  return text;
}

std::optional<std::int64_t> MachineFiles::number(const std::string& path) const {
  const std::optional<std::string> digits = text(path);
  std::int64_t value = 0;
  if (!digits ||
      std::from_chars(digits->data(), digits->data() + digits->size(), value).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> MachineFiles::names(const std::string& path) const {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(root_ + path, error), end; !error && at != end;
       at.increment(error)) {
    found.push_back(at->path().filename());
  }
  std::ranges::sort(found);
  return found;
}

bool MachineFiles::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(root_ + path, error);
}

std::optional<std::string> MachineFiles::target(const std::string& path) const {
  std::error_code error;
  const fs::path to = fs::read_symlink(root_ + path, error);
  return error ? std::nullopt : std::optional<std::string>(to.filename());
}

} // namespace tributary::port
