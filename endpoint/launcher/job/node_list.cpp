#include "endpoint/launcher/job/node_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tributary::launch::job {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<std::uint32_t> number_in(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) {
    return std::nullopt;
  }
  return value;
}

std::uint32_t slots_in(std::string_view text, std::string_view where) {
  const auto slots = number_in(text, most_ranks);
  if (!slots || *slots == 0) {
    throw NodeListError(fmt::format("{}: '{}' is not a number of ranks; it can be 1 to {}", where,
                                    text, most_ranks));
  }
  return *slots;
}

/// Checks the characters of a host name or the name of a network namespace. It becomes an argument
/// of ssh and a part of paths, so it never begins with '-' or '.'.
void check_name(std::string_view name, std::string_view where) {
  if (name.empty()) {
    throw NodeListError(
        fmt::format("{}: a node has no name; they are written NAME or NAME:RANKS", where));
  }
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '@';
  };
  if (name.size() > 255 || name.front() == '-' || name.front() == '.' ||
      !std::all_of(name.begin(), name.end(), fits)) {
    throw NodeListError(
        fmt::format("{}: '{}' is not a name of a node; it has letters, digits, '-', '.', '_' and "
                    "begins with a letter or digit",
                    where, name));
  }
}

void check_count(const std::vector<NodeSlots>& nodes, std::string_view where) {
  if (nodes.empty()) {
    throw NodeListError(fmt::format("{}: no node is named", where));
  }
  if (nodes.size() > most_nodes) {
    throw NodeListError(
        fmt::format("{}: {} nodes; at most {} can be used", where, nodes.size(), most_nodes));
  }
}

NodeSlots node_with_colon(std::string_view text, std::string_view where) {
  NodeSlots node;
  const std::size_t colon = text.find(':');
  node.name = trimmed(text.substr(0, colon));
  check_name(node.name, where);
  if (colon != std::string_view::npos) {
    node.slots = slots_in(trimmed(text.substr(colon + 1)), where);
  }
  return node;
}

/// Calls `each` with the parts between commas outside brackets.
template <typename Each> void split_outside_brackets(std::string_view text, Each&& each) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || (text[at] == ',' && depth == 0)) {
      each(text.substr(begin, at - begin));
      begin = at + 1;
      continue;
    }
    depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
  }
}

/// Expands "node[01-03,7]x" to its names, one range after the other.
void expand_brackets(std::string_view text, std::vector<std::string>& names,
                     std::string_view where) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) {
    check_name(text, where);
    names.emplace_back(text);
    return;
  }
  const std::size_t close = text.find(']', open);
  if (close == std::string_view::npos) {
    throw NodeListError(fmt::format("{}: '{}' has a bracket that is not closed", where, text));
  }
  const std::string_view before = text.substr(0, open);
  const std::string_view after = text.substr(close + 1);
  split_outside_brackets(text.substr(open + 1, close - open - 1), [&](std::string_view range) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    constexpr std::uint32_t highest = 1'000'000'000;
    const auto from = number_in(first, highest);
    const auto to = number_in(last, highest);
    if (!from || !to || *to < *from || *to - *from >= most_nodes || names.size() > most_nodes) {
      throw NodeListError(
          fmt::format("{}: '{}' is not a range of at most {} nodes", where, range, most_nodes));
    }
    for (std::uint32_t number = *from; number <= *to; ++number) {
      expand_brackets(fmt::format("{}{:0{}}{}", before, number, first.size(), after), names, where);
    }
  });
}

} // namespace

std::vector<NodeSlots> parse_nodes(std::string_view text) {
  constexpr std::string_view where = "--namespaces";
  std::vector<NodeSlots> nodes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    nodes.push_back(node_with_colon(trimmed(text.substr(begin, end - begin)), where));
    const std::string& name = nodes.back().name;
    if (std::any_of(nodes.begin(), nodes.end() - 1,
                    [&](const NodeSlots& other) { return other.name == name; })) {
      throw NodeListError(
          fmt::format("{}: {} is named twice; write {}:RANKS once", where, name, name));
    }
    begin = end + 1;
  }
  check_count(nodes, where);
  return nodes;
}

std::vector<NodeSlots> parse_host_file(std::string_view text, std::string_view file) {
  std::vector<NodeSlots> nodes;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = fmt::format("{}:{}", file, ++number);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) {
      continue;
    }
    const std::size_t blank = line.find_first_of(blanks);
    NodeSlots node = node_with_colon(line.substr(0, blank), where);
    if (blank != std::string_view::npos) {
      const std::string_view rest = trimmed(line.substr(blank));
      if (!rest.starts_with("slots=")) {
        throw NodeListError(fmt::format(
            "{}: '{}' is not understood; a line is NAME, NAME:RANKS or NAME slots=RANKS", where,
            rest));
      }
      node.slots = slots_in(rest.substr(6), where);
    }
    const auto same = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const NodeSlots& other) { return other.name == node.name; });
    if (same == nodes.end()) {
      nodes.push_back(std::move(node));
    } else {
      same->slots = std::min(same->slots + node.slots, most_ranks);
    }
  }
  check_count(nodes, file);
  return nodes;
}

std::vector<NodeSlots> parse_slurm(std::string_view nodes, std::string_view tasks) {
  constexpr std::string_view where = "SLURM_JOB_NODELIST";
  std::vector<std::string> names;
  split_outside_brackets(
      nodes, [&](std::string_view part) { expand_brackets(trimmed(part), names, where); });
  std::vector<NodeSlots> all;
  for (std::string& name : names) {
    all.push_back({std::move(name), 1});
  }
  check_count(all, where);
  std::size_t at = 0;
  while (!tasks.empty()) {
    const std::size_t end = std::min(tasks.find(','), tasks.size());
    const std::string_view part = trimmed(tasks.substr(0, end));
    tasks.remove_prefix(std::min(end + 1, tasks.size()));
    const std::size_t times = part.find("(x");
    std::uint32_t repeated = 1;
    if (times != std::string_view::npos && part.ends_with(')')) {
      repeated = slots_in(part.substr(times + 2, part.size() - times - 3), "SLURM_TASKS_PER_NODE");
    }
    const std::uint32_t slots = slots_in(part.substr(0, times), "SLURM_TASKS_PER_NODE");
    for (; repeated > 0 && at < all.size(); --repeated) {
      all[at++].slots = slots;
    }
  }
  return all;
}

} // namespace tributary::launch::job
