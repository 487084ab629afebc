// How far a run is, in place on a terminal; nothing elsewhere.
#pragma once

#include <string>

namespace tributary::simulator {

/// "[#####.....]  50 %", as wide as `columns`.
[[nodiscard]] std::string bar_text(double share, std::size_t columns);

class ProgressBar {
public:
  /// Shows nothing when `wanted` is false, or the descriptor is no terminal.
  ProgressBar(int descriptor, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(double share);

private:
  int descriptor_;
  bool shows_;
  bool stands_ = false; ///< a line that is to be wiped out
};

} // namespace tributary::simulator
