// Words and cells that several views of the fabric share.
#pragma once

#include "lib/terminal/table.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::cli {

using terminal::Cell;
using terminal::Style;
using terminal::styled;
using terminal::Table;
using terminal::Align::left;
using terminal::Align::right;

inline std::string seconds_text(const Entry& entry, std::string_view name) {
  return entry.text(name).empty() ? "" : fmt::format("{:.1f} s", entry.real(name));
}

inline std::string speed_text(std::uint64_t mbps) {
  return mbps == 0          ? ""
         : mbps % 1000 == 0 ? fmt::format("{}G", mbps / 1000)
                            : fmt::format("{}M", mbps);
}

inline std::string end_text(const Entry& end) {
  return fmt::format("{} port {}", end.text("switch"), end.text("port"));
}

inline Cell up_cell(bool up) { return up ? Cell{"up", Style::good} : Cell{"down", Style::bad}; }

inline Cell host_state(const Entry& host) {
  const std::string state = host.text("state");
  return {state, state == "up" ? Style::good : state == "quiet" ? Style::plain : Style::bad};
}

inline Cell switch_state(const Entry& s) {
  return !s.flag("up")          ? Cell{"down", Style::bad}
         : !s.flag("connected") ? Cell{"up, not connected", Style::warning}
                                : Cell{"up", Style::good};
}

inline Cell group_state(const Entry& group) {
  const std::string state = group.text("state");
  const Style style = !group.text("error").empty() ? Style::bad
                      : state == "ready"           ? Style::good
                                                   : Style::warning;
  return {state, style};
}

inline std::string group_name(const Entry& group) {
  return group.text("job") + "/" + group.text("name");
}

/// Frames of a group, a tree or a place in memory: reductions in flight, and bytes of a vector in a
/// frame: "128 x 1408".
inline std::string frames_text(const Entry& entry) {
  return entry.text("payload").empty()
             ? ""
             : fmt::format("{} x {}", entry.text("slots"), entry.text("payload"));
}

inline std::string root_text(const Entry& root) {
  return root.text("host").empty() ? root.text("nid") : root.text("host");
}

} // namespace tributary::cli
