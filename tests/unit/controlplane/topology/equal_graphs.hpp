// Whether two graphs are the same, numbers included.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <gtest/gtest.h>

namespace tributary::topology::test {

inline void expect_equal(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.switches().size(), b.switches().size());
  for (std::uint32_t i = 0; i < a.switches().size(); ++i) {
    const SwitchId s{i};
    EXPECT_EQ(a[s].name, b[s].name);
    EXPECT_EQ(a[s].guid, b[s].guid);
    EXPECT_EQ(a[s].ports, b[s].ports);
    EXPECT_EQ(a[s].up, b[s].up);
    ASSERT_EQ(a.hops(s).size(), b.hops(s).size());
    for (std::size_t hop = 0; hop < a.hops(s).size(); ++hop) {
      EXPECT_EQ(a.hops(s)[hop].link, b.hops(s)[hop].link);
    }
    for (Port port = 0; port < a[s].ports; ++port) {
      EXPECT_EQ(a.link_at({s, port}), b.link_at({s, port}));
      EXPECT_EQ(a.host_at({s, port}), b.host_at({s, port}));
    }
  }
  ASSERT_EQ(a.links().size(), b.links().size());
  for (std::uint32_t i = 0; i < a.links().size(); ++i) {
    const LinkId c{i};
    EXPECT_EQ(a[c].ends[0], b[c].ends[0]);
    EXPECT_EQ(a[c].ends[1], b[c].ends[1]);
    EXPECT_EQ(a[c].speed_mbps, b[c].speed_mbps);
    EXPECT_EQ(a[c].up, b[c].up) << a.describe(c);
    EXPECT_EQ(a[c].plugged, b[c].plugged) << a.describe(c);
  }
  ASSERT_EQ(a.hosts().size(), b.hosts().size());
  for (std::uint32_t i = 0; i < a.hosts().size(); ++i) {
    const HostId h{i};
    EXPECT_EQ(a[h].name, b[h].name);
    EXPECT_EQ(a[h].nid, b[h].nid);
    EXPECT_EQ(a[h].at, b[h].at);
    EXPECT_EQ(a[h].up, b[h].up) << a[h].name;
    EXPECT_EQ(a[h].plugged, b[h].plugged) << a[h].name;
  }
}

} // namespace tributary::topology::test
