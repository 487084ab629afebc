#include "dataplane/port/queue_plan.hpp"

#include "dataplane/port/port_error.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace tributary::port {
namespace {

/// Each of these counts its queues per direction, and delivers to configured receive queues only:
/// without RSS to the first, with it by a table of those alone.
constexpr std::string_view drivers_that_count_apart[] = {
    "net_bnxt", "net_e1000_em", "net_e1000_igb", "net_e1000_igb_vf", "net_ena",
    "net_hns3", "net_hns3_vf",  "net_i40e",      "net_iavf",         "net_ice",
    "net_igc",  "net_ixgbe",    "net_ixgbe_vf",  "net_mlx4",         "mlx5_pci",
    "net_null", "net_sfc_efx",  "net_vmxnet3",
};

/// vmxnet3: of older virtual hardware.
constexpr std::string_view drivers_of_powers_of_two[] = {"net_mana", "net_vmxnet3"};

template <std::size_t size>
bool is_among(const std::string_view (&names)[size], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

} // namespace

bool counts_queues_apart(std::string_view driver) {
  return is_among(drivers_that_count_apart, driver);
}

std::string problem_with_queues(std::uint16_t receive, const QueueLimits& limits,
                                std::string_view device) {
  if (const std::uint16_t most = std::min(limits.most_receive, limits.most_transmit);
      receive > most) {
    return fmt::format("{} queues are asked for, and {} has {}; ask for {} at most", receive,
                       device, most, most);
  }
  if (is_among(drivers_of_powers_of_two, limits.driver) && !std::has_single_bit(receive)) {
    return fmt::format("{} queues are asked for, and the driver {} takes only powers of two; ask "
                       "for {}",
                       receive, limits.driver, std::bit_floor(receive));
  }
  return {};
}

std::string problem_with_pairs(std::uint16_t pairs, std::uint16_t workers,
                               std::string_view interface) {
  return pairs == workers
             ? std::string()
             : fmt::format("interface \"{0}\" has {1} queue{2} and the switch {3} workers; "
                           "`ethtool -L {0} combined {3}` before the start gives each worker one",
                           interface, pairs, pairs == 1 ? "" : "s", workers);
}

QueuePlan plan_queues(std::uint16_t receive, std::uint16_t senders, const QueueLimits& limits,
                      std::string_view device) {
  if (const std::string problem = problem_with_queues(receive, limits, device); !problem.empty()) {
    throw PortError(problem);
  }
  const bool each = receive >= senders || // pairs enough for all, and all of them are read
                    (counts_queues_apart(limits.driver) && senders <= limits.most_transmit);
  const std::uint16_t with_queues = each ? senders : std::uint16_t{1};
  return {receive, std::max(receive, with_queues), with_queues};
}

void require_as_planned(const QueuePlan& plan, std::uint16_t receive, std::uint16_t transmit) {
  if (receive != plan.receive || transmit != plan.transmit) {
    throw PortError(fmt::format(
        "its driver has set up {} receive and {} transmit queues instead of {} and {}, so that "
        "frames would be lost in queues that are not read; use kind = \"af_xdp\"",
        receive, transmit, plan.receive, plan.transmit));
  }
}

} // namespace tributary::port
