// Impairments in JSON, as requests bring them and answers have them. Their settings have the names
// that the configuration's keys have, and those alone are said that are not as by default.
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

/// The members as lines of TOML, which the configuration reads. Throws RequestError where one can
/// be no key.
[[nodiscard]] std::string settings_as_toml(const boost::json::object& settings);

} // namespace tributary::management
