// Every table of tributaryctl, of answers with long names and large figures, on displays of several
// widths: no line is longer than the display.
#include "lib/terminal/width.hpp"
#include "lib/terminal/wrap.hpp"
#include "tools/tributaryctl/fabric/views.hpp"
#include "tools/tributaryctl/impair/command.hpp"
#include "tools/tributaryctl/rdma/views.hpp"
#include "tools/tributaryctl/views.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace tributary::cli {
namespace {

using boost::json::parse;
using boost::json::value;
using terminal::Display;

struct Sample {
  const char* name;
  std::string (*view)(const value&, const Display&);
  const char* answer;
};

template <const char* what, bool one> std::string fabric(const value& answer, const Display& on) {
  return fabric_view(what, one, answer, on);
}
template <const char* what> std::string rdma(const value& answer, const Display& on) {
  return rdma_view(what, Entry(answer), on);
}

constexpr char switches[] = "switches";
constexpr char hosts[] = "hosts";
constexpr char links[] = "links";
constexpr char groups[] = "groups";
constexpr char trees[] = "trees";
constexpr char transactions[] = "transactions";
constexpr char jobs[] = "jobs";
constexpr char nodes[] = "nodes";
constexpr char memory[] = "memory";
constexpr char routes[] = "routes";
constexpr char paths[] = "paths";
constexpr char faults[] = "faults";
constexpr char topology[] = "topology";
constexpr char policy[] = "policy";
constexpr char peers[] = "peers";
constexpr char transfers[] = "transfers";
constexpr char exceptions[] = "exceptions";

constexpr char one_switch[] = R"json({"name":"rack07-leaf12","guid":"0x0123456789abcdef","up":true,
  "connected":true,"version":"tributary-switch 1.12.0","trees":128,"silent_seconds":0.4,
  "limits":{"descriptors_per_engine":65536},"engines":[{"port":3,"may_hold":32768}],
  "ports":[{"port":3,"name":"uplink-to-spine","up":true,"speed_mbps":100000,
            "to":"rack07-spine03 port 17"}],
  "statistics":{"ports":[{"port":3,"received":123456789012,"sent":123456789012,"full":1234567890,
                          "partial":123456,"drops":{"no_route":12345,"source_guard":99}}]}})json";
constexpr char one_tree[] = R"json({"tree":8190,"job":"climate-model-2026","group":"ocean-exchange",
  "state":"in_force","root":{"host":"node0017","nid":23},"switches":24,"height":5,"slots":128,
  "payload":1408,"root_switch":"rack07-leaf12",
  "parts":[{"switch":"rack07-leaf12","depth":0,"wait_count":15,"parent":{"port":0,"to":"node0017"},
            "children":[{"port":1,"to":"node0018"},{"port":2,"to":"node0019"},
                        {"port":3,"to":"node0020"},{"port":4,"to":"rack07-spine03"}]}],
  "statistics":[{"switch":"rack07-leaf12","full":1234567890,"partial":1234,"late":12,"stale":1}]})json";
constexpr char one_group[] = R"json({"job":"climate-model-2026","name":"ocean-exchange",
  "state":"waiting","joined":14,"size":16,"root":{"host":"node0017","rank":0},"vni":70000,
  "slots":128,"payload":1408,"error":"hosts node0030 and node0031 are behind a switch that is down",
  "routes":[{"tree":8190,"max_efi":12,"switches":24,"height":5},{"tree":8191,"max_efi":11}],
  "frames_note":"the wide frames of tree 8190 do not fit into what rack07-leaf12 has left",
  "disjoint":false,"shared":["rack07-leaf12 port 3","rack07-spine03 port 17"],
  "members":[{"rank":0,"host":"node0017","nid":23,"state":"joined","lease_seconds":2.5}],
  "missing":[{"rank":3,"nid":24,"why":"it has not asked to join, and its switch is down"}]})json";
constexpr char one_job[] = R"json({"job":"climate-model-2026","mcast_limit":128,"vni":70000,
  "hosts":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32],
  "vnis":[70000,70001],"groups":["ocean-exchange","ocean-exchange-2","atmosphere-allreduce"]})json";
