#include "dataplane/port/port_device.hpp"

#include "dataplane/config/host_machine.hpp"
#include "dataplane/placement/tree_hash.hpp"
#include "dataplane/port/af_xdp_rings.hpp"
#include "dataplane/port/dpdk_log.hpp"
#include "dataplane/port/kernel_rules.hpp"
#include "dataplane/port/machine_nodes.hpp"
#include "dataplane/port/pause_frames.hpp"
#include "dataplane/port/pci_nic.hpp"
#include "dataplane/port/pool_record.hpp"
#include "dataplane/port/port_arguments.hpp"
#include "dataplane/port/privileges.hpp"
#include "dataplane/port/queue_plan.hpp"
#include "dataplane/port/receive_spread.hpp"
#include "dataplane/port/transmit_queues.hpp"
#include "lib/link/interface.hpp"
#include "lib/service/socket_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::port {
namespace {

constexpr std::uint16_t descriptors_per_queue = 2048;
constexpr auto ethernet_header = static_cast<std::uint32_t>(wire::ethernet_header_bytes);

constexpr std::string_view instead_of_af_xdp =
    config::words_instead_of_af_xdp(config::memory_order_of_this_processor);

/// Device names are unique in the process, also across a reopen.
std::string next_device_name(const std::string& driver) {
  static unsigned opened = 0;
  return fmt::format("{}{}", driver, opened++);
}

/// DPDK's driver takes only paired queues. An AF_XDP socket gets only the frames of its own queue,
/// so frames that arrive on any other one would be lost to the switch.
std::uint16_t pollable_queues(const std::string& interface, std::uint16_t wanted) {
  const link::ReceiveQueues queues = link::interface_receive_queues(interface);
  if (queues.all > queues.paired) {
    throw PortError(fmt::format("interface \"{0}\" spreads frames over {1} receive queues, and "
                                "DPDK's AF_XDP driver can poll {2} of them; make them {2} with "
                                "`ethtool -L {0} rx {2} tx {2}`, or use {3}",
                                interface, queues.all, queues.paired, instead_of_af_xdp));
  }
  if (wanted > queues.paired) {
    throw PortError(
        fmt::format("interface \"{0}\" has {1} queue{2}, and {3} are asked for; make "
                    "them {3} with `ethtool -L {0} combined {3}`, or `ethtool -L {0} rx "
                    "{3} tx {3}`, or ask for {1}",
                    interface, queues.paired, queues.paired == 1 ? "" : "s", wanted));
  }
  return queues.paired;
}

/// Called by DPDK's interrupt thread.
int notify_link_change(std::uint16_t /*port*/, rte_eth_event_type /*event*/, void* wake_up,
                       void* /*of_event*/) {
  static_cast<WakeUp*>(wake_up)->signal();
  return 0;
}

/// Frames for which a packet socket's ring had no room, since the last call.
std::uint64_t dropped_by_kernel(const DriverDescriptor& socket) {
  tpacket_stats counted{};
  socklen_t length = sizeof counted;
  const bool known =
      ::getsockopt(socket.number, SOL_PACKET, PACKET_STATISTICS, &counted, &length) == 0;
  return known ? counted.tp_drops : 0;
}

/// Frames of a VLAN belong to the kernel: packet sockets would show them as if they had no tag.
/// Those with VLAN id 0 belong to no VLAN.
void leave_vlans_to_the_kernel(const std::vector<DriverDescriptor>& sockets) {
  constexpr auto auxiliary = static_cast<std::uint32_t>(SKF_AD_OFF);
  std::array<sock_filter, 4> of_no_vlan{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, auxiliary + SKF_AD_VLAN_TAG}, // 0 without a tag
      {BPF_JMP | BPF_JSET | BPF_K, 1, 0, 0x0FFF},
      {BPF_RET | BPF_K, 0, 0, 0xFFFFFFFF},
      {BPF_RET | BPF_K, 0, 0, 0},
  }};
  const sock_fprog program{.len = of_no_vlan.size(), .filter = of_no_vlan.data()};
  for (const DriverDescriptor& socket : sockets) {
    if (::setsockopt(socket.number, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
      throw PortError(fmt::format("cannot leave frames of VLANs to the kernel: {}",
                                  std::generic_category().message(errno)));
    }
  }
}

/// Error of opening an IOMMU group that DPDK could not get; 0 if it is available or does not exist.
int error_of_opening(const std::string& group) {
  const net::FileDescriptor file(
      group.empty() ? -1 : ::open(("/dev/vfio/" + group).c_str(), O_RDWR | O_CLOEXEC));
  return group.empty() || file ? 0 : errno;
}

