// What the environment says to the MPI front ends; docs/guide/mpi.md has the table.
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
  std::string interface;     ///< TRIBUTARY_MPI_INTERFACE; "": nobody said
  int verbose = 0;           ///< TRIBUTARY_MPI_VERBOSE; -1 (set to 0): errors alone
  bool require = false;      ///< TRIBUTARY_MPI_REQUIRE: rather end than go on by MPI alone
  bool reproducible = false; ///< TRIBUTARY_SUM=reproducible
  bool nan_wins = true;      ///< TRIBUTARY_MPI_NAN=ignored: in MIN and MAX a number beats a NaN
  bool print_tuning = false; ///< TRIBUTARY_MPI_TUNING=print
  bool at_start = true;      ///< false: TRIBUTARY_MPI_TUNING=run
  bool corrections = true;   ///< false: TRIBUTARY_MPI_TUNING=start
  /// TRIBUTARY_MPI_TUNING; nothing: to be measured.
  std::optional<Tuning> tuning;
  std::string tuning_text = "measure";
  /// TRIBUTARY_MPI_TIMEOUT, in seconds: how long a reduction to which all have contributed may
  /// take without getting any further before the fabric counts as failed.
  std::chrono::milliseconds timeout{10'000};
  /// TRIBUTARY_MPI_TURN: asks for trees that are turned round, or refuses them; nothing: as the
  /// fabric manager's file says.
  std::optional<bool> turn;
  std::chrono::milliseconds join_limit{10'000}; ///< TRIBUTARY_MPI_JOIN_TIMEOUT, in seconds
  std::optional<std::uint32_t> spin_usec;       ///< TRIBUTARY_MPI_SPIN_USEC

  /// Of what all ranks of a communicator must have alike.
  [[nodiscard]] std::string common() const;
};

/// `look_up` is getenv. What is wrong keeps its default, and is said in `faults`.
[[nodiscard]] Settings settings_from(const std::function<const char*(const char*)>& look_up,
                                     std::vector<std::string>& faults);

} // namespace tributary::mpi
