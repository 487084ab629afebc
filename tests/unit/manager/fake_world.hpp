// A manager with a world made for it: a clock that is set, a store that may be full, and switches
// that do what they are told.
//
//   World world;
//   world.connect_star("leaf", 4);            a switch with four hosts, NIDs 1 to 4
//   auto answer = world.join("demo", 4, 0, 1);
//   world.settle();
//   EXPECT_EQ(answer->status, 200U);
#pragma once

#include "controlplane/manager/manager.hpp"
#include "controlplane/store/store.hpp"
#include "tributary/wire/hello.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::manager {

inline const rest::Caller administrator{.token = {}, .administrator = true};

/// An answer that may not be there yet.
class Given {
public:
  [[nodiscard]] rest::Reply reply() const {
    return [held = held_](const rest::Answer& answer) { *held = answer; };
  }
  [[nodiscard]] bool there() const { return held_->has_value(); }
  const rest::Answer* operator->() const { return &held_->value(); }
  [[nodiscard]] const boost::json::object& body() const { return (*held_)->body.as_object(); }
  [[nodiscard]] std::string message() const {
    return std::string(body().at("message").as_string());
  }

private:
  std::shared_ptr<std::optional<rest::Answer>> held_ =
      std::make_shared<std::optional<rest::Answer>>();
};

class World final : public Surroundings {
public:
  explicit World(Settings settings = {}) : settings_(std::move(settings)) {
    settings_.patience_ns = 0;
    start();
  }

  // Surroundings
  TimeNs now() override { return now_; }
  std::string wall_time() override { return "2026-01-01T00:00:00.000Z"; }
  void request_settle() override { settle_requested_ = true; }
  void store(std::span<const store::Change> changes) override {
    if (store_is_full) {
      throw store::StoreError(store::StoreError::Kind::no_room, "the disk is full");
    }
    stored += changes.size();
    if (disk) {
      disk->apply(changes);
    }
    log.push_back("stored");
  }
  void send(install::SessionNumber session, const control::ManagerMessage& message) override {
    log.push_back("sent");
    sent.push_back({session, message});
  }
  void close(install::SessionNumber, std::string_view why) override {
    log.push_back("closed " + std::string(why));
  }

  /// Until nothing is asked for any more; switches answer at once.
  void settle() {
    while (settle_requested_) {
      settle_requested_ = false;
      manager->settle();
      answer_for_switches();
    }
  }
  void pass(std::uint64_t ns) {
    now_ = now_ + ns;
    settle_requested_ = true;
    settle();
  }

  /// A switch whose ports 0 to hosts - 1 have hosts with NIDs from `first_nid` on.
  install::SessionNumber connect_star(const std::string& name, std::uint32_t hosts,
                                      std::uint32_t first_nid = 1, std::uint32_t ports = 8) {
    control::SwitchHello hello;
    hello.set_protocol(1);
    hello.set_name(name);
    hello.set_boot(1);
    hello.set_guid(wire::guid_of_name(name));
    hello.mutable_limits()->set_trees(max_trees);
    hello.mutable_limits()->set_ports(64);
    hello.mutable_limits()->set_descriptors_per_engine(8);
    for (std::uint32_t p = 0; p < ports; ++p) {
      control::Port& port = *hello.add_ports();
      port.set_number(p);
      port.set_name("p" + std::to_string(p));
      port.set_up(true);
      if (p < hosts) {
        port.set_nid(first_nid + p);
      }
    }
    const install::SessionNumber session{++last_session_};
    sessions[name] = session;
    rejected = manager->connected(session, hello);
    settle();
    return session;
  }

  /// Each of the two says that the other is at the end of its port.
  void report_cable(const std::string& a, std::uint32_t port_a, const std::string& b,
                    std::uint32_t port_b) {
    const auto says = [&](const std::string& from, std::uint32_t port, const std::string& to,
                          std::uint32_t to_port) {
      control::SwitchMessage message;
      control::Port& changed = *message.mutable_ports()->add_ports();
      changed.set_number(port);
      changed.set_name("p" + std::to_string(port));
      changed.set_up(true);
      changed.mutable_neighbour()->set_name(to);
      changed.mutable_neighbour()->set_port(to_port);
      changed.mutable_neighbour()->set_guid(wire::guid_of_name(to));
      manager->message(sessions.at(from), message);
    };
    says(a, port_a, b, port_b);
    says(b, port_b, a, port_a);
  }

  Given join(const std::string& name, std::uint32_t size, std::uint32_t rank, std::uint32_t nid,
             const rest::Caller& caller = administrator, std::uint64_t wait_ms = 1000) {
    Given given;
    rest::JoinRequest request;
    request.group = {.name = name,
                     .job = caller.administrator ? "job" : "",
                     .size = size,
                     .trees = 1,
                     .root_rank = std::nullopt};
    request.rank = rank;
    request.nid = Nid{nid};
    request.wait = std::chrono::milliseconds(wait_ms);
    manager->join_group(caller, request, given.reply());
    return given;
  }

  std::string create_job(const std::string& name) {
    Given given;
    manager->create_job(administrator, {name, std::nullopt}, given.reply());
    settle();
    return given->status == 201 ? std::string(given.body().at("sessionToken").as_string())
                                : std::string();
  }

  std::unique_ptr<Manager> manager;
  bool store_is_full = false;
  std::optional<store::Store> disk; ///< where changes go, too, when there is one
  std::size_t stored = 0;
  std::vector<std::string> log; ///< what went out, in order
  std::vector<std::pair<install::SessionNumber, control::ManagerMessage>> sent;
  std::optional<std::string> rejected;
  bool switches_answer = true;
  std::map<std::string, install::SessionNumber> sessions; ///< by switch

private:
  void start() {
    manager = std::make_unique<Manager>(
        settings_, static_cast<Surroundings&>(*this),
        [this](std::span<std::byte> bytes) {
          for (std::byte& b : bytes) {
            b = static_cast<std::byte>(++random_ * 37);
          }
        },
        store::Snapshot{});
    settle();
  }

  void answer_for_switches() {
    if (!switches_answer) {
      return;
    }
    for (const auto& [session, message] : std::exchange(sent, {})) {
      control::SwitchMessage answer;
      if (message.has_prepare()) {
        answer.mutable_prepared()->set_transaction(message.prepare().transaction());
      } else if (message.has_commit()) {
        answer.mutable_committed()->set_transaction(message.commit().transaction());
        answer.mutable_committed()->set_version(++version_);
      } else {
        continue;
      }
      manager->message(session, answer);
    }
  }

  Settings settings_;
  TimeNs now_{1'000'000'000};
  bool settle_requested_ = false;
  std::uint64_t last_session_ = 0;
  std::uint64_t version_ = 1;
  unsigned random_ = 0;
};

} // namespace tributary::manager
