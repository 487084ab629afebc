// Which job has which VNI: given out one a job, or brought by the caller.
//
// A VNI is what keeps one job's frames out of another's groups, so no two jobs have one in common,
// whether it was given out or brought. A job holds a VNI as often as it claimed it (once for
// itself, once for each group that brings it) and has lost it when it has released it as often.
//
// A process of a job that was deleted may live on, stopped for a while. So a VNI that a job lost
// is in quarantine for `quarantine_ns`, in which no other job gets it; then it is given out after
// all others that were not used for longer. The administrator may bring one all the same.
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
  /// Gives out `first` to `last`; any may be brought.
  VniTable(Vni first, Vni last) : pool_(first.value, last.value) {}

  /// A job has lost it. Later ones have a higher number.
  struct Release {
    Vni vni;
    std::uint64_t number = 0;
  };

  /// From the next release on.
  void set_quarantine(std::uint64_t quarantine_ns) { quarantine_ns_ = quarantine_ns; }

  /// The VNI that no job has had for the longest time, claimed once.
  std::optional<Vni> give_out(const std::string& job);
  /// False when another job has it.
  bool claim(Vni vni, const std::string& job);
  /// When the job has lost it with that, its quarantine begins.
  std::optional<Release> release(Vni vni, TimeNs now);
  /// The job is over: whoever has its name later is another one.
  void forget(const std::string& job);

  /// "" when nobody has it.
  [[nodiscard]] std::string_view holder(Vni vni) const;
  /// When the quarantine ends in which it is for this job; nothing: it is in none.
  [[nodiscard]] std::optional<TimeNs> quarantined(Vni vni, std::string_view job) const;
  /// How many are in quarantine, and when the first of those that are given out is over; `never`.
  [[nodiscard]] std::size_t quarantined() const { return quarantine_.size(); }
  [[nodiscard]] TimeNs next_free() const;

  /// After a restart, of one that nobody has, by rising numbers. A quarantine begins again.
  void restore(const Release& release, bool in_quarantine, TimeNs now);
  /// Ends quarantines; answers those that are over.
  [[nodiscard]] std::vector<Release> poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const { return ends_.next(); }

  /// Quarantines that begin from here on may be taken back, until the next call.
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
    std::string job; ///< that has had it and lives: it may have it again
    TimeNs end;
    std::uint64_t release = 0; ///< its number
  };
  std::map<Vni, Held> held_;
  std::map<Vni, Quarantine> quarantine_;
  DeadlineQueue<Vni> ends_; ///< of those
  NumberPool pool_;         ///< what is held or in quarantine is taken
  std::uint64_t quarantine_ns_ = 0;
  std::uint64_t releases_ = 0;
  bool notes_ = false;
  std::map<Vni, std::optional<Quarantine>> before_; ///< of those that changed since
};

} // namespace tributary::group
