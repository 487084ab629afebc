// The progress of a run in one line: ten times a second in place on a terminal, otherwise a line
// each second and each time another phase begins.
#pragma once

#include "pktgen/result/live_view.hpp"

#include <string>

namespace tributary::pktgen::report {

/// "measuring, 2 of 5, 1.2/5.0 s"
[[nodiscard]] std::string phase_text(const result::LiveFigures& figures);

/// "measuring, 2 of 5, 1.2/5.0 s  sent 1.2 Mframes/s  ..."; without a line break.
[[nodiscard]] std::string progress_line(const result::LiveFigures& figures);

class Progress final : public result::LiveView {
public:
  explicit Progress(int descriptor);
  ~Progress() override { finish(); }

  void show(const result::LiveFigures& figures, TimeNs now) override;
  void finish() override;

private:
  const int descriptor_;
  const bool in_place_;
  bool line_stands_ = false; ///< one that is to be overwritten
  std::string phase_;
  TimeNs due_{0}; ///< when the next line may be shown
};

} // namespace tributary::pktgen::report
