// Switches that connect, report and disconnect; and in the manager's turns, the transactions that
// change their tables: their outcomes are passed to the other controllers, their messages are sent.
//
// Pure.
#pragma once

#include "controlplane/fabric_controller/fence.hpp"
#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/fabric_controller/topology_control.hpp"
#include "controlplane/fabric_controller/touched_jobs.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/southbound/protocol/channel_sink.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/wide_memory.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/stall_detector.hpp"
#include "controlplane/turns/turn_loop.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tributary::fabric_controller {

class SwitchSessions final : public southbound::protocol::ChannelSink, public turns::Controller {
public:
  struct Rooms {
    turns::Environment& environment;
    turns::ManagerClock& clock;
    turns::StallDetector& stalls;
    turns::Events& events;
    topology::Discovery& discovery;
    transaction::Coordinator& coordinator;
    group::Registry& registry;
    trees::WideMemory& memory;
    SwitchTable& switches;
    TouchedJobs& touched;
    RouteControl& routes;
    TopologyControl& topology;
    Fence& fence;
    const turns::TurnLoop& turns;
  };
  explicit SwitchSessions(const Rooms& rooms) : rooms_(rooms) {}

  // ---- southbound::protocol::ChannelSink ----

  void welcome(const control::SwitchHello& hello, control::Welcome& welcome) override {
    rooms_.fence.complete(hello, welcome);
  }
  std::optional<std::string> connected(transaction::SessionNumber session,
                                       const control::SwitchHello& hello) override;
  void message(transaction::SessionNumber session, const control::SwitchMessage& message) override;
  void lost(transaction::SessionNumber session, std::string_view why) override;
  void turning_away(std::string_view why) override;

  /// Another manager may lead: ends all channels, and rejects switches, so that they look for it.
  /// Once is enough.
  void let_go(std::string_view why);
  /// None does: switches are accepted again, and waited for as after a start.
  void take_back();

  /// Why switches are rejected; "" when they are not.
  [[nodiscard]] const std::string& rejection() const { return turning_away_; }

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "switches"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  void begin(const turns::Turn& turn) override { rooms_.coordinator.poll(turn.now); }
  bool handle(const turns::Turn& turn) override;
  void finish(const turns::Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& /*turn*/) const override {
    return rooms_.coordinator.next_deadline();
  }

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  void disconnect(transaction::SessionNumber session);
  void end_all(std::string_view why);

  Rooms rooms_;
  std::string turning_away_;
  std::string let_go_; ///< why; "" while it has not
};

} // namespace tributary::fabric_controller
