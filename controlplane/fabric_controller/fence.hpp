// Whether this manager may manage the switches that connect, and the operator's agreement where it
// may not.
//
//   a switch has accepted     then
//   no manager yet            it is accepted
//   this fabric, no newer     it is accepted, and gets this manager's epoch with Welcome
//   another fabric            it is rejected, and nothing changes there. `adopt` that fabric: it is
//                             accepted from then on, up to the epoch that was met
//   this fabric, newer        this manager is superseded: it runs on a back-up, or was replaced. It
//                             rejects every switch, answers changes with 503, and its time stands
//                             still, so that no lease ends. That stays so after a restart, until
//                             the operator stops it, or lets it lead: `adopt` its own fabric, which
//                             raises its epoch above the one that was met
//   the same epoch, of        the same: one of both runs on a copy of the other's store
//   another start
//
// The rules of comparison are in tributary/leader.hpp, the switch's part in dataplane/agent. What
// is agreed or met is in effect when it is on disk.
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/records/records.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/store_writer.hpp"
#include "tributary/control.pb.h"
#include "tributary/leader.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabric_controller {

class Fence final : public turns::Controller {
public:
  struct Rooms {
    turns::Environment& environment;
    turns::ManagerClock& clock;
    turns::StoreWriter& store;
    turns::Events& events;
  };
  /// A newer epoch that is further ahead than this is not believed: no site has had that many
  /// starts.
  static constexpr std::uint32_t most_ahead = 1U << 20U;

  /// `boot`: random; 0 if the epoch of this start is not stored.
  Fence(const Rooms& rooms, std::uint64_t boot, const records::Snapshot& past);

  // ---- switches ----

  /// Why this switch may not connect; nothing when it may. May supersede this manager.
  [[nodiscard]] std::optional<std::string> refuse(const control::SwitchHello& hello);
  /// Adds to the Welcome of a switch that may connect.
  void complete(const control::SwitchHello& hello, control::Welcome& welcome) const;

  // ---- state ----

  [[nodiscard]] const Leader& own() const { return own_; }
  [[nodiscard]] bool is_superseded() const { return superseded_by_ != 0; }
  /// Why nothing may be changed by this manager, and what to do; "" when it leads.
  [[nodiscard]] const std::string& superseded_because() const { return because_; }
  /// The answer to requests for changes while it is superseded.
  [[nodiscard]] api::Answer refusal() const;

  /// Switches that were rejected lately because they belong to another fabric.
  struct OtherFabric {
    std::uint32_t epoch = 0; ///< the newest one that was met
    std::set<std::string> switches;
  };
  [[nodiscard]] std::map<std::uint64_t, OtherFabric> other_fabrics() const;
  /// Number of those switches.
  [[nodiscard]] std::size_t others() const;
  /// Sentences for the operator: what is wrong, and what to do.
  [[nodiscard]] std::vector<std::string> problems() const;
  /// For GET /api/v1/managers: this manager, of that name, and those that stand by.
  [[nodiscard]] boost::json::object view(std::string_view name,
                                         const std::vector<api::StandbyPlace>& standbys) const;

  // ---- the operator ----

  /// Lets this manager take the switches of that fabric over; its own fabric: lead although it was
  /// superseded. Answered when it is in effect.
  void adopt(std::uint64_t fabric, api::Reply reply);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "fence"; }
  void conclude(const turns::Turn& turn) override;
  void finish(const turns::Turn& turn) override;

private:
  struct Met {
    Leader leader; ///< that the switch has accepted
    TimeNs at{};
  };
  struct Agreement {
    std::uint64_t fabric = 0;
    std::uint32_t epoch = 0;   ///< of this manager from then on
    std::uint32_t adopted = 0; ///< the newest epoch of another fabric that is meant
    api::Reply reply;          ///< null once answered
    bool is_written = false;   ///< handed over to the store
  };
  [[nodiscard]] bool is_current(const Met& met) const;
  /// Whether a switch that has accepted this manager, or a newer one of its fabric, was met lately.
  [[nodiscard]] bool is_known(const Leader& seen) const;
  std::string refuse_other(const std::string& at, const Leader& seen);
  std::string supersede(const std::string& at, const Leader& seen);
  void take_effect(const Agreement& agreement);

  Rooms rooms_;
  Leader own_;
  std::map<std::uint64_t, std::uint32_t> adopted_; ///< by fabric: the newest epoch
  std::uint32_t superseded_by_ = 0;                ///< epoch; 0: it leads
  std::string because_;
  bool to_store_ = false;             ///< that it was superseded
  std::map<std::string, Met> others_; ///< by switch: those of other fabrics
  std::vector<Agreement> agreements_; ///< not yet in effect
};

} // namespace tributary::fabric_controller
