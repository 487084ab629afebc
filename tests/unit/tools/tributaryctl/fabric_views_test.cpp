#include "tools/tributaryctl/fabric/views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::cli {
namespace fabric_views_test {

using boost::json::parse;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view switches =
    R"({"name":"leaf0","guid":"0x1","connected":true,"up":true,"version":"0.1.0","trees":2,
        "silent_seconds":0.4,"limits":{"trees":8192,"descriptors_per_engine":64},
        "engines":[{"port":0,"trees":1,"may_hold":8},{"port":1,"trees":2,"may_hold":16}],"ports":[
          {"port":0,"name":"host0","up":true,"speed_mbps":100000,"to":"h0"},
          {"port":1,"name":"up","up":false,"speed_mbps":0,"to":"spine"}],
        "statistics":{"ports":[{"port":0,"received":10,"sent":20,"full":3,"partial":1,
                                "drops":{"runt":2}}]}},
       {"name":"spine","connected":false,"up":true,"ports":[]},
       {"name":"gone","connected":false,"up":false,"ports":[]})";
constexpr std::string_view hosts =
    R"({"name":"h0","nid":1,"switch":"leaf0","port":0,"up":true,"state":"up","groups":["j1/demo"]},
       {"name":"h1","nid":2,"switch":"leaf0","port":5,"up":false,"state":"down","groups":[]},
       {"name":"h2","nid":3,"switch":"leaf0","port":6,"up":false,"state":"quiet","groups":[]})";
constexpr std::string_view links =
    R"({"link":3,"a":{"switch":"leaf0","port":1},"b":{"switch":"spine","port":7},"up":false,
        "speed_mbps":2500,"efi":4})";

std::string list(std::string_view what, std::string_view elements) {
  return fabric_view(
      what, false, parse("{\"" + std::string(what) + "\":[" + std::string(elements) + "]}"), false);
}

TEST(fabric_view, switches) {
  EXPECT_EQ(list("switches", switches),
            "SWITCH  STATE              GUID  VERSION  PORTS UP  TREES  DESCRIPTORS  SILENT\n"
            "leaf0   up                 0x1   0.1.0         1/2      2        16/64   0.4 s\n"
            "spine   up, not connected                      0/0\n"
            "gone    down                                   0/0\n");
  EXPECT_EQ(list("switches", ""), "No switch has connected yet.\n");
}

TEST(fabric_view, one_switch_has_its_ports_with_figures) {
  const std::string one =
      std::string(switches.substr(0, switches.find(",\n       {\"name\":\"spine")));
  EXPECT_EQ(fabric_view("switches", true, parse(one), false),
            "leaf0: up, 2 trees\n"
            "PORT  NAME   STATE  SPEED  TO     DESCRIPTORS  RECEIVED  SENT  FULL  PARTIAL  DROPS\n"
            "   0  host0  up      100G  h0            8/64        10    20     3        1  runt 2\n"
            "   1  up     down          spine        16/64\n");
}

TEST(fabric_view, hosts_and_links) {
  EXPECT_EQ(list("hosts", hosts), "HOST  NID  STATE  SWITCH  PORT  GROUPS\n"
                                  "h0      1  up     leaf0      0  j1/demo\n"
                                  "h1      2  down   leaf0      5\n"
                                  "h2      3  quiet  leaf0      6\n");
  EXPECT_EQ(list("links", links), "LINK  FROM          TO            STATE  SPEED  EFI\n"
                                  "   3  leaf0 port 1  spine port 7  down   2500M    4\n");
}

