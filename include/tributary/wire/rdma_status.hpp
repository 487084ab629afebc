// Why a peer refuses or ends an RDMA transfer: the status byte of RSP and ABORT (rdma.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::wire {

// Number, name, text after "the peer says:".
// clang-format off
#define TRIBUTARY_RDMA_STATUSES(X)                                                                 \
  X(0,  ok,              "accepted")                                                               \
  X(1,  busy,            "all receive contexts, or what goes with them, are in use")                \
  X(2,  wrong_key,       "no region has this key")                                                 \
  X(3,  out_of_bounds,   "the transfer begins or ends outside the region")                         \
  X(4,  no_right,        "the region may not be accessed in this way")                             \
  X(5,  wrong_vni,       "the region belongs to another VNI")                                      \
  X(6,  length_mismatch, "the number of frames disagrees with the length")                         \
  X(7,  bad_frame_size,  "no bytes a frame, or more than a frame can hold")                        \
  X(8,  timed_out,       "no frame came for too long")                                             \
  X(9,  superseded,      "the source has begun a newer transfer under the same number")            \
  X(10, deregistered,    "the region was deregistered in the middle of the transfer")              \
  X(11, cancelled,       "the other side has given the transfer up")                               \
  X(12, restarted,       "the source has restarted")                                               \
  X(13, unproven,        "who asks has not shown yet that it is there")
// clang-format on

enum class RdmaStatus : std::uint8_t {
#define TRIBUTARY_X(number, name, text) name = number,
  TRIBUTARY_RDMA_STATUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
};

constexpr std::string_view name_of(RdmaStatus status) {
  switch (status) {
#define TRIBUTARY_X(number, name, text)                                                            \
  case RdmaStatus::name: return #name;
    TRIBUTARY_RDMA_STATUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

constexpr std::string_view text_of(RdmaStatus status) {
  switch (status) {
#define TRIBUTARY_X(number, name, text)                                                            \
  case RdmaStatus::name: return text;
    TRIBUTARY_RDMA_STATUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "a status that this version does not know";
}

} // namespace tributary::wire
