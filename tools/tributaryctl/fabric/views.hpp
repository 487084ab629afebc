// The fabric manager's answers, for people (docs/protocol/manager-api.md has the JSON).
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace tributary::cli {

/// `what` as in /api/v1/WHAT; `one`: the answer is a single object, not the list.
[[nodiscard]] std::string fabric_view(std::string_view what, bool one,
                                      const boost::json::value& answer,
                                      const terminal::Display& display);

/// The moves of /api/v1/rebalance, made or proposed.
[[nodiscard]] std::string rebalance_view(const boost::json::value& answer,
                                         const terminal::Display& display);

/// One line without its line break.
[[nodiscard]] std::string event_line(const Entry& event, const terminal::Display& display);

} // namespace tributary::cli
