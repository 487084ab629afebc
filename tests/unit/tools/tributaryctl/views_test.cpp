#include "tools/tributaryctl/views.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::cli {
namespace views_test {

using boost::json::parse;
using testing::HasSubstr;
using testing::Not;

TEST(ports_view, one_line_per_port_with_its_drops_by_reason) {
  const auto result = parse(R"json([
      {"switch":"leaf0","port":"host0","number":0,"state":"up","device":"null","nid":"0x00001",
       "link_transitions":0,"rx_frames":10,"rx_bytes":940,"rx_missed":4,"tx_frames":5,
       "tx_bytes":470,"tx_refused":7,"drops":{"source_guard":2,"no_route":1}},
      {"switch":"leaf0","port":"up","number":1,"state":"away","device":"null","drops":{}}])json");
  EXPECT_EQ(ports_view(result, false),
            "SWITCH  NO  PORT   STATE  DEVICE  NID      CHANGES  RX FRAMES  RX BYTES  TX FRAMES"
            "  TX BYTES  DROPS\n"
            "leaf0    0  host0  up     null    0x00001        0         10       940          5"
            "       470  missed 4, refused 7, source_guard 2, no_route 1\n"
            "leaf0    1  up     away   null                   0          0         0          0"
            "         0\n");
}

TEST(links_view, says_why_a_link_was_down_last_and_after_how_long) {
  const auto result = parse(R"json([
      {"switch":"leaf0","port":"host0","state":"up","link":{"state":"unwatched","since_us":94000000,
       "last_reason":"none","times_down":0}},
      {"switch":"leaf0","port":"up0","state":"up","link":{"state":"down","since_us":7000,
       "last_reason":"silent","times_down":2,"last_silence_us":30400,"hellos_sent":100,
       "hellos_heard":90,"hellos_missed":3,"longest_gap_us":21000}}])json");
  const std::string text = links_view(result, false);
  EXPECT_THAT(text, HasSubstr("unwatched"));
  EXPECT_THAT(text, Not(HasSubstr("none")));
  EXPECT_THAT(text, HasSubstr("silent"));
  EXPECT_THAT(text, HasSubstr("30.4 ms"));
}

TEST(neighbours_view, one_line_per_neighbour) {
  const auto result = parse(R"json([
      {"switch":"leaf0","port":"host0","chassis":"02:00:00:00:00:07","neighbour_port":"eth1",
       "port_description":"","system_name":"node7","system_description":"Debian",
       "capabilities":["bridge","station"],"ttl_s":120,"forget_in_ms":90000,
       "since_ms":60000}])json");
  EXPECT_EQ(neighbours_view(result, false),
            "SWITCH  PORT   NEIGHBOUR  ITS PORT  CHASSIS            CAPABILITIES      SINCE"
            "  FORGOTTEN IN  DESCRIPTION\n"
            "leaf0   host0  node7      eth1      02:00:00:00:00:07  bridge, station  60.0 s"
            "        90.0 s  Debian\n");
}

TEST(queues_view, one_line_per_queue_with_what_waits_of_how_much) {
  const auto result = parse(R"json([
      {"switch":"leaf0","port":"host0","class":0,"frames_limit":512,"bytes_limit":1048576,
       "paused":false,"given_up":false,"frames":20,"bytes":1880,"frames_waiting":3,
       "bytes_waiting":282,"most_frames":5,"most_bytes":470,"pauses_received":0,"paused_us":0,
       "given_up_times":0,"trimmed_frames":7,"drops":{"queue_full":9}},
      {"switch":"leaf0","port":"up","class":3,"frames_limit":64,"paused":true,"given_up":true,
       "pauses_received":4,"paused_us":250000,"pauses_sent":6,"drops":{}}])json");
  EXPECT_EQ(queues_view(result, false),
            "SWITCH  PORT   CLASS  STATE     WAITING  BYTES  HIGHEST  TX FRAMES  TX BYTES  TRIMMED"
            "  PAUSES  PAUSED  SENT  DROPS\n"
            "leaf0   host0      0  waiting     3/512    282        5         20      1880        7"
            "       0    0 ns     0  queue_full 9\n"
            "leaf0   up         3  given up     0/64      0        0          0         0        0"
            "       4  250 ms     6\n");
}

