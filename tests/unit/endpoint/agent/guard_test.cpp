// The guard's rules as text, and what is read of a table in force.

#include "endpoint/agent/guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::host_agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Guarded guarded() {
  return {.ethertype = 0x88B5,
          .interface = "eth1",
          .address = {0x02, 0, 0, 0, 0, 0x12},
          .nid = Nid{18},
          .others = {"lo", "eth0"},
          .prefix = Mark{0x54000000}};
}

TEST(HostAgentGuard, ListsWhatIsRightAndDropsTheRest) {
  const Allowance allowed[] = {{Mark{0x54000001}, Vni{1024}}, {Mark{0x54000002}, Vni{1025}}};
  GuardCounts carried{};
  carried[static_cast<std::size_t>(GuardCounter::wrong_vni)] = {.packets = 3, .bytes = 180};
  EXPECT_EQ(guard_text(guarded(), allowed, Mark{0x54000002}, carried),
            R"(add table netdev tributary_host
delete table netdev tributary_host
table netdev tributary_host {
  counter passed { packets 0 bytes 0 }
  counter wrong_ethertype { packets 0 bytes 0 }
  counter wrong_source { packets 0 bytes 0 }
  counter wrong_header { packets 0 bytes 0 }
  counter wrong_nid { packets 0 bytes 0 }
  counter wrong_vni { packets 3 bytes 180 }
  counter unreadable { packets 0 bytes 0 }
  counter other_interface { packets 0 bytes 0 }
  set allowed { typeof meta mark . @ll,144,16; elements = { 0x54000001 . 1024, 0x54000002 . 1025 }; }
  set highest { type mark; elements = { 0x54000002 }; }
  chain fabric {
    type filter hook egress device "eth1" priority 0; policy accept;
    meta mark & 0xff000000 != 0x54000000 accept
    @ll,48,48 0x20000000012 @ll,96,16 0x88b5 @ll,112,8 0x45 @ll,208,20 0x12 meta mark . @ll,144,16 @allowed counter name passed accept
    @ll,48,48 != 0x20000000012 counter name wrong_source drop
    @ll,96,16 != 0x88b5 counter name wrong_ethertype drop
    @ll,112,8 != 0x45 counter name wrong_header drop
    @ll,208,20 != 0x12 counter name wrong_nid drop
    meta mark . @ll,144,16 != @allowed counter name wrong_vni drop
    counter name unreadable drop
  }
  chain other_0 {
    type filter hook egress device "lo" priority 0; policy accept;
    meta mark & 0xff000000 == 0x54000000 counter name other_interface drop
  }
  chain other_1 {
    type filter hook egress device "eth0" priority 0; policy accept;
    meta mark & 0xff000000 == 0x54000000 counter name other_interface drop
  }
}
)");
}

TEST(HostAgentGuard, ARealAddressIsASourceBesideTheOneOfTheNid) {
  Guarded real = guarded();
  real.address = {0x3C, 0xEC, 0xEF, 0x01, 0x02, 0x03};
  const std::string text = guard_text(real, {}, Mark{0x54000000}, {});
  EXPECT_THAT(text, HasSubstr("@ll,48,48 0x3cecef010203 @ll,96,16"));
  EXPECT_THAT(text, HasSubstr("@ll,48,48 0x20000000012 @ll,96,16"));
  EXPECT_THAT(text, HasSubstr("@ll,48,48 != 0x3cecef010203 @ll,48,48 != 0x20000000012 counter name "
                              "wrong_source drop"));
}

TEST(HostAgentGuard, WithoutItsInterfaceItGuardsTheOthers) {
  Guarded without = guarded();
  without.interface.clear();
  const std::string text = guard_text(without, {}, Mark{0x54000000}, {});
  EXPECT_THAT(text, Not(HasSubstr("chain fabric")));
  EXPECT_THAT(text, HasSubstr("set allowed { typeof meta mark . @ll,144,16; }"));
  EXPECT_THAT(text, HasSubstr("chain other_1"));
}

TEST(HostAgentGuard, MarksComeAndGo) {
  EXPECT_EQ(allow_text({Mark{0x54000003}, Vni{7}}, Mark{0x54000002}, Mark{0x54000003}),
            "add element netdev tributary_host allowed { 0x54000003 . 7 }\n"
            "add element netdev tributary_host highest { 0x54000003 }\n"
            "delete element netdev tributary_host highest { 0x54000002 }\n");
  const Allowance gone[] = {{Mark{0x54000003}, Vni{7}}};
  EXPECT_EQ(forbid_text(gone), "delete element netdev tributary_host allowed { 0x54000003 . 7 }\n");
  EXPECT_EQ(forbid_text({}), "");
}

TEST(HostAgentGuard, NamesThatNoRuleCanCarryAreSaid) {
  for (const char* name : {"eth0", "br-1.7", "wlp3s0", "a#b"}) {
    EXPECT_TRUE(can_guard(name)) << name;
  }
  for (const char* name : {"", "e\"h", "e h", "e\\h", "eth*", "\xC3\xA9th"}) {
    EXPECT_FALSE(can_guard(name)) << name;
  }
}

TEST(HostAgentGuard, ReadsATableInForce) {
  const auto state = guard_state(R"({"nftables": [{"metainfo": {"version": "1.0.6"}},
    {"table": {"family": "netdev", "name": "tributary_host", "handle": 1}},
    {"counter": {"family": "netdev", "name": "wrong_vni", "table": "tributary_host", "handle": 3,
                 "packets": 5, "bytes": 300}},
    {"counter": {"family": "netdev", "name": "wrong_vni", "table": "other", "packets": 9}},
    {"set": {"family": "netdev", "name": "allowed", "table": "tributary_host", "handle": 4,
             "elem": [{"concat": [1409286145, 1024]}, {"concat": [1409286146, 1025]}]}},
    {"set": {"family": "netdev", "name": "highest", "table": "tributary_host", "type": "mark",
             "handle": 5, "elem": [1409286146]}},
    {"chain": {"family": "netdev", "table": "tributary_host", "name": "fabric", "handle": 1}},
    {"chain": {"family": "netdev", "table": "tributary_host", "name": "other_0"}},
    {"chain": {"family": "netdev", "table": "other", "name": "x"}}]})");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->counts[static_cast<std::size_t>(GuardCounter::wrong_vni)],
            (GuardCount{.packets = 5, .bytes = 300}));
  EXPECT_EQ(state->highest, Mark{0x54000002});
  EXPECT_EQ(state->allowed, 2U);
  EXPECT_EQ(state->chains, 2U);
}

TEST(HostAgentGuard, AnythingElseIsNoTable) {
  for (const char* text : {"", "[]", "{}", R"({"nftables": 5})", "Error: x"}) {
    EXPECT_FALSE(guard_state(text)) << text;
  }
  const auto odd = guard_state(R"({"nftables": [5, {}, {"set": 1}, {"chain": {"table": 5}}]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->allowed, 0U);
}

} // namespace
} // namespace tributary::host_agent
