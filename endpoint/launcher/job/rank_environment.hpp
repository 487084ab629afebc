// The environment of ranks: what is passed on, what is removed, what a launcher adds.
// Pure.
//
// PMIx and the PMI-1 descriptor add their own variables in the node daemon, after these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::launch::job {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Whether a variable belongs to another launcher (mpirun, srun, hydra, or a tributary-run around
/// this one), so that a rank would take itself for part of that one's job.
[[nodiscard]] bool is_of_another_launcher(std::string_view name);

/// Whether a variable of tributary-run's own environment is passed on to nodes that have an
/// environment of their own, without --env: what configures Tributary, MPI libraries and
/// transports.
[[nodiscard]] bool travels(std::string_view name);

struct NodeFacts {
  std::uint32_t ranks = 0; ///< on this node
  std::uint32_t processors = 0;
};
/// The variables by which Open MPI accepts a launcher that is not its own.
[[nodiscard]] Variables for_open_mpi(const NodeFacts& node);

struct RankFacts {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t local_rank = 0; ///< its number among those of the node
  std::uint32_t local_ranks = 0;
  std::string master_address{}; ///< of rank 0's node; "": not known
  std::uint32_t master_port = 0;
};
/// The variables by which PyTorch's env:// and other programs that torchrun starts find each other.
[[nodiscard]] Variables for_torch(const RankFacts& rank);

/// "NAME=VALUE"; "NAME" alone takes the value from `environment`. Throws std::invalid_argument.
[[nodiscard]] std::pair<std::string, std::string> variable_from(std::string_view option,
                                                                const Variables& environment);

/// The later value wins; the order is that of first mention.
void set_variable(Variables& variables, std::string_view name, std::string_view value);

} // namespace tributary::launch::job
