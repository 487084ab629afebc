// Who may have how many of a server's connections. Pure.
//
//   const auto admission = shares.admit(id, "10.1.2.3");    a connection comes
//   if (admission.to_close) ...                             another one goes for it
//   shares.belongs_to(id, "job red");                       its request has shown whose it is
//   shares.works(id); ... shares.rests(id);                 a request; between two requests
//   shares.remove(id);
//
// As long as there is room, everybody may have as many as they like. When there is none, a new one
// takes the place of one of those who have most: of one that rests, the longest first, and only
// where they have more than the new one's, of one at work. What a job's token was shown on weighs a
// quarter of what is only known by its address, and a job is left its last one. So neither few
// addresses nor callers without a token shut out anybody, and a job that floods loses its own.
//
// Each step costs the logarithm of the number of callers.
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
    std::optional<Id> to_close{}; ///< is counted no more
  };
  /// By its address; it rests. `is_full`: there is no room, for other reasons than their number.
  [[nodiscard]] Admission admit(Id connection, const std::string& address, bool is_full = false);
  /// A job, where `is_job`; otherwise an address. Nothing for one that is not counted.
  void belongs_to(Id connection, const std::string& caller, bool is_job);
  void works(Id connection);
  void rests(Id connection);
  void remove(Id connection);
  [[nodiscard]] std::size_t count() const { return connections_.size(); }

private:
  struct Caller {
    bool is_job = false;
    std::list<Id> resting; ///< the longest first
    std::list<Id> working;
    std::uint64_t since = 0; ///< that it has so many
    [[nodiscard]] std::size_t count() const { return resting.size() + working.size(); }
  };
  using Callers = std::map<std::string, Caller>; ///< whose iterators stay good
  struct Connection {
    Callers::iterator caller;
    std::list<Id>::iterator at;
    bool is_working = false;
  };
  /// By weight, addresses behind jobs, the longest last.
  using Rank = std::tuple<std::size_t, bool, std::uint64_t>;

  [[nodiscard]] static std::size_t weight(bool is_job, std::size_t count) {
    constexpr std::size_t of_address = 4;
    return is_job ? count : of_address * count;
  }
  [[nodiscard]] static Rank rank_of(const Caller& caller);
  /// Something is put into its lists, or taken from them.
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