/// Frees the buffers that a driver held.
void give_back_all(const std::vector<rte_mbuf*>& buffers) {
  for (rte_mbuf* const buffer : buffers) {
    takes_ownership(buffer);
    give_back(buffer);
  }
}

[[noreturn]] void fail(const config::Port& port, std::string_view what, int error,
                       std::string_view advice) {
  throw PortError(fmt::format("port \"{}\": {}: {}{}{}", port.name, what,
                              rte_strerror(error < 0 ? -error : error), advice.empty() ? "" : "; ",
                              advice));
}

} // namespace

PortDevice::PortDevice(const config::Port& configuration, Eal& eal, std::uint16_t queues,
                       std::uint16_t workers, bool sorted)
    : configuration_(configuration), eal_(eal), node_(node_of_port(MachineFiles(), configuration)),
      queues_(queues), workers_(may_share(configuration) ? workers : std::uint16_t{1}),
      receive_queues_(queues) {
  if (workers_ > 1 && ((sorted && configuration.kind == config::PortKind::ring) ||
                       configuration.has_queue_files())) {
    choice_.how = placement::Steering::sorted;
    receive_queues_ = workers_;
  }
  const std::string missing =
      missing_privileges(configuration_.kind, Privileges::of_this_process());
  if (!missing.empty()) {
    throw PortError(fmt::format("port \"{}\": missing privilege: {}; start the switch as root, or "
                                "grant it with `setcap` or systemd's AmbientCapabilities",
                                name(), missing));
  }
  open();
  spdlog::info("port {}: {}, link {}{}", name(), description(), name_of(link()),
               is_open() ? "" : ": no server listens there yet");
  if (workers_ > 1 && !choice_.why.empty()) {
    spdlog::info("port {}: one worker polls it, and hands frames of the others' trees over: {}",
                 name(), choice_.why);
  }
}

PortDevice::~PortDevice() { close(); }

bool PortDevice::on_kernel_interface() const {
  return configuration_.kind == config::PortKind::af_xdp ||
         configuration_.kind == config::PortKind::af_packet;
}

bool PortDevice::is_memif(std::string_view role) const {
  return configuration_.kind == config::PortKind::memif && configuration_.role == role;
}

void PortDevice::open() {
  // DPDK's messages are the same every time.
  const QuietDpdk quiet(std::exchange(failed_, true));
  polls_left_ = std::exchange(poll_limit_, std::min(2 * poll_limit_, most_poll_limit));
  try {
    if (configuration_.kind == config::PortKind::ring ||
        configuration_.kind == config::PortKind::memif) {
      // Whatever the driver supports: the other end has one.
      std::ignore = plan_queues(queues_, 1, {.driver = {}, .most_receive = 1, .most_transmit = 1},
                                "such a port");
    }
    if (on_kernel_interface()) {
      interface_guard_ = std::make_unique<InterfaceGuard>(configuration_.interface);
    }
    if (is_memif("server")) {
      service::SocketFile::remove_leftover(configuration_.socket);
    }
    if (is_memif("client") && !service::SocketFile::answers(configuration_.socket)) {
      // No device until a server answers. Invalid configurations are refused all the same.
      std::ignore = device_arguments(configuration_, {}, eal_.plan().memory.buffer_bytes);
    } else if (configuration_.kind == config::PortKind::ring) {
      senders_ = workers_ <= RingLinks::most_lanes ? workers_ : std::uint16_t{1};
      ring_end_ = eal_.ring_links().open(configuration_.ring, senders_);
    } else {
      probe();
      configure();
      if (!zero_copy_ && is_zero_copy(opened_by_driver_)) {
        // Only bound sockets know it, and those have to be queried differently.
        zero_copy_ = true;
        failed_ = false;
        close();
        open();
        return;
      }
    }
    look_at_mtu();
    refresh_link();
    failed_ = false;
    opened_ = true;
    steered_ = choice_.how != placement::Steering::hand_over;
  } catch (const std::runtime_error& error) { // PortError, or LinkError from the interface
    close();
    const std::string_view what = error.what();
    throw PortError(what.starts_with("port ") ? std::string(what)
                                              : fmt::format("port \"{}\": {}", name(), what));
  }
}

