#include "dataplane/port/eal.hpp"

#include "dataplane/port/dpdk_log.hpp"

#include <atomic>
#include <cerrno>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace tributary::dataplane {
namespace {

/// Free buffers each thread keeps for itself; the largest DPDK allows.
constexpr unsigned cached_buffers = 512;

void start_dpdk(const EalPlan& plan) {
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
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    throw PortError(
        fmt::format("DPDK does not start: {}; its arguments were: {}{}", rte_strerror(rte_errno),
                    fmt::join(arguments, " "),
                    plan.hugepages ? "; hugepages = \"never\" does without hugepages" : ""));
  }
}

} // namespace

Eal::Eal(const config::Config& configuration)
    : plan_(plan_eal(configuration, HostFacts::read(configuration))) {
  spdlog::info("{}", plan_.explanation);
  start_dpdk(plan_);
  pool_ = rte_pktmbuf_pool_create("tributary_frames", plan_.buffers, cached_buffers, 0,
                                  RTE_PKTMBUF_HEADROOM + buffer_data_bytes, SOCKET_ID_ANY);
  if (pool_ == nullptr) {
    const std::string reason = rte_strerror(rte_errno);
    rte_eal_cleanup();
    throw PortError(fmt::format("cannot make a pool of {} buffers: {}; set memory_mib above {}, or "
                                "buffers_per_port lower",
                                plan_.buffers, reason, plan_.memory_mib));
  }
}

Eal::~Eal() {
  rte_mempool_free(pool_);
  rte_eal_cleanup();
}

std::uint32_t Eal::free_buffers() const { return rte_mempool_avail_count(pool_); }

} // namespace tributary::dataplane