constexpr char one_node[] = R"json({"node":"node0017.cluster.example","host":"node0017",
  "processors":256,"memory_bytes":1099511627776,"job":"climate-model-2026","reported_seconds":12.5,
  "packages":2,"cores":128,"processor":"An Enterprise Processor 9654 with 96 Cores at 2.40 GHz",
  "devices":["gpu0","gpu1","gpu2","gpu3"],
  "interfaces":[{"name":"enp129s0f0np0","address":"02:00:00:00:00:07","up":true,"mtu":9000,
                 "speed_mbps":200000,"driver":"a_driver"}]})json";
constexpr char one_memory[] = R"json({"switch":"rack07-leaf12","size":67108864,"used":12345678,
  "free":54763186,"trees":12,"holders":[{"tree":8190,"job":"climate-model-2026",
  "group":"ocean-exchange","bytes":1234567,"slots":128,"payload":1408,"float16":true}]})json";
constexpr char one_transaction[] = R"json({"transaction":1234567,"tree":8190,"what":"replace",
  "state":"preparing","age_seconds":1.5,"waits_for":["rack07-leaf12","rack07-spine03"],
  "text":"a link of the tree is down","switches":[{"switch":"rack07-leaf12","state":"prepared"}]})json";

const std::string in_list(const char* what, const char* one) {
  return std::string(R"({")") + what + R"(":[)" + one + "]}";
}

const Sample samples[] = {
    {"ports", ports_view, R"json([{"switch":"rack07-leaf12","port":"uplink-to-spine","number":17,
      "state":"down","device":"net_af_xdp_enp129s0f0np0","nid":"0x00017","link_transitions":12,
      "rx_frames":123456789012,"rx_bytes":12345678901234,"tx_frames":123456789012,"rx_missed":17,
      "tx_bytes":12345678901234,"drops":{"source_guard":2222,"no_route":1111}}])json"},
    {"links", links_view, R"json([{"switch":"rack07-leaf12","port":"uplink-to-spine","state":"up",
      "link":{"state":"down","since_us":7000,"last_reason":"silent","times_down":222,
      "last_silence_us":30400,"hellos_sent":10000000,"hellos_heard":9000000,"hellos_missed":30,
      "longest_gap_us":21000}}])json"},
    {"neighbours", neighbours_view, R"json([{"switch":"rack07-leaf12","port":"uplink-to-spine",
      "chassis":"02:00:00:00:00:07","neighbour_port":"enp129s0f0np0","system_name":
      "node0017.cluster.example","system_description":"Debian GNU/Linux 12, Linux 6.1.0-18-amd64",
      "capabilities":["bridge","router","station"],"forget_in_ms":90000,"since_ms":60000}])json"},
    {"queues", queues_view, R"json([{"switch":"rack07-leaf12","port":"uplink-to-spine","class":7,
      "frames_limit":65536,"paused":true,"frames":12345678901,"bytes":1234567890123,
      "frames_waiting":65000,"bytes_waiting":12345678,"most_frames":65536,"pauses_received":1234,
      "paused_us":250000,"pauses_sent":12,"trimmed_frames":7,"drops":{"queue_full":912345}}])json"},
    {"trees", trees_view, R"json([{"switch":"rack07-leaf12","tree":8190,"wait_count":128,
      "timer_us":20000,"slots":128,"payload_bytes":1408,"parent":"uplink-to-spine",
      "children":["host0","host1","host2","host3","host4"],"full":1234567890,"partial":12,
      "passed_through":1,"late":2,"stale":3}])json"},
    {"engines", engines_view, R"json([{"switch":"rack07-leaf12","port":"uplink-to-spine",
      "descriptors":65536,"arms":2,"rearms":123456789,"contributions":1234567890,"full":123456789,
      "occupied":[{"tree":8190,"reduction":3,"sequence":34100000,"count":12,"wait_count":15,
      "missing":3,"age_us":120,"remaining_us":19880,"opcode":"FLT_SUM_NEAREST","form":"bfloat16",
      "payload_bytes":1408,"children":["host0","host1","host2"]}]}])json"},
    {"counters", counters_view,
     R"json({"rack07-leaf12.engine.uplink-to-spine.contributions":123456789012345})json"},
    {"workers", workers_view, R"json([{"worker":1,"core":12,"busy_share":0.256,"frames":12345678901,
      "iterations":1234567890123,"sleeps":12345678,"slept_us":1500000,"handed_over":1234567,
      "ports":["rack07-leaf12/host0","rack07-leaf12/host1","rack07-leaf12/uplink"]}])json"},
    {"manager", manager_view, R"json([{"switch":"rack07-leaf12","address":
      "manager.cluster.example:7471","channel":"up","manager":"tributary-fabricd of the cluster",
      "since_ms":1500,"trees_of_manager":2,"trees_of_file":1,"permissions":3,"transactions":
      {"committed":51234,"prepared_now":0,"refused":1,"aborted":0,"forgotten":0,"last_refusal":
      "transaction 9: tree 7 is in use by the switch's file, and its memory is not free"},
      "ports":[{"port":"uplink-to-spine","up":true,"speed_mbps":100000,"neighbour":
      "node0017.cluster.example","neighbour_port":"enp129s0f0np0","neighbour_nid":"0x0002a"}],
      "problems":["port uplink-to-spine hears hellos of another fabric than its own"]}])json"},
    {"trace", trace_view, R"json([{"age_ns":900,"worker":0,"switch":"rack07-leaf12","port":
      "uplink-to-spine","event":"contributed","action":"replicate","tree":8190,"reduction":100,
      "sequence":12345678,"opcode":"FLT_SUM_NEAREST","count":3,"form":"bits32",
      "payload_bytes":1408,"out":["host0","host1","host2","host3"]}])json"},
    {"explain", explanation_view, R"json({"action":"drop","event":"none","reason":"source_guard",
      "meaning":"the source address of the frame is not one that the port accepts frames from",
      "steps":["the frame has 94 bytes and comes from port uplink-to-spine, which is up"]})json"},
    {"version", version_view, R"json({"program":"tributary-switch","version":"1.12.0","pid":71234,
      "uptime_s":90,"config_file":"/etc/tributary/switches/rack07-leaf12.toml","switches":[
      {"name":"rack07-leaf12","ports":64,"trees":128,"tables_version":12345}]})json"},
    {"impair show", impairments_view, R"json([{"switch":"rack07-leaf12","port":"uplink-to-spine",
      "direction":"in","on":true,"seed":17,"frames":12345678901,"lost":123456,"burst_lost":123,
      "duplicated":12,"corrupted":1,"delayed":12,"reordered":12,"rate_delayed":1,"rate_limited":1,
      "did_not_fit":1,"held":12,"settings":{"loss":0.01,"delay_us":15,"kinds":["arm","data"]}}])json"},
    {"fabric show switch", fabric<switches, true>, one_switch},
    {"fabric show tree", fabric<trees, true>, one_tree},
    {"fabric show group", fabric<groups, true>, one_group},
    {"fabric show job", fabric<jobs, true>, one_job},
    {"fabric show node", fabric<nodes, true>, one_node},
    {"fabric show memory of one", fabric<memory, true>, one_memory},
    {"fabric show transaction", fabric<transactions, true>, one_transaction},
    {"fabric show hosts", fabric<hosts, false>, R"json({"hosts":[{"name":"node0017.cluster.example",
      "nid":23,"up":true,"switch":"rack07-leaf12","port":3,"groups":["climate-model-2026/ocean",
      "climate-model-2026/atmosphere"]}]})json"},
    {"fabric show links", fabric<links, false>, R"json({"links":[{"link":12345,"up":true,
      "a":{"switch":"rack07-leaf12","port":17},"b":{"switch":"rack07-spine03","port":17},
      "speed_mbps":100000,"efi":12}]})json"},
    {"fabric show routes", fabric<routes, false>, R"json({"enabled":true,"in_force":{"epoch":123456,
      "state":"in_force","algorithm":"up_down_balanced","shape":"fat tree of 3 levels","vcs":4,
      "pairs":1048576,"most_hops":6,"hottest_load":1.5,"mean_load":1.2,
      "hottest_link":"rack07-leaf12 port 17 to rack07-spine03","why":"the shape is not a fat tree"},
      "out_of_sync":["rack07-leaf12"]})json"},
    {"fabric show path", fabric<paths, true>, R"json({"from":{"name":"node0017.cluster","nid":1},
      "to":{"name":"node0099.cluster","nid":2},"epoch":12,"algorithm":"up_down_balanced",
      "end":"deliver","hops":[{"switch":"rack07-leaf12","in":1,"out":2,"vc":0,"highest_vc":3,
      "others":[3,4,5,6,7,8,9,10,11,12],"spares":[13,14,15,16,17,18,19,20]}]})json"},
    {"fabric show faults", fabric<faults, false>, R"json({"count":1,"faults":[{"fault":123,
      "time":"2026-11-25T20:00:00.123Z","state":"installed","computed_us":1234,"verified_us":2345,
      "installed_us":3456,"destinations":128,"trees":[1],"events":[
      "link rack07-leaf12 port 17 to rack07-spine03 port 3 is down","another"]}]})json"},
    {"fabric show topology", fabric<topology, false>, R"json({"switches":[{"name":"rack07-leaf12",
      "up":true}],"problems":["two switches have the GUID 0x0123456789abcdef, leaf1 and leaf2"]})json"},
    {"fabric rebalance", rebalance_view,
     R"json({"dry_run":true,"max_efi_before":6,"max_efi_after":5,
      "moves":[{"job":"climate-model-2026","group":"ocean-exchange","trees":[8190,8191],
      "height_before":5,"height_after":4,"shared_before":3,"shared_after":2,
      "why":"its trees share links that others load as well"}]})json"},
    {"rdma policy", rdma<policy>, R"json({"version":12,"policies":[{"vni":70000,"policy":
      {"retry_limit_before_quarantine":12,"time_out_us":123456},"set":{"time_out_us":1}}]})json"},
    {"rdma peers", rdma<peers>, R"json({"peers":[{"host":"node0017.cluster.example","nid":23,
      "vni":70000,"state":"quarantined","for_all":true,"since_seconds":12.5,"probe_in_seconds":3.5,
      "failed_probes":12,"reporters":[{"host":"node0018","nid":24},{"host":"node0019","nid":25}]}],
      "more":12,"suspects":[{"switch":"rack07-leaf12","quarantined":12,"others":3,"avoided":true}]})json"},
    {"rdma transfers", rdma<transfers>, R"json({"in_progress":12,"hosts":3,"transfers":[
      {"at":{"host":"node0017.cluster","nid":23},"host":"node0018.cluster","nid":24,"vni":70000,
      "message":123456789,"sends":true,"placed":123456,"frames":234567,"retries":1,
      "busy":2}]})json"},
    {"rdma exceptions", rdma<exceptions>, R"json({"window_seconds":60,"causes":[{"cause":
      "a time-out after the last retry","recent":1,"total":12345}],"exceptions":[{"time":
      "2026-11-25T20:00:00.123Z","reporter":{"host":"node0017.cluster","nid":23},"cause":
      "a time-out after the last retry","times":12,"host":"node0018.cluster","nid":24,
      "vni":70000,"heard":"nothing"}]})json"}};

