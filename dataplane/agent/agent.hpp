// The switch's end of the control channel, without the channel: what of a switch the file decides,
// what the manager decides, and the snapshots that follow from both.
//
//          file                  manager                 neighbours, ports
//            |                      |                            |
//     file_reloaded            receive(ManagerMessage)     hello_received, port_changed
//            v                      v                            v
//   +------------------------------- Agent -------------------------------+
//            |                      |                            |
//       take_tables            take_messages               take_hellos
//     -> publish, published   -> to the manager           -> out of the ports
//
// Two owners. Ports, guards, routes and the trees that stand in the file belong to the file; all
// other trees, and VNI permissions in addition to a port's own list, to the manager. Neither
// changes what is the other's: a change to a tree of the file is refused, and so is a file that
// claims a tree which the manager has installed.
//
// Transactions (control.proto). Prepare is checked and kept aside; Commit puts it in force; Abort
// and the end of the channel forget it. A change says the state wanted and not a step: to remove
// what is not there, or to permit what is permitted, is done already. So no change depends on
// another one, any number of transactions may be prepared at once, and whatever of them is
// committed, in whatever order, is possible. Where two say something about the same tree, what is
// committed last is in force; the manager does not let that happen.
//
// Commit is acknowledged when workers have the snapshot, not before: take_tables() gives one for
// all that has been committed since the last, and Committed follows when published() says that it
// is in force. A SwitchHello waits for that, too, so that it tells what is true.
//
// How a shell drives it, after whatever it was told, and when next_deadline() has come:
//
//   agent.poll(now);
//   while (auto tables = agent.take_tables())     publish(tables), agent.published(its version)
//   if (agent.statistics_due())                   agent.statistics(counters, pauses, descriptors)
//   for (auto& hello : agent.take_hellos())       send hello.bytes out of hello.port
//   for (auto& message : agent.take_messages())   to the channel
//   if (auto why = agent.take_disconnect())       close the channel, agent.channel_down(now)
//
// Pure: no clock, socket, thread or file. One Agent per switch; one thread at a time.
#pragma once

#include "dataplane/agent/neighbours.hpp"
#include "dataplane/agent/switch_statistics.hpp"
#include "dataplane/agent/transactions.hpp"
#include "dataplane/config/config.hpp"
#include "dataplane/core/counters.hpp"
#include "dataplane/core/tables.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::agent {

inline constexpr std::uint32_t protocol_version = 1;

/// Who this switch is, besides its name.
struct Identity {
  std::uint64_t guid = 0; ///< the same at every start; 0: `wire::guid_of_name`
  std::uint64_t boot = 0; ///< random, another one at every start
  std::string software;   ///< version
};

struct Settings {
  /// How often hellos leave each port that is up; 0: never.
  std::uint64_t hello_interval_ns = 1'000'000'000;
  /// Whether hellos say that the switch sends link hellos (wire/link_hello.hpp).
  bool link_hellos = false;
  /// How long the manager may take to answer SwitchHello.
  std::uint64_t welcome_patience_ns = 10'000'000'000;
  /// Transactions prepared at once; one more is refused.
  std::size_t max_prepared = 65536;
};

/// The channel and the transactions, for people.
struct Status {
  enum class Channel : std::uint8_t { down, greeting, up };
  Channel channel = Channel::down; ///< greeting: SwitchHello is out, Welcome is not there
  std::string manager;             ///< as it calls itself; of the last one heard
  TimeNs since{};                  ///< when `channel` became what it is
  std::string last_end;            ///< why the channel ended last; "" when it never did
  std::uint64_t version = 0;       ///< of the snapshot in force
  std::size_t trees_of_file = 0;
  std::size_t trees_of_manager = 0;
  std::size_t permissions = 0;
  std::size_t prepared_now = 0;
  Transactions::Counts counts; ///< since the switch started
  std::string last_refusal;
  std::vector<control::Port> ports;  ///< with the neighbours heard
  std::vector<std::string> problems; ///< of the cabling, see Neighbours::problems
};

