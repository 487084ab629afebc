// A result as one JSON object. docs/guide/pktgen-results.md explains every field; the shape is
//
//   {
//     "format": "tributary-pktgen-result", "format_version": 1,
//     "version", "machine", "tsc_hz",
//     "scenario", "kind", "seed",
//     "settings": {key: text}, "ports": [text],
//     "ceiling": null | {"frames_per_second", "cycles_per_frame", "how"},
//     "generator_bound": bool,                         of any repeat
//     "summary": {                                     over the repeats
//       "repeats",
//       rate: {"median", "min", "max", "spread"},      the rates of a repeat
//       "derived": {name: {"median", ...}},
//       "figures": {name: {"value", "meaning"}},       added up
//       "drops": {"generator": {port: n}, "switch": {counter: n}},
//       "latencies": {name: {"count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns",
//       "p99_9_ns",
//                            "max_ns"}}                of all repeats' events together
//     },
//     "repeats": [measurement],
//     "search": null | {"operations_per_second", "steps": [...], "at_shares": [measurement]},
//     "failure": null | text, "problems": [text]
//   }
//
// A measurement is {"seconds", "offered_operations_per_second", "operations", rates..., "sent",
// "received", "figures", "latencies", "remarks", "ports", "generator", "switch", "derived"}; those
// of "at_shares" have "share" besides. Numbers that are not finite become null.
#pragma once

#include "pktgen/result/result.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace tributary::pktgen::report {

[[nodiscard]] boost::json::object json_of(const result::Result& result);

/// On one line, with its line break.
[[nodiscard]] std::string json_text(const result::Result& result);

} // namespace tributary::pktgen::report
