// Which armed reduction runs out next.
//
// There are only four timer lengths, and time does not run backwards: reductions armed under one
// timer end in the order they were armed. So each timer has a queue in that order, and starting,
// stopping and finding the earliest deadline all cost the same however many are armed. The links
// stand in one table by reduction key; nothing is allocated after construction.
//
// Invariants: a queue is ordered by deadline (a caller whose time jumps back costs a short walk,
// not the order); a key stands in at most one queue. Used by one worker only.
#pragma once

#include "dataplane/core/tables.hpp"
#include "dataplane/core/zeroed_table.hpp"
#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::core {

class DeadlineQueues {
public:
  DeadlineQueues();

  /// Requires that `key` is in no queue. `timer` is 0 to 3.
  void start(ReductionKey key, std::uint8_t timer, TimeNs deadline) {
    const std::uint32_t end = first_end + timer % EngineTimers::count;
    std::uint32_t after = links_[end].previous;
    std::uint32_t before = end; // without asking what was written a moment ago
    if (links_[end].deadline > deadline) [[unlikely]] {
      after = place_from(after, end, deadline);
      before = links_[after].next;
    } else {
      links_[end].deadline = deadline;
    }
    Link& link = links_[key.index()];
    link.deadline = deadline;
    link.previous = after;
    link.next = before;
    links_[after].next = key.index();
    links_[before].previous = key.index();
    started(deadline, 1);
  }
  /// Requires that `key` is in a queue.
  void stop(ReductionKey key) {
    // Field by field, as neighbours wrote them: a moment ago, where reductions are short, and then
    // the two as one would have to wait until both are in memory.
    const std::uint32_t previous = links_[key.index()].previous;
    const std::uint32_t next = links_[key.index()].next;
    links_[previous].next = next;
    links_[next].previous = previous;
    --size_;
  }

  /// Many of one timer and one deadline, started behind one another, and nothing else meanwhile: of
  /// what they have in common only the last one is written.
  class Row {
  public:
    Row() = default;
    Row(const DeadlineQueues& queues, std::uint8_t timer, TimeNs deadline)
        : end_(first_end + timer % EngineTimers::count), last_(queues.links_[end_].previous),
          deadline_(deadline) {}
    /// Whether they belong to the queue's end: time has not jumped back. Otherwise the row is of no
    /// use.
    [[nodiscard]] bool fits(const DeadlineQueues& queues) const {
      return queues.links_[end_].deadline <= deadline_;
    }
    /// Requires that the row fits, and that `key` is in no queue.
    void start(DeadlineQueues& queues, ReductionKey key) {
      Link& link = queues.links_[key.index()];
      link.deadline = deadline_;
      link.previous = last_;
      queues.links_[last_].next = key.index();
      last_ = key.index();
    }
    /// After so many, at the end of the row.
    void finish(DeadlineQueues& queues, std::size_t count) const {
      queues.links_[last_].next = end_;
      queues.links_[end_].previous = last_;
      queues.links_[end_].deadline = deadline_;
      queues.started(deadline_, count);
    }

  private:
    std::uint32_t end_ = 0;
    std::uint32_t last_ = 0;
    TimeNs deadline_;
  };

  [[nodiscard]] TimeNs deadline(ReductionKey key) const { return links_[key.index()].deadline; }
  void prefetch(ReductionKey key) const { __builtin_prefetch(&links_[key.index()], 1); }
  /// No deadline is before this one; `never` when all queues are empty. May be too early, because
  /// stopping does not look for the next one; `tighten` makes it exact.
  [[nodiscard]] TimeNs earliest() const { return size_ == 0 ? never : earliest_; }
  void tighten();
  /// Has `earliest` say that something is due at once. Requires that a key is in a queue.
  void hasten() { earliest_ = TimeNs{0}; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls `f(ReductionKey)` for each key whose deadline is at or before `now`, earliest first
  /// within one timer. `f` may stop the key it is called with, and no other.
  template <typename F> void for_each_due(TimeNs now, F&& f) {
    for (std::uint32_t end = first_end; end < first_end + EngineTimers::count; ++end) {
      for (std::uint32_t at = links_[end].next; at != end && links_[at].deadline <= now;) {
        const std::uint32_t next = links_[at].next;
        f(key_at(at));
        at = next;
      }
    }
  }
  /// Calls `f(ReductionKey)` for every key; the same freedom for `f`.
  template <typename F> void for_each(F&& f) { visit_all(*this, f); }
  template <typename F> void for_each(F&& f) const { visit_all(*this, f); }

private:
  /// One per key, and one per queue for both its ends.
  struct Link {
    TimeNs deadline; ///< of a queue's ends: the latest that was ever put at its end
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };
  static constexpr std::uint32_t first_end = all_reduction_keys;

  void started(TimeNs deadline, std::size_t count) {
    earliest_ = size_ == 0 || deadline < earliest_ ? deadline : earliest_;
    size_ += count;
  }
  [[nodiscard]] std::uint32_t place_from(std::uint32_t after, std::uint32_t end,
                                         TimeNs deadline) const;

  static ReductionKey key_at(std::uint32_t index) { return ReductionKey::from_index(index); }
  template <typename Self, typename F> static void visit_all(Self& self, F& f) {
    for (std::uint32_t end = first_end; end < first_end + EngineTimers::count; ++end) {
      for (std::uint32_t at = self.links_[end].next; at != end;) {
        const std::uint32_t next = self.links_[at].next;
        f(key_at(at));
        at = next;
      }
    }
  }

  ZeroedTable<Link> links_;
  TimeNs earliest_ = never;
  std::size_t size_ = 0;
};

} // namespace tributary::core
