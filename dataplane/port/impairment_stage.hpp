// The impairments of one direction of one port: decides with Impairer, and holds delayed frames in
// a heap ordered by the time they are due. Belongs to the port's worker.
//
// At most `capacity` frames are held; what comes on top is lost like any other impaired frame.
// A duplicate is a deep copy, so that the two may go different ways.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/port/impairment.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <vector>

struct rte_mbuf;
struct rte_mempool;

namespace tributary::dataplane {

class ImpairmentStage {
public:
  static constexpr std::size_t capacity = 2048;

  ImpairmentStage(const config::Impairment& impairment, std::uint64_t seed, rte_mempool* pool);
  /// Frees what is still held.
  ~ImpairmentStage();
  ImpairmentStage(const ImpairmentStage&) = delete;
  ImpairmentStage& operator=(const ImpairmentStage&) = delete;

  /// Takes the frames; says how many of them were lost.
  std::uint32_t admit(rte_mbuf** frames, std::uint16_t count, TimeNs now);
  /// Gives back up to `limit` frames whose time has come, earliest first.
  std::uint16_t take_due(TimeNs now, rte_mbuf** frames, std::uint16_t limit);
  /// When the next frame is due; `never` when none is held.
  [[nodiscard]] TimeNs next_due() const { return held_.empty() ? never : held_.front().due; }

private:
  struct Held {
    TimeNs due;
    std::uint64_t order; ///< frames due at the same time keep their order
    rte_mbuf* frame;
  };
  static bool later(const Held& a, const Held& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }
  void hold(rte_mbuf* frame, TimeNs due);

  Impairer impairer_;
  rte_mempool* pool_;
  std::vector<Held> held_; ///< a heap
  std::uint64_t admitted_ = 0;
};

} // namespace tributary::dataplane
