// Exceptions for the control plane: transfers that make no progress. Fixed size; the data path
// never waits for a reader, and counts lost entries.
#pragma once

#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary::rdma_policy {

// clang-format off
#define TRIBUTARY_RDMA_EXCEPTIONS(X)                                                               \
  X(repeated_timeouts, "a transfer has timed out several times in a row")                     \
  X(unreachable_peer,  "a transfer was given up: the peer does not answer")                           \
  X(busy_storm,        "a peer has answered busy many times in a row")                             \
  X(restarted_peer,    "a peer has restarted; its transfers have ended")
// clang-format on

struct Exception {
  enum class Kind : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
    TRIBUTARY_RDMA_EXCEPTIONS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  Kind kind = Kind::repeated_timeouts;
  Nid peer{};
  Vni vni{};
  std::uint32_t message = 0; ///< the transfer; 0 if it concerns the peer
  std::uint32_t times = 0;   ///< time-outs, or answers
  TimeNs at{};
};

constexpr std::string_view name_of(Exception::Kind kind) {
  switch (kind) {
#define TRIBUTARY_X(name, text)                                                                    \
  case Exception::Kind::name: return #name;
    TRIBUTARY_RDMA_EXCEPTIONS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

class Exceptions {
public:
  static constexpr std::size_t capacity = 256;

  /// False if there is no room.
  [[nodiscard]] bool push(const Exception& exception) {
    if (size_ == capacity) {
      return false;
    }
    ring_[(first_ + size_++) % capacity] = exception;
    return true;
  }
  [[nodiscard]] std::optional<Exception> take() {
    if (size_ == 0) {
      return std::nullopt;
    }
    const Exception exception = ring_[first_];
    first_ = (first_ + 1) % capacity;
    --size_;
    return exception;
  }

private:
  std::array<Exception, capacity> ring_{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::rdma_policy
