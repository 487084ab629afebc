// In which form Prometheus is answered, by every program with /metrics. OpenMetrics is what is
// written; readers that do not take it get the text format of before, 0.0.4, made of it.
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

/// What a request's Accept prefers ("" or no field: anything): OpenMetrics where both are as good,
/// and the text format where it takes neither, because every reader knows that.
[[nodiscard]] Exposition exposition_for(std::string_view accept);

/// As Content-Type has it.
[[nodiscard]] std::string_view content_type_of(Exposition form);

/// Lines of whole families of OpenMetrics in this form.
[[nodiscard]] std::string exposed(std::string openmetrics, Exposition form);

/// The program and its process, in OpenMetrics: tributary_build_info and Prometheus's own
/// process_... names.
[[nodiscard]] std::string process_metrics();

} // namespace tributary::service
