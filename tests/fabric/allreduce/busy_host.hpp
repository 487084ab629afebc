// A host whose processor takes time: for each frame it sends or receives, by the simulator's costs.
//
// Between the link and the program: received frames wait for the processor, and sent frames leave
// when the processor has prepared them. It charges the same costs as tools/simulator/allreduce,
// frame by frame.
#pragma once

#include "tests/fabric/host_program.hpp"
#include "tools/simulator/allreduce/costs.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace tributary::fabric {

/// The kind of a frame for the processor.
struct FrameWork {
  std::uint64_t payload = 0;
  bool begins = false; ///< a message of the sender
  bool ends = false;   ///< and for the receiver
  bool adds = false;   ///< the receiver adds its payload
};

/// Classifies frames. In the reduction protocol a message is what an idle host does immediately.
class WorkReader {
public:
  virtual ~WorkReader() = default;
  [[nodiscard]] virtual FrameWork sent(std::span<const std::byte> frame, bool idle) const = 0;
  [[nodiscard]] virtual FrameWork received(std::span<const std::byte> frame, bool idle) const = 0;
};

class BusyHost final : public HostProgram {
public:
  /// Keeps references.
  BusyHost(HostProgram& program, const WorkReader& reader, const simulator::allreduce::Costs& costs)
      : program_(program), reader_(reader), costs_(costs) {}

  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
               HostPort& port) override;
  void wake(TimeNs now, HostPort& port) override;
  void drained(TimeNs now, HostPort& port) override { release(now, port); }
  [[nodiscard]] TimeNs next_wake() const override;

private:
  class Port;
  struct Held {
    TimeNs at; ///< when the processor is done with it
    TrafficClass traffic_class;
    std::vector<std::byte> bytes;
    bool woke = false; ///< the processor was idle
  };
  void release(TimeNs now, HostPort& port);
  void prepare(std::span<const std::byte> frame, TrafficClass c, TimeNs now);

  HostProgram& program_;
  const WorkReader& reader_;
  const simulator::allreduce::Costs& costs_;
  TimeNs free_at_;
  TimeNs now_;            ///< of the last call
  bool idle_call_ = true; ///< the program runs on a processor that did nothing before
  bool first_of_call_ = true;
  std::deque<Held> in_;
  std::deque<Held> out_;
};

} // namespace tributary::fabric
