// The format of answers to Prometheus, for every program with /metrics. OpenMetrics is written;
// readers that do not accept it get the older text format, 0.0.4, converted from it.
//
//                    OpenMetrics                          text format
//   # TYPE, # HELP   of a counter: the family's name      of a counter: with "_total"
//                    of type info: the family's name      a gauge with "_info"
//   the end          "# EOF"                              nothing
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::service {

enum class Exposition : std::uint8_t { openmetrics, text };

/// The format preferred by a request's Accept header ("" or absent: any): OpenMetrics if both are
/// equal, and the text format if neither is accepted, because every reader supports it.
[[nodiscard]] Exposition exposition_for(std::string_view accept);

/// The value of Content-Type.
[[nodiscard]] std::string_view content_type_of(Exposition form);

/// Converts lines of whole OpenMetrics families to this format.
[[nodiscard]] std::string exposed(std::string openmetrics, Exposition form);

/// The program and its process, in OpenMetrics: tributary_build_info and Prometheus's own
/// process_... names.
[[nodiscard]] std::string process_metrics();

} // namespace tributary::service
