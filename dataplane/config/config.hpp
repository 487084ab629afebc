// The contents of the configuration file as plain data. parse.hpp reads it, print_default.hpp
// writes a commented one. Nothing here refers to DPDK or to a running switch.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "dataplane/egress/ingress_accounts.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "dataplane/impairment/settings.hpp"
#include "lib/net/address.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::config {

enum class PortKind : std::uint8_t { af_xdp, af_packet, pci, memif, ring, pcap, null };

/// Faults a port inflicts on purpose in one direction; all off by default.
struct Impairment {
  impairment::Settings settings{};
  std::uint64_t seed = 0;     ///< 0 = drawn from the system's random source, and logged
  std::string unknown_kind{}; ///< an unknown entry of the list of kinds, for messages; empty: none

  [[nodiscard]] bool any() const { return settings.any(); }
};

/// The traffic classes of a port: those set in a [[switch.class]] of its switch or a
/// [[switch.port.class]] of its own; the others have default settings.
struct Classes {
  egress::PortSettings queues;
  /// Pause limits of each ingress class, for classes that pause.
  std::array<egress::PauseLimits, traffic_classes> pauses{};
  ClassSet set; ///< classes that the file sets
  /// Lines of the file by class, for messages.
  std::array<int, traffic_classes> lines{};

  [[nodiscard]] bool lossless(TrafficClass c) const { return queues.classes[c.value].lossless(); }
};

struct Port {
  std::string name;
  PortKind kind = PortKind::af_xdp;
  std::string interface;       ///< af_xdp, af_packet: the kernel interface
  std::string pci_address;     ///< pci: e.g. "0000:03:00.0"
  std::string socket;          ///< memif: socket path
  std::string role = "server"; ///< memif: server or client
  std::uint32_t memif_id = 0;
  std::string ring; ///< ring: a name; the two ports of the process that share it are joined
  /// pcap: frames to receive; empty receives nothing. With `queue_mark` a file for each worker,
  /// with the worker's number instead of the mark.
  std::string rx_file;
  std::string tx_file; ///< pcap: where sent frames go; empty discards them. Likewise.
  bool repeat = false; ///< pcap: start over at the end of rx_file
  core::PortPolicy policy;
  Impairment impaired_received; ///< frames received at the port
  Impairment impaired_sent;
  Classes classes;
  /// Whether frames carry their class in an 802.1Q tag, with this VLAN id.
  bool tags = false;
  std::uint16_t vlan = 0;
  int line = 0; ///< of the file, for messages

  /// Its device: the NIC's PCI address, or the kernel interface.
  [[nodiscard]] const std::string& device() const {
    return kind == PortKind::pci ? pci_address : interface;
  }
  [[nodiscard]] std::string& device() { return kind == PortKind::pci ? pci_address : interface; }
  static constexpr std::string_view queue_mark = "{queue}";
  /// pcap: whether each worker has files of its own.
  [[nodiscard]] bool has_queue_files() const {
    return kind == PortKind::pcap && rx_file.find(queue_mark) != std::string::npos;
  }
  /// A queue's own file.
  [[nodiscard]] static std::string file_of(std::string name, std::size_t queue) {
    if (const std::size_t at = name.find(queue_mark); at != std::string::npos) {
      name.replace(at, queue_mark.size(), std::to_string(queue));
    }
    return name;
  }
  /// Whether tags and pause frames apply to this port.
  [[nodiscard]] bool has_edge() const {
    return tags || std::ranges::any_of(classes.queues.classes, &egress::ClassSettings::lossless);
  }
};

/// A multicast tree; ports are indices into `Switch::ports`.
struct Tree {
  TreeNumber number;
  ContributionCount wait_count = 0;
  PortNumber parent = no_port;
  PortSet children;
  int line = 0;
  core::SlotDemand slots{}; ///< for wide frames

  /// Whether a switch treats both alike.
  [[nodiscard]] bool acts_as(const Tree& other) const {
    return number == other.number && wait_count == other.wait_count && parent == other.parent &&
           children == other.children && slots == other.slots;
  }
};

struct Route {
  Nid nid;
  PortNumber port = no_port;
  int line = 0;
};

struct Switch {
  std::string name;
  /// Identifies the switch to its neighbours and the fabric manager; 0: `wire::guid_of_name(name)`.
  std::uint64_t guid = 0;
  /// EtherType of all ports, and of their policies: frames are replicated by reference, never
  /// rewritten.
  std::uint16_t ethertype = wire::default_ethertype;
  core::SwitchSettings settings;
  Classes classes; ///< defaults of its ports
  std::vector<Port> ports;
  std::vector<Tree> trees;
  std::vector<Route> routes;
  /// Whether plain Ethernet passes between two ports: the named ones, or the only two.
  bool forward_foreign = false;
  std::vector<std::string> foreign_ports;
  int line = 0;
};

enum class Poll : std::uint8_t { adaptive, busy };

/// Longest frame in bytes. Every port's policy has the process's value: frames pass between any two
/// ports.
inline constexpr std::uint32_t default_longest_frame = 1792;
inline constexpr std::uint32_t most_longest_frame = wire::longest_switched_frame;

struct Process {
  std::uint32_t workers = 1;
  std::vector<unsigned> cores; ///< one per worker; empty = not pinned
  Poll poll = Poll::adaptive;
  /// adaptive: how long an idle worker spins before it sleeps, until when its sleeps are short, and
  /// its longest sleep
  std::chrono::microseconds idle_spin{20};
  std::chrono::microseconds idle_awake{300};
  std::chrono::microseconds idle_sleep_max{200};
  std::string control_socket = "/run/tributary/switch.sock";
  std::string metrics;                         ///< as written; empty: none
  std::optional<net::Address> metrics_address; ///< 127.0.0.1 if no host was written
  std::string hugepages = "auto";              ///< auto, never, require
  std::uint32_t memory_mib = 0;                ///< without hugepages; 0 = computed from the ports
  std::uint32_t buffers_per_port = 4096;
  std::uint32_t longest_frame = default_longest_frame;
  std::string log_level = "info";
  bool lldp = true; ///< LLDP is sent and received on all ports that have another end
};

/// The fabric managers of which the switches of the process connect to one: the leader and its
/// standbys.
struct Manager {
  std::vector<std::string> addresses; ///< as written, in the order in which they are dialled
  std::vector<net::Address> parsed_addresses;
  // PEM files: TCP needs all three, a Unix socket none.
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;
  /// Interval between hellos on each port that is up; 0: never.
  std::chrono::milliseconds hello_interval{1000};
  /// Interval between link hellos on each port to a switch that sends them, too; 0: never.
  std::chrono::milliseconds link_hello_interval{10};
  std::uint32_t link_down_after = 3; ///< intervals without a link hello
  std::uint32_t link_up_after = 3;   ///< consecutive link hellos
};

struct Config {
  std::string file;
  Process process;
  /// Without one, switches use the file only, and neither send nor read hellos.
  std::optional<Manager> manager;
  std::vector<Switch> switches;
};

} // namespace tributary::config