TEST(fabric_view, groups_say_who_is_missing) {
  EXPECT_EQ(list("groups", R"({"name":"demo","job":"j1","state":"ready","size":16,"joined":16,
                 "vni":1024,"root":{"rank":0,"nid":1,"host":"h0"},"slots":128,"payload":1408,
                 "routes":[{"tree":5,"max_efi":2},{"tree":6,"max_efi":3}],"text":"runs"})"),
            "GROUP    STATE  MEMBERS  TREES  ROOT   VNI      FRAMES  MAX EFI  WHAT NOW\n"
            "j1/demo  ready    16/16  5 6    h0    1024  128 x 1408        3  runs\n");
  EXPECT_EQ(fabric_view("groups", true,
                        parse(R"({"name":"demo","job":"j1","state":"receiving_join_req","size":3,
                 "joined":1,"root":{"rank":0},"text":"waits",
                 "members":[{"rank":0,"nid":1,"host":"h0","state":"joined","lease_seconds":29.2}],
                 "missing":[{"rank":1,"why":"has not joined"},
                            {"rank":2,"nid":6,"why":"no switch has heard of its host"}]})"),
                        false),
            "j1/demo: receiving_join_req, 1 of 3 members; waits\n"
            "RANK  HOST  NID  STATE     LEASE  REMARK\n"
            "   0  h0      1  joined   29.2 s  root\n"
            "   1             missing          has not joined\n"
            "   2          6  missing          no switch has heard of its host\n");
}

TEST(fabric_view, twin_trees_say_what_they_share) {
  EXPECT_THAT(fabric_view("groups", true, parse(R"({"disjoint":true})"), false),
              HasSubstr("share nothing"));
  EXPECT_THAT(
      fabric_view("groups", true, parse(R"({"disjoint":false,"shared":["leaf0 port 3"]})"), false),
      HasSubstr("share leaf0 port 3"));
}

TEST(fabric_view, one_tree_has_a_line_for_each_switch) {
  const std::string text = fabric_view(
      "trees", true, parse(R"({"tree":5,"job":"j1","group":"demo","state":"in_force","height":1,
        "root_switch":"spine","root":{"host":"h0"},"slots":8,"payload":32,
        "parts":[{"switch":"leaf0","depth":0,"wait_count":3,"parent":{"port":0,"to":"h0"},
                  "children":[{"port":1,"to":"spine"},{"port":2}]}],
        "statistics":[{"switch":"leaf0","full":7,"partial":1,"late":0,"stale":0}]})"),
      false);
  EXPECT_THAT(text, HasSubstr("   5  j1/demo  in_force  h0           1       1  8 x 32  spine\n"));
  EXPECT_THAT(text, HasSubstr("leaf0       0           3  0:h0    1:spine 2     7        1     0"
                              "      0\n"));
}

TEST(fabric_view, a_group_says_what_frames_it_has_and_why_not_longer_ones) {
  EXPECT_THAT(fabric_view("groups", true, parse(R"({"slots":16,"payload":1408,"float16":true,
      "frames_note":"16 reductions in flight instead of 128, because leaf0 is full"})"),
                          false),
              AllOf(HasSubstr("frames of 1408 bytes, 16 reductions in flight, sums of 16-bit"),
                    HasSubstr("not more because: 16 reductions in flight instead of 128")));
  EXPECT_THAT(fabric_view("groups", true, parse(R"({"slots":8,"payload":32})"), false),
              Not(HasSubstr("frames of")));
}

