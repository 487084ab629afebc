// All settings of a configuration, flat and as text, including defaults: compared by a live reload.
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

/// By full path with the names of its owners, e.g. "switch leaf0, port host0: nid".
using Document = std::map<std::string, Setting>;

/// The settings that differ between two documents and that only a restart can change, as "switch
/// leaf0, port host0: kind, "af_xdp" -> "pci"". If only one of the two has the owner of settings,
/// it is reported once, by its name.
[[nodiscard]] std::vector<std::string> restart_differences(const Document& running,
                                                           const Document& wanted);

/// Changes the settings of `running` that a running process applies to those of `wanted`. Returns
/// the differences that only a restart can change, as `restart_differences`.
[[nodiscard]] std::vector<std::string> take_over_live(Document& running, const Document& wanted);

} // namespace tributary::configuration
