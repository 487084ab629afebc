// The environment of the MPI front ends; docs/guide/mpi.md has the table.
#pragma once

#include "endpoint/mpi/model/tuning.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tributary::mpi {

struct Settings {
  bool on = true;            ///< TRIBUTARY_MPI=off
  std::string interface;     ///< TRIBUTARY_MPI_INTERFACE; "": the host agent's
  int verbose = 0;           ///< TRIBUTARY_MPI_VERBOSE; -1 (set to 0): errors only
  bool require = false;      ///< TRIBUTARY_MPI_REQUIRE: end rather than continue by MPI alone
  bool reproducible = false; ///< TRIBUTARY_SUM=reproducible
  bool nan_wins = true;      ///< TRIBUTARY_MPI_NAN=ignored: in MIN and MAX a number beats a NaN
  bool print_tuning = false; ///< TRIBUTARY_MPI_TUNING=print
  bool at_start = true;      ///< false: TRIBUTARY_MPI_TUNING=run
  bool corrections = true;   ///< false: TRIBUTARY_MPI_TUNING=start
  /// TRIBUTARY_MPI_TUNING; nullopt: to be measured.
  std::optional<Tuning> tuning;
  std::string tuning_text = "measure";
  /// TRIBUTARY_MPI_TIMEOUT, in seconds: how long a reduction to which all have contributed may stay
  /// without progress before the fabric counts as failed.
  std::chrono::milliseconds timeout{10'000};
  /// TRIBUTARY_MPI_IN_SWITCH_RESULTS: asks for in-switch results, or refuses them; nullopt: as the
  /// fabric manager's file says.
  std::optional<bool> in_switch_results;
  std::chrono::milliseconds join_limit{10'000}; ///< TRIBUTARY_MPI_JOIN_TIMEOUT, in seconds
  std::optional<std::uint32_t> spin_usec;       ///< TRIBUTARY_MPI_SPIN_USEC

  /// The settings that must be the same at all ranks of a communicator, as text.
  [[nodiscard]] std::string common() const;
};

/// `look_up` is getenv. A faulty setting keeps its default, and is described in `faults`.
[[nodiscard]] Settings settings_from(const std::function<const char*(const char*)>& look_up,
                                     std::vector<std::string>& faults);

} // namespace tributary::mpi
