// A switch in the generator's own thread, for the generator to measure itself: the same traffic,
// the same kind of ports, and a switch core whose time can be left out.
//
//   auto loop = transport.loop(scenario);
//   drive a traffic over loop->ports(), and once an iteration
//     const auto before = clock.cycles();
//     loop->turn(now);                                does all of the switch's work
//     left_out += clock.cycles() - before;
//
//   generator's port ---- link ---- switch's port --.
//   generator's port ---- link ---- switch's port --+-- core::SwitchCore
//        counted                       not counted
//
// So the ceiling contains what frames cost the generator at both its ends: composing, sending,
// receiving, checking, and the system calls or ring operations of either.
//
// Nothing is lost: where an output takes no more, its inputs wait, and continue with the next turn.
// Nothing is allocated while it turns.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "dataplane/port/eal.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/transport/port.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::transport {

class LoopSwitch final : private core::Emission {
public:
  /// Links in memory.
  [[nodiscard]] static std::unique_ptr<LoopSwitch>
  through_memory(const scenario::Scenario& scenario);
  /// Links through raw sockets on the loopback interface. Throws std::runtime_error when that
  /// cannot be: LinkError, or too many generators do it.
  [[nodiscard]] static std::unique_ptr<LoopSwitch>
  through_sockets(const scenario::Scenario& scenario);
  /// Links through rings of DPDK. Throws port::PortError. Destroy it before the Eal.
  [[nodiscard]] static std::unique_ptr<LoopSwitch> through_rings(const scenario::Scenario& scenario,
                                                                 port::Eal& eal);

  /// The generator's ends, as many as the scenario has.
  [[nodiscard]] std::vector<Port*> ports() const;
  /// For a person: "through raw sockets on lo".
  [[nodiscard]] const std::string& description() const { return description_; }

  /// Processes the frames sent, and sends the results. `now` must not decrease.
  void turn(TimeNs now);

  /// Frames that left by the port to the side of the scenario that is elsewhere.
  [[nodiscard]] std::uint64_t sent_far() const { return sent_far_; }
  [[nodiscard]] const core::Counters& counters() const { return core_.counters(); }

private:
  /// The generator's end and the switch's.
  using Link = std::pair<std::unique_ptr<Port>, std::unique_ptr<Port>>;
  /// A burst in work: decided by the core, and not yet all sent.
  struct Input {
    std::span<const FrameView> frames;
    std::array<core::Decision, Port::burst> decisions;
    std::size_t next = 0;
  };
  class Outputs;
  /// A partial result; it is not stored in a frame.
  struct Emitted {
    std::byte* frame;
    PortNumber port;
    std::uint32_t length;
  };
  static constexpr std::size_t most_emitted = 64;

  LoopSwitch(const config::Switch& configuration, std::vector<Link> links, std::string description);
  std::byte* buffer(PortNumber port, std::uint32_t length, TrafficClass c) override;
  void serve(PortNumber port, TimeNs now);
  bool send_on(Input& input);
  bool send_emitted();
  bool send(PortNumber port, const std::byte* frame, std::uint32_t length);

  std::vector<Link> links_;
  std::string description_;
  core::SwitchCore core_;
  std::vector<Input> inputs_;
  std::size_t longest_frame_;
  std::vector<Emitted> emitted_;
  std::unique_ptr<std::byte[]> emitted_frames_;
  std::uint64_t sent_far_ = 0;
};

} // namespace tributary::pktgen::transport
