// A rank as a process of its node daemon.
//
// It leads its own process group, so that its children get its signals; it dies with the daemon
// (PR_SET_PDEATHSIG); standard input, output and errors are pipes, and PMI_FD, where wanted, is one
// end of a socket pair. It inherits no other descriptor.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tributary::launch::node {

struct RankStart {
  std::vector<std::string> command;     ///< looked up in PATH of the environment
  std::vector<std::string> environment; ///< NAME=VALUE; PMI_FD is added
  std::string directory;
  bool input = false; ///< standard input is a pipe; otherwise /dev/null
};

struct RankProcess {
  pid_t pid = 0;
  net::FileDescriptor input;  ///< to write; none without
  net::FileDescriptor output; ///< to read, like `errors`
  net::FileDescriptor errors;
  net::FileDescriptor pmi; ///< bidirectional
};

/// Its message has the system call that failed, and why.
class StartError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A rank on its way from fork to exec. Where ranks outnumber processors that takes until earlier
/// ones yield one, so a daemon begins all of its ranks before it waits for the first.
class StartingRank {
public:
  /// To be called on a thread that lives as long as the daemon: the kernel kills the rank when the
  /// thread that forked it ends. Throws StartError.
  explicit StartingRank(const RankStart& start);

  /// Waits for the exec; call it once. Throws StartError when the exec failed.
  [[nodiscard]] RankProcess wait();

private:
  std::string program_; ///< for error messages
  std::string directory_;
  RankProcess process_;
  net::FileDescriptor status_;
};

} // namespace tributary::launch::node
