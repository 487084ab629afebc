#include "dataplane/port/pool_record.hpp"

#include "dataplane/port/port_error.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include <fmt/format.h>

namespace tributary::port {
namespace {

constexpr const char* operations_name = "tributary_recorded";

thread_local PoolRecord* on_this_thread = nullptr;
/// DPDK's operations. Written before the pool exists.
rte_mempool_ops plain{};

int take(rte_mempool* pool, void** buffers, unsigned count) {
  const int error = plain.dequeue(pool, buffers, count);
  if (on_this_thread != nullptr && error == 0) {
    on_this_thread->taken(buffers, count);
  }
  return error;
}

int give(rte_mempool* pool, void* const* buffers, unsigned count) {
  if (on_this_thread != nullptr) {
    on_this_thread->given(buffers, count);
  }
  return plain.enqueue(pool, buffers, count);
}

} // namespace

const char* recorded_pool_operations() {
  if (plain.dequeue != nullptr) {
    return operations_name;
  }
  const std::string_view best = rte_mbuf_best_mempool_ops();
  const auto* const known = std::begin(rte_mempool_ops_table.ops);
  const auto* const end = known + rte_mempool_ops_table.num_ops;
  const auto* const found =
      std::find_if(known, end, [&](const rte_mempool_ops& one) { return one.name == best; });
  if (found == end) {
    throw PortError(fmt::format("DPDK has no pool operations \"{}\"", best));
  }
  plain = *found;
  rte_mempool_ops recorded = plain;
  std::strncpy(recorded.name, operations_name, sizeof recorded.name - 1);
  recorded.dequeue = take;
  recorded.enqueue = give;
  if (const int index = rte_mempool_register_ops(&recorded); index < 0) {
    throw PortError(fmt::format("DPDK takes no further pool operations: {}", rte_strerror(-index)));
  }
  return operations_name;
}

PoolRecord::PoolRecord(rte_mempool& pool) : pool_(pool) {
  empty_cache();
  on_this_thread = this;
}

PoolRecord::~PoolRecord() { on_this_thread = nullptr; }

void PoolRecord::given(void* const* buffers, unsigned count) {
  std::for_each_n(buffers, count, [this](void* buffer) { kept_.erase(buffer); });
}

std::vector<rte_mbuf*> PoolRecord::kept() {
  empty_cache();
  std::vector<rte_mbuf*> all;
  std::ranges::transform(kept_, std::back_inserter(all),
                         [](void* buffer) { return static_cast<rte_mbuf*>(buffer); });
  return all;
}

/// Returns this thread's cached free buffers to the pool.
void PoolRecord::empty_cache() {
  if (rte_mempool_cache* const cache = rte_mempool_default_cache(&pool_, rte_lcore_id());
      cache != nullptr) {
    rte_mempool_cache_flush(cache, &pool_);
  }
}

} // namespace tributary::port
