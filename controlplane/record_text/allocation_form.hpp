// The stored text of an allocation, and its parser:
//
//   {"cookie": "9f...", "nodes": [["n0", 1, true], ["n1", null, false]],
//    "has_made_job": true, "lease_ms": 0}
//
// Pure.
#pragma once

#include "controlplane/records/records.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace tributary::record_text {

[[nodiscard]] boost::json::value json_of(const records::Allocation& allocation);
/// Throws std::exception when the value was not made by `json_of`.
[[nodiscard]] records::Allocation allocation_of(const boost::json::value& document);

[[nodiscard]] std::string encode(const records::Allocation& allocation);
/// Throws std::exception when the text was not written by `encode`.
[[nodiscard]] records::Allocation decode_allocation(std::string_view text);

} // namespace tributary::record_text
