// Faults of frames between a switch and the generator's ports, with exactly known counts, which the
// traffic's figures are compared with.
#pragma once

#include "pktgen/traffic/stamp.hpp"
#include "pktgen/traffic/traffic.hpp"
#include "tests/unit/pktgen/traffic/memory_port.hpp"
#include "tributary/random.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

/// A frame that arrives at a port.
struct Arriving {
  scenario::PortIndex port = 0;
  Bytes bytes;
};

/// Shares of all frames.
struct Imperfections {
  double lost = 0;
  double duplicated = 0;
  double reordered = 0; ///< behind the next frame of their flow at their port
  double bad_stamp = 0;
  double bad_payload = 0;  ///< of the frames that have one
  double misdelivered = 0; ///< to the port behind the right one
};

class ImperfectChannel {
public:
  struct Account {
    std::uint64_t lost = 0; ///< damaged beyond recognition and misdelivered ones included
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t damaged = 0;
    std::uint64_t misdelivered = 0;
  };

  ImperfectChannel(const Imperfections& shares, std::size_t ports, std::uint64_t seed)
      : shares_(shares), ports_(ports), random_(seed) {}

  /// The frames that arrive for a sent one.
  std::vector<Arriving> pass(Arriving frame) {
    std::vector<Arriving> out;
    if (random_.chance(shares_.lost)) {
      ++account.lost;
      return out;
    }
    const Key key = key_of(frame);
    if (random_.chance(shares_.misdelivered)) {
      frame.port = (frame.port + 1) % ports_;
      ++account.misdelivered;
      ++account.lost;
      out.push_back(std::move(frame));
      return out;
    }
    if (random_.chance(shares_.bad_stamp)) {
      // Behind the magic and the run, without which it is not recognised.
      flip_a_bit(frame.bytes, stamp_offset + 4, stamped_frame_bytes);
      ++account.damaged;
      ++account.lost;
      out.push_back(std::move(frame));
      return out;
    }
    const auto held = held_.find(key);
    if (held == held_.end() && random_.chance(shares_.reordered)) {
      held_.emplace(key, std::move(frame));
      return out;
    }
    if (frame.bytes.size() > stamped_frame_bytes && random_.chance(shares_.bad_payload)) {
      flip_a_bit(frame.bytes, stamped_frame_bytes, frame.bytes.size());
      ++account.damaged;
    } else if (random_.chance(shares_.duplicated)) {
      out.push_back(frame);
      ++account.duplicated;
    }
    out.push_back(std::move(frame));
    if (held != held_.end()) {
      out.push_back(std::move(held->second));
      held_.erase(held);
      ++account.reordered;
    }
    return out;
  }
  /// Held-back frames that none followed: they arrive late, but in order.
  std::vector<Arriving> rest() {
    std::vector<Arriving> out;
    for (auto& [key, frame] : held_) {
      out.push_back(std::move(frame));
    }
    held_.clear();
    return out;
  }

  Account account;

private:
  using Key = std::pair<scenario::PortIndex, std::uint32_t>;

  static Key key_of(const Arriving& frame) {
    Stamp stamp;
    (void)read_stamp(frame.bytes.data(), static_cast<std::uint32_t>(frame.bytes.size()), stamp);
    return {frame.port, stamp.flow};
  }
  void flip_a_bit(Bytes& bytes, std::size_t from, std::size_t to) {
    bytes[from + random_.below(to - from)] ^= static_cast<std::byte>(1U << random_.below(8));
  }

  Imperfections shares_;
  std::size_t ports_;
  Random random_;
  std::map<Key, Arriving> held_;
};

} // namespace tributary::pktgen::traffic::test
