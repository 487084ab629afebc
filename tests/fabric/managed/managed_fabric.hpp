// The virtual fabric with its control plane: the product's Agent in every switch, the product's
// Manager, and control channels between them that take time and break.
//
//   ManagedFabric managed(topology, options, seed);
//   managed.run_for(1s);                               hellos are exchanged, switches connect
//   managed.announce(host);                            as hosts do when they join
//   managed.join({...}, [](api::Answer a) { ... });   what HTTP would carry
//   managed.kill_manager(); managed.start_manager();   its store survives
//   managed.break_channel(s); managed.crash(s); managed.restart(s); managed.set_link_up(l, false);
//   managed.disagreements()                            differences between held and wanted state
//
// All of it happens on the virtual time of one Fabric and follows from the seed. Frames travel as
// they do without a manager; control messages arrive in order, `channel_latency_ns` later, or not
// at all if their channel breaks first.
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
  /// A switch connects again after one to two times this.
  std::uint64_t dial_pause_ns = 5'000'000;
  std::uint64_t hello_interval_ns = 1'000'000'000;
  /// Duration of the manager's background jobs; 0: immediate.
  std::uint64_t work_ns = 0;
  /// The manager may reject switches.
  bool may_reject = false;
  /// Host ports accept all VNIs, whatever the manager permits.
  bool open_edges = false;
};

/// Every leaf is connected to every spine, and has `hosts` hosts. Switches: the leaves first.
[[nodiscard]] Topology leaves_and_spines(std::uint32_t leaves, std::uint32_t spines,
                                         std::uint32_t hosts);
/// For groups that no limit and no lease ends: members of the virtual fabric renew none.
[[nodiscard]] ManagedOptions patient_options();

class ManagedFabric final : turns::Environment {
public:
  ManagedFabric(Topology topology, const ManagedOptions& options, std::uint64_t seed);
  ~ManagedFabric() override;
  ManagedFabric(const ManagedFabric&) = delete;
  ManagedFabric& operator=(const ManagedFabric&) = delete;

  [[nodiscard]] Fabric& fabric() { return fabric_; }
  void run_for(std::uint64_t ns) { fabric_.run_until(fabric_.now() + ns); }
  /// Runs until it holds, at most this long. Returns whether it holds.
  bool run_until(const std::function<bool()>& done, std::uint64_t limit_ns) {
    return fabric_.run_until(done, fabric_.now() + limit_ns);
  }

  // Hosts.

  /// The host sends a hello on its link.
  void announce(HostIndex host);
  void announce_all();
  /// Another host sends a hello on this one's link.
  void announce_as(HostIndex link_of, Nid nid, const std::string& name);
  /// As an administrator; needs a manager. Creates the job if it does not exist.
  void join(const api::JoinRequest& request, api::Reply reply);
  [[nodiscard]] static std::string host_name(HostIndex host);

  // Faults.

  void kill_manager();
  /// On the store as it is.
  void start_manager();
  /// On another store, which replaces the present one.
  void start_manager(StoredPast past);
  /// The operator agrees that the manager takes this fabric's switches over. Returns the status of
  /// the answer, 0 without one.
  [[nodiscard]] unsigned adopt(std::uint64_t fabric);
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

  // State.

  [[nodiscard]] agent::Agent& agent_of(SwitchIndex s) { return *stations_[s].agent; }
  /// The switch's current tables.
  [[nodiscard]] const core::Tables& tables_of(SwitchIndex s) const { return *stations_[s].tables; }
  [[nodiscard]] bool all_connected() const;
  /// Why the manager has rejected switches; a violation unless `may_reject` is set.
  [[nodiscard]] const std::vector<std::string>& rejections() const { return rejections_; }
  /// Descriptions of what any running switch holds and should not, or lacks. Empty when manager and
  /// switches agree. Reads the switches' own tables.
  [[nodiscard]] std::vector<std::string> disagreements() const;
  [[nodiscard]] static std::string switch_name(SwitchIndex s);
  [[nodiscard]] const StoredPast& past() const { return past_; }

private:
  struct Station {
    std::unique_ptr<agent::Agent> agent;
    std::vector<bool> link_up; ///< by port
    /// Number of the current channel; rises with each, so that messages of a broken one are
    /// recognised when they arrive.
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
  void work(std::unique_ptr<turns::BackgroundWork> piece) override;
  void send(transaction::SessionNumber session, const control::ManagerMessage& message) override;
  void close(transaction::SessionNumber session, std::string_view why) override;
  void stalled(const std::string&) override {} // its time does not advance within a turn

  void start_agent(SwitchIndex s);
  void drive(SwitchIndex s);
  void drive_later(SwitchIndex s);
  void dial_later(SwitchIndex s);
  void dial(SwitchIndex s);
  void hear(SwitchIndex s, std::uint64_t channel, const control::SwitchMessage& message);
  void end_channel(SwitchIndex s, std::string_view why, bool notify_manager);
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
  std::vector<std::string> rejections_;
  bool reconcile_requested_ = false;
  TimeNs deadline_at_ = never;
};

} // namespace tributary::fabric
