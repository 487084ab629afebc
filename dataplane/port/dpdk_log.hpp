// Redirects the messages of DPDK, libbpf and libxdp to spdlog's default logger, instead of stderr
// and syslog.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tributary::port {

/// Once per process, before DPDK starts.
void redirect_library_logs();

/// While one exists, DPDK logs nothing from this thread: its complaint is known, or was logged
/// before. They may be nested.
class QuietDpdk {
public:
  explicit QuietDpdk(bool quiet = true);
  ~QuietDpdk();
  QuietDpdk(const QuietDpdk&) = delete;
  QuietDpdk& operator=(const QuietDpdk&) = delete;

private:
  bool before_;
};

/// While one exists, DPDK lines from this thread that contain `words` are held back: they also warn
/// at a good start, of things that a machine need not have or that are switched off on purpose. At
/// the end they are logged at debug level, unless `log` was called. One at a time per thread.
class HeldDpdk {
public:
  explicit HeldDpdk(std::string_view words);
  ~HeldDpdk();
  HeldDpdk(const HeldDpdk&) = delete;
  HeldDpdk& operator=(const HeldDpdk&) = delete;

  /// Logs them at DPDK's own level: the attempt has failed.
  void log();

  // For DPDK's log.

  /// Whether it held the line back.
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
