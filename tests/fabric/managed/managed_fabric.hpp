// The virtual fabric with its control plane: the product's Agent in every switch, the product's
// Manager, and control channels between them that take time and break.
//
//   ManagedFabric managed(topology, options, seed);
//   managed.run_for(1s);                               hellos go round, switches connect
//   managed.announce(host);                            as hosts do when they join
//   managed.join({...}, [](api::Answer a) { ... });   what HTTP would carry
//   managed.kill_manager(); managed.start_manager();   what was stored is found again
//   managed.break_channel(s); managed.crash(s); managed.restart(s); managed.set_link_up(l, false);
//   managed.disagreements()                            what switches hold against what is wanted
//
// All of it happens on the virtual time of one Fabric and follows from the seed. Frames travel as
// they do without a manager; control messages arrive in order, `channel_latency_ns` later, or not
// at all when their channel breaks first.
#pragma once

#include "controlplane/manager/manager.hpp"
#include "controlplane/southbound/protocol/session.hpp"
#include "dataplane/agent/agent.hpp"
#include "tests/fabric/fabric.hpp"
#include "tests/fabric/managed/stored_past.hpp"
#include "tributary/random.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

struct ManagedOptions {
  FabricOptions fabric;
  manager::Settings manager;
  std::uint64_t channel_latency_ns = 50'000;
  /// Before a switch dials again: from one to two of these.
  std::uint64_t dial_pause_ns = 5'000'000;
  std::uint64_t hello_interval_ns = 1'000'000'000;
  /// What the manager has computed beside it comes back after so long; 0: at once.
  std::uint64_t work_ns = 0;
  /// Ports of hosts take in all VNIs, whatever the manager permits.
  bool open_edges = false;
};

class ManagedFabric final : manager::Environment {
public:
  ManagedFabric(Topology topology, const ManagedOptions& options, std::uint64_t seed);
  ~ManagedFabric() override;
  ManagedFabric(const ManagedFabric&) = delete;
  ManagedFabric& operator=(const ManagedFabric&) = delete;

  [[nodiscard]] Fabric& fabric() { return fabric_; }
  void run_for(std::uint64_t ns) { fabric_.run_until(fabric_.now() + ns); }
  /// Runs until it holds, at most so long. Says whether it holds.
  bool run_until(const std::function<bool()>& done, std::uint64_t limit_ns) {
    return fabric_.run_until(done, fabric_.now() + limit_ns);
  }

  // Hosts.

  /// The host says hello on its link.
  void announce(HostIndex host);
  void announce_all();
  /// Another host says hello on this one's link.
  void announce_as(HostIndex link_of, Nid nid, const std::string& name);
  /// As an administrator; needs a manager. The job is made when it is not there.
  void join(const api::JoinRequest& request, api::Reply reply);
  [[nodiscard]] static std::string host_name(HostIndex host);

  // What goes wrong.

  void kill_manager();
  void start_manager();
  [[nodiscard]] bool has_manager() const { return manager_ != nullptr; }
  [[nodiscard]] manager::Manager& manager() { return *manager_; }
  void break_channel(SwitchIndex s);
  /// The switch's process ends, its ports are dead, and its trees forgotten.
  void crash(SwitchIndex s);
  void restart(SwitchIndex s);
  [[nodiscard]] bool runs(SwitchIndex s) const { return stations_[s].agent != nullptr; }
  void set_link_up(LinkIndex link, bool up);
  /// Whether the port has a carrier; its neighbour may be dead nevertheless.
  [[nodiscard]] bool link_up(SwitchIndex s, PortNumber port) const {
    return stations_[s].link_up[port.value];
  }

  // How it stands.

  [[nodiscard]] agent::Agent& agent_of(SwitchIndex s) { return *stations_[s].agent; }
  /// What its frames meet now.
  [[nodiscard]] const core::Tables& tables_of(SwitchIndex s) const { return *stations_[s].tables; }
  [[nodiscard]] bool all_connected() const;
  /// In words, what any running switch holds that the manager does not want there, or lacks that it
  /// does. Empty when they agree. Asks the switches' own tables.
  [[nodiscard]] std::vector<std::string> disagreements() const;
  [[nodiscard]] static std::string switch_name(SwitchIndex s);
  [[nodiscard]] const StoredPast& past() const { return past_; }

private:
  struct Station {
    std::unique_ptr<agent::Agent> agent;
    std::vector<bool> link_up; ///< by port
    /// Of the channel that stands or is being made; rises with each, so that what a broken one
    /// carried is known when it arrives.
    std::uint64_t channel = 0;
    bool up = false; ///< as the switch sees it
    transaction::SessionNumber session{};
    bool dialling = false;
    TimeNs driven_at = never; ///< when the agent is driven next
    std::shared_ptr<const core::Tables> tables;
  };

  // manager::Environment
  TimeNs now() override { return fabric_.now(); }
  std::uint64_t processor_ns() override { return 0; }
  std::string wall_time() override;
  void request_reconcile() override;
  void store(std::function<std::vector<records::Change>()> changes) override;
  void work(std::unique_ptr<manager::Work> piece) override;
  void send(transaction::SessionNumber session, const control::ManagerMessage& message) override;
  void close(transaction::SessionNumber session, std::string_view why) override;
  void stalled(const std::string&) override {} // its time stands still in a turn

  void start_agent(SwitchIndex s);
  void drive(SwitchIndex s);
  void drive_later(SwitchIndex s);
  void dial_later(SwitchIndex s);
  void dial(SwitchIndex s);
  void hear(SwitchIndex s, std::uint64_t channel, const control::SwitchMessage& message);
  void end_channel(SwitchIndex s, std::string_view why, bool tell_manager);
  void to_switch(SwitchIndex s, const control::ManagerMessage& message);
  void reconcile();
  void schedule_deadline();
  void note_port(SwitchIndex s, PortNumber port);
  [[nodiscard]] config::Switch configuration_of(SwitchIndex s) const;
  void after(std::uint64_t ns, std::function<void()> action) {
    fabric_.at(fabric_.now() + ns, std::move(action));
  }

  ManagedOptions options_;
  Random random_;
  Fabric fabric_;
  std::vector<Station> stations_;
  StoredPast past_;
  std::unique_ptr<manager::Manager> manager_;
  std::uint64_t manager_life_ = 0; ///< rises with each start
  std::optional<southbound::protocol::Sessions> sessions_;
  std::map<transaction::SessionNumber, SwitchIndex> session_of_;
  std::uint64_t next_session_ = 1;
  bool reconcile_requested_ = false;
  TimeNs deadline_at_ = never;
};

} // namespace tributary::fabric
