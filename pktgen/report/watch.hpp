// --watch: the full screen. Takes the terminal's second screen with the first picture and gives the
// first one back in finish(), at its latest in the destructor, so also when an exception passes.
// A caller that catches signals destroys the object as usual.
#pragma once

#include "pktgen/report/watch_frame.hpp"

namespace tributary::pktgen::report {

class Watch final : public result::LiveView {
public:
  /// `descriptor` is a terminal.
  explicit Watch(int descriptor) : descriptor_(descriptor) {}
  ~Watch() override { finish(); }

  void show(const result::LiveFigures& figures, TimeNs now) override;
  void finish() override;

private:
  const int descriptor_;
  bool on_second_screen_ = false;
  WatchFrame frame_;
  TimeNs due_{0}; ///< when the next picture may be shown
};

} // namespace tributary::pktgen::report
