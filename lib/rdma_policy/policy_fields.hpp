// The fields of a policy by name, as the control plane stores, sends and shows them, and hosts read
// them. Values are whole numbers in the unit of the field; flags are 0 and 1.
#pragma once

#include "lib/rdma_policy/policy.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tributary::rdma_policy {

struct PolicyField {
  enum class Unit : std::uint8_t { number, nanoseconds, flag };
  std::string_view name;
  Unit unit;
  std::uint64_t least;
  std::uint64_t most;
  std::string_view help;
  std::uint64_t (*get)(const Policy&);
  void (*set)(Policy&, std::uint64_t); ///< requires a value within the bounds
};

// clang-format off
// Retries are counted in 8 and 16 bits (receive_context.hpp, send_context.hpp).
#define TRIBUTARY_RDMA_POLICY_FIELDS(X)                                                            \
  X(window,                number,      128, 1024, "W of sinks: 128, 256, 512 or 1024 frames")      \
  X(initial_timeout_ns,    nanoseconds, 1'000, 60 * ns_per_second, "time-out before the first round trip is known") \
  X(least_timeout_ns,      nanoseconds, 1'000, 60 * ns_per_second, "shortest time-out")             \
  X(most_timeout_ns,       nanoseconds, 1'000, 60 * ns_per_second, "longest time-out, before it is doubled") \
  X(initial_reordering_ns, nanoseconds, 0, 10 * ns_per_second, "reordering window at the beginning") \
  X(most_reordering_ns,    nanoseconds, 0, 10 * ns_per_second, "largest reordering window")         \
  X(sink_timeouts,         number,      1, 255,       "time-outs in a row after which a sink gives up") \
  X(request_retries,       number,      1, 65'535,    "requests without an answer, then the peer is unreachable") \
  X(query_retries,         number,      1, 65'535,    "queries without an answer, then the peer is unreachable") \
  X(busy_retries,          number,      0, 1'000'000, "requests answered by busy, then the transfer fails") \
  X(restarts,              number,      0, 65'535,    "times a transfer restarts because the peer has forgotten it") \
  X(busy_unit_ns,          nanoseconds, 0, ns_per_second, "unit of the random back-off after busy") \
  X(range_threshold,       number,      1, 255,       "time-out from which on all that is missing is asked for") \
  X(finished_ns,           nanoseconds, ns_per_ms, 600 * ns_per_second, "how long finished transfers are remembered") \
  X(forget_early,          flag,        0, 1,         "sources say when they know that a transfer is done") \
  X(rate_bytes_per_second, number,      0, 1'000'000'000'000, "payload of one source; 0: no limit") \
  X(sink_credit,           number,      0, 1'048'576, "frames on their way to a host; 0: no limit")  \
  X(least_credit,          number,      1, 1024,      "smallest grant, in frames")                  \
  X(exception_timeouts,    number,      1, 255,       "time-outs in a row that are an exception")   \
  X(busy_storm,            number,      1, 65'535,    "busy answers in a row that are an exception") \
  X(spraying,              flag,        0, 1,         "frames of a transfer may take different paths") \
  X(dscp_sprayed,          number,      0, 63,        "DSCP of data that is sprayed")               \
  X(dscp_hashed,           number,      0, 63,        "DSCP of data that keeps to one path")        \
  X(dscp_control,          number,      0, 63,        "DSCP of frames without data")
// clang-format on

inline constexpr std::array policy_fields = {
#define TRIBUTARY_X(field, unit, least, most, help)                                                \
  PolicyField{#field,                                                                              \
              PolicyField::Unit::unit,                                                             \
              least,                                                                               \
              most,                                                                                \
              help,                                                                                \
              [](const Policy& p) { return static_cast<std::uint64_t>(p.field); },                 \
              [](Policy& p, std::uint64_t v) {                                                     \
                p.field = static_cast<std::remove_cvref_t<decltype(p.field)>>(v);                  \
              }},
    TRIBUTARY_RDMA_POLICY_FIELDS(TRIBUTARY_X)
#undef TRIBUTARY_X
};

/// Null if there is none of this name.
constexpr const PolicyField* policy_field(std::string_view name) {
  for (const PolicyField& field : policy_fields) {
    if (field.name == name) {
      return &field;
    }
  }
  return nullptr;
}

} // namespace tributary::rdma_policy