TEST(trees_view, distinguishes_a_multicast_from_a_reduction) {
  const auto result = parse(R"json([
      {"switch":"s","tree":5,"wait_count":15,"timer_us":20000,"parent":"up","children":["a","b"],
       "full":7,"partial":1,"passed_through":0,"late":0,"stale":0},
      {"switch":"s","tree":6,"wait_count":0,"parent":"up","children":["a"],"full":0},
      {"switch":"s","tree":7,"wait_count":2,"timer_us":20000,"slots":128,"payload_bytes":1408,
       "parent":"up","children":["a","b"],"full":7}])json");
  EXPECT_EQ(trees_view(result, false),
            "SWITCH  TREE  WAIT COUNT  TIMER         SLOTS  PARENT  FULL  PARTIAL  PASSED  LATE  "
            "STALE  CHILDREN\n"
            "s          5          15  20 ms                up         7        1       0     0  "
            "    0  a b\n"
            "s          6   multicast                       up         0        0       0     0  "
            "    0  a\n"
            "s          7           2  20 ms  128 x 1408 B  up         7        0       0     0  "
            "    0  a b\n");
}

TEST(trees_view, has_the_worker_where_trees_are_placed_on_workers) {
  const auto result = parse(R"json([
      {"switch":"s","tree":5,"wait_count":15,"parent":"up","children":["a","b"],"worker":1},
      {"switch":"t","tree":6,"wait_count":0,"parent":"up","children":["a"]}])json");
  EXPECT_EQ(trees_view(result, false),
            "SWITCH  TREE  WAIT COUNT  TIMER  SLOTS  PARENT  WORKER  FULL  PARTIAL  PASSED  LATE  "
            "STALE  CHILDREN\n"
            "s          5          15                up           1     0        0       0     0  "
            "    0  a b\n"
            "t          6   multicast                up                 0        0       0     0  "
            "    0  a\n");
}

TEST(trees_view, says_that_there_is_none) {
  EXPECT_EQ(trees_view(parse("[]"), false), "No tree is installed.\n");
}

TEST(engines_view, shows_who_is_waited_for_and_hides_what_never_worked) {
  const auto result = parse(R"json([
      {"switch":"s","port":"up","descriptors":8,"arms":2,"contributions":12,"occupied":[
        {"tree":5,"reduction":3,"sequence":341,"count":12,"wait_count":15,"missing":3,
         "age_us":120,"remaining_us":19880,"opcode":"INT_SUM","children":["a","b"]},
        {"tree":6,"reduction":100,"sequence":1,"count":1,"wait_count":2,"missing":1,"age_us":120,
         "remaining_us":19880,"opcode":"FLT_SUM","form":"bfloat16","payload_bytes":1408,
         "children":["a"]}]},
      {"switch":"s","port":"idle","descriptors":8,"arms":0,"occupied":[]}])json");
  const std::string text = engines_view(result, false);
  EXPECT_THAT(text, HasSubstr("2/8"));
  EXPECT_THAT(text, HasSubstr("FLT_SUM bfloat16 1408 B    1/2 "));
  EXPECT_THAT(text, HasSubstr("Reductions in flight"));
  EXPECT_THAT(text,
              HasSubstr("INT_SUM                  12/15          3  120 us     19.9 ms  a b\n"));
  EXPECT_THAT(text, HasSubstr("Not shown: 1 engine that never did anything."));
  EXPECT_THAT(text, Not(HasSubstr("idle")));
}

TEST(counters_view, shows_what_is_not_zero) {
  EXPECT_EQ(counters_view(parse(R"({"a.b":0,"a.c":17,"a.d":0})"), false),
            "COUNTER  VALUE\n"
            "a.c         17\n"
            "2 counters not shown, because 0; --json shows all.\n");
}