void expect_fits(const char* name, std::size_t columns, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(terminal::width_of(text.substr(at, end - at)), columns)
        << name << " on " << columns << " columns:\n"
        << text;
    at = end + 1;
  }
}

TEST(every_table, fits_displays_of_several_widths) {
  for (const Sample& sample : samples) {
    const value answer = parse(sample.answer);
    for (const std::size_t columns : {132U, 80U, 60U, 40U, 20U}) {
      expect_fits(sample.name, columns,
                  terminal::wrapped(sample.view(answer, {false, columns}), columns));
    }
  }
}

/// If all columns were removed they would not be tables any more.
TEST(every_table, stays_a_table_on_80_columns) {
  for (const Sample& sample : samples) {
    EXPECT_EQ(sample.view(parse(sample.answer), {false, 80}).find("a block for each row"),
              std::string::npos)
        << sample.name << ":\n"
        << sample.view(parse(sample.answer), {false, 80});
  }
}

TEST(every_list, of_the_manager_fits_80_columns_and_stays_a_table) {
  const std::pair<const char*, const char*> lists[] = {{switches, one_switch},
                                                       {trees, one_tree},
                                                       {groups, one_group},
                                                       {jobs, one_job},
                                                       {nodes, one_node},
                                                       {memory, one_memory},
                                                       {transactions, one_transaction}};
  for (const auto& [what, one] : lists) {
    const std::string text = fabric_view(what, false, parse(in_list(what, one)), {false, 80});
    expect_fits(what, 80, text);
    EXPECT_EQ(text.find("a block for each row"), std::string::npos) << text;
  }
}

} // namespace
} // namespace tributary::cli
