#include "lib/configuration/document.hpp"

#include <fmt/format.h>

namespace tributary::configuration {
namespace {

/// "switch leaf0, port host0: nid" -> "switch leaf0, port host0"
std::string owner_of(const std::string& path) { return path.substr(0, path.find(": ")); }

bool has_owner(const Document& document, const std::string& owner) {
  const auto it = document.lower_bound(owner + ": ");
  return it != document.end() && owner_of(it->first) == owner;
}

} // namespace

std::vector<std::string> restart_differences(const Document& running, const Document& wanted) {
  std::vector<std::string> differences;
  const auto report = [&](std::string text) {
    if (differences.empty() || differences.back() != text) {
      differences.push_back(std::move(text));
    }
  };
  for (const auto& [path, setting] : running) {
    if (setting.change == Change::live) {
      continue;
    }
    const auto it = wanted.find(path);
    if (it != wanted.end() && it->second.value == setting.value) {
      continue;
    }
    if (!has_owner(wanted, owner_of(path))) {
      report(fmt::format("{} was removed", owner_of(path)));
    } else {
      report(fmt::format("{}, {} -> {}", path, setting.value,
                         it == wanted.end() ? "absent" : it->second.value));
    }
  }
  for (const auto& [path, setting] : wanted) {
    if (setting.change == Change::live || running.contains(path)) {
      continue;
    }
    if (!has_owner(running, owner_of(path))) {
      report(fmt::format("{} was added", owner_of(path)));
    } else {
      report(fmt::format("{}, absent -> {}", path, setting.value));
    }
  }
  return differences;
}

std::vector<std::string> take_over_live(Document& running, const Document& wanted) {
  std::vector<std::string> left_alone = restart_differences(running, wanted);
  for (const auto& [name, setting] : wanted) {
    if (setting.change == Change::live) {
      running[name] = setting;
    }
  }
  return left_alone;
}

} // namespace tributary::configuration
