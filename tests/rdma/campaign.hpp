// Twelve sources against three sinks on a network with all faults, hosts that restart and paths
// that die. Invariants:
//
//   nothing corrupt   every byte of every slot, and of the canaries around it, is what the last
//                     completed transfer wrote; also long afterwards
//   nothing hung      every transfer ends; without a restart or a dead path it is done
//   nothing twice     immediate data arrives once for each write that is done
//   nothing left      in the end all contexts of both hosts are free
#pragma once

#include "endpoint/rdma/completion.hpp"
#include "endpoint/rdma/counters.hpp"
#include "endpoint/rdma/rules.hpp"
#include "tests/rdma/network.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::rdma::test {

enum class Scene : std::uint8_t {
  faults,        ///< every kind of frame lost, repeated, damaged, very late
  sink_restarts, ///< and the sinks' host restarts
  source_restarts,
  dead_path, ///< and no frame arrives for a while, short or long
  queue,     ///< and a queue of finite rate and length, which trims in every second run
  hostile,   ///< and a third host forges frames of both, accepts requests, and never answers
};
inline constexpr std::size_t scenes = 6;
inline constexpr std::array<const char*, scenes> scene_names = {
    "faults", "sink_restarts", "source_restarts", "dead_path", "queue", "hostile"};

struct CampaignRun {
  Scene scene = Scene::faults;
  std::uint64_t seed = 1;
  std::uint64_t transfers = 1000;
  Rules rules{};
  /// Virtual time after which a transfer that has not ended counts as hung.
  std::uint64_t timeout_ns = 20'000'000;
};

/// How many values Cause has.
inline constexpr std::size_t causes = static_cast<std::size_t>(Cause::cancelled) + 1;

struct CampaignReport {
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;                      ///< with a cause, which the scene allows or not
  std::array<std::uint64_t, causes> failed_by{}; ///< by Cause
  std::uint64_t hung = 0;
  std::uint64_t corrupt = 0; ///< slots with a wrong byte
  std::uint64_t twice = 0;   ///< immediate data that arrived again
  std::uint64_t lost = 0;    ///< immediate data of completed writes that did not arrive
  std::uint64_t left = 0;    ///< contexts in use at the end
  std::uint64_t restarts = 0;
  std::uint64_t frames = 0;
  std::uint64_t forged = 0; ///< frames of the hostile host
  Network::Counts faults{};
  Counters source; ///< of the last life of each host
  Counters sink;
  std::vector<std::string> violations; ///< the first ones

  [[nodiscard]] bool good() const { return violations.empty(); }
  void add(const CampaignReport& other);
};

CampaignReport run_campaign(const CampaignRun& run);

} // namespace tributary::rdma::test
