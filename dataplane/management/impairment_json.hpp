// Impairments in JSON, in requests and answers. Settings have the names of the configuration's
// keys; those with their default value are omitted.
#pragma once

#include "dataplane/management/reports.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <vector>

namespace tributary::management {

[[nodiscard]] boost::json::value to_json(const std::vector<ImpairmentReport>& impairments);
/// "leaf0.impairment.host0.sent.lost", ...
void add_flat(boost::json::object& out, const ImpairmentReport& impairment);

/// The members as lines of TOML, which the configuration reads. Throws RequestError if a name
/// cannot be a key.
[[nodiscard]] std::string settings_as_toml(const boost::json::object& settings);

} // namespace tributary::management