TEST(fabric_view, memory_says_who_holds_it) {
  constexpr std::string_view leaf =
      R"({"switch":"leaf0","size":67108864,"used":271872,"free":66836992,"trees":3,"holders":[
           {"tree":5,"job":"j1","group":"demo","bytes":180224,"slots":128,"payload":1408,
            "float16":false,"from_file":false},
           {"tree":9,"bytes":90112,"slots":64,"payload":1408,"float16":true,"from_file":false},
           {"tree":70,"bytes":1536,"slots":8,"payload":192,"float16":false,"from_file":true}]})";
  EXPECT_EQ(list("memory",
                 std::string(leaf) + R"(,{"switch":"old","size":0,"used":0,"free":0,"trees":0})"),
            "SWITCH    SIZE       USED      FREE  TREES  LARGEST HOLDERS\n"
            "leaf0   64 MiB  265.5 KiB  63.7 MiB      3  tree 5 (j1/demo) 176 KiB, tree 9 88 KiB, "
            "tree 70 (the switch's file) 1.5 KiB\n"
            "old       none                           0\n");
  EXPECT_EQ(fabric_view("memory", true, parse(leaf), false),
            "leaf0: 64 MiB for wide frames, 265.5 KiB used by 3 trees, 63.7 MiB free\n"
            "\n"
            "TREE  HOLDER              BYTES      FRAMES  FLOAT16\n"
            "   5  j1/demo            180224  128 x 1408  no\n"
            "   9                      90112   64 x 1408  yes\n"
            "  70  the switch's file    1536     8 x 192  no\n");
  EXPECT_EQ(list("memory", ""), "No switch has connected yet.\n");
}

TEST(fabric_view, transactions_and_jobs) {
  EXPECT_EQ(list("transactions", R"({"transaction":9,"tree":5,"what":"install","state":"preparing",
                 "waits_for":["leaf0","spine"],"age_seconds":0.25,"text":""})"),
            "NUMBER  TREE  WHAT     STATE        AGE  WAITS FOR    REMARK\n"
            "     9     5  install  preparing  0.2 s  leaf0 spine\n");
  EXPECT_EQ(list("jobs", R"({"job":"j1","mcast_limit":4,"groups":["a","b"],"vni":null,"hosts":null,
                             "vnis":null},
                            {"job":"j2","mcast_limit":1,"groups":[],"vni":1024,"hosts":[1,2,3],
                             "vnis":[1024,1030]})"),
            "JOB  LIMIT   VNI  HOSTS  VNIS       GROUPS\n"
            "j1       4          any  any        a b\n"
            "j2       1  1024      3  1024 1030\n");
  EXPECT_THAT(
      fabric_view("jobs", true, parse(R"({"job":"j2","hosts":[1,2,3],"vnis":[1024]})"), false),
      HasSubstr("\nNIDs of its hosts: 1 2 3\n"));
}

TEST(fabric_view, topology_lists_what_hangs_where) {
  const std::string text =
      fabric_view("topology", false,
                  parse("{\"switches\":[" + std::string(switches) + "],\"hosts\":[" +
                        std::string(hosts) + "],\"links\":[" + std::string(links) +
                        "],\"problems\":[\"two switches are called leaf0\"],"
                        "\"miscabled\":[\"leaf0 port 3 should go to spine\"]}"),
                  false);
  EXPECT_EQ(text, "3 switches (2 up), 3 hosts (1 up), 1 link (0 up)\n"
                  "\n"
                  "leaf0  up\n"
                  "    0  h0  nid 1\n"
                  "    1  spine port 7  2500M, EFI 4  down\n"
                  "    5  h1  nid 2  down\n"
                  "    6  h2  nid 3  quiet\n"
                  "\n"
                  "spine  up, not connected\n"
                  "    7  leaf0 port 1  2500M, EFI 4  down\n"
                  "\n"
                  "gone  down\n"
                  "\n"
                  "problem: two switches are called leaf0\n"
                  "\n"
                  "wrong link: leaf0 port 3 should go to spine\n");
}

TEST(fabric_view, rebalance_says_what_moves_and_what_for) {
  EXPECT_EQ(rebalance_view(parse(R"({"dry_run":true,"max_efi_before":6,"max_efi_after":5,"moves":[
      {"job":"j1","group":"a","trees":[5],"why":"it avoids the most loaded links",
       "height_before":1,"height_after":1},
      {"job":"j1","group":"b","trees":[6,7],"why":"its trees share less",
       "height_before":2,"height_after":1,"shared_before":3,"shared_after":0}]})"),
                           false),
            "GROUP  TREES  HEIGHT  SHARED  WHY\n"
            "j1/a   5      1 to 1          it avoids the most loaded links\n"
            "j1/b   6 7    2 to 1  3 to 0  its trees share less\n"
            "\n"
            "Trees on the most loaded link: 6, then 5. Nothing was moved.\n");
  EXPECT_EQ(rebalance_view(parse(R"({"dry_run":false,"max_efi_before":3,"moves":[]})"), false),
            "No tree can be improved; the most loaded link carries 3.\n");
}

