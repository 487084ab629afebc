// How many queues a port's device is configured with, so that none of those that the device
// delivers to is left unread. Pure.
//
//   a device that counts          has                                  delivers to
//   receive queues apart          what it is asked for of either       its receive queues
//   pairs                         the larger number of either, twice   all of these receive queues
//
// A pair whose receive queue nobody set up swallows frames without a word. And a host that picks
// the pair by which it was sent to last, as the tun driver does, lets frames of one sender overtake
// each other once they come in by several pairs. So a device that counts pairs gets
// no transmit queues beyond its receive queues, and the port's one worker sends all. Which devices
// count apart is a table of drivers; one that is not in it is taken to count pairs, which is right
// for all.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::port {

/// What the device says of itself: rte_eth_dev_info.
struct QueueLimits {
  std::string_view driver; ///< rte_eth_dev_info's driver_name, such as "net_ixgbe"
  std::uint16_t most_receive = 0;
  std::uint16_t most_transmit = 0;
};

struct QueuePlan {
  std::uint16_t receive = 1;
  std::uint16_t transmit = 1;
  std::uint16_t senders = 1; ///< that have a transmit queue each; 1: the port's worker sends all
};

[[nodiscard]] bool counts_queues_apart(std::string_view driver);

/// `receive`: queues that are all read, with a transmit queue each. `senders`: workers that would
/// like one each. Throws PortError when the device has not so many pairs, or takes only powers of
/// two; `device` is its name in the message, such as "the NIC".
[[nodiscard]] QueuePlan plan_queues(std::uint16_t receive, std::uint16_t senders,
                                    const QueueLimits& limits, std::string_view device);

/// What the device has once it is configured. Throws PortError when that is not the plan.
void require_as_planned(const QueuePlan& plan, std::uint16_t receive, std::uint16_t transmit);

} // namespace tributary::port
