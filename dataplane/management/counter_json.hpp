// The counters of a report in JSON, as members of an object and under flat names.
#pragma once

#include "lib/statistics/counter_info.hpp"

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::management {

/// A member `{prefix}{name}` for each counter of the object.
template <typename Rows, typename Object>
void add_rows(boost::json::object& out, const Rows& rows, const Object& object,
              std::string_view prefix = {}) {
  statistics::for_each_counter(rows, object,
                               [&](const statistics::CounterInfo& info, std::uint64_t value) {
                                 out[fmt::format("{}{}", prefix, info.name)] = info.in_json(value);
                               });
}

/// The same for all parts of a report.
template <typename Report>
void add_counters(boost::json::object& out, const Report& report, std::string_view prefix = {}) {
  Report::for_each_part([&](const auto& rows, auto part, std::string_view part_prefix) {
    add_rows(out, rows, report.*part, fmt::format("{}{}", prefix, part_prefix));
  });
}

/// Under flat names: `{prefix}.{name}`.
template <typename Report>
void add_flat(boost::json::object& out, const std::string& prefix, const Report& report) {
  add_counters(out, report, prefix + '.');
}

} // namespace tributary::management