TEST(workers_view, has_the_share_of_its_time) {
  const std::string text = workers_view(
      parse(R"([{"worker":1,"busy_share":0.256,"ports":["s/a","s/b"],"slept_us":1500}])"), false);
  EXPECT_THAT(text, HasSubstr("any  25.6 %"));
  EXPECT_THAT(text, HasSubstr("1.5 ms"));
  EXPECT_THAT(text, HasSubstr("s/a s/b"));
  EXPECT_THAT(text, Not(HasSubstr("TREES")));
}

TEST(workers_view, has_the_number_of_trees_that_are_placed_there) {
  const std::string text =
      workers_view(parse(R"([{"worker":0,"busy_share":0.5,"ports":["s/a"],"trees":7},
                             {"worker":1,"busy_share":0.25,"ports":[],"trees":0}])"),
                   false);
  EXPECT_THAT(text, HasSubstr("WORKER  CPU    BUSY  TREES "));
  EXPECT_THAT(text, HasSubstr("     0  any  50.0 %      7 "));
  EXPECT_THAT(text, HasSubstr("     1  any  25.0 %      0 "));
}

TEST(manager_view, has_the_channel_the_transactions_and_the_neighbours) {
  const auto result = parse(R"json([{"switch":"leaf0","address":"h:1","channel":"up",
      "manager":"fabric","fabric":"000000000000a1b2","epoch":12,"managers_refused":1,
      "since_ms":1500,"trees_of_manager":2,"trees_of_file":1,"permissions":3,
      "transactions":{"committed":5,"prepared_now":0,"refused":1,"aborted":0,"forgotten":0,
                      "last_refusal":"transaction 9: no"},
      "ports":[{"port":"host0","up":true,"speed_mbps":10000,"neighbour":"node7",
                "neighbour_port":"eth1","neighbour_nid":"0x0002a"},{"port":"up0","up":false}],
      "problems":["a link"]}])json");
  const std::string text = manager_view(result, false);
  EXPECT_THAT(text, HasSubstr("leaf0: manager h:1, up for 1.5 s, \"fabric\"\n"
                              "  fabric 000000000000a1b2, epoch 12; managers refused: 1\n"));
  EXPECT_THAT(text, HasSubstr("trees: 2 of the manager, 1 of the file; permissions: 3\n"));
  EXPECT_THAT(text, HasSubstr("transactions: 5 committed, 0 prepared now, 1 refused"));
  EXPECT_THAT(text, HasSubstr("refused last: transaction 9: no\n"));
  EXPECT_THAT(text, HasSubstr("host0  up     10000  node7      eth1      0x0002a\n"));
  EXPECT_THAT(text, HasSubstr("problem: a link\n"));
}

TEST(manager_view, of_a_switch_without_manager_says_so) {
  EXPECT_THAT(manager_view(parse(R"json([{"switch":"leaf0","ports":[]}])json"), false),
              HasSubstr("leaf0: no fabric manager; its trees are those of its file\n"));
}

TEST(trace_view, names_the_reason_of_a_drop) {
  const auto result = parse(R"json([
      {"age_ns":1500,"worker":0,"switch":"s","port":"a","event":"none","action":"drop",
       "reason":"runt"},
      {"age_ns":900,"worker":0,"switch":"s","port":"up","event":"armed","action":"replicate",
       "out":["a","b"],"tree":5,"reduction":1,"sequence":7,"arm":true,"opcode":"BARRIER",
       "count":0}])json");
  const std::string text = trace_view(result, false);
  EXPECT_THAT(text, HasSubstr("drop: runt"));
  EXPECT_THAT(text, HasSubstr("arm "));
  EXPECT_THAT(text, HasSubstr("replicate   a b\n"));
}

