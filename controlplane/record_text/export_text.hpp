// A whole store as text, for moving it from one kind of store to another, and for back-ups of both:
//
//   {"tributary_store":1,"epoch":17,"fabric":"5f0c...","records":3}
//   {"key":"job/cluster-17","record":{"id":"cluster-17", ...}}
//   ...                                          one line for each record, in the order of keys
//
// The number of records in the first line shows whether the text is whole. Pure.
#pragma once

#include "controlplane/records/records.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::record_text {

struct Exported {
  records::Snapshot records; ///< with the epoch of the store
  std::string fabric;        ///< identity of the fabric, 16 hexadecimal digits; "": unknown
};

[[nodiscard]] std::string export_text(const Exported& store);

/// what() names the line, and what is wrong with it.
class ImportError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};
/// Throws ImportError for a text that is not a whole export, has unreadable records, or records
/// that contradict each other (soundness.hpp).
[[nodiscard]] Exported import_text(std::string_view text);

} // namespace tributary::record_text
