// The number of queues that a port's device is configured with, so that no queue that the device
// delivers to is left unread. Pure.
//
//   a device that counts          has                                  delivers to
//   receive queues apart          the requested number of either       its receive queues
//   pairs                         the larger number of either, twice   all of these receive queues
//
// A pair whose receive queue is not set up silently swallows frames. And a host that picks the pair
// by which it was sent to last, as the tun driver does, reorders frames of one sender once they
// arrive by several pairs. So a device that counts pairs gets no transmit queues beyond its receive
// queues, and the port's one worker sends all. A table of drivers lists the devices that count
// separately; all others are assumed to count pairs, which is correct for all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::port {

/// The device's limits: rte_eth_dev_info.
struct QueueLimits {
  std::string_view driver; ///< rte_eth_dev_info's driver_name, such as "net_ixgbe"
  std::uint16_t most_receive = 0;
  std::uint16_t most_transmit = 0;
};

struct QueuePlan {
  std::uint16_t receive = 1;
  std::uint16_t transmit = 1;
  std::uint16_t senders = 1; ///< with a transmit queue each; 1: the port's worker sends all
};

[[nodiscard]] bool counts_queues_apart(std::string_view driver);

/// Why the device cannot have this many receive queues that are all read; empty: it can. `device`
/// is its name in the message, such as "the NIC".
[[nodiscard]] std::string problem_with_queues(std::uint16_t receive, const QueueLimits& limits,
                                              std::string_view device);

/// Why an interface's pairs of queues are not one for each worker, which polls no other; empty:
/// they are.
[[nodiscard]] std::string problem_with_pairs(std::uint16_t pairs, std::uint16_t workers,
                                             std::string_view interface);

/// `receive`: queues that are all read, with a transmit queue each. `senders`: workers that request
/// one each. Throws PortError with the text of `problem_with_queues`.
[[nodiscard]] QueuePlan plan_queues(std::uint16_t receive, std::uint16_t senders,
                                    const QueueLimits& limits, std::string_view device);

/// Checks the queues of the configured device. Throws PortError if they differ from the plan.
void require_as_planned(const QueuePlan& plan, std::uint16_t receive, std::uint16_t transmit);

} // namespace tributary::port
