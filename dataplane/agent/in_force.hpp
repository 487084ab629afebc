// A switch's state in force: the file's part, the changes the manager has committed, and the worker
// snapshots that follow from both.
//
// A snapshot is made from the previous one by the changes since, so that a thousand small commits a
// second cost a thousand small changes; only a reload builds one from scratch.
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

  /// Why a change is invalid, with the offending number; "" if it is valid. The state it asks for
  /// may be in force already.
  [[nodiscard]] std::string problem_with(const control::Change& change) const;
  /// Why slot memory has no room for these changes in addition to everything in force and to
  /// `others`, which are prepared; with the numbers. "" if it has. Requires changes that
  /// `problem_with` accepts.
  [[nodiscard]] std::string
  lack_of_room(const control::Prepare& wanted,
               const std::map<std::uint64_t, control::Prepare>& others) const;
  /// Requires a change that `problem_with` accepts.
  void apply(const control::Change& change);

  /// Longest payload of the trees with wide frames, in bytes; 0 if the switch has no slot memory.
  [[nodiscard]] std::uint32_t longest_wide_payload() const;

  /// Why a configuration of the same ports cannot replace the file's now, "" if it can.
  [[nodiscard]] std::string problem_with(const config::Switch& file) const;
  /// Returns whether the trees of the file changed.
  bool replace_file(config::Switch file);

  /// Whether something has changed since the newest snapshot.
  [[nodiscard]] bool dirty() const {
    return rebuild_ || changed_routes_ || !changed_trees_.empty() || changed_ports_.size() > 0;
  }
  /// Version of the newest snapshot; 0 before the first.
  [[nodiscard]] std::uint64_t version() const {
    return newest_ == nullptr ? 0 : newest_->version();
  }
  /// The next snapshot. Requires `dirty()`.
  [[nodiscard]] std::shared_ptr<const core::Tables> make_snapshot();

  /// The state in force, without the version.
  [[nodiscard]] control::InForce describe() const;
  [[nodiscard]] std::size_t tree_count_of_manager() const { return trees_.size(); }
  [[nodiscard]] std::size_t permission_count() const;
  /// The manager's routes; null if it sent none.
  [[nodiscard]] const forwarding_table::Routes* routes() const { return routes_.get(); }

private:
  /// A tree installed by the manager.
  struct Tree {
    ContributionCount wait_count = 0;
    PortNumber parent = no_port;
    PortSet children;
    core::SlotDemand slots; ///< for wide frames
    bool shared = false;
    friend bool operator==(const Tree&, const Tree&) = default;
  };

  [[nodiscard]] std::string problem_with(const control::Permission& permission) const;
  [[nodiscard]] std::string problem_with_frames(const control::Tree& tree) const;
  /// Requires that port and VNI exist.
  [[nodiscard]] std::string problem_with_guard(const control::Permission& permission) const;
  void set_tree(const control::Tree& tree);
  void set_routes(const control::Routes& message);
  void permit(const control::Permission& permission);
  void revoke(const control::Permission& permission);
  /// `out` false: lets the VNI in again.
  void keep_out(PortNumber port, std::uint32_t vni, bool out);
  /// The inputs of a port's tables, without the properties of its VNIs.
  struct Access {
    std::optional<Nid> guard;
    bool lists = false; ///< only VNIs on a list may enter
    friend bool operator==(const Access&, const Access&) = default;
  };
  [[nodiscard]] Access access_of(PortNumber port) const;
  /// The NID of the port's permissions; none if no permission has one.
  [[nodiscard]] std::optional<Nid> permitted_nid(PortNumber port) const;
  /// The port's guard: the file's, otherwise that of its permissions.
  [[nodiscard]] std::optional<Nid> guard_of(PortNumber port) const;
  /// Whether one of its permissions closes it to all other VNIs.
  [[nodiscard]] bool is_closed(PortNumber port) const;
  /// The file's list and the permissions. If the file lets all VNIs in and no permission closes the
  /// port: all but those kept out; null if none is kept out.
  [[nodiscard]] std::shared_ptr<const core::VniSet> vnis_of(PortNumber port) const;
  static void add_tree(core::TablesBuilder& builder, TreeNumber number, const Tree& tree);
  [[nodiscard]] std::shared_ptr<const core::Tables> build_all(std::uint64_t version) const;
  [[nodiscard]] std::shared_ptr<const core::Tables> build_changed(std::uint64_t version) const;

  config::Switch file_;
  std::bitset<max_trees> of_file_;
  std::map<TreeNumber, Tree> trees_;
  struct Permitted {
    std::optional<Nid> nid; ///< source guard that the permission sets
    bool closes = false;
  };
  /// Per port, by VNI.
  std::vector<std::map<std::uint16_t, Permitted>> permitted_;
  /// VNIs of permissions that closed an open port and were revoked, until they are permitted again.
  std::map<PortNumber, core::VniSet> kept_out_;
  std::shared_ptr<const forwarding_table::Routes> routes_;
  std::uint64_t routes_digest_ = 0;

  std::shared_ptr<const core::Tables> newest_;
  bool rebuild_ = true;
  std::set<TreeNumber> changed_trees_; ///< since the newest snapshot
  std::set<TreeNumber> changed_flags_; ///< trees that are shared since then, or no more
  PortSet changed_ports_;              ///< whose permissions changed
  bool changed_routes_ = false;
};

} // namespace tributary::agent