void PortDevice::probe() {
  switch (configuration_.kind) {
  case config::PortKind::pci: find_nic(); return;
  case config::PortKind::af_xdp:
  case config::PortKind::af_packet:
  case config::PortKind::memif:
  case config::PortKind::ring:
  case config::PortKind::pcap:
  case config::PortKind::null: break;
  }

  InterfaceFacts facts;
  facts.queue_pairs = receive_queues_;
  facts.page_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  if (configuration_.kind == config::PortKind::af_xdp) {
    const std::string& interface = configuration_.interface;
    facts.queue_pairs = pollable_queues(interface, queues_);
    facts.zero_copy = zero_copy_;
    receive_queues_ = facts.queue_pairs;
    steering_ = std::make_unique<link::xdp::XdpSteering>(
        interface,
        link::xdp::Steered{.ethertype = configuration_.policy.ethertype,
                           .between_switches = configuration_.has_edge(),
                           .lldp = configuration_.policy.lldp,
                           .everything = configuration_.policy.foreign_to != no_port},
        facts.queue_pairs, fmt::format("use {}", instead_of_af_xdp));
    if (!steering_->why_generic().empty()) {
      spdlog::warn("interface {} cannot run XDP in native mode ({}): fell back to generic mode, "
                   "which is slower",
                   interface, steering_->why_generic());
    }
  }
  const DeviceArguments device =
      device_arguments(configuration_, facts, eal_.plan().memory.buffer_bytes);
  device_name_ = next_device_name(device.driver);
  const DriverDescriptors before(AF_PACKET);
  // It could serve a second process, which the environment is not started for.
  HeldDpdk of_memif("Failed to register mp action callback");
  // Not by rte_eal_hotplug_add(), which takes 127 characters with DPDK 24.11: paths are longer.
  if (const int error = rte_vdev_init(device_name_.c_str(), device.arguments.c_str()); error != 0) {
    of_memif.log();
    device_name_.clear();
    fail(configuration_,
         fmt::format("DPDK cannot open it ({} {})", device.driver, device.arguments), error,
         "the log lines before this one may say more");
  }
  if (configuration_.kind == config::PortKind::af_packet) {
    opened_by_driver_ = DriverDescriptors(AF_PACKET).since(before);
  }
  if (const int error = rte_eth_dev_get_port_by_name(device_name_.c_str(), &port_id_); error != 0) {
    fail(configuration_, "DPDK opened it, but has no port for it", error, "");
  }
}

/// DPDK probes NICs when it starts. A NIC that was removed and put in again, or that failed then,
/// is probed again now, so that the driver's messages precede the error.
void PortDevice::find_nic() {
  const char* address = configuration_.pci_address.c_str();
  if (rte_eth_dev_get_port_by_name(address, &port_id_) == 0) {
    return;
  }
  const PciNic nic = PciNic::read(MachineFiles(), configuration_.pci_address);
  std::string why = obstacle(nic);
  if (why.empty()) {
    const int error = rte_eal_hotplug_add("pci", address, "");
    if (error == 0 && rte_eth_dev_get_port_by_name(address, &port_id_) == 0) {
      return;
    }
    why = why_not_driven(nic, error, error_of_opening(nic.group));
  }
  throw PortError(fmt::format("port \"{}\": DPDK drives no NIC at PCI address {}: {}", name(),
                              configuration_.pci_address, why));
}

/// DPDK's interrupt thread reports both.
void PortDevice::listen_to_driver() {
  listens_ = true; // to some events, if one of these fails
  must(rte_eth_dev_callback_register(port_id_, RTE_ETH_EVENT_INTR_LSC, notify_link_change,
                                     &eal_.device_events()),
       "report changes of its link");
  must(rte_eth_dev_callback_register(port_id_, RTE_ETH_EVENT_INTR_RMV, notify_removal, this),
       "report the removal of the NIC");
  must(rte_eth_dev_callback_register(port_id_, RTE_ETH_EVENT_INTR_RESET, notify_reset, this),
       "report a reset of the NIC");
  // Through vfio, which makes the kernel wait until the device is closed.
  must(rte_dev_event_callback_register(configuration_.pci_address.c_str(), notify_vfio_removal,
                                       this),
       "report the removal of the NIC");
}

void PortDevice::stop_listening() noexcept {
  if (!std::exchange(listens_, false)) {
    return;
  }
  const auto until_not_called = [](auto&& unregister) {
    while (unregister() == -EAGAIN) {
      std::this_thread::yield();
    }
  };
  until_not_called([this] {
    return rte_eth_dev_callback_unregister(port_id_, RTE_ETH_EVENT_INTR_LSC, notify_link_change,
                                           &eal_.device_events());
  });
  until_not_called([this] {
    return rte_eth_dev_callback_unregister(port_id_, RTE_ETH_EVENT_INTR_RMV, notify_removal, this);
  });
  until_not_called([this] {
    return rte_eth_dev_callback_unregister(port_id_, RTE_ETH_EVENT_INTR_RESET, notify_reset, this);
  });
  until_not_called([this] {
    return rte_dev_event_callback_unregister(configuration_.pci_address.c_str(),
                                             notify_vfio_removal, this);
  });
}

