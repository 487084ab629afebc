// Answers of the manager about RDMA, as tables.
#pragma once

#include "cli/entry.hpp"
#include "terminal/display.hpp"

#include <string>
#include <string_view>

namespace tributary::cli {

/// `what`: policy, peers, transfers, exceptions.
[[nodiscard]] std::string rdma_view(std::string_view what, const Entry& answer,
                                    const terminal::Display& display);

} // namespace tributary::cli
