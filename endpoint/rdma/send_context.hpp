// A source's context: one outgoing transfer, a write of this host or a peer's read, and the frames
// that the sink has asked for again.
#pragma once

#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/regions.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::rdma {

enum class SourceState : std::uint8_t {
  unused,
  requesting,  ///< an RQT is on its way, or its answer
  backing_off, ///< the sink was busy
  sending,     ///< the sink has a context
};

namespace source_wants {
inline constexpr std::uint8_t request = 1;
inline constexpr std::uint8_t query = 2;
inline constexpr std::uint8_t alive = 4; ///< QUERY that needs no answer
} // namespace source_wants

struct SendContext {
  static constexpr std::uint32_t ring = 1024; ///< frames that may be asked for at a time

  TimeNs deadline = never; ///< for the answer to the request, or for any frame of the sink
  TimeNs requested_at;     ///< when the first request was sent, for the round trip
  TimeNs paced_until;      ///< nothing is sent before
  const std::byte* memory = nullptr;
  std::uint64_t length = 0; ///< bytes
  std::uint64_t user = 0;
  std::uint64_t immediate = 0;
  RegionKey key;            ///< the peer's region
  std::uint64_t offset = 0; ///< within it
  std::uint32_t message = 0;
  std::uint32_t frames = 0;               ///< N
  std::uint32_t base = 0;                 ///< the sink has placed all below
  std::uint32_t next = 0;                 ///< the first frame never sent
  std::uint32_t limit = 0;                ///< credit
  std::uint32_t asked = 0;                ///< number of bits set in `again`
  std::uint32_t busy = 0;                 ///< busy answers
  std::uint32_t record = IndexList::none; ///< record of a peer's read
  std::uint16_t dcid = 0;
  std::uint16_t generation = 0; ///< generation of the sink's context; before it has one, with
                                ///< `dcid` the nonce
  std::uint16_t payload = 0;
  std::uint16_t peer = 0;
  std::uint16_t retries = 0; ///< in a row: requests or queries without an answer
  std::uint16_t restarts = 0;
  SourceState state = SourceState::unused;
  bool has_immediate = false;
  std::uint8_t wants = 0;
  std::array<std::uint64_t, ring / 64> again{}; ///< bit p mod 1024: send p again

  /// Whether a frame of the sink carries this context's name, or the generation drawn for the
  /// request.
  [[nodiscard]] bool is_of(std::uint16_t name, std::uint16_t of_generation) const {
    return name == dcid && of_generation == generation;
  }
  [[nodiscard]] bool serves_read() const { return record != IndexList::none; }
  [[nodiscard]] std::uint32_t length_of(std::uint32_t pidx) const {
    return pidx + 1 == frames
               ? static_cast<std::uint32_t>(length - std::uint64_t{frames - 1} * payload)
               : payload;
  }
  /// Notes that the sink wants a frame again. False if it was never sent, or is already placed.
  bool ask(std::uint32_t pidx) {
    if (pidx < base || pidx >= next || pidx - base >= ring) {
      return false;
    }
    std::uint64_t& word = again[pidx % ring / 64];
    const std::uint64_t bit = std::uint64_t{1} << (pidx % 64);
    asked += (word & bit) == 0 ? 1 : 0;
    word |= bit;
    return true;
  }
  /// Takes the lowest frame that is wanted again; requires one.
  std::uint32_t take_asked() {
    for (std::uint32_t pidx = base;;) {
      const std::uint64_t word = again[pidx % ring / 64] >> (pidx % 64);
      if (word != 0) {
        pidx += static_cast<std::uint32_t>(std::countr_zero(word));
        again[pidx % ring / 64] &= ~(std::uint64_t{1} << (pidx % 64));
        --asked;
        return pidx;
      }
      pidx += 64 - pidx % 64;
    }
  }
  /// The sink has placed all below.
  void move_base(std::uint32_t to) {
    for (std::uint32_t pidx = base; asked > 0 && pidx < to && pidx - base < ring; ++pidx) {
      std::uint64_t& word = again[pidx % ring / 64];
      const std::uint64_t bit = std::uint64_t{1} << (pidx % 64);
      asked -= (word & bit) != 0 ? 1 : 0;
      word &= ~bit;
    }
    base = to;
    next = std::max(next, to);
  }
  /// Starts over: the sink knows nothing.
  void restart() {
    base = next = limit = asked = 0;
    again.fill(0);
  }
};

} // namespace tributary::rdma