int PortDevice::notify_removal(std::uint16_t /*port*/, rte_eth_event_type /*event*/, void* device,
                               void* /*of_event*/) {
  auto& port = *static_cast<PortDevice*>(device);
  port.removed_.store(true, std::memory_order_release);
  port.eal_.device_events().signal();
  return 0;
}

/// By its physical function, for example. The device has forgotten queues and rules, and works
/// again once it was closed and probed again: as if it had been removed and put in again.
int PortDevice::notify_reset(std::uint16_t port, rte_eth_event_type event, void* device,
                             void* of_event) {
  static_cast<PortDevice*>(device)->reset_.store(true, std::memory_order_relaxed);
  return notify_removal(port, event, device, of_event);
}

void PortDevice::notify_vfio_removal(const char* /*name*/, rte_dev_event_type event, void* device) {
  if (event == RTE_DEV_EVENT_REMOVE) {
    std::ignore = notify_removal(0, RTE_ETH_EVENT_INTR_RMV, device, nullptr);
  }
}

/// Whether priority tags are to be removed on arrival. On a link between switches they carry the
/// class, and foreign frames are forwarded unchanged.
bool PortDevice::strips_tags(const rte_eth_dev_info& info) const {
  return configuration_.kind == config::PortKind::af_packet && !configuration_.has_edge() &&
         configuration_.policy.foreign_to == no_port && !opened_by_driver_.empty() &&
         (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
}

void PortDevice::must(int error, std::string_view step) const {
  if (error != 0) {
    fail(configuration_, fmt::format("DPDK cannot {}", step), error,
         "the log lines before this one may say more");
  }
}

void PortDevice::set_receive_queues_up(std::uint16_t descriptors) {
  const bool on_af_xdp = configuration_.kind == config::PortKind::af_xdp;
  if (const std::uint32_t need = receive_queues_ * af_xdp_buffers_per_queue,
      free = rte_mempool_avail_count(eal_.pool(node_));
      on_af_xdp && free < need) {
    throw PortError(fmt::format("opening it takes {} buffers, and {} are free; raise "
                                "buffers_per_port",
                                need, free));
  }
  const DriverDescriptors before(AF_XDP);
  int error = 0;
  for (std::uint16_t queue = 0; queue < receive_queues_ && error == 0; ++queue) {
    HeldDpdk taken("AF_XDP: ");
    const auto set_up = [&] {
      PoolRecord record(*eal_.pool(node_));
      error = rte_eth_rx_queue_setup(port_id_, queue, descriptors,
                                     static_cast<unsigned>(rte_eth_dev_socket_id(port_id_)),
                                     nullptr, eal_.pool(node_));
      if (error != 0) {
        give_back_all(record.kept());
      }
      return error == 0;
    };
    // The kernel frees the queue of a socket some time after that is closed: one that this process
    // had a moment ago may still be taken.
    for (int attempt = 0; !set_up() && on_af_xdp && attempt < 20; ++attempt) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (error != 0) {
      taken.log();
    }
  }
  if (on_af_xdp) {
    opened_by_driver_ = DriverDescriptors(AF_XDP).since(before);
  }
  must(error, "set its receive queue up");
}

void PortDevice::configure() {
  rte_eth_dev_info info{};
  must(rte_eth_dev_info_get(port_id_, &info), "describe it");
  if (choice_.how == placement::Steering::sorted) {
    set_up(info);
  } else {
    set_up_and_steer(info);
  }
  if (configuration_.kind == config::PortKind::pci) {
    must(rte_eth_promiscuous_enable(port_id_), "make it promiscuous");
    if (configuration_.has_edge()) {
      if (const std::string why = leave_pauses_to_the_switch(port_id_); !why.empty()) {
        spdlog::warn("port {}: {}: if it keeps them, the neighbour's pauses are obeyed for all "
                     "classes or for none; see docs/operate/running.md",
                     name(), why);
      }
    }
  }
  while (configuration_.kind == config::PortKind::af_packet && transmitters_.size() < queues_) {
    transmitters_.push_back(std::make_unique<PacketTransmitter>(configuration_.interface));
  }
  rte_ether_addr address{};
  if (rte_eth_macaddr_get(port_id_, &address) == 0) {
    std::memcpy(mac_.data(), address.addr_bytes, mac_.size());
  }
}

/// With each worker's own receive queue, if the device can be steered: which some drivers reveal
/// only when they are asked, after the start.
void PortDevice::set_up_and_steer(const rte_eth_dev_info& info) {
  placement::DeviceAbilities device =
      configuration_.kind == config::PortKind::af_xdp ? abilities_of_interface() : abilities(info);
  do {
    choice_ = opened_ && !steered_ ? placement::SteeringChoice{.why = choice_.why}
                                   : placement::choose_steering(device);
    if (opened_ && steered_ && choice_.how == placement::Steering::hand_over) {
      throw PortError(fmt::format("the NIC that is there now cannot bring frames to the workers, "
                                  "which poll a queue each: {}; restart the switch",
                                  choice_.why));
    }
    set_up(info);
  } while (!steer(device));
}

placement::DeviceAbilities PortDevice::abilities(const rte_eth_dev_info& info) const {
  constexpr std::uint64_t ipv4 = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER;
  return {.workers = configuration_.kind == config::PortKind::pci ? workers_ : std::size_t{1},
          .needs_one_worker = !may_share(configuration_),
          .too_few_queues = problem_with_queues(workers_,
                                                {.driver = info.driver_name,
                                                 .most_receive = info.max_rx_queues,
                                                 .most_transmit = info.max_tx_queues},
                                                "the NIC"),
          .ethertype = configuration_.policy.ethertype,
          .hashes_ipv4_addresses = (info.flow_type_rss_offloads & ipv4) != 0,
          .key_bytes = info.hash_key_size,
          .table_entries = info.reta_size,
          .rule_refused = TreeSteering::driver_has_rules(port_id_) ? "" : "it has no rules at all"};
}

/// The kernel is asked before the device is set up, for its driver does not take back a queue that
/// was set up. An interface that steered before is steered again, whatever it refuses.
placement::DeviceAbilities PortDevice::abilities_of_interface() {
  placement::DeviceAbilities device{
      .workers = workers_,
      .needs_one_worker = !may_share(configuration_),
      .too_few_queues = problem_with_pairs(receive_queues_, workers_, configuration_.interface),
      .ethertype = configuration_.policy.ethertype,
      .rules_of_kernel = true};
  if (placement::choose_steering(device).how == placement::Steering::hand_over ||
      (opened_ && !steered_)) {
    return device;
  }
  auto rules = std::make_unique<KernelRules>(configuration_.interface);
  if (rules->left_behind() != 0) {
    spdlog::info("port {}: removed {} flow rules that a killed switch left on interface {}", name(),
                 rules->left_behind(), configuration_.interface);
  }
  tree_steering_ = std::make_unique<TreeSteering>(std::move(rules));
  tree_steering_->place(placement_);
  if (tree_steering_->refused() == placement::bucket_count && !opened_) {
    device.rule_refused = tree_steering_->why_refused();
    tree_steering_.reset();
  }
  return device;
}

/// Requires a started device. False: it refused, `device` says so now, and it has to be set up
/// again. Once workers poll a queue each they continue to, and hand over what comes elsewhere.
bool PortDevice::steer(placement::DeviceAbilities& device) {
  if (choice_.how == placement::Steering::hand_over) {
    return true;
  }
  if (device.rules_of_kernel) {
    report_refused();
    return true;
  }
  tree_steering_ = std::make_unique<TreeSteering>(
      port_id_, choice_.how, configuration_.policy.ethertype, device.table_entries);
  tree_steering_->place(placement_);
  if (tree_steering_->refused() != placement::bucket_count || (opened_ && steered_)) {
    report_refused();
    return true;
  }
  if (choice_.how == placement::Steering::hash) {
    device.table_entries = 0; // as good as none
  } else {
    device.rule_refused = tree_steering_->why_refused();
  }
  tree_steering_.reset();
  must(rte_eth_dev_stop(port_id_), "stop it");
  return false;
}

/// Once, until it refuses others.
void PortDevice::report_refused() {
  const std::string refused = words_on_refused();
  if (std::exchange(reported_, refused) == refused) {
    return;
  }
  if (refused.empty()) {
    spdlog::info("port {}: its driver has taken all rules", name());
  } else {
    spdlog::warn("port {}: {}", name(), refused);
  }
}

std::string PortDevice::words_on_refused() const {
  const std::size_t refused = tree_steering_ ? tree_steering_->refused() : 0;
  return refused == 0
             ? std::string()
             : fmt::format("its driver refuses {} of {} rules ({}): frames of trees whose number "
                           "modulo {} is {} are handed over between workers",
                           refused, placement::bucket_count, tree_steering_->why_refused(),
                           placement::bucket_count, tree_steering_->refused_buckets());
}

std::string PortDevice::why_handed_over() const {
  return choice_.why.empty() ? words_on_refused() : choice_.why;
}

void PortDevice::place(const placement::Placement& placement) {
  placement_ = placement;
  if (tree_steering_) {
    tree_steering_->place(placement_);
    report_refused();
  }
}

/// How frames spread over several queues, as far as that is the device's hash.
void PortDevice::spread(const rte_eth_dev_info& info, rte_eth_conf& settings) {
  rte_eth_rss_conf& hash = settings.rx_adv_conf.rss_conf;
  if (choice_.how == placement::Steering::hash) {
    constexpr std::uint64_t ipv4 =
        RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER;
    hash_key_ = placement::tree_hash_key(info.hash_key_size);
    hash.rss_key = hash_key_.data();
    hash.rss_key_len = info.hash_key_size;
    hash.rss_hf = info.flow_type_rss_offloads & ipv4;
    settings.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    return;
  }
  const ReceiveSpread by = receive_spread(info.flow_type_rss_offloads);
  spread_by_ = by.by;
  settings.rxmode.mq_mode = by.hash_fields == 0 ? RTE_ETH_MQ_RX_NONE : RTE_ETH_MQ_RX_RSS;
  hash.rss_hf = by.hash_fields;
  if (!by.suits_the_fabric) {
    spdlog::warn(
        "port {}: the NIC spreads received frames by {}, so {} of this fabric's come in on "
        "its first queue",
        name(), by.by, choice_.how == placement::Steering::rules ? "unicasts" : "all");
  }
}

void PortDevice::set_up(const rte_eth_dev_info& limits) {
  if (configuration_.kind == config::PortKind::pci) {
    receive_queues_ = choice_.how != placement::Steering::hand_over ? workers_ : queues_;
  }
  // An AF_XDP socket is one thread's: it sends on what it receives from.
  const bool alone = configuration_.kind == config::PortKind::af_xdp &&
                     choice_.how == placement::Steering::hand_over;
  const QueuePlan plan =
      plan_queues(receive_queues_, alone ? std::uint16_t{1} : workers_,
                  {.driver = limits.driver_name,
                   .most_receive = limits.max_rx_queues,
                   .most_transmit = limits.max_tx_queues},
                  configuration_.kind == config::PortKind::pci ? "the NIC" : "such a port");
  if (opened_ && plan.senders < senders_) {
    throw PortError(
        "the NIC that is there now has fewer transmit queues than the one before, which "
        "the workers have shared out; restart the switch");
  }
  senders_ = plan.senders;
  // No offload may assume that a sent buffer has one owner: a multicast is sent by reference count.
  rte_eth_conf settings{};
  if (plan.receive > 1 && configuration_.kind == config::PortKind::pci) {
    spread(limits, settings);
  }
  const std::uint32_t longest = eal_.plan().longest_frame;
  if (configuration_.kind == config::PortKind::pci && longest > config::default_longest_frame) {
    settings.rxmode.mtu = longest - ethernet_header;
    if (settings.rxmode.mtu > limits.max_mtu) {
      throw PortError(fmt::format("this NIC takes frames of up to {0} bytes, and longest_frame is "
                                  "{1}; make it {0}",
                                  limits.max_mtu + ethernet_header, longest));
    }
  }
  if (strips_tags(limits)) {
    settings.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    leave_vlans_to_the_kernel(opened_by_driver_);
  }
  // No link interrupt: with it DPDK answers from a cache that the interrupt renews, and a missing
  // interrupt, as on emulated NICs, would leave a lost link up forever.
  settings.intr_conf.lsc = 0;
  settings.intr_conf.rmv =
      limits.dev_flags != nullptr && (*limits.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0 ? 1 : 0;
  must(rte_eth_dev_configure(port_id_, plan.receive, plan.transmit, &settings), "configure it");
  if (configuration_.kind == config::PortKind::pci && !listens_) {
    listen_to_driver();
  }
  std::uint16_t receive_descriptors = descriptors_per_queue;
  std::uint16_t transmit_descriptors = port::transmit_descriptors(descriptors_per_queue, senders_);
  must(rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &receive_descriptors, &transmit_descriptors),
       "size its queues");
  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(port_id_));
  set_receive_queues_up(receive_descriptors);
  for (std::uint16_t queue = 0; queue < plan.transmit; ++queue) {
    must(rte_eth_tx_queue_setup(port_id_, queue, transmit_descriptors, socket, nullptr),
         "set its transmit queue up");
  }
  must(rte_eth_dev_start(port_id_), "start it");
  rte_eth_dev_info info{};
  must(rte_eth_dev_info_get(port_id_, &info), "describe it");
  require_as_planned(plan, info.nb_rx_queues, info.nb_tx_queues);
}