/// A newer or older manager may answer something else; that must not end the program.
TEST(fabric_view, takes_answers_it_does_not_know) {
  for (const char* answer :
       {"null", "7", "[]", "{}", R"({"switches":7,"groups":[1,"x",null,{}],"trees":[[]]})",
        R"({"ports":{},"members":"x","parts":[1],"children":3,"routes":{},"shared":1})"}) {
    for (const char* what : {"topology", "switches", "hosts", "links", "groups", "trees",
                             "transactions", "jobs", "memory", "events", "something new"}) {
      EXPECT_NO_THROW(static_cast<void>(fabric_view(what, false, parse(answer), true))) << answer;
      EXPECT_NO_THROW(static_cast<void>(fabric_view(what, true, parse(answer), true))) << answer;
    }
  }
}

TEST(fabric_view, routes_shows_what_is_in_force_and_why_the_next_is_refused) {
  EXPECT_EQ(
      fabric_view("routes", false, parse(R"({"enabled":true,"out_of_sync":["leaf3"],
      "in_force":{"state":"in_force","epoch":12,"algorithm":"vtftr_plus","shape":"3x3, 1 plane",
        "vcs":2,"pairs":72,"most_hops":4,"mean_load":8.0,"hottest_load":10.0,
        "hottest_link":"s0 port 1 - s9 port 0"},
      "next":{"state":"refused","epoch":14,"algorithm":"vtftr",
        "refused":"2 of 72 pairs have no route: leaf0.0 to leaf1.1"},
      "drained":[{"switch":"s9","drained":true,"safe":false,"through":["tree 7"]}],
      "flapping":[{"link":"a port 1 - b port 2","flaps":4,"used_again_in_seconds":7.25}]})"),
                  false),
      "EPOCH  STATE     ALGORITHM   SHAPE         VCS  PAIRS  HOPS  HOTTEST/MEAN  HOTTEST LINK\n"
      "   12  in_force  vtftr_plus  3x3, 1 plane    2     72     4          1.25  s0 port 1 - "
      "s9 port 0\n"
      "   14  refused   vtftr\n"
      "\n"
      "14 is refused: 2 of 72 pairs have no route: leaf0.0 to leaf1.1\n"
      "\n"
      "out of sync: leaf3\n"
      "\n"
      "s9 is being drained; still through it: tree 7\n"
      "\n"
      "flaps: a port 1 - b port 2, 4 times down; used again in 7.2 s\n");
  EXPECT_THAT(fabric_view("routes", false, parse(R"({"enabled":false})"), false),
              testing::HasSubstr("switched off"));
  EXPECT_EQ(fabric_view("routes", false, parse(R"({"enabled":true})"), false),
            "No unicast routes have been computed yet.\n");
}

