// Findings as JSON: {"ok": false, "errors": [{"file", "line", "key", "text"}, ...]}.
#pragma once

#include "lib/configuration/diagnostic.hpp"

#include <boost/json/object.hpp>

namespace tributary::configuration {

[[nodiscard]] inline boost::json::object findings_json(const ConfigError& error) {
  boost::json::array errors;
  for (const Diagnostic& finding : error.findings()) {
    errors.push_back({{"file", error.file()},
                      {"line", finding.line},
                      {"key", finding.key},
                      {"text", finding.text}});
  }
  return {{"ok", false}, {"errors", std::move(errors)}};
}

} // namespace tributary::configuration
