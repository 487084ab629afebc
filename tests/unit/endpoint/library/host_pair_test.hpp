// Two hosts of the C API, one at each end of a veth pair.
#pragma once

#include "tests/unit/lib/link/pair_test.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tributary::library::test {

class HostPairTest : public link::test::PairTest {
protected:
  void SetUp() override {
    PairTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const tributary_host_options on = tributary_host_defaults(rank == 0 ? "left" : "right");
      ASSERT_EQ(tributary_open(&on, &host[rank]), TRIBUTARY_OK) << tributary_last_error(nullptr);
    }
  }
  void TearDown() override {
    tributary_close(host[0]);
    tributary_close(host[1]);
    PairTest::TearDown();
  }

  tributary_host* host[2] = {};
  tributary_group* group[2] = {};
};

} // namespace tributary::library::test
