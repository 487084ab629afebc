// A manager in a fake world: a manual clock, a store that may be full, and switches that obey.
//
//   World world;
//   world.connect_star("leaf", 4);            a switch with four hosts, NIDs 1 to 4
//   auto answer = world.join("demo", 4, 0, 1);
//   world.reconcile();
//   EXPECT_EQ(answer->status, 200U);
#pragma once

#include "worker.hpp"

#include "controlplane/manager/manager.hpp"
#include "controlplane/store/sqlite_store.hpp"
#include "tributary/leader.hpp"
#include "tributary/wire/hello.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tributary::manager {

inline const api::Caller administrator{.token = {}, .administrator = true};

/// An answer that may not have arrived yet.
class Given {
public:
  [[nodiscard]] api::Reply reply() const {
    return [held = held_](const api::Answer& answer) { *held = answer; };
  }
  [[nodiscard]] bool there() const { return held_->has_value(); }
  const api::Answer* operator->() const { return &held_->value(); }
  [[nodiscard]] const boost::json::object& body() const { return (*held_)->body.as_object(); }
  [[nodiscard]] std::string message() const {
    return std::string(body().at("message").as_string());
  }

private:
  std::shared_ptr<std::optional<api::Answer>> held_ =
      std::make_shared<std::optional<api::Answer>>();
};

/// A reader of the manager's events as they arrive.
class Listener {
public:
  Listener(Manager& manager, const api::Caller& caller, const api::EventsRequest& request,
           std::function<void(const api::Event&)> heard)
      : heard_(std::move(heard)),
        reader_(manager.read_events(caller, request, [this] { read(); })) {
    read();
  }

private:
  void read() {
    while (const auto event = reader_->next()) {
      heard_({event->number, std::string(event->kind),
              boost::json::parse({event->data.data(), event->data.size()}).as_object()});
    }
  }
  std::function<void(const api::Event&)> heard_;
  std::unique_ptr<api::EventReader> reader_;
};

class World final : public turns::Environment {
public:
  static constexpr std::uint64_t second = 1'000'000'000;

  explicit World(Settings settings = {}) : settings_(std::move(settings)) {
    settings_.timeout_ns = 0;
    start();
  }

  // Environment
  TimeNs now() override {
    if (worker.runs && work_fails) {
      throw std::bad_alloc();
    }
    return now_ = now_ + each_look_takes_ns;
  }
  std::uint64_t processor_ns() override { return now_.value; }
  std::string wall_time() override { return "2026-01-01T00:00:00.000Z"; }
  void request_reconcile() override { reconcile_requested_ = true; }
  void store(std::function<std::vector<records::Change>()> changes) override {
    if (disk_is_slow) {
      writing = changes();
      return;
    }
    write(changes());
  }
  /// Writes, immediately or when the slow disk gets to it.
  void write(const std::vector<records::Change>& changes) {
    if (full_after) {
      store_is_full = *full_after == 0;
      full_after = store_is_full ? std::nullopt : std::optional(*full_after - 1);
    }
    if (store_is_full) {
      manager->stored("the disk is full");
      return;
    }
    stored += changes.size();
    if (disk) {
      disk->apply(changes);
    }
    now_ = now_ + store_takes_ns;
    log.push_back("stored");
    manager->stored("");
  }
  void disk_comes_to_it() { write(std::exchange(writing, std::nullopt).value()); }
  void work(std::unique_ptr<turns::BackgroundWork> piece) override {
    worker.work(std::move(piece));
  }
  void send(transaction::SessionNumber session, const control::ManagerMessage& message) override {
    log.push_back("sent");
    sent.push_back({session, message});
  }
  void close(transaction::SessionNumber, std::string_view why) override {
    log.push_back("closed " + std::string(why));
  }
  void stalled(const std::string& what) override { log.push_back("stalled: " + what); }

