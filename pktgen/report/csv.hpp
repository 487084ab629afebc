// A result as comma-separated values (RFC 4180): a header, then one line for each repeat and for
// each measurement that a search made at a share of the rate it found. The columns are named as in
// JSON, with a dot for each level: "latencies.reduction_at_root.p99_ns". What a measurement does
// not have is left empty.
#pragma once

#include "pktgen/result/result.hpp"

#include <string>
#include <string_view>

namespace tributary::pktgen::report {

[[nodiscard]] std::string csv_text(const result::Result& result);

/// In quotes where it has to be.
[[nodiscard]] std::string csv_field(std::string_view text);

} // namespace tributary::pktgen::report
