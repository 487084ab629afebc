#include "controlplane/unicast/algorithm.hpp"

#include "controlplane/unicast/general.hpp"
#include "controlplane/unicast/phase_search.hpp"
#include "controlplane/unicast/route_error.hpp"
#include "controlplane/unicast/vtftr.hpp"
#include "controlplane/unicast/vtftr_plus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace tributary::unicast {
namespace {

constexpr std::array<std::string_view, 4> names{"vtftr", "vtftr_plus", "phase_search", "general"};

} // namespace

std::unique_ptr<Algorithm> make_algorithm(std::string_view name, const Shape& shape,
                                          const RouteOptions& options) {
  if (name == "vtftr") {
    return std::make_unique<Vtftr>(shape, options);
  }
  if (name == "vtftr_plus") {
    return std::make_unique<VtftrPlus>(shape, options);
  }
  if (name == "phase_search") {
    return std::make_unique<PhaseSearch>(shape, options);
  }
  if (name == "general") {
    return std::make_unique<GeneralOnShape>(shape, options);
  }
  throw RouteError(fmt::format("no algorithm \"{}\" for routes: {}", name, fmt::join(names, ", ")));
}

std::span<const std::string_view> algorithm_names() { return names; }

} // namespace tributary::unicast
