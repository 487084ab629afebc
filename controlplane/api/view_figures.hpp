// Figures as the views show them: times, and numbers in paths and cursors.
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "tributary/types.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::api {

/// Seconds with three digits behind the point.
[[nodiscard]] double seconds(std::uint64_t ns);
/// Null when it never comes.
[[nodiscard]] boost::json::value seconds_until(TimeNs when, TimeNs now);

/// What stands in a path or a cursor; nothing when it is no number as we write it.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text);
/// The first number that the page may begin with.
[[nodiscard]] std::optional<std::uint64_t> first_of(std::string_view after);
[[nodiscard]] Answer bad_cursor(const std::string& after);

} // namespace tributary::api
