// The stations heard at one port, each for as long as it asked to be remembered.
//
// A station is who it says: chassis and port. What it says again replaces what it said before. A
// port has few; further ones are refused and counted, so that who sends many frames costs nothing.
//
// Pure: no I/O, no clock.
#pragma once

#include "dataplane/lldp/lldpdu.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <vector>

namespace tributary::lldp {

struct Neighbour {
  Announcement announcement; ///< the last one
  TimeNs since{};            ///< of the first one, without a gap
  TimeNs heard{};            ///< when the last one came
  TimeNs forget_at{};
};

enum class Heard : std::uint8_t {
  known,   ///< and goes on
  added,   ///< is new
  left,    ///< was known, and said that it leaves
  nobody,  ///< was not known, and said that it leaves
  refused, ///< would be one too many
};

class NeighbourTable {
public:
  explicit NeighbourTable(std::size_t capacity) : capacity_(capacity) {}

  Heard heard(Announcement announcement, TimeNs now);
  /// Forgets those whose time is over; how many there were.
  std::size_t age(TimeNs now);
  /// When `age` has something to do next.
  [[nodiscard]] TimeNs next_deadline() const;
  void clear() { neighbours_.clear(); }
  /// In the order in which they came.
  [[nodiscard]] const std::vector<Neighbour>& all() const { return neighbours_; }

private:
  std::size_t capacity_;
  std::vector<Neighbour> neighbours_;
};

} // namespace tributary::lldp
