// A switch's answer to `impair`, for people.
#include "dataplane/impairment/counters.hpp"
#include "lib/terminal/table.hpp"
#include "tools/tributaryctl/counter_columns.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tools/tributaryctl/impair/command.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tributary::cli {
namespace {

using terminal::Style;
using terminal::Table;
using terminal::Align::left;
using terminal::Align::right;

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
  const auto& counters = impairment::Counts::rows;
  Table table(columns_with({{"SWITCH"}, {"PORT"}, {"DIRECTION"}},
                           {{"HELD", right, 5}, {"SETTINGS", left, 0, 12}}, counters));
  for (const Entry& i : Entry(result).elements()) {
    table.add(cells_with({{i.text("switch")}, {i.text("port")}, {i.text("direction")}},
                         {count_cell(i.number("held")),
                          {settings_text(i), i.flag("on") ? Style::warning : Style::plain}},
                         i, counters));
  }
  return table.empty() ? "No port is impaired, and none has been.\n" : table.text(display);
}

} // namespace tributary::cli
