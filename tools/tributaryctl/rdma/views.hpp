// Answers of the manager about RDMA, as tables.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>
#include <string_view>

namespace tributary::cli {

/// `what`: policy, peers, transfers, exceptions.
[[nodiscard]] std::string rdma_view(std::string_view what, const Entry& answer,
                                    const terminal::Display& display);

} // namespace tributary::cli
