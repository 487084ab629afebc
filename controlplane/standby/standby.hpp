// What a manager that does not lead answers: hosts get 421 with the leader's address, switches a
// rejection with it. It has no records, and changes nothing.
//
//   Standby standby("fm2", who_leads, manager::Manager::all_routes());
//   southbound::ChannelServer channels(io, standby, settings);
//   rest::Server rest(io, settings, standby);
//
// Clients and switches then ask the leader, if its address is among those that they were given.
// Tokens are not checked: the answer is the same for all, and reveals the leader's address only.
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/southbound/protocol/channel_sink.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::standby {

/// The manager that leads, and where it is reached.
struct LeaderPlace {
  std::string name;     ///< of its configuration
  std::string url;      ///< of its HTTP API, as clients have it in their lists
  std::string switches; ///< its address for switches, as they have it in their lists
};
/// Nothing while none leads, or it is not known.
using WhoLeads = std::function<std::optional<LeaderPlace>()>;

class Standby final : public api::Service, public southbound::protocol::ChannelSink {
public:
  /// `name`: of this manager. `routes`: of the API; they outlive it.
  Standby(std::string name, WhoLeads who_leads, std::span<const api::Route> routes)
      : name_(std::move(name)), who_leads_(std::move(who_leads)), routes_(routes) {}

  // ---- api::Service ----

  [[nodiscard]] std::span<const api::Route> routes() const override { return routes_; }
  void serve(const api::Route& route, const api::Call& call, api::Reply reply) override;
  std::optional<api::MetricsPlace> metrics(api::MetricsPlace from, std::string& text) override;
  std::string not_ready_because() override { return not_leading_because(); }
  std::string not_leading_because() override;
  std::string leader_url() override;
  std::optional<api::Answer> refuse(const api::Route& route, const api::Caller& caller) override;
  std::optional<api::Answer> refuse_events(const api::Caller& caller) override;
  std::optional<api::Answer> refuse_job_events(const api::Caller& caller,
                                               const std::string& job) override;
  /// Not called: events are refused.
  std::unique_ptr<api::EventReader> read_events(const api::Caller& caller,
                                                const api::EventsRequest& request,
                                                std::function<void()> wake) override;

  // ---- ChannelSink ----

  std::optional<std::string> connected(southbound::protocol::SessionNumber session,
                                       const control::SwitchHello& hello) override;
  /// Not called: every switch is rejected.
  void message(southbound::protocol::SessionNumber /*session*/,
               const control::SwitchMessage& /*message*/) override {}
  void lost(southbound::protocol::SessionNumber /*session*/, std::string_view /*why*/) override {}
  std::string leader_address() override;

private:
  [[nodiscard]] api::Answer misdirected();

  std::string name_;
  WhoLeads who_leads_;
  std::span<const api::Route> routes_;
};

} // namespace tributary::standby