  /// All of it, from all its parts.
  std::string metrics() {
    std::string text;
    for (std::optional<api::MetricsPlace> at = api::MetricsPlace{}; at; ++metrics_parts) {
      at = manager->metrics(*at, text);
    }
    return text;
  }
  std::size_t metrics_parts = 0; ///< requested so far
  /// So that work takes time.
  std::uint64_t each_look_takes_ns = 0;

  /// Runs until no requests are left; switches answer immediately.
  void reconcile() {
    while (reconcile_requested_) {
      reconcile_requested_ = false;
      manager->reconcile();
      answer_for_switches();
    }
  }
  /// Time passes with the manager running: it is called when due.
  void pass(std::uint64_t ns) {
    const TimeNs end = now_ + ns;
    while (now_ < end) {
      const TimeNs due = manager->next_deadline();
      EXPECT_GT(due, now_) << "a time that has passed is waited for, without a pause";
      now_ = std::max(now_ + 1, std::min(end, due));
      reconcile_requested_ = true;
      reconcile();
    }
  }
  /// Time passes with the manager suspended.
  void pause(std::uint64_t ns) { now_ = now_ + ns; }
  /// As its timer does.
  void wake() {
    reconcile_requested_ = true;
    reconcile();
  }

  /// A switch whose ports 0 to hosts - 1 have hosts with NIDs from `first_nid` on.
  transaction::SessionNumber connect_star(const std::string& name, std::uint32_t hosts,
                                          std::uint32_t first_nid = 1, std::uint32_t ports = 8) {
    control::SwitchHello hello;
    hello.set_protocol(1);
    hello.set_name(name);
    hello.set_boot(1);
    hello.set_guid(wire::guid_of_name(name));
    hello.mutable_limits()->set_trees(max_trees);
    hello.mutable_limits()->set_ports(64);
    hello.mutable_limits()->set_descriptors_per_engine(descriptors_per_engine);
    hello.mutable_limits()->set_wide_payload(wide.payload);
    hello.mutable_limits()->set_wide_slots(wide.slots);
    hello.mutable_limits()->set_wide_memory(wide.memory);
    hello.mutable_limits()->set_wide_forms(wide.forms);
    for (std::uint32_t p = 0; p < ports; ++p) {
      control::Port& port = *hello.add_ports();
      port.set_number(p);
      port.set_name("p" + std::to_string(p));
      port.set_up(true);
      port.set_vcs(8);
      if (p < hosts) {
        port.set_nid(first_nid + p);
      }
    }
    if (accepted_before.fabric != 0) {
      hello.mutable_leader()->set_fabric(accepted_before.fabric);
      hello.mutable_leader()->set_epoch(accepted_before.epoch);
      hello.mutable_leader()->set_boot(accepted_before.boot);
    }
    const transaction::SessionNumber session{++last_session_};
    sessions[name] = session;
    welcome.Clear();
    manager->switches().welcome(hello, welcome);
    rejected = manager->switches().connected(session, hello);
    reconcile();
    return session;
  }

  /// Each of the two reports the other at the far end of its port.
  void report_link(const std::string& a, std::uint32_t port_a, const std::string& b,
                   std::uint32_t port_b) {
    const auto says = [&](const std::string& from, std::uint32_t port, const std::string& to,
                          std::uint32_t to_port) {
      control::SwitchMessage message;
      control::Port& changed = *message.mutable_ports()->add_ports();
      changed.set_number(port);
      changed.set_name("p" + std::to_string(port));
      changed.set_up(true);
      changed.set_vcs(8);
      changed.mutable_neighbour()->set_name(to);
      changed.mutable_neighbour()->set_port(to_port);
      changed.mutable_neighbour()->set_guid(wire::guid_of_name(to));
      manager->switches().message(sessions.at(from), message);
    };
    says(a, port_a, b, port_b);
    says(b, port_b, a, port_a);
  }

