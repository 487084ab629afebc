// Sends what DPDK, libbpf and libxdp have to say to spdlog's default logger, instead of to stderr
// and syslog each in its own way.
#pragma once

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

} // namespace tributary::port
