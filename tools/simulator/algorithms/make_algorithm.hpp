// The algorithms for unicast routes by name: the product's, and two that only comparisons use.
//
// | name        | is                                                                             |
// |-------------|--------------------------------------------------------------------------------|
// | algorithm_a | the paper's reference, as reconstructed here: one virtual channel              |
// | literal     | the paper's VTFTR with leaves that use their table only, whatever the port: it |
// |             | loops                                                                          |
// | others      | of unicast::make_algorithm                                                     |
#pragma once

#include "controlplane/unicast/algorithm.hpp"

#include <memory>
#include <string_view>

namespace tributary::simulator::algorithms {

/// Throws unicast::RouteError for an unknown name, an unsupported number of dimensions, or too few
/// virtual channels.
[[nodiscard]] std::unique_ptr<unicast::Algorithm>
make_algorithm(std::string_view name, const unicast::Shape& shape,
               const unicast::RouteOptions& options);

} // namespace tributary::simulator::algorithms
