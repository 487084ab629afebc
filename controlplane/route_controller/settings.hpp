// Settings of unicast routes. Plain data.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/shape.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::route_controller {

/// `automatic` chooses by the fabric: vtftr_plus on a two-dimensional fat tree without dead roots
/// or links, phase_search on any other fat tree, general elsewhere, and wherever these leave a pair
/// without a route.
inline constexpr std::string_view automatic = "auto";
inline constexpr std::array<std::string_view, 5> algorithms{automatic, "vtftr", "vtftr_plus",
                                                            "phase_search", "general"};
inline constexpr std::array<std::string_view, 3> policies{"safe", "plus", "fast"};

/// Requires one of `policies`.
[[nodiscard]] unicast::Policy policy_named(std::string_view name);
/// "safe"
[[nodiscard]] std::string_view name_of(unicast::Policy policy);
/// "16x12,2": sizes as in the name of a model, the last one the fastest coordinate, and planes.
/// Throws unicast::RouteError for an invalid shape.
[[nodiscard]] unicast::Shape shape_named(std::string_view name);

struct Settings {
  bool enabled = false;
  std::string algorithm{automatic}; ///< one of `algorithms`
  std::uint8_t vcs = 2;
  unicast::Policy policy = unicast::Policy::safe;
  std::optional<unicast::Shape> shape{}; ///< the expected shape; nothing: any
  friend bool operator==(const Settings&, const Settings&) = default;
};

} // namespace tributary::route_controller