/// A kernel interface or a NIC may have frames longer than the buffers, or a smaller limit than the
/// buffers allow.
void PortDevice::look_at_mtu() {
  longest_frame_ = eal_.plan().longest_frame;
  std::uint32_t mtu = 0;
  if (on_kernel_interface()) {
    mtu = link::interface_mtu(configuration_.interface);
  } else if (configuration_.kind == config::PortKind::pci) {
    std::uint16_t of_nic = 0;
    mtu = rte_eth_dev_get_mtu(port_id_, &of_nic) == 0 ? of_nic : 0;
  }
  if (mtu == 0) {
    return;
  }
  if (mtu + ethernet_header > longest_frame_) {
    spdlog::warn(
        "port {}: frames on {} have up to {} bytes, by its MTU of {}, and the buffers hold "
        "{}: longer ones are dropped as too_long, or missed; longest_frame = {} would "
        "take them",
        name(), description(), mtu + ethernet_header, mtu, longest_frame_, mtu + ethernet_header);
  }
  longest_frame_ = std::min(longest_frame_, mtu + ethernet_header);
}

void PortDevice::close() noexcept {
  link_.store(LinkState::away, std::memory_order_relaxed);
  std::vector<rte_mbuf*> left;
  {
    // The AF_XDP driver complains that it cannot detach an XDP program which we detach.
    const QuietDpdk quiet(configuration_.kind == config::PortKind::af_xdp);
    if (port_id_ != RTE_MAX_ETHPORTS) {
      missed_before_ = missed_frames();
      missed_by_kernel_ = 0; // they are included
      if (configuration_.kind == config::PortKind::pci) {
        rte_eth_promiscuous_disable(port_id_);
      }
      stop_listening();
      if (configuration_.kind == config::PortKind::af_xdp) {
        left = left_in_rings(opened_by_driver_, *eal_.pool(node_));
      }
      tree_steering_.reset();
      rte_eth_dev_stop(port_id_);
      if (is_memif("server")) {
        // Closing would free the listening socket's interrupt handle without removing its callback,
        // and DPDK's interrupt thread, which reads all handles again at every change, would end the
        // process. So the device stays until the process ends; its socket file, by which clients
        // find a server, is removed now.
        ::unlink(configuration_.socket.c_str());
        device_name_.clear();
      } else {
        rte_eth_dev_close(port_id_);
      }
      port_id_ = RTE_MAX_ETHPORTS;
    }
    if (!device_name_.empty()) {
      rte_vdev_uninit(device_name_.c_str());
      device_name_.clear();
    }
    if (removed_.exchange(false, std::memory_order_acq_rel)) {
      reset_.store(false, std::memory_order_relaxed);
      // The kernel waits for this; the slot cannot be used before.
      const char* const address = configuration_.pci_address.c_str();
      if (const int error = rte_eal_hotplug_remove("pci", address); error != 0) {
        spdlog::warn("port {}: DPDK does not let go of the NIC {} that was removed: {}", name(),
                     address, rte_strerror(-error));
      }
    }
  }
  close_forgotten(opened_by_driver_);
  opened_by_driver_.clear();
  give_back_all(left);
  if (on_ring()) {
    eal_.ring_links().close(configuration_.ring, ring_end_);
    ring_end_ = {};
  }
  refused_before_ = refused_frames();
  transmitters_.clear();
  steering_.reset();
  interface_guard_.reset();
  next_queue_ = 0;
}

