// The armed reductions by deadline.
//
// There are only four timer lengths, and time does not run backwards: reductions armed under one
// timer end in the order they were armed. So each timer has a queue in that order, and starting,
// stopping and finding the earliest deadline cost the same however many are armed. The links are in
// one table by reduction key; nothing is allocated after construction.
//
// Invariants: a queue is ordered by deadline (a caller whose time jumps back costs a short walk,
// not the order); a key is in at most one queue. Used by one worker only.
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
    std::uint32_t before = end; // without reading what was written a moment ago
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
    // Field by field, as the neighbours wrote them: with short reductions that was a moment ago,
    // and a wider load would wait until both stores are in memory.
    const std::uint32_t previous = links_[key.index()].previous;
    const std::uint32_t next = links_[key.index()].next;
    links_[previous].next = next;
    links_[next].previous = previous;
    --size_;
  }

  /// Adds many entries of one timer and one deadline consecutively, without other operations in
  /// between: their common fields are written once, with the last one.
  class Row {
  public:
    Row() = default;
    Row(const DeadlineQueues& queues, std::uint8_t timer, TimeNs deadline)
        : end_(first_end + timer % EngineTimers::count), last_(queues.links_[end_].previous),
          deadline_(deadline) {}
    /// Whether they belong at the queue's end, because time has not jumped back. Otherwise the row
    /// cannot be used.
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
    /// Ends the row after `count` entries.
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
  /// Lower bound of all deadlines; `never` if all queues are empty. May be too early, because
  /// stopping does not search for the next one; `tighten` makes it exact.
  [[nodiscard]] TimeNs earliest() const { return size_ == 0 ? never : earliest_; }
  void tighten();
  /// Makes `earliest` report that something is due now. Requires that a key is in a queue.
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
  /// Calls `f(ReductionKey)` for every key; `f` may stop the key it is called with.
  template <typename F> void for_each(F&& f) { visit_all(*this, f); }
  template <typename F> void for_each(F&& f) const { visit_all(*this, f); }

private:
  /// One per key, and one per queue for its two ends.
  struct Link {
    TimeNs deadline; ///< of a queue's ends: the latest deadline ever put at its end
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
