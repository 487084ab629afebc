// Exports and imports of the store that a manager's configuration names, for tributaryctl: a file,
// or etcd (record_text/export_text.hpp).
#pragma once

#include <string>
#include <string_view>

namespace tributary::fabricd {

/// The text of all records; a manager may run. Throws std::runtime_error, which says what to do.
[[nodiscard]] std::string export_store(const std::string& config_file);
/// Fills the store with the records of such a text. No manager may run, and the store has to be
/// empty; `replace`, etcd only: what is there is erased. Returns a sentence about what is there
/// now. Throws std::runtime_error.
[[nodiscard]] std::string import_store(const std::string& config_file, std::string_view text,
                                       bool replace);

} // namespace tributary::fabricd