  /// The switch receives a host's hello at a port without a guard.
  void report_host(const std::string& at, std::uint32_t port, std::uint32_t nid) {
    control::SwitchMessage message;
    control::Port& changed = *message.mutable_ports()->add_ports();
    changed.set_number(port);
    changed.set_name("p" + std::to_string(port));
    changed.set_up(true);
    changed.set_vcs(8);
    changed.mutable_neighbour()->set_name("host" + std::to_string(nid));
    changed.mutable_neighbour()->set_nid(nid);
    manager->switches().message(sessions.at(at), message);
  }
  /// The switch reports that this port has lost its link.
  void report_down(const std::string& at, std::uint32_t port) {
    control::SwitchMessage message;
    control::Port& changed = *message.mutable_ports()->add_ports();
    changed.set_number(port);
    changed.set_name("p" + std::to_string(port));
    changed.set_up(false);
    changed.set_vcs(8);
    manager->switches().message(sessions.at(at), message);
  }

  Given join(const std::string& name, std::uint32_t size, std::uint32_t rank, std::uint32_t nid,
             const api::Caller& caller = administrator, std::uint64_t wait_ms = 1000,
             std::uint32_t trees = 1) {
    Given given;
    api::JoinRequest request;
    request.group = {.job = caller.administrator ? "job" : "",
                     .name = name,
                     .size = size,
                     .trees = trees,
                     .root_rank = std::nullopt,
                     .in_switch_results = asks_in_switch};
    request.rank = rank;
    request.nid = Nid{nid};
    request.wait = std::chrono::milliseconds(wait_ms);
    request.takes = takes;
    manager->ask<&Manager::join_group>(caller, request, given.reply());
    return given;
  }

  Given multicast(std::vector<Nid> nids, const std::string& step = "0") {
    Given given;
    manager->ask<&Manager::create_multicast>(administrator,
                                             {.macs = std::move(nids),
                                              .vni = Vni{99},
                                              .timeout = std::chrono::microseconds(0),
                                              .job = "job",
                                              .step = step},
                                             given.reply());
    return given;
  }

  /// Each event from `request.after` on, until the answer is destroyed.
  std::unique_ptr<Listener> listen(const api::Caller& caller, const api::EventsRequest& request,
                                   std::function<void(const api::Event&)> heard) {
    return std::make_unique<Listener>(*manager, caller, request, std::move(heard));
  }
  std::vector<api::Event> events_of(const api::Caller& caller, const api::EventsRequest& request) {
    std::vector<api::Event> heard;
    listen(caller, request, [&](const api::Event& e) { heard.push_back(e); });
    return heard;
  }
  std::vector<api::Event> events_of(const api::Caller& caller, std::uint64_t after = 0) {
    return events_of(caller, {.after = after});
  }

  std::string create_job(const std::string& name) {
    Given given;
    manager->ask<&Manager::create_job>(administrator, {name, std::nullopt}, given.reply());
    reconcile();
    return given->status == 201 ? std::string(given.body().at("sessionToken").as_string())
                                : std::string();
  }

  /// From the manager's next start on.
  void set_boot(std::uint64_t boot) { settings_.boot = boot; }
  /// The manager dies, and another one starts with this stored state.
  void restart(const records::Snapshot& past, std::uint64_t timeout_ns = 0) {
    settings_.timeout_ns = timeout_ns;
    sent.clear();
    sessions.clear();
    start(past);
  }

