#include "dataplane/port/eal.hpp"

#include "dataplane/port/dpdk_log.hpp"
#include "dataplane/port/pool_record.hpp"
#include "dataplane/port/start_again.hpp"
#include "lib/net/file_descriptor.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace tributary::port {
namespace {

/// Free buffers each thread keeps for itself; the largest DPDK allows.
constexpr unsigned cached_buffers = 512;

/// Only one of our processes at a time looks for free hugepages and takes them: two that start at
/// the same time would otherwise each get a part, and neither enough. No process waits longer than
/// a few seconds for another: start_again.hpp handles the rest.
class HugepageTurn {
public:
  HugepageTurn() : fd_(::open("/sys/kernel/mm/hugepages", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (fd_ && ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(10ms);
    }
  }

private:
  net::FileDescriptor fd_; ///< the lock goes with it
};

/// The failure may be due to hugepages that were free a moment ago.
[[noreturn]] void fail(const EalPlan& plan, const config::Process& process,
                       const std::string& what) {
  if (plan.hugepages && process.hugepages == "auto") {
    spdlog::debug("{}", what);
    throw HugepagesTaken(fmt::format("{} MiB of hugepages were free, but another process took them "
                                     "first, or this process may not use them",
                                     plan.memory.mib));
  }
  throw PortError(what);
}

void start_dpdk(const EalPlan& plan, const config::Process& process) {
  static std::atomic<bool> started{false};
  if (started.exchange(true)) {
    throw PortError("DPDK was started before in this process, and can be started only once");
  }
  redirect_library_logs();
  std::vector<std::string> arguments = plan.arguments;
  std::vector<char*> argv;
  argv.reserve(arguments.size());
  for (auto& argument : arguments) {
    argv.push_back(argument.data());
  }
  spdlog::debug("DPDK arguments: {}", fmt::join(arguments, " "));
  // Mostly about hugepage sizes without pages. Ports report missing NICs themselves.
  HeldDpdk held("EAL: ");
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    held.log();
    fail(plan, process,
         fmt::format("DPDK does not start: {}; its arguments were: {}{}", rte_strerror(rte_errno),
                     fmt::join(arguments, " "),
                     plan.hugepages ? "; hugepages = \"never\" does without hugepages" : ""));
  }
}

/// Contiguous buffers. DPDK's own pool constructor leaves gaps at page boundaries, but its AF_XDP
/// driver gives the kernel an area of (buffers x buffer size) bytes: after gaps, the last buffers
/// are outside of it, and the kernel silently drops what is sent from there.
rte_mempool* make_pool(const EalPlan& plan, placement::Node node) {
  const std::string name = node == placement::any_node ? std::string("tributary_frames")
                                                       : fmt::format("tributary_frames_{}", node);
  const unsigned data_room = RTE_PKTMBUF_HEADROOM + plan.memory.buffer_bytes;
  rte_mempool* pool = rte_mempool_create_empty(
      name.c_str(), plan.memory.buffers, sizeof(rte_mbuf) + data_room, cached_buffers,
      sizeof(rte_pktmbuf_pool_private), node, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) {
    return nullptr;
  }
  rte_pktmbuf_pool_private settings{};
  settings.mbuf_data_room_size = static_cast<std::uint16_t>(data_room);
  rte_pktmbuf_pool_init(pool, &settings);
  if (rte_mempool_set_ops_byname(pool, recorded_pool_operations(), nullptr) != 0 ||
      rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  const auto prepare = [](rte_mempool* mempool, void* argument, void* object, unsigned index) {
    rte_pktmbuf_init(mempool, argument, object, index);
    auto* frame = static_cast<rte_mbuf*>(object);
    // Devices address memory as this process does (--iova-mode=va).
    rte_mbuf_iova_set(frame, reinterpret_cast<rte_iova_t>(frame->buf_addr));
  };
  rte_mempool_obj_iter(pool, prepare, nullptr);
  return pool;
}

} // namespace

Eal::Eal(const config::Config& configuration) {
  const HugepageTurn turn;
  plan_ = plan_eal(configuration, HostFacts::read(configuration));
  spdlog::info("{}", plan_.explanation);
  start_dpdk(plan_, configuration.process);
  for (const placement::Node node : plan_.pools) {
    pools_.push_back(make_pool(plan_, node));
    if (pools_.back() != nullptr) {
      continue;
    }
    const std::string reason = rte_strerror(rte_errno);
    pools_.pop_back();
    if (node != placement::any_node) {
      spdlog::warn("no pool of {} buffers at NUMA node {}: {}; one pool serves all nodes",
                   plan_.memory.buffers, node, reason);
      std::ranges::for_each(pools_, rte_mempool_free);
      plan_.pools = {placement::any_node};
      pools_ = {make_pool(plan_, placement::any_node)};
      if (pools_.front() != nullptr) {
        break;
      }
    }
    fail(plan_, configuration.process,
         fmt::format("cannot make a pool of {} buffers: {}; set memory_mib above {}, or "
                     "buffers_per_port lower",
                     plan_.memory.buffers, reason, plan_.memory.mib));
  }
}

// No rte_eal_cleanup(): it unmaps DPDK's memory while its interrupt thread, which nothing stops,
// may be reading there. The kernel frees everything with the process (plan_eal() requests memory
// without files).
Eal::~Eal() { std::ranges::for_each(pools_, rte_mempool_free); }

std::uint32_t Eal::free_buffers() const {
  std::uint32_t sum = 0;
  for (const rte_mempool* const pool : pools_) {
    sum += rte_mempool_avail_count(pool);
  }
  return sum;
}

} // namespace tributary::port