TEST(trace_view, shows_the_form_and_the_bytes_of_a_vector) {
  const auto result = parse(R"json([
      {"age_ns":900,"worker":0,"switch":"s","port":"a","event":"contributed","action":"absorb",
       "tree":5,"reduction":100,"sequence":7,"arm":false,"opcode":"FLT_SUM_NEAREST","count":1,
       "form":"bits32","payload_bytes":1408},
      {"age_ns":800,"worker":0,"switch":"s","port":"up","event":"rearmed","action":"replicate",
       "out":["a"],"tree":5,"reduction":100,"sequence":8,"arm":true,"opcode":"FLT_SUM_NEAREST",
       "count":3,"form":"bits32","payload_bytes":1408}])json");
  const std::string text = trace_view(result, false);
  EXPECT_THAT(text, HasSubstr("100         7  FLT_SUM_NEAREST bits32 1408 B"));
  EXPECT_THAT(text, HasSubstr("arm bits32 1408 B"));
}

TEST(trace_line, has_the_time_of_day_and_what_became_of_the_frame) {
  const auto at = std::chrono::system_clock::time_point(std::chrono::hours(24));
  const std::string forwarded =
      trace_line(parse(R"json({"age_ns":900,"worker":0,"switch":"s","port":"up","event":"armed",
                    "action":"replicate","out":["a","b"],"tree":5,"reduction":1,"sequence":7,
                    "arm":true,"opcode":"BARRIER","count":0})json"),
                 at, false);
  EXPECT_THAT(forwarded, HasSubstr(".999999  s/up  armed  tree 5 id 1 seq 7  arm  count 0  "
                                   "replicate to a b\n"));
  EXPECT_THAT(trace_line(parse(R"json({"age_ns":0,"switch":"s","port":"a","event":"none",
                                       "action":"drop","reason":"runt"})json"),
                         at, false),
              HasSubstr(":00.000000  s/a  none  drop: runt\n"));
}

TEST(explanation_view, numbers_the_steps_and_gives_the_verdict) {
  EXPECT_EQ(explanation_view(parse(R"({"action":"drop","event":"none","reason":"runt",
                                       "meaning":"too short","out":[],"steps":["a","b"]})"),
                             false),
            "  1. a\n  2. b\n     drop, runt: too short\n");
  EXPECT_EQ(explanation_view(
                parse(R"({"action":"forward","event":"unicast","out":["p"],"steps":[]})"), false),
            "     forward (unicast), out of p\n");
}

TEST(reload_view, says_what_was_and_was_not_applied) {
  EXPECT_EQ(reload_view(parse(R"({"applied":["x"],"ignored":["y"]})"), false),
            "applied: x\nneeds a restart, left alone: y\n");
  EXPECT_EQ(reload_view(parse(R"({"applied":[],"ignored":[]})"), false),
            "Nothing to apply: the file equals the configuration in force.\n");
}

TEST(version_view, has_a_table_of_switches) {
  const std::string text =
      version_view(parse(R"({"program":"tributary-switch","version":"1","pid":7,"uptime_s":90,
                "config_file":"f","switches":[{"name":"leaf0","ports":3,"trees":1,
                "tables_version":2}]})"),
                   false);
  EXPECT_THAT(text, HasSubstr("tributary-switch 1, process 7, up for 90.0 s, configured by f\n"));
  EXPECT_THAT(text, HasSubstr("leaf0       3      1               2\n"));
}

/// A newer or older switch may answer something else; that must not end the program.
TEST(views, take_answers_they_do_not_know) {
  for (const char* answer : {"null", "7", "[]", "{}", "[1,\"x\",null]", R"([{"drops":[1]}])",
                             R"({"steps":7,"applied":{},"switches":3})"}) {
    for (auto* view : {ports_view, trees_view, engines_view, counters_view, workers_view,
                       manager_view, trace_view, explanation_view, version_view, reload_view}) {
      EXPECT_NO_THROW(static_cast<void>(view(parse(answer), true))) << answer;
    }
  }
}

} // namespace views_test
} // namespace tributary::cli
