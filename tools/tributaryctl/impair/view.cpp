// A switch's answer to `impair`, for people.
#include "lib/terminal/table.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tools/tributaryctl/impair/command.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::cli {
namespace {

using terminal::Style;
using terminal::Table;
using terminal::Align::left;
using terminal::Align::right;

struct Column {
  const char* title;
  const char* counter;
  bool bad; ///< coloured where it is not 0
  unsigned leaves;
};
constexpr std::array columns = {
    Column{"FRAMES", "frames", false, 0},
    Column{"LOST", "lost", true, 0},
    Column{"BURST LOST", "burst_lost", true, 4},
    Column{"DUPLICATED", "duplicated", true, 2},
    Column{"CORRUPTED", "corrupted", true, 1},
    Column{"DELAYED", "delayed", false, 6},
    Column{"REORDERED", "reordered", true, 3},
    Column{"RATE DELAYED", "rate_delayed", false, 8},
    Column{"RATE LIMITED", "rate_limited", true, 7},
    Column{"DID NOT FIT", "did_not_fit", true, 9},
    Column{"HELD", "held", false, 5},
};

std::string settings_text(const Entry& impairment) {
  if (!impairment.flag("on")) {
    return "off";
  }
  std::string text;
  impairment.for_each_member("settings", [&](std::string_view key, const Entry& value) {
    const auto kinds = value.elements();
    std::string shown = kinds.empty() ? value.self() : "";
    for (const Entry& kind : kinds) {
      shown += (shown.empty() ? "" : ",") + kind.self();
    }
    text += fmt::format("{} {}, ", key, shown);
  });
  return text + fmt::format("seed {}", impairment.text("seed"));
}

} // namespace

std::string impairments_view(const boost::json::value& result, const terminal::Display& display) {
  std::vector<terminal::Column> head = {{"SWITCH"}, {"PORT"}, {"DIRECTION"}};
  for (const Column& column : columns) {
    head.push_back({column.title, right, column.leaves});
  }
  head.push_back({"SETTINGS", left, 0, 12});
  Table table(head);
  for (const Entry& i : Entry(result).elements()) {
    std::vector<terminal::Cell> row = {{i.text("switch")}, {i.text("port")}, {i.text("direction")}};
    for (const Column& column : columns) {
      const std::uint64_t value = i.number(column.counter);
      row.push_back(
          {fmt::format("{}", value), column.bad && value != 0 ? Style::warning : Style::plain});
    }
    row.push_back({settings_text(i), i.flag("on") ? Style::warning : Style::plain});
    table.add(row);
  }
  return table.empty() ? "No port is impaired, and none has been.\n" : table.text(display);
}

} // namespace tributary::cli
