// An allreduce among hosts on the virtual fabric: by a schedule of the simulator, in unicast frames
// with real elements, which every rank checks at the end.
#pragma once

#include "tests/fabric/allreduce/busy_host.hpp"
#include "tests/fabric/fabric.hpp"
#include "tools/simulator/allreduce/costs.hpp"
#include "tools/simulator/allreduce/schedule.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tributary::fabric {

/// Reads the frames of HostGroup.
class MessageReader final : public WorkReader {
public:
  [[nodiscard]] FrameWork sent(std::span<const std::byte> frame, bool idle) const override;
  [[nodiscard]] FrameWork received(std::span<const std::byte> frame, bool idle) const override;
};

class HostGroup {
public:
  /// `elements` are 64-bit integers, added up. All ranks begin at `begin`.
  HostGroup(Fabric& fabric, simulator::allreduce::HostAlgorithm algorithm,
            std::vector<HostIndex> hosts, std::uint64_t elements, std::uint32_t payload,
            TimeNs begin);
  ~HostGroup();
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;

  [[nodiscard]] HostProgram& program(std::uint32_t rank);
  [[nodiscard]] bool complete() const;
  [[nodiscard]] TimeNs completed_at() const;

private:
  class Rank;

  Fabric& fabric_;
  simulator::allreduce::Schedule schedule_;
  std::vector<HostIndex> hosts_;
  std::uint64_t elements_;
  std::uint32_t payload_;
  TimeNs begin_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

} // namespace tributary::fabric
