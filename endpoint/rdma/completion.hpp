// Completions of a node for its owner: a write or read has ended, or a peer's write with immediate
// data has been placed.
#pragma once

#include "endpoint/rdma/regions.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tributary::rdma {

// clang-format off
#define TRIBUTARY_RDMA_CAUSES(X)                                                                   \
  X(none,        "done")                                                                           \
  X(refused,     "the peer has refused it")                                                        \
  X(ended,       "the peer has ended it")                                                          \
  X(unreachable, "the peer does not answer")                                                       \
  X(silent,      "the peer's data stopped coming")                                                 \
  X(busy,        "the peer was busy each time it was asked")                                       \
  X(forgotten,   "the peer has forgotten the transfer again and again")                            \
  X(cancelled,   "it was cancelled here")
// clang-format on

/// Why a transfer of this host ended.
enum class Cause : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_RDMA_CAUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
};
constexpr std::string_view name_of(Cause cause) {
  switch (cause) {
#define TRIBUTARY_X(name, text)                                                                    \
  case Cause::name: return #name;
    TRIBUTARY_RDMA_CAUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}
constexpr std::string_view text_of(Cause cause) {
  switch (cause) {
#define TRIBUTARY_X(name, text)                                                                    \
  case Cause::name: return text;
    TRIBUTARY_RDMA_CAUSES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

struct Completion {
  enum class Kind : std::uint8_t {
    write,   ///< by this host
    read,    ///< by this host
    arrival, ///< a peer's write with immediate data
  };
  Kind kind = Kind::write;
  Cause cause = Cause::none;
  wire::RdmaStatus status = wire::RdmaStatus::ok; ///< the peer's reason, if it refused or ended it
  EndPoint peer{};
  Vni vni{};
  std::uint32_t message = 0; ///< the transfer's number, as in its frames
  std::uint64_t user = 0;    ///< the owner's own; for an arrival, the immediate data
  RegionKey key{};           ///< the peer's region; for an arrival, ours
  std::uint64_t offset = 0;  ///< within it
  std::uint64_t length = 0;  ///< bytes

  [[nodiscard]] bool done() const { return cause == Cause::none; }
};

/// Fixed room. A place is reserved before an operation begins, so that no completion is ever lost.
class Completions {
public:
  explicit Completions(std::size_t capacity) : ring_(capacity) {}

  [[nodiscard]] bool reserve() {
    if (reserved_ + size_ == ring_.size()) {
      return false;
    }
    ++reserved_;
    return true;
  }
  void unreserve() { --reserved_; }
  /// Fills a reserved place.
  void push(const Completion& completion) {
    --reserved_;
    ring_[(first_ + size_++) % ring_.size()] = completion;
  }
  [[nodiscard]] std::optional<Completion> take() {
    if (size_ == 0) {
      return std::nullopt;
    }
    const Completion completion = ring_[first_];
    first_ = (first_ + 1) % ring_.size();
    --size_;
    return completion;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t reserved() const { return reserved_; }

private:
  std::vector<Completion> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;
};

} // namespace tributary::rdma
