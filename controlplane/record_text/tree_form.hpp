// The stored text of a tree's form, and its parser:
//
//   {"root_switch": "spine", "height": 1,
//    "links": [["leaf0", 4, "spine", 0], ...],
//    "parts": [{"at": "leaf0", "parent": 0, "children": [1, 4], "wait_count": 3, "depth": 0}, ...]}
//
// Pure.
#pragma once

#include "controlplane/records/records.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace tributary::record_text {

[[nodiscard]] boost::json::value json_of(const records::TreeForm& form);
/// Throws std::exception when the value was not made by `json_of`.
[[nodiscard]] records::TreeForm tree_form_of(const boost::json::value& document);

[[nodiscard]] std::string encode(const records::TreeForm& form);
/// Throws std::exception when the text was not written by `encode`.
[[nodiscard]] records::TreeForm decode_tree_form(std::string_view text);

} // namespace tributary::record_text