class Agent {
public:
  /// Nothing is in force yet: take_tables() has the first snapshot, version 1. Ports are down until
  /// port_changed() says otherwise. Throws std::invalid_argument when the tables of the
  /// configuration do not build; one that was parsed without error always does.
  Agent(config::Switch configuration, Identity identity, const Settings& settings = {});

  // ---- what happens ----

  /// The channel stands: the switch speaks first.
  void channel_up(TimeNs now);
  /// It broke, or was closed. What is prepared is forgotten; what is committed stays.
  void channel_down(TimeNs now, std::string why = {});
  void receive(const control::ManagerMessage& message, TimeNs now);

  /// A frame that the core delivered.
  void hello_received(PortNumber port, std::span<const std::byte> frame, TimeNs now);
  /// `speed_mbps` is 0 when it is not known.
  void port_changed(PortNumber port, bool up, std::uint32_t speed_mbps, TimeNs now);

  /// Why this configuration of the same ports cannot be taken over now, "" when it can.
  [[nodiscard]] std::string refuses(const config::Switch& configuration) const;
  /// Takes over trees, routes and port policies of a configuration that `refuses` has nothing
  /// against; the manager's trees and permissions stay. Other trees in the file make the agent end
  /// the channel, so that the next SwitchHello tells the manager.
  void file_reloaded(config::Switch configuration);

  /// The snapshot of this version is what every worker sees now.
  void published(std::uint64_t version);
  /// Answers statistics_due(): the counters of all workers that run the switch, see
  /// WorkerGroup::counters; the pauses of each port of the file, in its order.
  void statistics(std::span<const core::Counters* const> counters,
                  std::span<const PortPauses> pauses, std::uint32_t descriptors_in_use);

  /// Does what its time has come for.
  void poll(TimeNs now);
  /// When poll() has something to do next; `never` when only an event can bring that.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- what is to be done ----

  /// The snapshot to publish, with all that was committed or reloaded until now; null when the one
  /// given out last holds all of it.
  [[nodiscard]] std::shared_ptr<const core::Tables> take_tables();
  /// For the manager, in order. Empty while the channel is down.
  [[nodiscard]] std::vector<control::SwitchMessage> take_messages();
  [[nodiscard]] std::vector<OutgoingHello> take_hellos();
  /// Hellos with the word that it leaves, for a switch that stops in good order.
  [[nodiscard]] std::vector<OutgoingHello> leaving_hellos() const;
  /// True from when the interval is over until statistics() was called.
  [[nodiscard]] bool statistics_due() const { return statistics_due_; }
  /// Why the channel has to be closed, once; the switch dials again as after any loss.
  [[nodiscard]] std::optional<std::string> take_disconnect();

  [[nodiscard]] const std::string& name() const { return file().name; }
  [[nodiscard]] Status status() const;

private:
  [[nodiscard]] const config::Switch& file() const { return transactions_.in_force().file(); }
  void enter(Status::Channel channel, TimeNs now);
  void welcome(const control::Welcome& welcome, TimeNs now);
  void too_early(std::string_view message);
  void disconnect(std::string why);
  /// When silence will have lasted for too long.
  [[nodiscard]] TimeNs patience_ends() const;
  void tell_guards();
  void report_ports();
  void set_vcs(control::Port& port) const;
  [[nodiscard]] control::SwitchHello hello() const;

  Identity identity_;
  Settings settings_;
  Transactions transactions_;
  Neighbours neighbours_;
  SwitchStatistics statistics_;
  std::vector<control::SwitchMessage> outbox_;

  Status::Channel channel_ = Status::Channel::down;
  TimeNs since_{}; ///< of `channel_`
  std::string manager_;
  std::string last_end_;
  bool hello_owed_ = false;
  bool disconnecting_ = false; ///< the shell was or will be asked to close this channel
  std::optional<std::string> disconnect_;

  TimeNs last_heard_{};                      ///< of the manager
  std::uint64_t keepalive_ns_ = 0;           ///< 0: the manager need not be heard
  std::uint64_t statistics_interval_ns_ = 0; ///< 0: none are wanted
  TimeNs next_statistics_ = never;
  bool statistics_due_ = false;
};

} // namespace tributary::agent
