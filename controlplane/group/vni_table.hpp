// Which job has which VNI: assigned to the job, or brought by the caller.
//
// A VNI keeps one job's frames out of another's groups, so no two jobs share one, whether it was
// assigned or brought. A job holds a VNI as often as it claimed it (once for itself, once for each
// group that brings it) and loses it when it has released it as often.
//
// A process of a deleted job may still run, stopped for a while. So a VNI that a job lost is in
// quarantine for `quarantine_ns`, in which no other job gets it; then it is assigned after all
// others that have been free for longer. The administrator may bring one in quarantine.
//
// Pure.
#pragma once

#include "controlplane/group/deadline_queue.hpp"
#include "controlplane/group/number_pool.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::group {

class VniTable {
public:
  /// Assigns `first` to `last`; any VNI may be brought.
  VniTable(Vni first, Vni last) : pool_(first.value, last.value) {}

  /// A job has lost it. Later ones have a higher number.
  struct Release {
    Vni vni;
    std::uint64_t number = 0;
  };

  /// Applies from the next release on.
  void set_quarantine(std::uint64_t quarantine_ns) { quarantine_ns_ = quarantine_ns; }

  /// The VNI that no job has had for the longest time, claimed once.
  std::optional<Vni> give_out(const std::string& job);
  /// False when another job has it.
  bool claim(Vni vni, const std::string& job);
  /// Returns a release, and starts a quarantine, when the job has lost it by that.
  std::optional<Release> release(Vni vni, TimeNs now);
  /// The job is over: a later job of the same name is a different one.
  void forget(const std::string& job);

  /// "" when no job has it.
  [[nodiscard]] std::string_view holder(Vni vni) const;
  /// When its quarantine ends for this job; nothing: it is not in quarantine.
  [[nodiscard]] std::optional<TimeNs> quarantined(Vni vni, std::string_view job) const;
  /// Number of VNIs in quarantine, and when the first VNI that can be assigned leaves it; `never`.
  [[nodiscard]] std::size_t quarantined() const { return quarantine_.size(); }
  [[nodiscard]] TimeNs next_free() const;

  /// After a restart, for VNIs that no job has, by rising numbers. A quarantine starts again.
  void restore(const Release& release, bool in_quarantine, TimeNs now);
  /// Ends quarantines; returns those that are over.
  [[nodiscard]] std::vector<Release> poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const { return ends_.next(); }

  /// Quarantines that begin after this call can be taken back, until the next call.
  void begin_requests(bool may_be_undone);
  /// Takes them back; claims are made again from here on, up to `end_again`.
  void begin_again();
  void end_again();

  [[nodiscard]] NumberPool& pool() { return pool_; }
  [[nodiscard]] const NumberPool& pool() const { return pool_; }

private:
  void note(Vni vni);

  struct Held {
    std::string job;
    std::uint32_t claims = 0;
  };
  struct Quarantine {
    std::string job; ///< the last holder, while it exists: it may have it again
    TimeNs end;
    std::uint64_t release = 0; ///< its number
  };
  std::map<Vni, Held> held_;
  std::map<Vni, Quarantine> quarantine_;
  DeadlineQueue<Vni> ends_; ///< of the quarantines
  NumberPool pool_;         ///< VNIs that are held or in quarantine are taken
  std::uint64_t quarantine_ns_ = 0;
  std::uint64_t releases_ = 0;
  bool notes_ = false;
  std::map<Vni, std::optional<Quarantine>> before_; ///< of the VNIs that changed since
};

} // namespace tributary::group
