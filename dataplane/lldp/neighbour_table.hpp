// The stations received at one port, each for the time it requested.
//
// A station is identified by chassis and port. A new announcement replaces its previous one. A port
// has few; further ones are refused and counted, so that flooding costs nothing.
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
  TimeNs since{};            ///< time of the first one, without a gap since
  TimeNs heard{};            ///< time of the last one
  TimeNs forget_at{};
};

enum class ReportOutcome : std::uint8_t {
  known,   ///< known before, and still is
  added,   ///< is new
  left,    ///< known before, and announced that it leaves
  unknown, ///< unknown, and announced that it leaves
  refused, ///< exceeds the limit
};

class NeighbourTable {
public:
  explicit NeighbourTable(std::size_t capacity) : capacity_(capacity) {}

  ReportOutcome heard(Announcement announcement, TimeNs now);
  /// Forgets expired stations; returns how many there were.
  std::size_t age(TimeNs now);
  /// Time of the next `age` that has work.
  [[nodiscard]] TimeNs next_deadline() const;
  void clear() { neighbours_.clear(); }
  /// In order of arrival.
  [[nodiscard]] const std::vector<Neighbour>& all() const { return neighbours_; }

private:
  std::size_t capacity_;
  std::vector<Neighbour> neighbours_;
};

} // namespace tributary::lldp