LinkState PortDevice::state_of_device() {
  LinkState state = LinkState::up;
  switch (configuration_.kind) {
  case config::PortKind::af_xdp:
  case config::PortKind::af_packet: {
    const link::InterfaceState interface = link::interface_state(configuration_.interface);
    if (!interface_guard_ || !interface_guard_->still_there()) {
      state = LinkState::away;
    } else if (!interface.up || !interface.running) {
      state = LinkState::down;
    }
    break;
  }
  case config::PortKind::pci:
  case config::PortKind::memif: {
    rte_eth_link link{};
    if (configuration_.kind == config::PortKind::pci && (!is_open() || was_removed())) {
      state = LinkState::away;
    } else if (!is_open() || rte_eth_link_get_nowait(port_id_, &link) != 0 ||
               link.link_status != RTE_ETH_LINK_UP) {
      state = LinkState::down;
    }
    break;
  }
  case config::PortKind::ring:
    if (!eal_.ring_links().joined(configuration_.ring)) {
      state = LinkState::down;
    }
    break;
  case config::PortKind::pcap:
  case config::PortKind::null: break;
  }
  return state;
}

LinkState PortDevice::refresh_link() {
  const LinkState state = state_of_device();
  link_.store(state, std::memory_order_relaxed);
  if (state == LinkState::up) {
    poll_limit_ = least_poll_limit;
    polls_left_ = 0; // for the next loss
  } else if (polls_left_ != 0) {
    --polls_left_;
  }
  return state;
}

