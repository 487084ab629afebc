// The impairments of one direction of one port, on buffers: dataplane/impairment decides, and holds
// what is delayed. Belongs to the port's worker.
//
// At most `capacity` frames are held; what comes on top is lost like any other impaired frame.
// A duplicate is a deep copy, so that the two may go different ways.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/impairment/held_frames.hpp"
#include "dataplane/impairment/impairer.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>

struct rte_mbuf;
struct rte_mempool;

namespace tributary::port {

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
  [[nodiscard]] TimeNs next_due() const { return held_.next_due(); }

private:
  impairment::Impairer impairer_;
  rte_mempool* pool_;
  impairment::HeldFrames<rte_mbuf*> held_{capacity};
};

} // namespace tributary::port
