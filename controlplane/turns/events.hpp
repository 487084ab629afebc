// The event stream for its readers: every event with its time, its text and its severity.
//
//   events.report("switch", "switch leaf0 is connected", {{"switch", "leaf0"}});
//   events.announce("job", text, body);                                   once it is stored
//   events.report_to_jobs("tree", text, body, "tree_repaired", {"red"});  and its jobs receive it
//
// touched_jobs.hpp finds the jobs that an event affects. Pure.
#pragma once

#include "controlplane/api/event_log.hpp"
#include "controlplane/group/group.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/event_reporter.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::turns {

using JobNames = std::set<std::string>;

class Events final : public Controller {
public:
  /// `epoch`: as for api::EventLog.
  Events(Environment& environment, std::uint64_t epoch) : environment_(environment), log_(epoch) {}

  void report(std::string kind, std::string text, boost::json::object body = {},
              Severity severity = Severity::info);
  /// `code`: a literal of tributary/event_codes.hpp.
  void report_to_jobs(std::string kind, std::string text, boost::json::object body,
                      std::string_view code, const JobNames& jobs,
                      Severity severity = Severity::info);

  /// An event to send once its request is stored.
  void announce(std::string kind, std::string text, boost::json::object body) {
    announced_.push_back({std::move(kind), std::move(text), std::move(body)});
  }
  /// See api::EventLog.
  [[nodiscard]] std::unique_ptr<api::EventReader>
  read(api::EventInterest interest, std::uint64_t after, std::function<void()> wake);
  [[nodiscard]] std::uint64_t last_number() const { return log_.last_number(); }

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "events"; }
  /// Sends the announced events.
  void requests_stored() override;
  /// Drops them.
  void requests_failed(std::uint64_t /*turn*/, const api::Answer& /*error*/) override {
    announced_.clear();
  }

private:
  struct Announced {
    std::string kind;
    std::string text;
    boost::json::object body;
  };
  Environment& environment_;
  api::EventLog log_;
  std::vector<Announced> announced_;
};

} // namespace tributary::turns
