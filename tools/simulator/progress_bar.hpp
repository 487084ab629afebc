// The progress of a run, updated in place on a terminal; nothing elsewhere.
#pragma once

#include <string>

namespace tributary::simulator {

/// "[#####.....]  50 %", as wide as `columns`.
[[nodiscard]] std::string bar_text(double share, std::size_t columns);

class ProgressBar {
public:
  /// Shows nothing when `wanted` is false, or the descriptor is not a terminal.
  ProgressBar(int descriptor, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(double share);

private:
  int descriptor_;
  bool shows_;
  bool stands_ = false; ///< a line to be erased
};

} // namespace tributary::simulator
