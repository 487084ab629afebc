// DPDK starts once per process: the tests of this program share it.
#pragma once

#include "dataplane/port/eal.hpp"

namespace tributary::port::test {

inline Eal& shared_eal() {
  static Eal eal = [] {
    config::Config c;
    c.process.hugepages = "never";
    c.switches.emplace_back();
    c.switches[0].ports.resize(6);
    return Eal(c);
  }();
  return eal;
}

} // namespace tributary::port::test
