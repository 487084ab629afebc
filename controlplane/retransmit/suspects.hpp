// Suspected switches: they report no fault, but hosts behind them that are up are quarantined for
// all.
//
//   none      -> suspect    `peers` hosts behind it are quarantined
//   suspect   -> none       fewer are
//
// A suspicion on its own is only reported. Where it cuts off no working host, because all hosts
// behind the switch that are up are quarantined, routes and trees avoid the switch, as if it were
// drained. But then no probe arrives, either: so after `hold` it is tried again, for `trial`, and
// avoided for twice the time if that does not help.
//
// Pure. Switches are identified by name, as for draining.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::retransmit {

struct SuspectSettings {
  std::size_t peers = 3;
  std::uint64_t hold_ns = 30 * ns_per_second;
  std::uint64_t longest_hold_ns = 600 * ns_per_second;
  std::uint64_t trial_ns = 20 * ns_per_second;
  friend bool operator==(const SuspectSettings&, const SuspectSettings&) = default;
};

/// Hosts behind one switch that are up.
struct Behind {
  std::size_t quarantined = 0; ///< for all, by reports of hosts
  std::size_t others = 0;
  friend bool operator==(const Behind&, const Behind&) = default;
};

struct Suspect {
  Behind behind;
  TimeNs since;
  bool avoided = false;
  std::uint64_t hold_ns = 0; ///< length of the last avoidance
  TimeNs until = never;      ///< end of the avoidance, or of the trial
};

struct SuspectChange {
  enum class Kind : std::uint8_t { suspected, avoided, tried_again, cleared };
  Kind kind{};
  std::string at; ///< the switch
  Behind behind{};
};

class Suspects {
public:
  explicit Suspects(const SuspectSettings& settings) : settings_(settings) {}

  /// All switches with quarantined hosts behind them.
  void update(const std::map<std::string, Behind>& behind, TimeNs now);
  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const;
  void reconfigure(const SuspectSettings& settings, TimeNs now);

  [[nodiscard]] std::vector<SuspectChange> take_changes() { return std::exchange(changes_, {}); }
  [[nodiscard]] std::set<std::string> avoided() const;
  [[nodiscard]] const std::map<std::string, Suspect>& all() const { return suspects_; }

private:
  void avoid(const std::string& at, Suspect& suspect, TimeNs now);

  SuspectSettings settings_;
  std::map<std::string, Suspect> suspects_;
  std::map<std::string, Behind> behind_;
  std::vector<SuspectChange> changes_;
};

} // namespace tributary::retransmit
