// The switch's end of the control channel, without the transport: which part of the switch's state
// comes from the file, which from the manager, and the snapshots that follow from both.
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
// Two owners. Ports, guards, routes and the trees of the file belong to the file; all other trees,
// and VNI permissions in addition to a port's own list, belong to the manager. Neither changes what
// the other owns: a change to a tree of the file is refused, and so is a file that claims a tree
// which the manager has installed.
//
// Transactions (control.proto). Prepare is checked and stored; Commit puts it in force; Abort and
// the end of the channel discard it. A change states the wanted state, not a step: removing an
// absent entry, or permitting a permitted one, succeeds without effect. So no change depends on
// another one, any number of transactions may be prepared at the same time, and any of them may be
// committed in any order. If two change the same tree, the last commit wins; the manager avoids
// that case.
//
// Commit is acknowledged when the workers have the snapshot, not before: take_tables() returns one
// snapshot for all commits since the last call, and Committed follows when published() reports that
// it is in force. A SwitchHello waits for that, too, so that it reports the state in force.
//
// The agent is fenced (tributary/leader.hpp): it accepts the first manager, and from then on only
// newer ones of that fabric, unless the operator has let another fabric's manager adopt it. Welcome
// of any other ends the channel, and changes nothing. Its memory of the manager ends with the
// process, as do the trees of the manager.
//
// How a shell drives it, after each input and at next_deadline():
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
#include "tributary/leader.hpp"
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

/// Identity of the switch, besides its name.
struct Identity {
  std::uint64_t guid = 0; ///< the same at every start; 0: `wire::guid_of_name`
  std::uint64_t boot = 0; ///< random, another one at every start
  std::string software;   ///< version
};

struct Settings {
  /// Interval between hellos on each port that is up; 0: never.
  std::uint64_t hello_interval_ns = 1'000'000'000;
  /// Whether hellos say that the switch sends link hellos (wire/link_hello.hpp).
  bool link_hellos = false;
  /// Time in which the manager must answer SwitchHello.
  std::uint64_t welcome_timeout_ns = 10'000'000'000;
  /// Limit of transactions prepared at the same time; further ones are refused.
  std::size_t max_prepared = 65536;
};

/// The channel and the transactions, as shown to operators.
struct Status {
  enum class Channel : std::uint8_t { down, greeting, up };
  Channel channel = Channel::down;    ///< greeting: SwitchHello sent, Welcome not yet received
  std::string manager;                ///< the name it gave; of the last manager that was connected
  Leader leader;                      ///< the same manager's fabric and epoch
  std::uint64_t managers_refused = 0; ///< welcomes of managers that the switch did not accept
  TimeNs since{};                     ///< last change of `channel`
  std::string last_end;               ///< why the channel ended last; "" if it never did
  std::uint64_t version = 0;          ///< of the snapshot in force
  std::size_t trees_of_file = 0;
  std::size_t trees_of_manager = 0;
  std::size_t permissions = 0;
  std::size_t prepared_now = 0;
  Transactions::Counts counts; ///< since the switch started
  std::string last_refusal;
  std::vector<control::Port> ports;  ///< with their neighbours
  std::vector<std::string> problems; ///< cabling problems, see Neighbours::problems
};

class Agent {
public:
  /// Nothing is in force yet: take_tables() has the first snapshot, version 1. Ports are down until
  /// port_changed() says otherwise. Throws std::invalid_argument when the tables of the
  /// configuration do not build; one that was parsed without error always does.
  Agent(config::Switch configuration, Identity identity, const Settings& settings = {});

  // ---- inputs ----

  /// The channel is connected: the switch speaks first.
  void channel_up(TimeNs now);
  /// The channel broke or was closed. Prepared transactions are discarded; committed ones stay.
  void channel_down(TimeNs now, std::string why = {});
  void receive(const control::ManagerMessage& message, TimeNs now);

  /// A frame that the core delivered.
  void hello_received(PortNumber port, std::span<const std::byte> frame, TimeNs now);
  /// `speed_mbps` is 0 if unknown.
  void port_changed(PortNumber port, bool up, std::uint32_t speed_mbps, TimeNs now);

  /// Why this configuration of the same ports cannot be applied now, "" if it can.
  [[nodiscard]] std::string refuses(const config::Switch& configuration) const;
  /// Applies trees, routes and port policies of a configuration that `refuses` accepts; the
  /// manager's trees and permissions stay. If the trees of the file changed, the agent ends the
  /// channel, so that the next SwitchHello reports them to the manager.
  void file_reloaded(config::Switch configuration);

  /// Every worker now uses the snapshot of this version.
  void published(std::uint64_t version);
  /// Answers statistics_due(): the counters of all workers that run the switch, see
  /// WorkerGroup::counters; the pauses of each port of the file, in the file's order.
  void statistics(std::span<const core::Counters* const> counters,
                  std::span<const PortPauses> pauses, std::uint32_t descriptors_in_use);

  /// Handles what is due.
  void poll(TimeNs now);
  /// Time of the next poll() that has work; `never` if only an event can cause work.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- outputs ----

  /// The snapshot to publish, with all commits and reloads so far; null if the last one returned is
  /// still current.
  [[nodiscard]] std::shared_ptr<const core::Tables> take_tables();
  /// For the manager, in order. Empty while the channel is down.
  [[nodiscard]] std::vector<control::SwitchMessage> take_messages();
  [[nodiscard]] std::vector<OutgoingHello> take_hellos();
  /// Hellos that announce that the switch leaves; for an orderly stop.
  [[nodiscard]] std::vector<OutgoingHello> leaving_hellos() const;
  /// True from the end of the interval until statistics() is called.
  [[nodiscard]] bool statistics_due() const { return statistics_due_; }
  /// Why the channel must be closed; returned once. The switch dials again as after any loss.
  [[nodiscard]] std::optional<std::string> take_disconnect();

  [[nodiscard]] const std::string& name() const { return file().name; }
  /// Whether a manager was accepted on this channel.
  [[nodiscard]] bool is_welcomed() const { return channel_ == Status::Channel::up; }
  [[nodiscard]] Status status() const;

private:
  [[nodiscard]] const config::Switch& file() const { return transactions_.in_force().file(); }
  void enter(Status::Channel channel, TimeNs now);
  void welcome(const control::Welcome& welcome, TimeNs now);
  /// Why this manager must not change anything here; "" when it may.
  [[nodiscard]] std::string refusal_of(const control::Welcome& welcome) const;
  void too_early(std::string_view message);
  void disconnect(std::string why);
  /// When the manager's silence exceeds the limit.
  [[nodiscard]] TimeNs silence_deadline() const;
  void report_guards();
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
  Leader leader_; ///< accepted last
  std::uint64_t managers_refused_ = 0;
  std::string last_end_;
  bool hello_owed_ = false;
  bool disconnecting_ = false; ///< the shell was asked, or will be asked, to close this channel
  std::optional<std::string> disconnect_;

  TimeNs last_heard_{};                      ///< from the manager
  std::uint64_t keepalive_ns_ = 0;           ///< 0: the manager's silence is not limited
  std::uint64_t statistics_interval_ns_ = 0; ///< 0: disabled
  TimeNs next_statistics_ = never;
  bool statistics_due_ = false;
};

} // namespace tributary::agent
