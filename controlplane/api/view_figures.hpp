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

/// Seconds, rounded to three decimals.
[[nodiscard]] double seconds(std::uint64_t ns);
/// Null when the time is `never`.
[[nodiscard]] boost::json::value seconds_until(TimeNs when, TimeNs now);

/// The number in a path or a cursor; nothing when it is not in canonical form.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text);
/// The first number that the page may begin with.
[[nodiscard]] std::optional<std::uint64_t> first_of(std::string_view after);
[[nodiscard]] Answer bad_cursor(const std::string& after);

} // namespace tributary::api
