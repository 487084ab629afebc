#include "dataplane/management/impairment_json.hpp"
#include "dataplane/management/report_json.hpp"
#include "fake_inspector.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace tributary::management {
namespace {

using boost::json::parse;

TEST(to_json, port) {
  FakeInspector inspector;
  EXPECT_EQ(to_json(inspector.ports("")),
            parse(R"json([{"switch":"leaf0","port":"host0","number":3,"kind":"af_xdp",
                       "device":"af_xdp eth1 (native)","state":"up","worker":0,"nid":"0x12345",
                       "link_transitions":1,"link_times_down":2,"link_hellos_sent":100,
                       "link_hellos_heard":90,"link_hellos_missed":3,"lldp_sent":6,"lldp_received":5,
                       "lldp_discarded":4,"lldp_refused":3,"lldp_aged_out":2,
                       "lldp_last_error":"truncated",
                       "rx_frames":10,"rx_bytes":940,"rx_missed":4,
                       "tx_frames":5,"tx_bytes":470,"tx_refused":6,"foreign_frames":0,"drops":{"source_guard":2},
                       "link":{"state":"down","since_us":7,"last_reason":"silent","times_down":2,
                               "last_silence_us":30400,"longest_gap_us":21000,"hellos_sent":100,
                               "hellos_heard":90,"hellos_missed":3,"silence_us":30407}}])json"));
}

TEST(to_json, neighbour) {
  FakeInspector inspector;
  EXPECT_EQ(to_json(inspector.neighbours("")),
            parse(R"json([{"switch":"leaf0","port":"host0","chassis":"02:00:00:00:00:07",
                       "neighbour_port":"eth1","port_description":"to the fabric",
                       "system_name":"node7","system_description":"Debian",
                       "capabilities":["bridge","station"],"ttl_s":120,"forget_in_ms":90000,
                       "since_ms":60000}])json"));
}

TEST(to_json, port_where_no_link_hello_was_heard_has_no_time_since_the_last) {
  FakeInspector inspector;
  auto ports = inspector.ports("");
  ports[0].link = {};
  const auto out = to_json(ports);
  const auto& link = out.as_array()[0].as_object().at("link").as_object();
  EXPECT_EQ(link.at("state"), "unwatched");
  EXPECT_FALSE(link.contains("silence_us"));
}

TEST(to_json, port_without_nid_has_no_such_key) {
  FakeInspector inspector;
  auto ports = inspector.ports("");
  ports[0].nid.reset();
  EXPECT_FALSE(to_json(ports).as_array()[0].as_object().contains("nid"));
}

TEST(to_json, tree) {
  FakeInspector inspector;
  EXPECT_EQ(to_json(inspector.trees("")),
            parse(R"json([{"switch":"leaf0","tree":2748,"wait_count":15,"parent":"up",
                       "children":["host0","host1"],"timer_us":20000,"full":7,"partial":0,
                       "passed_through":0,"late":0,"stale":0}])json"));
}

TEST(to_json, says_how_frames_come_to_their_workers_where_trees_are_placed) {
  FakeInspector inspector;
  auto ports = inspector.ports("");
  auto trees = inspector.trees("");
  auto workers = inspector.workers();
  EXPECT_FALSE(to_json(ports).at(0).as_object().contains("steering"));
  EXPECT_FALSE(to_json(trees).at(0).as_object().contains("worker"));
  EXPECT_FALSE(to_json(workers).at(0).as_object().contains("trees"));
  ports[0].steering = "hand-over";
  ports[0].steering_why = "its driver has no rules";
  trees[0].worker = 3;
  workers[0].trees = 17;
  EXPECT_EQ(to_json(ports).at(0).at("steering"), "hand-over");
  EXPECT_EQ(to_json(ports).at(0).at("steering_why"), "its driver has no rules");
  EXPECT_EQ(to_json(trees).at(0).at("worker"), 3);
  EXPECT_EQ(to_json(workers).at(0).at("trees"), 17);
}

TEST(to_json, ordinary_multicast_has_no_timer) {
  FakeInspector inspector;
  auto trees = inspector.trees("");
  trees[0].wait_count = 0;
  EXPECT_FALSE(to_json(trees).as_array()[0].as_object().contains("timer_us"));
}

