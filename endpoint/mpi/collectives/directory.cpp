#include "endpoint/mpi/collectives/directory.hpp"

#include "endpoint/mpi/model/word_hash.hpp"

#include "endpoint/mpi/collectives/report.hpp"
#include "endpoint/mpi/intra_node/sockets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>

namespace tributary::mpi::collectives {

namespace {

constexpr std::size_t most_text_bytes = 4096;

/// Waits until all ranks have come here. One that does not preload this library never does, so the
/// others say what they wait for. (The gathering itself blocks: MPI libraries have good algorithms
/// for that, and connect every rank to every other one in the non-blocking one.)
void wait_for_all(MPI_Comm comm) {
  constexpr std::chrono::seconds say_after{10};
  constexpr std::chrono::milliseconds while_young{5};
  constexpr std::chrono::microseconds pause{100};
  const auto began = std::chrono::steady_clock::now();
  bool said = false;
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Ibarrier(comm, &request);
  for (int done = 0;;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) {
      return;
    }
    const auto waited = std::chrono::steady_clock::now() - began;
    if (waited < while_young) {
      sched_yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    if (waited >= say_after && !said) {
      said = true;
      say("waits for other ranks to introduce themselves; all ranks must preload this library, or "
          "none");
    }
  }
}

} // namespace

std::string memory_name(const intra_node::Secret& of_first, std::uint64_t key, std::uint64_t node) {
  WordHash hash;
  for (const std::byte byte : of_first) {
    hash.add(static_cast<std::uint64_t>(byte));
  }
  return fmt::format("/tributary-{:016x}-{:016x}-{:x}", hash.value(), key, node);
}

std::string introduction_text() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{} {}", host.data(), intra_node::addresses_of_node())
      .substr(0, most_text_bytes);
}

Directory Directory::gather(MPI_Comm comm, Introduction mine, const std::string& text) {
  int size = 0;
  int me = 0;
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_rank(comm, &me);
  mine.text_bytes = static_cast<std::uint32_t>(text.size());
  Directory directory;
  directory.ranks_.resize(static_cast<std::size_t>(size));
  wait_for_all(comm);
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, directory.ranks_.data(), sizeof mine, MPI_BYTE,
                 comm);
  const std::vector<Introduction>& ranks = directory.ranks_;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].version != ranks[0].version) {
      directory.fault_ = fmt::format("rank {} has version {} of libtributary_mpi, rank 0 has {}",
                                     rank, ranks[rank].version, ranks[0].version);
      return directory;
    }
  }
  // The first rank of each node tells the node's name and addresses.
  std::vector<int> counts;
  std::vector<int> offsets;
  std::set<std::uint64_t> nodes;
  int total = 0;
  for (const Introduction& one : ranks) {
    const bool speaks = nodes.insert(one.node).second && one.text_bytes <= most_text_bytes;
    offsets.push_back(total);
    counts.push_back(speaks ? static_cast<int>(one.text_bytes) : 0);
    total += counts.back();
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  PMPI_Allgatherv(text.data(), counts[static_cast<std::size_t>(me)], MPI_CHAR, all.data(),
                  counts.data(), offsets.data(), MPI_CHAR, comm);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (counts[rank] > 0) {
      const std::string of_node = all.substr(static_cast<std::size_t>(offsets[rank]),
                                             static_cast<std::size_t>(counts[rank]));
      const std::size_t space = std::min(of_node.find(' '), of_node.size() - 1);
      directory.nodes_[ranks[rank].node] = {.host = of_node.substr(0, space),
                                            .addresses = of_node.substr(space + 1)};
    }
  }
  return directory;
}

bool Directory::any(std::uint32_t flag) const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [flag](const Introduction& one) { return (one.flags & flag) != 0; });
}

const std::string& Directory::host_of(int rank) const {
  return nodes_.at(ranks_[static_cast<std::size_t>(rank)].node).host;
}

intra_node::Process Directory::process_of(int rank) const {
  const Introduction& one = ranks_[static_cast<std::size_t>(rank)];
  return {.number = one.process,
          .secret = one.secret,
          .port = static_cast<std::uint16_t>(one.port),
          .addresses = nodes_.at(one.node).addresses};
}

std::string differing_settings(const std::vector<const Introduction*>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank]->settings != ranks[0]->settings) {
      return fmt::format("rank {} and rank 0 have different settings: TRIBUTARY_MPI, _REQUIRE, "
                         "_NAN, _TUNING, _TIMEOUT and TRIBUTARY_SUM must be the same at all ranks",
                         rank);
    }
  }
  return {};
}

} // namespace tributary::mpi::collectives
