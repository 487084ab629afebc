// What the fabric manager's configuration file says, as plain data, and the way from the file to
// it. The keys are in schema.cpp.
#pragma once

#include "configuration/schema.hpp"
#include "controlplane/group/registry.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabricd {

struct Manager {
  std::string name = "fabric";
  std::string open_job;
  std::string log_level = "info";
};

struct Rest {
  std::vector<std::string> listen = {"unix:/run/tributary/fabricd.sock"};
  std::string tls_certificate;
  std::string tls_key;
  std::string administrator_token_file;
};

struct Switches {
  std::vector<std::string> listen = {"unix:/run/tributary/switches.sock"};
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;
  std::chrono::milliseconds keepalive{1000};
  std::chrono::milliseconds statistics{1000};
};

struct Store {
  std::string file = "/var/lib/tributary/fabric.db";
};

struct Groups {
  std::chrono::milliseconds join_limit{30'000};
  std::chrono::milliseconds leave_limit{30'000};
  std::chrono::milliseconds lease{30'000};
  std::uint32_t multicast_limit = 16;
  std::uint32_t max_size = 65'536;
  std::uint16_t first_vni = 1024;
  std::uint16_t last_vni = 65'535;
};

struct Multicast {
  std::string algorithm = "prism";
  std::uint64_t seed = 1;
};

struct Topology {
  std::string file;
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
};

[[nodiscard]] config::Schema manager_schema();

/// Throws config::ConfigError. `file` is only a name for messages.
[[nodiscard]] Config parse_text(std::string_view text, const std::string& file);
/// Throws config::ConfigError, also when the file cannot be read.
[[nodiscard]] Config parse_file(const std::string& path);

/// A complete file that parses, every key explained.
[[nodiscard]] std::string default_toml();
/// The tables of keys as they stand in docs/operate/fabric-manager.md.
[[nodiscard]] std::string keys_markdown();

} // namespace tributary::fabricd
