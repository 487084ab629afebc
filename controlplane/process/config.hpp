// The fabric manager's configuration file as plain data, and how it is read. The keys are in
// schema.cpp.
#pragma once

#include "controlplane/etcd/client.hpp"
#include "controlplane/group/registry.hpp"
#include "lib/configuration/document.hpp"
#include "lib/configuration/schema.hpp"
#include "lib/net/address.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabricd {

struct Manager {
  std::string name = "fabric";
  std::string open_job;
  bool open_view = false;
  std::string log_level = "info";
};

struct Rest {
  std::vector<std::string> listen = {"unix:/run/tributary/fabricd.sock"};
  std::vector<net::Address> addresses; ///< those of `listen`
  std::vector<std::string> advertise;
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_ca; ///< of compute nodes
  std::string administrator_token_file;
};

struct Switches {
  std::vector<std::string> listen = {"unix:/run/tributary/switches.sock"};
  std::vector<net::Address> addresses; ///< those of `listen`
  std::vector<std::string> advertise;
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;
  std::chrono::milliseconds keepalive{1000};
  std::chrono::milliseconds statistics{1000};
};

struct Store {
  std::string file = "/var/lib/tributary/fabric.db";
  std::vector<std::string> etcd;         ///< with any, `file` is not used
  std::vector<etcd::Endpoint> endpoints; ///< those of `etcd`
  std::string etcd_prefix = "/tributary/fabric";
  std::string etcd_ca;
  std::string etcd_certificate;
  std::string etcd_key;
  std::string etcd_user;
  std::string etcd_password_file;
  std::chrono::milliseconds lease{3000};
  std::string peer;
  std::optional<net::HostPort> peer_place; ///< of `peer`
};

struct Groups {
  std::chrono::milliseconds join_limit{30'000};
  std::chrono::milliseconds leave_limit{30'000};
  std::chrono::milliseconds lease{30'000};
  std::uint32_t multicast_limit = 64;
  std::uint32_t max_size = 65'536;
  std::uint32_t descriptors_per_tree = reductions_per_tree;
  std::uint16_t first_vni = 1024;
  std::uint16_t last_vni = 65'535;
  std::uint32_t slots = most_reductions_per_tree;
  std::uint32_t payload = 1408; ///< 32: no wide frames
  bool float16 = true;
  bool in_switch_results = true;
  std::chrono::milliseconds vni_quarantine{300'000};
  std::string job_ports = "closed";
};

struct Multicast {
  std::uint64_t seed = 1;
  std::chrono::milliseconds rebalance_quiet{30'000};
};

struct Topology {
  std::string file;
  std::chrono::milliseconds host_memory{600'000};
  std::uint32_t hosts_per_port = 8;
};

struct Routes {
  bool enabled = false;
  std::string algorithm = "auto";
  std::uint8_t vcs = 2;
  std::string policy = "safe";
  std::string shape;
  /// DSCP values whose frames may overtake each other.
  std::vector<std::uint8_t> sprayed_dscps{10};
  bool damping = true;
  std::uint32_t damping_penalty = 1000;
  std::uint32_t damping_cut_off = 2500;
  std::uint32_t damping_reuse = 750;
  std::chrono::milliseconds damping_half_life{5000};
  std::chrono::milliseconds damping_longest{60'000};
};

struct Rdma {
  std::vector<std::string> policy;
  bool quarantine = true;
  std::chrono::milliseconds quarantine_window{30'000};
  std::uint32_t quarantine_failures = 4;
  std::uint32_t quarantine_reporters = 2;
  std::uint32_t reported_limit = 8;
  std::chrono::milliseconds probe_first{1000};
  std::chrono::milliseconds probe_longest{60'000};
  std::uint32_t suspect_peers = 3;
  std::uint32_t suspect_jobs = 3;
  std::chrono::milliseconds suspect_hold{30'000};
};

struct Config {
  std::string file;
  Manager manager;
  Rest rest;
  Switches switches;
  Store store;
  Groups groups;
  Multicast multicast;
  Topology topology;
  Routes routes;
  Rdma rdma;
  configuration::Document document; ///< the whole file as text, for `take_over`
};

[[nodiscard]] configuration::Schema manager_schema();

/// Throws configuration::ConfigError. `file` is only a name for messages.
[[nodiscard]] Config parse_text(std::string_view text, const std::string& file);
/// Throws configuration::ConfigError, also when the file cannot be read.
[[nodiscard]] Config parse_file(const std::string& path);

/// Takes from `wanted` what may change while the manager runs. Returns the differences that need a
/// restart.
[[nodiscard]] std::vector<std::string> take_over(Config& running, const Config& wanted);

/// Settings that are allowed but not advisable, one sentence each: for the log.
[[nodiscard]] std::vector<std::string> warnings(const Config& config);

/// A complete file that parses, every key explained.
[[nodiscard]] std::string default_toml();
/// The tables of keys in docs/operate/fabric-manager.md.
[[nodiscard]] std::string keys_markdown();

} // namespace tributary::fabricd
