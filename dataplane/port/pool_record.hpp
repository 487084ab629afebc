// Which buffers a call takes from the pool and keeps: DPDK's AF_XDP driver forgets those that it
// has taken when it then fails to open a queue.
//
//   PoolRecord record(pool);
//   if (driver call fails) free record.kept();
//
// The pool's operations are those of DPDK under a name of ours, which look whether a record stands
// on this thread; they run when a thread's own cache of free buffers is empty or full, and not for
// each frame. One record at a time on a thread.
#pragma once

#include <set>
#include <vector>

struct rte_mbuf;
struct rte_mempool;

namespace tributary::port {

/// The name of the operations, for a pool that is being made; DPDK must have started. Throws
/// PortError.
[[nodiscard]] const char* recorded_pool_operations();

class PoolRecord {
public:
  explicit PoolRecord(rte_mempool& pool);
  ~PoolRecord();
  PoolRecord(const PoolRecord&) = delete;
  PoolRecord& operator=(const PoolRecord&) = delete;

  /// Taken from the pool by this thread since the record was made, and not given back by it.
  [[nodiscard]] std::vector<rte_mbuf*> kept();

  // For the operations.

  void taken(void* const* buffers, unsigned count) { kept_.insert(buffers, buffers + count); }
  void given(void* const* buffers, unsigned count);

private:
  void empty_cache();

  rte_mempool& pool_;
  std::set<void*> kept_;
};

} // namespace tributary::port