std::uint32_t PortDevice::speed_mbps() const {
  if (on_kernel_interface()) {
    return link::interface_speed_mbps(configuration_.interface);
  }
  rte_eth_link link{};
  const bool known = configuration_.kind == config::PortKind::pci &&
                     rte_eth_link_get_nowait(port_id_, &link) == 0 &&
                     link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  return known ? link.link_speed : 0;
}

std::uint64_t PortDevice::missed_frames() const {
  // A full ring refuses frames at the sender, so it misses none.
  rte_eth_stats counted{};
  if (port_id_ == RTE_MAX_ETHPORTS || rte_eth_stats_get(port_id_, &counted) != 0) {
    return missed_before_;
  }
  if (configuration_.kind == config::PortKind::af_packet) {
    // DPDK's driver does not count them.
    for (const DriverDescriptor& socket : opened_by_driver_) {
      missed_by_kernel_ += dropped_by_kernel(socket);
    }
  }
  // A NIC counts frames that are too long among its errors.
  return missed_before_ + counted.imissed + counted.ierrors + counted.rx_nombuf + missed_by_kernel_;
}

std::uint64_t PortDevice::refused_frames() const {
  std::uint64_t sum = refused_before_;
  for (const std::unique_ptr<PacketTransmitter>& transmitter : transmitters_) {
    sum += transmitter->refused();
  }
  return sum;
}

