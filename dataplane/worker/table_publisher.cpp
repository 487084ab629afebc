#include "dataplane/worker/table_publisher.hpp"

#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include <rte_rcu_qsbr.h>

namespace tributary::worker {

void TablePublisher::FreeQsbr::operator()(rte_rcu_qsbr* q) const { std::free(q); }

TablePublisher::TablePublisher(std::size_t workers,
                               std::vector<std::shared_ptr<const core::Tables>> initial)
    : records_(initial.size()) {
  const auto threads = static_cast<std::uint32_t>(workers);
  const std::size_t bytes = rte_rcu_qsbr_get_memsize(threads);
  qsbr_.reset(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes)));
  if (!qsbr_ || rte_rcu_qsbr_init(qsbr_.get(), threads) != 0) {
    throw std::bad_alloc();
  }
  for (std::size_t i = 0; i < initial.size(); ++i) {
    records_[i].store(new Record{1, std::move(initial[i])}, std::memory_order_release);
  }
}

TablePublisher::~TablePublisher() {
  for (auto& record : records_) {
    delete record.load(std::memory_order_relaxed);
  }
}

void TablePublisher::publish(std::span<const Publication> publications) {
  std::vector<std::unique_ptr<const Record>> retired;
  for (const Publication& one : publications) {
    const std::uint64_t number = current(one.switch_index).number + 1;
    retired.emplace_back(records_[one.switch_index].exchange(new Record{number, one.tables},
                                                             std::memory_order_acq_rel));
  }
  const std::uint64_t token = rte_rcu_qsbr_start(qsbr_.get());
  while (rte_rcu_qsbr_check(qsbr_.get(), token, false) == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void TablePublisher::enter(std::size_t worker) {
  rte_rcu_qsbr_thread_register(qsbr_.get(), static_cast<unsigned>(worker));
  rte_rcu_qsbr_thread_online(qsbr_.get(), static_cast<unsigned>(worker));
}

void TablePublisher::leave(std::size_t worker) {
  rte_rcu_qsbr_thread_offline(qsbr_.get(), static_cast<unsigned>(worker));
  rte_rcu_qsbr_thread_unregister(qsbr_.get(), static_cast<unsigned>(worker));
}

void TablePublisher::quiescent(std::size_t worker) {
  rte_rcu_qsbr_quiescent(qsbr_.get(), static_cast<unsigned>(worker));
}

} // namespace tributary::worker
