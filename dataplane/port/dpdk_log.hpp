// Sends what DPDK, libbpf and libxdp have to say to spdlog's default logger, instead of to stderr
// and syslog each in its own way.
#pragma once

namespace tributary::port {

/// Once per process, before DPDK starts.
void redirect_library_logs();

/// While one stands, the AF_XDP driver says nothing: it complains, at close, that it cannot detach
/// an XDP program which is ours to detach.
class QuietAfXdpDriver {
public:
  QuietAfXdpDriver();
  ~QuietAfXdpDriver();
  QuietAfXdpDriver(const QuietAfXdpDriver&) = delete;
  QuietAfXdpDriver& operator=(const QuietAfXdpDriver&) = delete;

private:
  int level_ = 0;
};

} // namespace tributary::port
