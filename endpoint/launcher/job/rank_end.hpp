// How ranks end, as text and as an exit code. Pure; statuses are those of waitpid(2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::launch::job {

struct RankEnd {
  std::uint32_t rank = 0;
  std::string_view node;
  std::uint32_t pid = 0;
  int status = 0;
  bool connected = false; ///< it has called MPI_Init, or its equivalent
  bool finalized = false;
};

/// Whether the others cannot continue without it: a signal, an exit code other than 0, or an end
/// without MPI_Finalize.
[[nodiscard]] bool failed(const RankEnd& end);

/// Exit code as a shell reports it: the code, 128 + signal, or 1 for an end without MPI_Finalize.
[[nodiscard]] int exit_code_of(const RankEnd& end);

/// "rank 3 on ns2 (process 4711) was killed by signal 9 (Killed)"
[[nodiscard]] std::string text_of(const RankEnd& end);

/// "was killed by signal 9 (Killed)", "ended with exit code 3"
[[nodiscard]] std::string status_text(int status);

} // namespace tributary::launch::job
