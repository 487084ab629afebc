// How table snapshots get from the control thread to the workers without stopping one.
//
// RCU by quiescent states (DPDK's rte_rcu_qsbr). The control thread exchanges a pointer and waits
// until every worker has passed a point where it holds no reference; then the old record is freed.
// A worker reads the pointer right after that point, so a snapshot is in force for everything a
// worker processes after `publish` has returned. A sleeping worker wakes within its bounded sleep.
//
// A numbered record with a shared pointer to the snapshot is published: the SwitchCore that adopts
// the snapshot shares it, and by the number a worker sees that it has not adopted it yet.
#pragma once

#include "dataplane/core/tables.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct rte_rcu_qsbr;

namespace tributary::worker {

class TablePublisher {
public:
  struct Record {
    std::uint64_t number = 0; ///< 1, 2, ... per switch
    std::shared_ptr<const core::Tables> tables;
  };

  struct Publication {
    std::size_t switch_index = 0;
    std::shared_ptr<const core::Tables> tables;
  };

  TablePublisher(std::size_t workers, std::vector<std::shared_ptr<const core::Tables>> initial);
  ~TablePublisher();
  TablePublisher(const TablePublisher&) = delete;
  TablePublisher& operator=(const TablePublisher&) = delete;

  /// By the control thread only. Returns after the grace period, which is one for all of them;
  /// sleeps while it waits.
  void publish(std::span<const Publication> publications);

  // By the worker of that number only.

  void enter(std::size_t worker);
  void leave(std::size_t worker);
  /// Announces that this worker holds no reference to any record.
  void quiescent(std::size_t worker);
  /// The record in force; valid until this worker's next `quiescent`.
  [[nodiscard]] const Record& current(std::size_t switch_index) const {
    return *records_[switch_index].load(std::memory_order_acquire);
  }

private:
  struct FreeQsbr {
    void operator()(rte_rcu_qsbr* q) const;
  };
  std::unique_ptr<rte_rcu_qsbr, FreeQsbr> qsbr_;
  std::vector<std::atomic<const Record*>> records_;
};

} // namespace tributary::worker