TEST(to_json, tree_with_wide_frames_says_what_it_has_of_slot_memory) {
  FakeInspector inspector;
  auto trees = inspector.trees("");
  EXPECT_FALSE(to_json(trees).as_array()[0].as_object().contains("slots"));
  trees[0].slots = {.slots = 128, .payload_bytes = 1408, .half_floats = true};
  const boost::json::object tree = to_json(trees).as_array()[0].as_object();
  EXPECT_EQ(tree.at("slots"), 128U);
  EXPECT_EQ(tree.at("payload_bytes"), 1408U);
  EXPECT_EQ(tree.at("slot_memory_bytes"), 2U * 128 * 1408);
}

TEST(to_json, descriptor_with_a_vector_says_of_what_and_how_long) {
  FakeInspector inspector;
  auto engines = inspector.engines("");
  engines[0].occupied[0].form = "bits32";
  engines[0].occupied[0].payload_bytes = 1408;
  const boost::json::object occupied =
      to_json(engines).as_array()[0].at("occupied").as_array()[0].as_object();
  EXPECT_EQ(occupied.at("form"), "bits32");
  EXPECT_EQ(occupied.at("payload_bytes"), 1408U);
}

TEST(to_json, engine_reports_who_is_waited_for) {
  FakeInspector inspector;
  const auto engine = to_json(inspector.engines("")).as_array()[0].as_object();
  EXPECT_EQ(engine.at("arms"), 9U);
  EXPECT_EQ(engine.at("descriptors"), 8U);
  EXPECT_EQ(
      engine.at("occupied"),
      parse(R"json([{"tree":2748,"reduction":5,"sequence":341,"vni":1024,"cookie":"0x677daabc",
                       "count":12,"wait_count":15,"missing":3,"age_us":120,"remaining_us":19880,
                       "children":["host0","host1"],"opcode":"INT_SUM",
                       "result_code":"success"}])json"));
}

TEST(to_json, descriptor_without_a_contribution_has_no_opcode) {
  FakeInspector inspector;
  auto engines = inspector.engines("");
  engines[0].occupied[0].opcode.clear();
  const boost::json::object occupied =
      to_json(engines).as_array()[0].at("occupied").as_array()[0].as_object();
  EXPECT_FALSE(occupied.contains("opcode"));
  EXPECT_FALSE(occupied.contains("result_code"));
}

TEST(to_json, worker_with_and_without_a_core) {
  FakeInspector inspector;
  auto workers = inspector.workers();
  EXPECT_EQ(to_json(workers), parse(R"json([{"worker":1,"ports":["leaf0/host0"],"busy_share":0.25,
                                         "core":3,"pool":0,"cycles":0,"busy_cycles":0,"iterations":1000,"busy_iterations":0,
                             "frames":0,"handed_over":0,"subtotals":0,"added_up":0,
                             "sleeps":0,"slept_us":0}])json"));
  workers[0].core.reset();
  EXPECT_FALSE(to_json(workers).as_array()[0].as_object().contains("core"));
}

TEST(to_json, manager_with_its_neighbours) {
  FakeInspector inspector;
  auto managers = inspector.managers("");
  EXPECT_EQ(to_json(managers),
            parse(R"json([{"switch":"leaf0","address":"unix:/run/x.sock","channel":"up",
                       "manager":"fabric","fabric":"000000000000a1b2","epoch":12,
                       "managers_refused":1,"since_ms":1500,"last_end":"","tables_version":7,
                       "trees_of_file":1,"trees_of_manager":2,"permissions":3,
                       "transactions":{"prepared_now":0,"prepared":4,"committed":5,"refused":6,
                          "aborted":0,"forgotten":0,
                          "last_refusal":"transaction 9: tree 7 has no child port"},
                       "ports":[{"port":"host0","up":true,"speed_mbps":10000,"neighbour":"node7",
                                 "neighbour_port":"eth1","neighbour_nid":"0x0002a"},
                                {"port":"up0","up":false}],
                       "problems":["port 3 and port 4 are the two ends of one link"]}])json"));
  managers[0].leader = {};
  EXPECT_FALSE(to_json(managers).as_array()[0].as_object().contains("fabric"));
  managers[0].address.clear();
  EXPECT_FALSE(to_json(managers).as_array()[0].as_object().contains("channel"));
}

TEST(to_json, trace_event) {
  FakeInspector inspector;
  EXPECT_EQ(
      to_json(inspector.trace()),
      parse(
          R"json([{"age_ns":55,"worker":0,"number":0,"switch":"leaf0","port":"host0","event":"none",
                       "action":"drop","reason":"stale_sequence","tree":1,"reduction":2,
                       "sequence":3,"arm":false,"opcode":"INT_SUM","count":1}])json"));
}

