// Peers that transfers fail with: which hosts report it, when no new transfers with them are
// started, and how their recovery is detected.
//
//   healthy -> failing         a host has reported that its transfers with the peer fail
//   failing -> healthy         no report for a window
//   failing -> quarantined     too many failures: for the host that has them, or for all
//   quarantined -> probing     time for a probe; one of the reporters is asked to send it
//   probing -> healthy         the peer has answered, and no other host reports failures with it
//   probing -> quarantined     it has not: the next probe follows after twice the time
//
// A report has limited weight. One host's reports quarantine a peer for that host alone; a peer is
// quarantined for all when `reporters` hosts, at different places (switch ports), report it, with
// `failures` in total. A host that reports more than `most_reported` peers is faulty itself, or
// lies: its further reports count for itself alone. Reports per window are limited, too. So a
// single liar harms only itself, and a flood costs a counter.
//
// Jobs and VNIs are isolated: a report on a peer in one VNI applies to that VNI, and reports with a
// job's token apply to that job. Reports of the administrator's hosts apply to all.
//
// Memory is bounded: `capacity` peers, eight reporters each. A job uses at most as many as are
// free, so that some are left for the next one; reports beyond that are only counted. When all are
// in use, the peer that failed first and is not quarantined is replaced. Pure.
#pragma once

#include "controlplane/retransmit/exception_log.hpp"
#include "tributary/types.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::retransmit {

struct QuarantineSettings {
  bool enabled = true;
  std::uint64_t window_ns = 30 * ns_per_second;
  /// Within a window. An abandoned transfer counts as two, a delayed one as one.
  std::uint32_t failures = 4;
  std::uint32_t reporters = 2;
  std::uint32_t most_reported = 8;
  std::uint64_t first_probe_ns = 1 * ns_per_second;
  std::uint64_t longest_probe_ns = 60 * ns_per_second;
  /// Time limit for the result of a probe.
  std::uint64_t probe_limit_ns = 15 * ns_per_second;
  /// Limits for one host: exceptions in a window, and peers that it reports.
  std::uint32_t most_of_a_host = 256;
  std::size_t capacity = 16'384;
  friend bool operator==(const QuarantineSettings&, const QuarantineSettings&) = default;
};

struct PeerId {
  Nid nid;
  Vni vni;
  std::string job{}; ///< the job of the reporter's token; "": the administrator's
  friend constexpr auto operator<=>(const PeerId&, const PeerId&) = default;
};

/// A reporter and its switch port; reporters at one place count once.
struct Reporter {
  Nid nid;
  std::uint64_t place = 0;
  std::string job{}; ///< the job of its token; "": the administrator's
};
/// Scope of a list of quarantined peers: a VNI, and a job or "", all jobs.
using QuarantineScope = std::pair<Vni, std::string>;

enum class PeerState : std::uint8_t { failing, quarantined, probing };
[[nodiscard]] std::string_view name_of(PeerState state);

struct Reporting {
  Nid nid;
  std::uint64_t place = 0;
  std::uint32_t failures = 0; ///< since `first`, capped at the number that quarantines
  std::uint32_t silent = 0;   ///< probe requests that it did not answer
  TimeNs first{};
  TimeNs last{};
  bool counts = false;      ///< whether it counts for other hosts, too
  bool quarantined = false; ///< whether the peer is quarantined for this host
};

struct FailingPeer {
  PeerState state = PeerState::failing;
  bool for_all = false;
  bool was_for_all = false; ///< since it was quarantined
  bool by_operator = false;
  std::vector<Reporting> reportings;
  TimeNs since;            ///< when it was quarantined, or began to fail
  TimeNs probe_at = never; ///< while quarantined
  std::uint64_t back_off_ns = 0;
  std::optional<Nid> prober;
  std::uint64_t probes = 0; ///< unanswered ones since it was quarantined
  TimeNs deadline = never;  ///< when `poll` has to check it
};

/// How an exception was counted; the text is for listings.
// clang-format off
#define TRIBUTARY_RETRANSMIT_OUTCOMES(X)                                                              \
  X(counted,      "counted against the peer")                                                      \
  X(noted,        "no failure: counted by cause alone")                                            \
  X(about_itself, "refused: a host about itself")                                                  \
  X(foreign,      "refused: not a host of the job, or in a VNI that the report does not name")     \
  X(flooded,      "refused: more of one host than a window allows")                                \
  X(no_room,      "refused: the table of failing peers is full")
// clang-format on
enum class ReportOutcome : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_RETRANSMIT_OUTCOMES(TRIBUTARY_X)
#undef TRIBUTARY_X
};
[[nodiscard]] std::string_view name_of(ReportOutcome heard);
inline constexpr std::size_t report_outcomes = static_cast<std::size_t>(ReportOutcome::no_room) + 1;

struct PeerChange {
  enum class Kind : std::uint8_t { quarantined_for_one, quarantined_for_all, released };
  Kind kind{};
  PeerId peer{};
  std::optional<Nid> reporter{}; ///< quarantined_for_one
  std::string_view why{};        ///< a literal
  bool was_for_all = false;      ///< released: it was quarantined for all at some time
};

