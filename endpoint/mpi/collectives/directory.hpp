// Who the ranks of a communicator are, as each of them introduced itself: gathered once for the
// whole job, in MPI_Init, so that a communicator of ranks of MPI_COMM_WORLD needs no communication
// to know its nodes; or, where a program begins with sessions, by each communicator for itself.
#pragma once

#include "endpoint/mpi/intra_node/connections.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

/// What a rank sends about itself. Its length is the same in all versions.
struct Introduction {
  std::uint64_t node = 0;     ///< node::node_identity
  std::uint64_t settings = 0; ///< hash of Settings::common
  std::uint32_t version = 0;  ///< of everything that ranks share besides MPI
  std::uint32_t flags = 0;
  std::uint64_t machine = 0; ///< node::machine_identity
  std::uint64_t process = 0; ///< intra_node::Process::number
  intra_node::Secret secret{};
  std::uint32_t port = 0;
  std::uint32_t text_bytes = 0; ///< length of its "host address address ..."

  // Bits of flags:
  static constexpr std::uint32_t has_world = 1;        ///< MPI_COMM_WORLD exists
  static constexpr std::uint32_t was_told = 2;         ///< knows of a line about a refusal
  static constexpr std::uint32_t began_by_session = 4; ///< had a session before MPI_Init
};

class Directory {
public:
  /// Collective. Prints a line if other ranks let it wait for ten seconds.
  static Directory gather(MPI_Comm comm, Introduction mine, const std::string& text);

  [[nodiscard]] const std::vector<Introduction>& ranks() const { return ranks_; }
  /// Why no group is possible, if versions differ: then the rest is not known.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] bool any(std::uint32_t flag) const;
  /// "h2".
  [[nodiscard]] const std::string& host_of(int rank) const;
  [[nodiscard]] intra_node::Process process_of(int rank) const;

private:
  struct Node {
    std::string host;
    std::string addresses;
  };
  std::vector<Introduction> ranks_;
  std::map<std::uint64_t, Node> nodes_;
  std::string fault_;
};

/// Name of the shared memory of a node's ranks: a team's, or with 0 that of the trees. Known to the
/// ranks only; does not give the secret away to those who see names in /dev/shm.
[[nodiscard]] std::string memory_name(const intra_node::Secret& of_first, std::uint64_t key,
                                      std::uint64_t node);
/// "host address address ..." of this process.
[[nodiscard]] std::string introduction_text();
/// The first rank whose settings differ from the first one's, as a text; "": none.
[[nodiscard]] std::string differing_settings(const std::vector<const Introduction*>& ranks);

} // namespace tributary::mpi::collectives
