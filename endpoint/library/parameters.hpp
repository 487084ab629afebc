// From the options of the C API to the parameters of the collective protocol.
#pragma once

#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/library/host.hpp"
#include "tributary/tributary.h"

namespace tributary::library {

/// Throws std::invalid_argument when a tree is out of range; the rest is for the member to check.
[[nodiscard]] collective::GroupParameters parameters_of(const tributary_host& host,
                                                        const tributary_group_options& options);

} // namespace tributary::library