TEST(fabric_view, a_path_has_a_line_for_each_hop_and_says_where_it_ends) {
  EXPECT_EQ(fabric_view("paths", true, parse(R"({"from":{"name":"h0","nid":1},
      "to":{"name":"h8","nid":9},"epoch":12,"algorithm":"vtftr_plus","end":"deliver","hops":[
       {"switch":"leaf0","in":0,"out":4,"vc":0,"highest_vc":1,"others":[5],"spares":[]},
       {"switch":"root0","in":0,"out":2,"vc":0,"highest_vc":0,"others":[],"spares":[1,3]},
       {"switch":"leaf2","in":4,"out":0,"vc":0,"highest_vc":0,"others":[],"spares":[]}]})"),
                        false),
            "h0 (NID 1) to h8 (NID 9), epoch 12, vtftr_plus\n"
            "HOP  SWITCH  IN  OUT  VC   OTHER FLOWS  SPARES\n"
            "  1  leaf0    0    4  0-1  5\n"
            "  2  root0    0    2  0                 1,3\n"
            "  3  leaf2    4    0\n");
  EXPECT_THAT(fabric_view("paths", true, parse(R"({"from":{"name":"h0","nid":1},
      "to":{"name":"h8","nid":9},"epoch":12,"algorithm":"vtftr","end":"dest_dead","hops":[
       {"switch":"leaf0","in":0,"out":0,"vc":0,"highest_vc":0,"others":[],"spares":[]}]})"),
                          false),
              testing::HasSubstr("dropped at leaf0: dest_dead\n"));
}

TEST(fabric_view, managers_have_their_role_and_what_they_met) {
  EXPECT_EQ(fabric_view("managers", false, parse(R"({"fabric":"000000000000000a",
      "managers":[{"name":"fm1","role":"leader","epoch":5},
                  {"name":"fm2","role":"standby","addresses":["https://fm2:7580"]}],
      "other_fabrics":[],"adopted_fabrics":[],"problems":[]})"),
                        false),
            "fabric 000000000000000a\n"
            "NAME  ROLE     EPOCH  SUPERSEDED BY  ADDRESSES\n"
            "fm1   leader       5\n"
            "fm2   standby                        https://fm2:7580\n");
  const std::string text = fabric_view("managers", false, parse(R"({"fabric":"000000000000000a",
      "managers":[{"name":"fabric","role":"superseded","epoch":5,"superseded_by":6}],
      "other_fabrics":[{"fabric":"000000000000000b","epoch":9,"switches":["leaf0","leaf1"]}],
      "adopted_fabrics":[{"fabric":"000000000000000c","epoch":3}],
      "problems":["superseded: stop it"]})"),
                                       false);
  EXPECT_THAT(text, testing::HasSubstr("fabric  superseded      5              6\n"));
  EXPECT_THAT(text, testing::HasSubstr("000000000000000b      9  leaf0 leaf1\n"));
  EXPECT_THAT(text, testing::HasSubstr("000000000000000c            3\n"));
  EXPECT_THAT(text, testing::HasSubstr("problem: superseded: stop it\n"));
}

TEST(fabric_view, faults_have_their_times_in_milliseconds) {
  EXPECT_EQ(
      fabric_view("faults", false, parse(R"({"count":2,"faults":[
      {"fault":2,"cause":"fault","time":"12:00:01","state":"installed","events":["link a - b is down","x"],
       "more_events":3,"trees":["j/g"],"destinations":8,"transactions":2,"failures":[],
       "computed_us":1212,"verified_us":1641,"sent_us":1700,"installed_us":1904},
      {"fault":1,"cause":"recovery","time":"12:00:00","state":"failed","events":["switch c is up"],"more_events":0,
       "trees":[],"destinations":0,"transactions":0,"failures":["2 pairs have no route"]}]})"),
                  false),
      "FAULT  CAUSE     DETECTED  STATE      COMPUTED  VERIFIED  INSTALLED  TREES  DESTINATIONS  "
      "EVENT\n"
      "    2  fault     12:00:01  installed     1.212     1.641      1.904      1             8  "
      "link a - b is down, and 4 more\n"
      "    1  recovery  12:00:00  failed                                        0             0  "
      "switch c is up\n"
      "\n"
      "Times are milliseconds since it was detected.\n"
      "\n"
      "1: 2 pairs have no route\n");
  EXPECT_EQ(fabric_view("faults", false, parse(R"({"count":0,"faults":[]})"), false),
            "No faults since the manager started.\n");
}

} // namespace fabric_views_test
} // namespace tributary::cli
