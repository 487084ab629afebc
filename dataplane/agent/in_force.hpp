// What a switch has in force: what its file says, what the manager has committed, and the
// snapshots for the workers that follow from both.
//
// A snapshot is made from the one before by what has changed since, so that a thousand small
// commits a second cost a thousand small changes; only a reload builds one from the ground.
//
// Pure; belongs to one Agent.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/core/slot_dealer.hpp"
#include "dataplane/core/tables.hpp"
#include "dataplane/forwarding_table/routes.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::agent {

class InForce {
public:
  /// Throws std::invalid_argument when the file's tables do not build.
  explicit InForce(config::Switch file);

  [[nodiscard]] const config::Switch& file() const { return file_; }

  /// Why a change cannot be, with the number it is about; "" when it can. What it says may be in
  /// force already.
  [[nodiscard]] std::string problem_with(const control::Change& change) const;
  /// Why slot memory has no room for what these changes want in it, beside all that is in force and
  /// that `others`, which are prepared, may want; with the numbers. "" when it has. Of changes that
  /// `problem_with` has nothing against.
  [[nodiscard]] std::string
  lack_of_room(const control::Prepare& wanted,
               const std::map<std::uint64_t, control::Prepare>& others) const;
  /// A change that `problem_with` has nothing against.
  void apply(const control::Change& change);

  /// Of trees with wide frames; 0 where there can be none.
  [[nodiscard]] std::uint32_t longest_wide_payload() const;

  /// Why a configuration of the same ports cannot replace the file's now, "" when it can.
  [[nodiscard]] std::string problem_with(const config::Switch& file) const;
  /// Says whether the trees of the file are others now.
  bool replace_file(config::Switch file);

  /// Whether something has changed since the newest snapshot.
  [[nodiscard]] bool dirty() const {
    return rebuild_ || changed_routes_ || !changed_trees_.empty() || changed_ports_.size() > 0;
  }
  /// Of the newest snapshot; 0 before the first.
  [[nodiscard]] std::uint64_t version() const {
    return newest_ == nullptr ? 0 : newest_->version();
  }
  /// The next snapshot. Only when there is something dirty.
  [[nodiscard]] std::shared_ptr<const core::Tables> make_snapshot();

  /// Without the version.
  [[nodiscard]] control::InForce describe() const;
  [[nodiscard]] std::size_t tree_count_of_manager() const { return trees_.size(); }
  [[nodiscard]] std::size_t permission_count() const;
  /// The manager's; null when there are none.
  [[nodiscard]] const forwarding_table::Routes* routes() const { return routes_.get(); }

private:
  /// A tree of the manager's.
  struct Tree {
    ContributionCount wait_count = 0;
    PortNumber parent = no_port;
    PortSet children;
    core::SlotDemand slots; ///< for wide frames
    friend bool operator==(const Tree&, const Tree&) = default;
  };

  [[nodiscard]] std::string problem_with(const control::Permission& permission) const;
  [[nodiscard]] std::string problem_with_frames(const control::Tree& tree) const;
  /// Of one whose port and VNI exist.
  [[nodiscard]] std::string problem_with_guard(const control::Permission& permission) const;
  void set_tree(const control::Tree& tree);
  void set_routes(const control::Routes& message);
  void permit(const control::Permission& permission);
  void revoke(const control::Permission& permission);
  /// Or no longer.
  void keep_out(PortNumber port, std::uint32_t vni, bool out);
  /// What a port's tables follow from, but for what its VNIs are.
  struct Access {
    std::optional<Nid> guard;
    bool lists = false; ///< only VNIs of a list enter
    friend bool operator==(const Access&, const Access&) = default;
  };
  [[nodiscard]] Access access_of(PortNumber port) const;
  /// The NID of the permissions of a port; none when none of them has one.
  [[nodiscard]] std::optional<Nid> permitted_nid(PortNumber port) const;
  /// Of the port: the file's, and else that of its permissions.
  [[nodiscard]] std::optional<Nid> guard_of(PortNumber port) const;
  /// Whether one of its permissions closes it to all other VNIs.
  [[nodiscard]] bool is_closed(PortNumber port) const;
  /// The file's list and the permissions. Where the file lets all in and no permission closes
  /// the port: all but what is kept out; null when that is none.
  [[nodiscard]] std::shared_ptr<const core::VniSet> vnis_of(PortNumber port) const;
  [[nodiscard]] std::shared_ptr<const core::Tables> build_anew(std::uint64_t version) const;
  [[nodiscard]] std::shared_ptr<const core::Tables> build_changed(std::uint64_t version) const;

  config::Switch file_;
  std::bitset<max_trees> of_file_;
  std::map<TreeNumber, Tree> trees_;
  struct Permitted {
    std::optional<Nid> nid; ///< that the permission guards the port for
    bool closes = false;
  };
  /// By port and VNI.
  std::vector<std::map<std::uint16_t, Permitted>> permitted_;
  /// VNIs of permissions that closed an open port and were revoked, until they are permitted again.
  std::map<PortNumber, core::VniSet> kept_out_;
  std::shared_ptr<const forwarding_table::Routes> routes_;
  std::uint64_t routes_digest_ = 0;

  std::shared_ptr<const core::Tables> newest_;
  bool rebuild_ = true;
  std::set<TreeNumber> changed_trees_; ///< since the newest snapshot
  PortSet changed_ports_;              ///< whose permissions changed
  bool changed_routes_ = false;
};

} // namespace tributary::agent
