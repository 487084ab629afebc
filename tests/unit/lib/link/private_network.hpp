// A network namespace of the test's own, with a veth pair "left" - "right" in it. It vanishes with
// the process. Needs root; `skip_reason()` says so otherwise.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

namespace tributary::link::test {

inline constexpr std::uint32_t left_nid = 0x00001;
inline constexpr std::uint32_t right_nid = 0x00002;

class PrivateNetwork {
public:
  /// Why the test cannot have one, or an empty string.
  static const std::string& skip_reason() {
    static const std::string reason = enter();
    return reason;
  }
  static void run(const std::string& command) {
    if (std::system(command.c_str()) != 0) {
      throw std::runtime_error("failed: " + command);
    }
  }
  static void add_pair() {
    run("ip link add left address 02:00:00:00:00:01 type veth peer name right address "
        "02:00:00:00:00:02");
    // Frames of neighbour discovery would interfere.
    for (const char* name : {"left", "right"}) {
      std::ofstream(std::string("/proc/sys/net/ipv6/conf/") + name + "/disable_ipv6") << 1;
    }
    run("ip link set left up && ip link set right up");
    wait_for_carrier("left");
    wait_for_carrier("right");
  }
  static void remove_pair() { run("ip link del left 2>/dev/null || true"); }

  /// An interface that was just brought up drops sent frames until the kernel has detected its
  /// carrier.
  static void wait_for_carrier(const std::string& interface) {
    run("n=0; until ip link show " + interface +
        " | grep -q 'state UP'; do n=$((n+1)); [ $n -lt 500 ] || exit 1; sleep 0.01; done");
  }

private:
  static std::string enter() {
    if (::geteuid() != 0) {
      return "needs root, for a network namespace of its own";
    }
    if (::unshare(CLONE_NEWNET) != 0) {
      return std::string("no network namespace: ") + std::strerror(errno);
    }
    return {};
  }
};

} // namespace tributary::link::test
