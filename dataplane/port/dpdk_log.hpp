// Sends what DPDK, libbpf and libxdp have to say to spdlog's default logger, instead of to stderr
// and syslog each in its own way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tributary::port {

/// Once per process, before DPDK starts.
void redirect_library_logs();

/// While one stands, DPDK says nothing to the log from this thread: what it complains about is
/// known, or was said before. They may be nested.
class QuietDpdk {
public:
  explicit QuietDpdk(bool quiet = true);
  ~QuietDpdk();
  QuietDpdk(const QuietDpdk&) = delete;
  QuietDpdk& operator=(const QuietDpdk&) = delete;

private:
  bool before_;
};

/// Holds back the lines of DPDK from this thread that contain `words`: DPDK warns at a good start,
/// too, of what a machine need not have or what is switched off on purpose. The destructor logs
/// them at debug level, unless `tell` has logged them before. At most one at a time on a thread.
class HeldDpdk {
public:
  explicit HeldDpdk(std::string_view words);
  ~HeldDpdk();
  HeldDpdk(const HeldDpdk&) = delete;
  HeldDpdk& operator=(const HeldDpdk&) = delete;

  /// At the level that DPDK gave them: what was tried has failed.
  void tell();

  // For DPDK's log.

  /// Whether it took the line.
  bool take(int level, std::string_view text);

private:
  struct Line {
    int level; ///< of DPDK
    std::string text;
  };

  std::string_view words_;
  std::vector<Line> lines_;
};

} // namespace tributary::port
