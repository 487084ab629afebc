// Plain traffic beside groups: hosts that send unicast frames to others, and count arrivals.
//
//   Flows flows(run.fabric());
//   flows.add({.from = 3, .to = 0, .traffic_class = TrafficClass{3}, .frames = 500});
//   flows.start(...);          each host keeps running its program, too
//   flows.of(0).received
//
// Frames of a flow are numbered and carry their class. A flow never overtakes itself, so a frame
// that arrives out of order, twice, or in another class is a violation. Each lost frame has a named
// reason.
#pragma once

#include "tests/fabric/fabric.hpp"
#include "tests/fabric/host_program.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tributary::fabric {

struct Flow {
  HostIndex from = 0;
  HostIndex to = 0;
  TrafficClass traffic_class{};
  std::uint64_t frames = 100;
  std::uint32_t frame_bytes = 94;
  /// From one frame to the next, as long as its host has less than this waiting.
  std::uint64_t gap_ns = 1'000;
  std::uint32_t most_waiting = 4;
  TimeNs start{};

  // Its results.

  std::uint64_t sent = 0; ///< into the host's queue
  std::uint64_t received = 0;
  TimeNs last_received{};
  TimeNs next_at{}; ///< to be sent
  bool waits_for_queue = false;
  std::uint64_t next_number = 0; ///< to be received, at the earliest
  /// By name, as Fabric::on_loss has them.
  std::map<std::string_view, std::uint64_t> lost{};
  TimeNs last_lost{};

  [[nodiscard]] bool all_sent() const { return sent == frames; }
  [[nodiscard]] bool all_received() const { return received == frames; }
  [[nodiscard]] std::uint64_t missing() const { return sent - received; }
  [[nodiscard]] std::uint64_t took_ns() const { return elapsed_ns(last_received, start); }
};

/// Needs unicast routes.
class Flows {
public:
  explicit Flows(Fabric& fabric);
  ~Flows();
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;

  /// The flow's address stays valid.
  Flow& add(const Flow& flow);
  /// Where links duplicate and reorder.
  void allow_disorder() { in_order_ = false; }
  /// Where classes are virtual channels: the class a host sends in has no meaning.
  void allow_other_classes() { in_class_ = false; }
  /// Begins; `program_of` returns the other program of a host, or null.
  void start(const std::function<HostProgram*(HostIndex)>& program_of);

  [[nodiscard]] std::uint64_t sent() const;
  [[nodiscard]] std::uint64_t received() const;
  [[nodiscard]] bool all_sent() const;
  [[nodiscard]] bool all_received() const;
  template <typename F> void for_each(F&& f) const {
    for (const Flow& flow : flows_) {
      f(flow);
    }
  }
  /// Over all flows.
  [[nodiscard]] std::uint64_t lost(std::string_view why) const;
  /// A violation for each flow whose missing frames differ from its named losses.
  void expect_explained() const;

private:
  class FlowHost;
  void send(Flow& flow, std::uint32_t number, HostPort& port) const;
  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now);
  void lose(std::span<const std::byte> frame, std::string_view why);

  Fabric& fabric_;
  bool in_order_ = true;
  bool in_class_ = true;
  std::deque<Flow> flows_;
  std::map<HostIndex, std::unique_ptr<FlowHost>> hosts_;
};

} // namespace tributary::fabric
