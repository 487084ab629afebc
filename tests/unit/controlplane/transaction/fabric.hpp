// Fake switches, one coordinator, and the channels between them, message by message: each channel
// keeps its order, and which channel is next is the test's choice.
#pragma once

#include "controlplane/southbound/protocol/messages.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/tree_kind.hpp"
#include "fake_switch.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tributary::test {

using transaction::Coordinator;
using transaction::Outcome;
using transaction::SessionNumber;
using transaction::SwitchId;
using transaction::TransactionNumber;

class Fabric {
public:
  struct Channel {
    std::optional<SessionNumber> session;
    std::deque<control::ManagerMessage> down;
    std::deque<control::SwitchMessage> up;
    bool frozen = false; ///< the switch neither reads nor answers
  };

  explicit Fabric(topology::Graph g, std::uint32_t ports = 64) : graph(std::move(g)) {
    for (const topology::Switch& s : graph.switches()) {
      switches.push_back(std::make_unique<FakeSwitch>(s.name, ports));
    }
    channels.resize(switches.size());
    start_manager({});
  }

  // ---- the manager ----

  void start_manager(std::span<const transaction::Target> stored) {
    coordinator.emplace(graph, std::vector<const transaction::Kind*>{&tree_kind_},
                        transaction::CoordinatorSettings{.epoch = ++epoch_});
    coordinator->restore(stored);
    outcomes.clear();
  }
  /// It dies, and all channels with it.
  void kill_manager() {
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (channels[i].session) {
        channels[i] = {.session = {}, .down = {}, .up = {}, .frozen = channels[i].frozen};
        switches[i]->channel_broke();
      }
    }
    coordinator.reset();
  }

  TransactionNumber set_tree(const transaction::Target& target) {
    const auto number = coordinator->set(target, now);
    collect();
    return number;
  }
  TransactionNumber remove_tree(TreeNumber tree) {
    const auto number = coordinator->remove(trees::subject_of(tree), now);
    collect();
    return number;
  }
  [[nodiscard]] const transaction::Target* wanted(TreeNumber tree) const {
    return coordinator->wanted(trees::subject_of(tree));
  }
  [[nodiscard]] std::vector<SwitchId> out_of_sync(TreeNumber tree) const {
    return coordinator->out_of_sync(trees::subject_of(tree));
  }
  /// How it ended; none while it is in progress.
  [[nodiscard]] const Outcome* outcome(TransactionNumber number) const {
    for (const Outcome& o : outcomes) {
      if (o.transaction == number) {
        return &o;
      }
    }
    return nullptr;
  }

  // ---- channels ----

  void connect(SwitchId at) {
    Channel& channel = channels[at.value];
    channel.session = SessionNumber{++sessions_};
    coordinator->connected(at, *channel.session,
                           southbound::protocol::hello_of(switches[at.value]->hello()), now);
    collect();
  }
  void connect_all() {
    for (std::uint32_t i = 0; i < switches.size(); ++i) {
      if (!channels[i].session) {
        connect(SwitchId{i});
      }
    }
  }
  void break_channel(SwitchId at) {
    Channel& channel = channels[at.value];
    if (!channel.session) {
      return;
    }
    const SessionNumber session = *channel.session;
    channel = {.session = {}, .down = {}, .up = {}, .frozen = channel.frozen};
    switches[at.value]->channel_broke();
    coordinator->lost(at, session, "the channel broke", now);
    collect();
  }
  void kill_switch(SwitchId at) {
    switches[at.value]->restart();
    break_channel(at);
  }

  // ---- time and messages ----

  [[nodiscard]] bool can_deliver_down(std::size_t i) const {
    return !channels[i].frozen && !channels[i].down.empty();
  }
  void deliver_down(std::size_t i) {
    const control::ManagerMessage message = std::move(channels[i].down.front());
    channels[i].down.pop_front();
    for (control::SwitchMessage& answer : switches[i]->receive(message)) {
      channels[i].up.push_back(std::move(answer));
    }
    ++delivered;
  }
  void deliver_up(std::size_t i) {
    const control::SwitchMessage message = std::move(channels[i].up.front());
    channels[i].up.pop_front();
    if (const auto answer = southbound::protocol::answer_of(message)) {
      coordinator->receive(SwitchId{static_cast<std::uint32_t>(i)}, *channels[i].session, *answer,
                           now);
      collect();
    }
    ++delivered;
  }
  /// Delivers everything, channel by channel, until nothing moves.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < channels.size(); ++i) {
        for (; can_deliver_down(i); moved = true) {
          deliver_down(i);
        }
        for (; !channels[i].up.empty(); moved = true) {
          deliver_up(i);
        }
      }
    }
  }
  /// Every switch receives its messages; the answers stay in transit.
  void deliver_all_down() {
    for (std::size_t i = 0; i < channels.size(); ++i) {
      while (can_deliver_down(i)) {
        deliver_down(i);
      }
    }
  }
  void advance(std::uint64_t ns) {
    now = now + ns;
    coordinator->poll(now);
    collect();
  }

  topology::Graph graph;
  std::vector<std::unique_ptr<FakeSwitch>> switches;
  std::vector<Channel> channels;
  std::optional<Coordinator> coordinator;
  std::vector<Outcome> outcomes;
  std::uint64_t closures = 0;
  std::uint64_t delivered = 0;
  TimeNs now{1};

private:
  void collect() {
    for (transaction::Addressed& m : coordinator->take_messages()) {
      Channel& channel = channels[m.to.value];
      if (channel.session == m.session) {
        channel.down.push_back(southbound::protocol::message_of(m.message));
      }
    }
    for (Outcome& o : coordinator->take_outcomes()) {
      outcomes.push_back(std::move(o));
    }
    for (const transaction::Closure& closure : coordinator->take_closures()) {
      Channel& channel = channels[closure.at.value];
      if (channel.session == closure.session) {
        channel = {.session = {}, .down = {}, .up = {}, .frozen = channel.frozen};
        switches[closure.at.value]->channel_broke();
        ++closures;
      }
    }
  }

  trees::TreeKind tree_kind_{graph};
  std::uint32_t epoch_ = 0;
  std::uint64_t sessions_ = 0;
};

} // namespace tributary::test
