// Transfers in progress that hosts have reported, those with the most time-outs and busy answers.
// Every report of a host replaces its previous list; lists of silent hosts are dropped. Of bounded
// size. Pure.
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

struct Transfer {
  Nid peer{};
  Vni vni{};
  std::uint32_t message = 0;
  bool sends = false;        ///< true: the reporting host sends
  std::uint32_t frames = 0;  ///< N
  std::uint32_t placed = 0;  ///< of them, as far as the host knows
  std::uint32_t retries = 0; ///< time-outs in a row
  std::uint32_t busy = 0;    ///< number of busy answers of the peer
};

class Transfers {
public:
  static constexpr std::size_t most_of_a_host = 16;
  static constexpr std::size_t most = 65'536;
  static constexpr std::uint64_t memory_ns = 30 * ns_per_second;

  struct Report {
    TimeNs at;
    std::uint64_t in_progress = 0;   ///< number of all transfers of the host
    std::vector<Transfer> transfers; ///< those with the most time-outs and busy answers
  };

  /// A host, and the job with whose token it reports; "": the administrator's.
  using Host = std::pair<Nid, std::string>;

  /// Replaces the transfers of a host; they are dropped if too many hosts have some.
  void report(const Host& host, std::uint64_t in_progress, std::vector<Transfer> transfers,
              TimeNs now) {
    forget(host);
    if (transfers.size() > most_of_a_host) {
      transfers.resize(most_of_a_host);
    }
    if (in_progress == 0 && transfers.empty()) {
      return;
    }
    if (size_ + transfers.size() > most) {
      ++dropped_;
      transfers.clear();
    }
    size_ += transfers.size();
    in_progress_ += in_progress;
    by_age_.emplace(now, host);
    hosts_.emplace(host, Report{now, in_progress, std::move(transfers)});
  }
  void poll(TimeNs now) {
    while (next_deadline() <= now) {
      forget(by_age_.begin()->second);
    }
  }
  [[nodiscard]] TimeNs next_deadline() const {
    return by_age_.empty() ? never : by_age_.begin()->first + memory_ns;
  }
  [[nodiscard]] const std::map<Host, Report>& hosts() const { return hosts_; }
  [[nodiscard]] std::uint64_t in_progress() const { return in_progress_; }
  /// Reports whose transfers were dropped for want of room.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
  void forget(Host host) { // by value: it may be a key that is erased
    const auto known = hosts_.find(host);
    if (known == hosts_.end()) {
      return;
    }
    by_age_.erase({known->second.at, host});
    size_ -= known->second.transfers.size();
    in_progress_ -= known->second.in_progress;
    hosts_.erase(known);
  }

  std::map<Host, Report> hosts_;
  std::set<std::pair<TimeNs, Host>> by_age_;
  std::size_t size_ = 0;
  std::uint64_t in_progress_ = 0;
  std::uint64_t dropped_ = 0;
};

} // namespace tributary::retransmit
