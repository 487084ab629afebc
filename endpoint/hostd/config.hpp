// The host agent's configuration file as plain data, and how it is read.
#pragma once

#include "endpoint/agent/job.hpp"
#include "endpoint/agent/registry.hpp"
#include "lib/configuration/document.hpp"
#include "lib/configuration/schema.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::hostd {

struct Agent {
  std::string interface;
  std::uint16_t ethertype = wire::default_ethertype;
  std::optional<std::uint32_t> nid; ///< absent: from the interface's address
  std::string name;                 ///< empty: the machine's
  std::string socket = "/run/tributary/host.sock";
  std::string record = "/run/tributary/host.json";
  std::string administrators; ///< name or number of a group; empty: root alone
  std::uint8_t mark_prefix = 0x54;
  std::string nft = "nft";
  std::string log_level = "info";
};

struct LimitKeys {
  std::uint32_t jobs = 4096;
  std::uint32_t jobs_per_user = 64;
  std::uint32_t sockets_per_user = 1024;
  std::uint32_t receive_buffer_mib = 16;
};

/// Users and groups are names or numbers, as in the file.
struct ServiceKeys {
  std::string name;
  std::vector<std::string> users;
  std::vector<std::string> groups;
  std::vector<std::int64_t> vnis; ///< first and last
};

struct Config {
  std::string file;
  Agent agent;
  LimitKeys limits;
  std::vector<ServiceKeys> services;
  configuration::Document document; ///< the whole file as text, for `take_over`
};

[[nodiscard]] configuration::Schema host_schema();

/// Throws configuration::ConfigError. `file` is only a name for messages.
[[nodiscard]] Config parse_text(std::string_view text, const std::string& file);
/// Throws configuration::ConfigError, also when the file cannot be read.
[[nodiscard]] Config parse_file(const std::string& path);

/// Takes from `wanted` what may change while the agent runs. Returns the differences that need a
/// restart.
[[nodiscard]] std::vector<std::string> take_over(Config& running, const Config& wanted);

/// A complete file, every key explained.
[[nodiscard]] std::string default_toml();
/// The tables of keys in docs/operate/host-agent.md.
[[nodiscard]] std::string keys_markdown();

/// The settings of the registry. Looks up users and groups; throws configuration::ConfigError for
/// one that this machine does not have.
[[nodiscard]] host_agent::Settings registry_settings(const Config& config);

} // namespace tributary::hostd
