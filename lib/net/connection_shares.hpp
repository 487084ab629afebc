// Shares of a server's connections by caller. Pure.
//
//   const auto admission = shares.admit(id, "10.1.2.3");    a new connection
//   if (admission.to_close) ...                             another one is closed for it
//   shares.belongs_to(id, "job red");                       its request identified its caller
//   shares.works(id); ... shares.rests(id);                 a request; between two requests
//   shares.remove(id);
//
// As long as there is room, every caller may have any number. Otherwise a new one replaces one of
// the caller with the most: an idle one, the longest idle first, and one at work only if that
// caller has more than the new one's. Connections on which a job's token was shown weigh a quarter
// of those known only by their address, and a job keeps its last one. So neither few addresses nor
// callers without a token can shut out others, and a job that floods loses its own.
//
// Each step is logarithmic in the number of callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

namespace tributary::net {

class ConnectionShares {
public:
  using Id = std::uint64_t;
  explicit ConnectionShares(std::size_t most) : most_(most) {}

  struct Admission {
    bool is_admitted = false;
    std::optional<Id> to_close{}; ///< no longer counted
  };
  /// By its address; it is idle. `is_full`: no room, for reasons other than their number.
  [[nodiscard]] Admission admit(Id connection, const std::string& address, bool is_full = false);
  /// A job if `is_job`; otherwise an address. Ignored for a connection that is not counted.
  void belongs_to(Id connection, const std::string& caller, bool is_job);
  void works(Id connection);
  void rests(Id connection);
  void remove(Id connection);
  [[nodiscard]] std::size_t count() const { return connections_.size(); }

private:
  struct Caller {
    bool is_job = false;
    std::list<Id> resting; ///< longest idle first
    std::list<Id> working;
    std::uint64_t since = 0; ///< since when it has this many
    [[nodiscard]] std::size_t count() const { return resting.size() + working.size(); }
  };
  using Callers = std::map<std::string, Caller>; ///< iterators stay valid
  struct Connection {
    Callers::iterator caller;
    std::list<Id>::iterator at;
    bool is_working = false;
  };
  /// By weight, addresses after jobs, the longest last.
  using Rank = std::tuple<std::size_t, bool, std::uint64_t>;

  [[nodiscard]] static std::size_t weight(bool is_job, std::size_t count) {
    constexpr std::size_t of_address = 4;
    return is_job ? count : of_address * count;
  }
  [[nodiscard]] static Rank rank_of(const Caller& caller);
  /// Adds to its lists, or removes from them.
  template <typename Change> void change(Callers::iterator caller, Change make);
  [[nodiscard]] std::optional<Id> to_go_for(const std::string& address) const;
  void put(Id connection, const std::string& caller, bool is_job, bool is_working);

  std::size_t most_;
  Callers callers_;
  std::unordered_map<Id, Connection> connections_;
  std::map<Rank, Callers::iterator> ranks_;
  std::uint64_t changes_ = 0;
};

} // namespace tributary::net