TEST(to_json, trace_event_of_a_vector) {
  FakeInspector inspector;
  auto events = inspector.trace();
  events[0].reduction->form = "bfloat16";
  events[0].reduction->payload_bytes = 1408;
  const boost::json::object event = to_json(events).as_array()[0].as_object();
  EXPECT_EQ(event.at("form"), "bfloat16");
  EXPECT_EQ(event.at("payload_bytes"), 1408);
}

TEST(to_json, explanation_of_a_drop_has_its_meaning) {
  FakeInspector inspector;
  const auto e = to_json(inspector.explain("s", "p", {})).as_object();
  EXPECT_EQ(e.at("reason"), "runt");
  EXPECT_EQ(e.at("meaning"), "shorter than an Ethernet and a fabric header");
  EXPECT_EQ(e.at("steps").as_array().size(), 2U);
}

TEST(to_json, queues) {
  FakeInspector inspector;
  EXPECT_EQ(to_json(inspector.queues("", "")),
            parse(R"json([{"switch":"leaf0","port":"host0","class":2,"frames_limit":512,
                      "bytes_limit":1048576,"paused":true,"given_up":false,"trimmed_limit":256,"frames":20,
                      "bytes":1880,"frames_waiting":3,"bytes_waiting":282,"most_frames":5,
                      "most_bytes":470,"pauses_received":4,"pauses_ignored":0,"paused_us":77,"pauses_sent":6,"resumes_sent":2,
                      "given_up_times":1,"trimmed_frames":8,"trimmed_bytes":11440,"trimmed_waiting":2,
                      "drops":{"queue_full":9}}])json"));
}

TEST(to_json, version) {
  FakeInspector inspector;
  EXPECT_EQ(to_json(inspector.version()),
            parse(R"json({"program":"tributary-switch","version":"0.1.0","pid":42,"uptime_s":7,
                      "config_file":"test.toml","switches":[{"name":"leaf0","ports":2,"trees":1,
                      "tables_version":3}]})json"));
}

TEST(to_json, an_impairment_says_what_is_not_as_by_default_and_counts_everything) {
  FakeInspector inspector;
  EXPECT_EQ(to_json(inspector.impairments({})),
            parse(R"json([{"switch":"leaf0","port":"host0","direction":"sent","on":true,
                      "settings":{"loss":0.25,"delay_us":10,"kinds":["unicast"]},"seed":7,"held":3,
                      "frames":100,"lost":26,"burst_lost":0,"duplicated":0,"corrupted":0,
                      "delayed":0,"reordered":0,"hold_expired":0,"rate_delayed":0,
                      "rate_limited":0,"did_not_fit":0,"no_buffer":0}])json"));
}

TEST(flat_counters, name_every_drop_reason_of_every_port) {
  FakeInspector inspector;
  const auto flat =
      flat_counters(inspector.ports(""), inspector.queues("", ""), inspector.trees(""),
                    inspector.engines(""), inspector.workers(), inspector.impairments({}))
          .as_object();
  EXPECT_EQ(flat.at("leaf0.port.host0.rx_frames"), 10U);
  EXPECT_EQ(flat.at("leaf0.port.host0.drop.source_guard"), 2U);
  EXPECT_EQ(flat.at("leaf0.port.host0.drop.no_route"), 0U);
  EXPECT_EQ(flat.at("leaf0.tree.2748.full"), 7U);
  EXPECT_EQ(flat.at("leaf0.engine.up.arms"), 9U);
  EXPECT_EQ(flat.at("leaf0.engine.up.occupied"), 1U);
  EXPECT_EQ(flat.at("worker.1.iterations"), 1000U);
  EXPECT_EQ(flat.at("leaf0.queue.host0.2.frames_waiting"), 3U);
  EXPECT_EQ(flat.at("leaf0.queue.host0.2.queue_full"), 9U);
  EXPECT_EQ(flat.at("leaf0.queue.host0.2.trimmed_frames"), 8U);
  EXPECT_EQ(flat.at("leaf0.impairment.host0.sent.lost"), 26U);
  EXPECT_EQ(flat.at("leaf0.impairment.host0.sent.held"), 3U);
  EXPECT_EQ(flat.size(), 13 + 17 + core::drop_reason_count + 15 +
                             egress::queue_drop_reasons.size() + 5 + 14 + 1 + 10);
}

} // namespace
} // namespace tributary::management
