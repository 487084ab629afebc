// The C API of the host library, answered by the test in place of libtributary: it knows what was
// called, and sends nothing. Groups that are joined by name stand for the fabric manager's, those
// that are joined with a range of ids for contexts.
//
//   FakeFabric fabric;                    before what calls it; one at a time
//   fabric.answer("g", TRIBUTARY_ERR_MANAGER_REFUSED);   the next one that joins g
//   fabric.move("g", 9);                  the manager moves it to tree 9
//   fabric.left()                         the names of the groups that were left
//
// Its functions may be called on any thread.
#pragma once

#include "tributary/tributary.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

struct tributary_host {};

struct tributary_request {
  tributary_group* group = nullptr;
};

struct tributary_group {
  std::string name; ///< "": with a range of ids
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  tributary_group_options options{};
  tributary_membership is{};
  int code = TRIBUTARY_OK; ///< of tributary_check
  bool is_abandoned = false;
  tributary_request request{};
};

namespace tributary::mpi::intra_node::test {

class FakeFabric {
public:
  FakeFabric();
  FakeFabric(const FakeFabric&) = delete;
  FakeFabric& operator=(const FakeFabric&) = delete;
  ~FakeFabric();
  /// The one that exists.
  static FakeFabric& current();

  // ---- the fabric manager ----

  struct Member {
    std::string name;
    std::uint32_t rank;
    std::uint32_t size;
    std::uint32_t ids; ///< of the options
  };
  /// The answer to the next process that joins the group; further ones follow.
  void answer(const std::string& name, int code);
  /// From here on joining blocks, until `release`.
  void hold();
  void release();
  void move(const std::string& name, std::uint32_t tree, std::uint32_t slots = 128);
  /// From now on tributary_check returns it.
  void check_returns(const std::string& name, int code);
  /// All that have joined so far.
  [[nodiscard]] std::vector<Member> joined() const;
  [[nodiscard]] std::vector<std::string> left() const;

  // ---- groups with a range of ids ----

  /// The answers to tributary_join, the ..._start functions, tributary_wait, tributary_move and
  /// tributary_keep_ids, in this order; where there is none, TRIBUTARY_OK.
  std::deque<int> joins;
  std::deque<int> starts;
  std::deque<int> waits;
  std::deque<int> moves;
  std::deque<int> keeps;
  /// The options of those that are joined now, with the ids that they have kept.
  [[nodiscard]] std::vector<tributary_group_options> ranges() const;
  /// The trees to which tributary_move was asked to lead a group, whatever the answer.
  [[nodiscard]] std::vector<std::uint32_t> asked_moves() const;
  /// Number of groups that were abandoned before they were left with a request.
  [[nodiscard]] int abandoned() const;

  // ---- for the functions of the C API ----

  int open(tributary_host** host);
  void close(tributary_host* host);
  int join_named(const tributary_named_group_options& options, tributary_group** group);
  int join(const tributary_group_options& options, tributary_group** group);
  int leave(tributary_group* group);
  int check(tributary_group* group);
  int membership(const tributary_group* group, tributary_membership* is);
  int start(tributary_group* group, tributary_request** request);
  int wait(tributary_request** request);
  int move(tributary_group* group, const tributary_group_options& options);
  int keep_ids(tributary_group* group, std::uint32_t ids);
  int abandon(tributary_group* group);

private:
  /// Requires the mutex.
  static int next(std::deque<int>& answers);
  [[nodiscard]] tributary_group* find(const std::string& name);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  std::map<std::string, std::deque<int>> answers_;
  std::vector<Member> joined_;
  std::vector<std::string> left_;
  std::vector<std::unique_ptr<tributary_group>> groups_;
  std::set<tributary_host*> hosts_;
  std::vector<std::uint32_t> asked_moves_;
  int abandoned_ = 0;
};

} // namespace tributary::mpi::intra_node::test