  std::unique_ptr<Manager> manager;
  Worker worker{
      [this](std::unique_ptr<turns::BackgroundWork> piece) { manager->worked(std::move(piece)); }};
  bool work_fails = false;   ///< background work that reads the clock throws
  bool disk_is_slow = false; ///< writes wait for `disk_comes_to_it`
  std::optional<std::vector<records::Change>> writing;
  bool store_is_full = false;
  std::uint64_t store_takes_ns = 0;       ///< of each write, in which nothing else is done
  std::optional<int> full_after;          ///< this many more writes
  std::optional<store::SqliteStore> disk; ///< also receives changes, if set
  std::size_t stored = 0;
  std::vector<std::string> log; ///< sent messages, in order
  std::vector<std::pair<transaction::SessionNumber, control::ManagerMessage>> sent;
  std::vector<std::pair<transaction::SessionNumber, control::ManagerMessage>>
      late; ///< not committed
  std::optional<std::string> rejected;
  control::Welcome welcome; ///< of the last switch, unless it was rejected
  Leader accepted_before{}; ///< the manager that switches which connect from now on have accepted
  /// By port: the NIDs that the switches' permissions guard for, 0 for none.
  std::map<std::uint32_t, std::uint32_t> permits;
  std::string refuses_permissions; ///< reason of switches for it; "": they do not
  /// By session, port and VNI: the permissions that switches have.
  std::map<std::tuple<transaction::SessionNumber, std::uint32_t, std::uint32_t>,
           control::Permission>
      permissions;
  std::uint32_t descriptors_per_engine = reduction_keys; ///< of switches that connect from now on
  /// Wide frames that switches announce when they connect from now on.
  struct Wide {
    std::uint32_t payload = 0;
    std::uint32_t slots = 0;
    std::uint64_t memory = 0;
    std::uint32_t forms = 0;
  };
  Wide wide{};
  records::WideFrames takes{}; ///< of hosts that join from now on
  /// Whether they request in-switch results or refuse them.
  std::optional<bool> asks_in_switch = std::nullopt;
  /// By session and number: the last tree that switches received.
  std::map<std::pair<transaction::SessionNumber, std::uint32_t>, control::Tree> trees;
  std::uint32_t refuse_wider_than = 128; ///< slots
  bool switches_answer = true;
  bool switches_commit = true; ///< otherwise they report that they have prepared, and then nothing
  std::map<std::string, transaction::SessionNumber> sessions; ///< by switch

private:
  void start(const records::Snapshot& past = {}) {
    manager.reset();
    manager = std::make_unique<Manager>(
        settings_, static_cast<turns::Environment&>(*this),
        [this](std::span<std::byte> bytes) {
          for (std::byte& b : bytes) {
            b = static_cast<std::byte>(++random_ * 37);
          }
        },
        past);
    reconcile();
  }

  void answer_for_switches() {
    if (!switches_answer) {
      return;
    }
    if (switches_commit) {
      sent.insert(sent.begin(), late.begin(), late.end());
      late.clear();
    }
    for (const auto& [session, message] : std::exchange(sent, {})) {
      control::SwitchMessage answer;
      bool refused = false;
      if (message.has_prepare()) {
        for (const control::Change& change : message.prepare().changes()) {
          if (change.has_permit()) {
            permits[change.permit().port()] = change.permit().nid();
            if (!refuses_permissions.empty()) {
              refused = true;
            } else {
              permissions[{session, change.permit().port(), change.permit().vni()}] =
                  change.permit();
            }
          } else if (change.has_revoke()) {
            permits.erase(change.revoke().port());
            permissions.erase({session, change.revoke().port(), change.revoke().vni()});
          } else if (change.has_set_tree()) {
            trees[{session, change.set_tree().number()}] = change.set_tree();
            refused |= change.set_tree().slots() > refuse_wider_than;
          }
        }
        if (refused) {
          answer.mutable_refused()->set_transaction(message.prepare().transaction());
          const bool no_room = refuses_permissions.empty();
          answer.mutable_refused()->set_reason(no_room ? "no room in slot memory"
                                                       : refuses_permissions);
          answer.mutable_refused()->set_no_room(no_room);
          manager->switches().message(session, answer);
          continue;
        }
        answer.mutable_prepared()->set_transaction(message.prepare().transaction());
      } else if (message.has_commit() && !switches_commit) {
        late.push_back({session, message});
        continue;
      } else if (message.has_commit()) {
        answer.mutable_committed()->set_transaction(message.commit().transaction());
        answer.mutable_committed()->set_version(++version_);
      } else {
        continue;
      }
      manager->switches().message(session, answer);
    }
  }

  Settings settings_;
  TimeNs now_{1'000'000'000};
  bool reconcile_requested_ = false;
  std::uint64_t last_session_ = 0;
  std::uint64_t version_ = 1;
  unsigned random_ = 0;
};

} // namespace tributary::manager
