// Which buffers a call takes from the pool and keeps: DPDK's AF_XDP driver leaks those that it has
// taken if it then fails to open a queue.
//
//   PoolRecord record(pool);
//   if (driver call fails) free record.kept();
//
// The pool's operations are DPDK's under a name of ours, and check whether this thread has a
// record; they run when a thread's own cache of free buffers is empty or full, not for each frame.
// One record at a time per thread.
#pragma once

#include <set>
#include <vector>

struct rte_mbuf;
struct rte_mempool;

namespace tributary::port {

/// The name of the operations, for a pool to be created; DPDK must have started. Throws PortError.
[[nodiscard]] const char* recorded_pool_operations();

class PoolRecord {
public:
  explicit PoolRecord(rte_mempool& pool);
  ~PoolRecord();
  PoolRecord(const PoolRecord&) = delete;
  PoolRecord& operator=(const PoolRecord&) = delete;

  /// Buffers taken from the pool by this thread since the record was made, and not returned by it.
  [[nodiscard]] std::vector<rte_mbuf*> kept();

  // Called by the operations.

  void taken(void* const* buffers, unsigned count) { kept_.insert(buffers, buffers + count); }
  void given(void* const* buffers, unsigned count);

private:
  void empty_cache();

  rte_mempool& pool_;
  std::set<void*> kept_;
};

} // namespace tributary::port