class PeerTable {
public:
  static constexpr std::size_t most_reporters = 8;
  /// After this many unanswered probe requests a host is not asked any more.
  static constexpr std::uint32_t most_silent = 3;

  /// Versions are above `version`.
  explicit PeerTable(const QuarantineSettings& settings, std::uint64_t version = 0)
      : settings_(settings), version_(version + 1) {}

  // Only `report` uses the place of a reporter. Peers belong to the reporter's job, whatever job is
  // named with them.

  /// `times`: number of exceptions since the host's last report.
  ReportOutcome report(const Reporter& reporter, const PeerId& peer, Cause cause,
                       std::uint32_t times, TimeNs now);
  /// For a peer that the reporter may not report.
  ReportOutcome refuse() { return count(ReportOutcome::foreign); }
  /// The peers that this host has to probe now; it has to report the results.
  [[nodiscard]] std::vector<PeerId> ask_to_probe(const Reporter& reporter, std::size_t most,
                                                 TimeNs now);
  /// The result of a probe that the host was asked for; others are ignored.
  void probed(const Reporter& reporter, const PeerId& peer, bool answered, TimeNs now);
  /// Whether it reports a quarantined peer: it may be asked to probe soon.
  [[nodiscard]] bool is_awaited(const Reporter& reporter) const;
  /// For all jobs, until `release`; it is not probed. False if the table is full.
  bool quarantine(const PeerId& peer, TimeNs now);
  /// Drops all reports on the peer, of every job. False if it was not quarantined.
  bool release(const PeerId& peer);
  /// Has the matching peers that are quarantined for all probed immediately, for example behind a
  /// switch that is on trial.
  template <typename F> void probe_soon(F&& matches, TimeNs now) {
    for (auto& [scope, nids] : quarantined_for_all_) {
      for (const Nid nid : nids) {
        if (matches(nid)) {
          hasten({nid, scope.first, scope.second}, now);
        }
      }
    }
  }
  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const {
    return deadlines_.empty() ? never : deadlines_.begin()->first;
  }
  void reconfigure(const QuarantineSettings& settings, TimeNs now);

  [[nodiscard]] std::vector<PeerChange> take_changes() { return std::exchange(changes_, {}); }
  /// Rises with every change of the peers that are quarantined for any host.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Peers quarantined for this host, in the reporter's job, in a VNI; ascending, at most `most`.
  [[nodiscard]] std::vector<Nid> quarantined_for(const Reporter& host, Vni vni,
                                                 std::size_t most) const;
  [[nodiscard]] const std::map<PeerId, FailingPeer>& peers() const { return peers_; }
  [[nodiscard]] const FailingPeer* find(const PeerId& peer) const;
  /// Peers quarantined for all hosts of a scope.
  [[nodiscard]] const std::map<QuarantineScope, std::set<Nid>>& quarantined_for_all() const {
    return quarantined_for_all_;
  }
  [[nodiscard]] std::size_t quarantined() const { return quarantined_; }
  [[nodiscard]] const std::array<std::uint64_t, report_outcomes>& heard() const { return heard_; }
  [[nodiscard]] const QuarantineSettings& settings() const { return settings_; }
  /// Number of hosts, with each job, that have a record.
  [[nodiscard]] std::size_t reporters() const { return reporters_.size(); }

private:
  using AccountId = std::pair<Nid, std::string>; ///< with its job
  /// State of a host that reports.
  struct Account {
    TimeNs window_began;
    std::uint32_t heard = 0; ///< exceptions since then
    std::set<PeerId> reported;
  };
  using Entry = std::map<PeerId, FailingPeer>::iterator;

  ReportOutcome count(ReportOutcome heard) {
    ++heard_[static_cast<std::size_t>(heard)];
    return heard;
  }
  [[nodiscard]] bool has_allowance(Account& account, std::uint32_t times, TimeNs now) const;
  [[nodiscard]] Entry find_or_add(const PeerId& peer, TimeNs now);
  Reporting* reporting_of(Entry entry, const Reporter& reporter, TimeNs now);
  void drop_reporting(Entry entry, std::size_t i);
  void decide(Entry entry, TimeNs now);
  void begin_quarantine(Entry entry, TimeNs now);
  void set_for_all(Entry entry, bool for_all);
  void probe_failed(Entry entry, TimeNs now);
  void hasten(const PeerId& peer, TimeNs now);
  void set_deadline(Entry entry, TimeNs at);
  void look_at(Entry entry, TimeNs now);
  void erase(Entry entry, std::string_view why);
  void forget_idle(TimeNs now);

  QuarantineSettings settings_;
  std::map<PeerId, FailingPeer> peers_;
  std::set<std::pair<TimeNs, PeerId>> deadlines_;
  std::set<std::pair<TimeNs, PeerId>> failing_; ///< by start
  std::map<QuarantineScope, std::set<Nid>> quarantined_for_all_;
  std::map<std::string, std::size_t> peers_of_; ///< by job
  std::map<AccountId, Account> reporters_;
  std::set<std::pair<TimeNs, AccountId>> windows_; ///< of reporters, by start
  std::size_t quarantined_ = 0;
  std::uint64_t version_;
  std::vector<PeerChange> changes_;
  std::array<std::uint64_t, report_outcomes> heard_{};
};

} // namespace tributary::retransmit
