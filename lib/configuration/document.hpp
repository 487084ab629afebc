// Every setting a configuration amounts to, flat and as text, defaults included: what a live
// reload compares.
#pragma once

#include "lib/configuration/schema.hpp"

#include <map>
#include <string>
#include <vector>

namespace tributary::configuration {

struct Setting {
  std::string value; ///< as TOML, in one canonical spelling
  Change change = Change::restart;
  int line = 0; ///< 0 for a default
};

/// By full path with the names of what it belongs to, e.g. "switch leaf0, port host0: nid".
using Document = std::map<std::string, Setting>;

/// The settings that differ between two documents and that only a restart can change, as
/// "switch leaf0, port host0: kind, "af_xdp" -> "pci"". Settings of something that only one of the
/// two has are reported once, by its name.
[[nodiscard]] std::vector<std::string> restart_differences(const Document& running,
                                                           const Document& wanted);

} // namespace tributary::configuration
