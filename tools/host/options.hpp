// The command line of tributary-host.
#pragma once

#include "lib/workload/workload.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tributary::host {

/// An operation: a reduction of a kind, or one that moves elements of 8 bytes. Ranks take
/// turns as the root of broadcasts.
struct Call {
  enum class What : std::uint8_t { reduce, broadcast, allgather, reduce_scatter };
  What what = What::reduce;
  workload::Kind kind{};
  [[nodiscard]] std::string_view name() const {
    switch (what) {
    case What::broadcast: return "broadcast";
    case What::allgather: return "allgather";
    case What::reduce_scatter: return "reduce-scatter";
    case What::reduce: break;
    }
    return kind.name;
  }
};

struct Options {
  std::string interface;
  std::uint16_t ethertype = 0;
  std::uint32_t nid = TRIBUTARY_NID_FROM_ADDRESS;
  std::uint32_t spin_usec = TRIBUTARY_SPIN_AUTO;
  int transport = TRIBUTARY_TRANSPORT_DEFAULT;
  std::optional<bool> own_thread; ///< nullopt: by the environment
  tributary_group_options group{};
  /// The name of a group at the fabric manager; "" uses the tree of `group` directly.
  std::string name;
  std::uint32_t trees = 1;
  std::optional<std::uint32_t> named_root; ///< the root requested from the manager
  std::optional<std::string> job;
  std::optional<std::string> manager;
  std::optional<std::string> token;
  std::optional<std::string> certificate_authority;
  std::chrono::microseconds wait = std::chrono::seconds(60);
  std::vector<Call> calls; ///< used in turn
  std::uint64_t iterations = 1000;
  std::uint64_t in_flight = 1;
  std::size_t length = 4;
  std::uint64_t seed = 1;
  bool check = true;
  bool json = false;
  std::string output = "-"; ///< file for the report; "-" is standard output
  bool progress = false;
  std::chrono::microseconds timeout = std::chrono::seconds(60);
};

/// The API has 32 bits for these times, in microseconds.
inline constexpr std::chrono::seconds most_time{4294};

// Options that both commands have.
void add_interface_options(CLI::App& app, std::string& interface, std::uint16_t& ethertype,
                           std::uint32_t& nid, int& transport);
void add_own_thread(CLI::App& app, std::optional<bool>& own_thread);
void add_report_options(CLI::App& app, bool& json, std::string& output);

/// Reads the command line; when the program is to end now (help, or a usage error that was already
/// reported), returns nullopt and sets `exit_code`.
[[nodiscard]] std::optional<Options> read_options(int argc, char** argv, int& exit_code);

} // namespace tributary::host