bool PortDevice::came_back() const {
  if (polls_left_ != 0) {
    return false;
  }
  if (is_memif("client")) {
    return link() != LinkState::up && service::SocketFile::answers(configuration_.socket);
  }
  if (link() != LinkState::away) {
    return false;
  }
  return configuration_.kind == config::PortKind::pci
             ? obstacle(PciNic::read(MachineFiles(), configuration_.pci_address)).empty()
             : on_kernel_interface() && link::interface_state(configuration_.interface).exists();
}

void PortDevice::let_go() {
  close();
  polls_left_ = least_poll_limit; // the kernel still has to remove it
}

void PortDevice::reopen() {
  close();
  open();
}

std::string PortDevice::words_on_queues() const {
  if (receive_queues_ == 1) {
    return {};
  }
  if (choice_.how != placement::Steering::hand_over) {
    return fmt::format(" ({} queues, trees steered by {})", receive_queues_,
                       placement::name_of(choice_.how));
  }
  return fmt::format(" ({} queues, spread by {})", receive_queues_,
                     spread_by_.empty() ? "the kernel's hash" : spread_by_);
}

std::string PortDevice::description() const {
  switch (configuration_.kind) {
  case config::PortKind::af_xdp:
    return fmt::format("af_xdp {} ({}{}, {} receive queue{}{})", configuration_.interface,
                       steering_ ? link::xdp::name_of(steering_->mode()) : "closed",
                       zero_copy_ ? ", zero-copy" : "", receive_queues_,
                       receive_queues_ == 1 ? "" : "s",
                       choice_.how == placement::Steering::rules ? ", trees steered by rules" : "");
  case config::PortKind::af_packet:
    return fmt::format("af_packet {}{}", configuration_.interface, words_on_queues());
  case config::PortKind::pci:
    return fmt::format("pci {}{}", configuration_.pci_address, words_on_queues());
  case config::PortKind::memif:
    return fmt::format("memif {} id {} ({})", configuration_.socket, configuration_.memif_id,
                       configuration_.role);
  case config::PortKind::ring: return fmt::format("ring {}", configuration_.ring);
  case config::PortKind::pcap:
    return fmt::format("pcap from {} to {}",
                       configuration_.rx_file.empty() ? "nothing" : configuration_.rx_file,
                       configuration_.tx_file.empty() ? "nothing" : configuration_.tx_file);
  case config::PortKind::null: return "null";
  }
  return "unknown";
}

} // namespace tributary::port
