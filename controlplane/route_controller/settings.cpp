#include "controlplane/route_controller/settings.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace tributary::route_controller {
namespace {

std::uint32_t number_of(std::string_view text, std::string_view whole) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) {
    throw unicast::RouteError(
        fmt::format("\"{}\" is not a shape of a fat tree: write sizes and planes "
                    "like 16x16 or 8x8x4,2",
                    whole));
  }
  return number;
}

} // namespace

unicast::Policy policy_named(std::string_view name) {
  return static_cast<unicast::Policy>(std::ranges::find(policies, name) - policies.begin());
}

std::string_view name_of(unicast::Policy policy) {
  return policies[static_cast<std::size_t>(policy)];
}

unicast::Shape shape_named(std::string_view name) {
  const std::size_t comma = name.find(',');
  const std::uint32_t planes =
      comma == std::string_view::npos ? 1 : number_of(name.substr(comma + 1), name);
  std::string_view rest = name.substr(0, comma);
  std::vector<std::uint32_t> sizes;
  for (;;) {
    const std::size_t cross = rest.find('x');
    sizes.insert(sizes.begin(), number_of(rest.substr(0, cross), name));
    if (cross == std::string_view::npos) {
      return unicast::Shape(sizes, planes);
    }
    rest.remove_prefix(cross + 1);
  }
}

} // namespace tributary::route_controller
