// The server's side of PMI-1, which MPICH's ranks speak on the descriptor PMI_FD: lines of text,
// `cmd=NAME key=value ...`. Pure; one instance is one node's ranks.
//
//   rank                                     server
//   cmd=init pmi_version=1 pmi_subversion=1  cmd=response_to_init pmi_version=1 pmi_subversion=1
//                                            rc=0
//   cmd=get_maxes                            cmd=maxes kvsname_max=256 keylen_max=64
//                                            vallen_max=1024 rc=0
//   cmd=get_my_kvsname                       cmd=my_kvsname kvsname=JOB rc=0
//   cmd=get_appnum, get_universe_size        cmd=appnum appnum=0 rc=0, cmd=universe_size size=N
//   cmd=put kvsname=JOB key=K value=V        cmd=put_result rc=0 msg=success
//   cmd=get kvsname=JOB key=K                cmd=get_result rc=0 msg=success value=V
//   cmd=barrier_in                           cmd=barrier_out rc=0, once all ranks are in
//   cmd=finalize                             cmd=finalize_ack rc=0
//   cmd=abort exitcode=N                     nothing
//
// A value that a rank puts is visible on its own node immediately, and on the others after the next
// barrier. Publishing names and spawning processes are refused with rc=-1. The key
// PMI_process_mapping says which ranks share a node. (MPICH 4.0.2, src/pmi/simple.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::launch::pmi {

/// (vector,(first node, nodes, ranks of each),...) for blocks of ranks, node after node.
[[nodiscard]] std::string process_mapping(const std::vector<std::uint32_t>& ranks_by_node);

struct Pmi1Settings {
  std::string job;
  std::uint32_t ranks = 0; ///< ranks of the job
  std::string mapping;     ///< process_mapping
};

class Pmi1 {
public:
  static constexpr std::size_t longest_line = 16 * 1024;

  /// `local` are the ranks of this node.
  Pmi1(Pmi1Settings settings, const std::vector<std::uint32_t>& local);

  struct Outcome {
    std::string reply; ///< to this rank; "": none yet
    std::string error; ///< it does not speak PMI-1: close its connection
    bool connected = false;
    bool finalized = false;
    bool barrier = false; ///< all local ranks are in: `puts` go to all nodes, and return in
                          ///< `release`
    bool aborted = false;
    int exit_code = 0; ///< with `aborted`
  };
  /// Handles bytes of a rank's descriptor. Lines after a barrier are kept until it is over: a rank
  /// waits for each answer.
  [[nodiscard]] Outcome received(std::uint32_t rank, std::string_view bytes);

  /// Values that local ranks put since the last barrier.
  [[nodiscard]] std::string take_puts();
  /// All nodes are in, with `puts` of all of them; or some ranks will never enter, and it is not
  /// `complete`. Returns the answers to local ranks.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> release(std::string_view puts,
                                                                           bool complete);
  /// Ends the wait for a rank that has ended. True: all other ranks of the node are in a barrier.
  bool forget(std::uint32_t rank);

private:
  [[nodiscard]] bool all_in_barrier() const;
  struct Session {
    std::string begun;
    bool multi_line = false; ///< within mcmd=spawn
    bool initialised = false;
    bool in_barrier = false;
  };
  void line(Session& session, std::string_view text, Outcome& outcome);

  Pmi1Settings settings_;
  std::map<std::uint32_t, Session> sessions_;
  std::map<std::string, std::string, std::less<>> values_;
  std::string puts_;
};

} // namespace tributary::launch::pmi
