// `tributaryctl fabric` against the manager's HTTP server with a service of the test's own.
#include "controlplane/topology/topology_file.hpp"
#include "endpoint/manager_client/manager_error.hpp"
#include "tests/unit/controlplane/rest/server_fixture.hpp"
#include "tools/tributaryctl/exit_codes.hpp"
#include "tools/tributaryctl/fabric/run.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

namespace tributary::cli {
namespace fabric_run_test {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Verb = FabricCommand::Verb;

class RunFabric : public rest::ServerTest {
protected:
  RunFabric() {
    for (const char* name : {"TRIBUTARY_FABRIC_MANAGER_URL", "TRIBUTARY_FABRIC_MANAGER_TOKEN",
                             "TRIBUTARY_JOB_ID", "FI_CXI_COLL_JOB_ID"}) {
      ::unsetenv(name);
    }
    start();
  }
  FabricCommand command(Verb verb) {
    FabricCommand made;
    made.verb = verb;
    made.manager = unix_address();
    return made;
  }
  FabricCommand show(const char* what, const char* id = "") {
    FabricCommand made = command(Verb::show);
    made.what = what;
    made.id = id;
    return made;
  }
  void answers(std::string_view text, unsigned status = 200) {
    on_loop([&] { service.answer = {status, json::parse(text), 0}; });
  }
  /// Its output; expects the exit code of success.
  static std::string output(const FabricCommand& command, bool as_json = false) {
    testing::internal::CaptureStdout();
    int code = -1;
    std::string failure;
    try {
      code = run_fabric(command, as_json);
    } catch (const std::exception& e) {
      failure = e.what();
    }
    const std::string said = testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, exit_success) << failure;
    return said;
  }
  /// Bytes that were printed since output() began.
  static std::size_t printed() {
    struct stat file = {}; // GoogleTest's captured output goes to one
    EXPECT_EQ(::fstat(STDOUT_FILENO, &file), 0);
    return static_cast<std::size_t>(file.st_size);
  }
  static std::string usage_error(const FabricCommand& command) {
    testing::internal::CaptureStderr();
    const int code = run_fabric(command, false);
    EXPECT_EQ(code, exit_usage);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(RunFabric, shows_all_pages_of_a_list_as_one) {
  on_loop([&] {
    service.pages[""] = json::parse(R"({"hosts": [{"name": "h0"}], "next": "5"})");
    service.pages["5"] =
        json::parse(R"({"hosts": [{"name": "h1"}, {"name": "h2"}], "next": "a b"})");
    service.pages["a b"] = json::parse(R"({"hosts": [{"name": "h3"}]})");
  });
  EXPECT_EQ(json::parse(output(show("hosts"), true)),
            json::parse(R"({"hosts": [{"name": "h0"}, {"name": "h1"}, {"name": "h2"},
                                      {"name": "h3"}]})"));
  EXPECT_THAT(output(show("hosts")), HasSubstr("h3"));
}

TEST_F(RunFabric, show_asks_for_lists_and_for_single_ones) {
  answers(R"({"hosts":[]})");
  EXPECT_EQ(output(show("hosts")), "No host has been heard yet.\n");
  EXPECT_EQ(last_call(), "view 2 -");
  EXPECT_EQ(output(show("hosts"), true), "{\"hosts\":[]}\n");
  output(show("switches", "leaf 0"));
  EXPECT_EQ(last_call(), "view 1 leaf 0");
  output(show("groups", "j1/de/mo"));
  EXPECT_EQ(last_call(), "get_group j1 de/mo");
  EXPECT_THAT(usage_error(show("groups", "demo")), HasSubstr("JOB/NAME"));
  EXPECT_THAT(usage_error(show("topology", "x")), HasSubstr("one topology"));
}

TEST_F(RunFabric, refusals_are_the_managers_words) {
  answers(R"({"message":"no tree 7"})", 404);
  try {
    static_cast<void>(run_fabric(show("trees", "7"), false));
    FAIL() << "a refusal is a failure";
  } catch (const manager_client::ManagerError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no tree 7"));
  }
}

TEST_F(RunFabric, tokens_come_from_a_file) {
  const std::string file = folder_.file("token");
  std::ofstream(file) << "secret\n";
  FabricCommand asking = show("hosts");
  asking.manager = "http://" + tcp_address();
  asking.token_file = file;
  answers(R"({"hosts":[]})");
  output(asking);
  EXPECT_EQ(on_loop([this] { return service.caller->token; }), "secret");
  asking.token_file = folder_.file("none");
  EXPECT_THAT(usage_error(asking), HasSubstr("no token can be read from"));
}

TEST_F(RunFabric, a_wrong_address_is_a_usage_error) {
  FabricCommand asking = show("hosts");
  asking.manager = "ftp://x";
  EXPECT_THAT(usage_error(asking), HasSubstr("ftp://x"));
}

TEST_F(RunFabric, groups_are_created_and_destroyed) {
  FabricCommand create = command(Verb::create_group);
  create.name = "demo";
  create.size = 16;
  create.trees = 2;
  create.job = "j1";
  create.root_rank = 3;
  answers(R"({"name":"demo","job":"j1","state":"receiving_join_req","size":16,"joined":0,)"
          R"("text":"waits for 16 of 16 members"})",
          201);
  EXPECT_THAT(output(create), StartsWith("j1/demo: receiving_join_req, 0 of 16 members; waits"));
  EXPECT_EQ(last_call(), "create_group 'demo' job 'j1' size 16 trees 2 root 3");
  create.trees = 1;
  for (const bool in_switch_results : {true, false}) {
    create.in_switch_results = in_switch_results;
    answers(R"({"name":"demo","job":"j1","state":"receiving_join_req","size":16,"joined":0})", 201);
    static_cast<void>(output(create));
    EXPECT_EQ(
        last_call(),
        fmt::format("create_group 'demo' job 'j1' size 16 trees 1 root 3 in_switch_results {}",
                    in_switch_results));
  }

  FabricCommand destroy = command(Verb::destroy_group);
  destroy.name = "demo";
  EXPECT_THAT(usage_error(destroy), HasSubstr("--job"));
  ::setenv("TRIBUTARY_JOB_ID", "of-the-environment", 1);
  EXPECT_THAT(output(destroy), HasSubstr("group demo"));
  EXPECT_EQ(last_call(), "delete_group of-the-environment demo");
  destroy.job = "j1";
  output(destroy);
  EXPECT_EQ(last_call(), "delete_group j1 demo");
  ::unsetenv("TRIBUTARY_JOB_ID");
  destroy.job.reset();
  destroy.name = "j2/demo";
  output(destroy);
  EXPECT_EQ(last_call(), "delete_group j2 demo");
}

TEST_F(RunFabric, a_job_prints_its_token_alone) {
  FabricCommand create = command(Verb::create_job);
  create.name = "j1";
  create.limit = 4;
  answers(R"({"jobID":"j1","sessionToken":"abc"})", 201);
  EXPECT_EQ(output(create), "abc\n");
  EXPECT_EQ(last_call(), "create_job j1 4");
  FabricCommand destroy = command(Verb::destroy_job);
  destroy.name = "j1";
  output(destroy);
  EXPECT_EQ(last_call(), "delete_job j1");
}

TEST_F(RunFabric, a_job_is_limited_to_hosts_by_name_number_range_or_mac_and_to_vnis) {
  FabricCommand create = command(Verb::create_job);
  create.name = "j1";
  create.hosts = {"1-2", "70000", "0:00:1F"};
  create.vnis = {"1024", "1030-1032"};
  answers(R"({"jobID":"j1","sessionToken":"abc","nid":5})", 201);
  EXPECT_EQ(output(create), "abc\n");
  const auto asked = [this] { return on_loop([this] { return *service.asked_job; }); };
  EXPECT_THAT(*asked().hosts, ElementsAre(Nid{1}, Nid{2}, Nid{70000}, Nid{0x1F}));
  EXPECT_THAT(*asked().vnis, ElementsAre(Vni{1024}, Vni{1030}, Vni{1031}, Vni{1032}));
  EXPECT_EQ(json::parse(output(create, true)).at("sessionToken"), "abc");

  answers(R"({"jobID":"j1","sessionToken":"abc","name":"node five","nid":5})");
  create.hosts = {"node five"};
  create.vnis.clear();
  output(create);
  EXPECT_THAT(*asked().hosts, ElementsAre(Nid{5}));
  EXPECT_FALSE(asked().vnis.has_value());
  create.hosts.clear();
  output(create);
  EXPECT_FALSE(asked().hosts.has_value());
}

TEST_F(RunFabric, limits_of_a_job_that_make_no_sense_are_usage_errors) {
  FabricCommand create = command(Verb::create_job);
  create.name = "j1";
  create.vnis = {"1024", "many"};
  EXPECT_THAT(usage_error(create), HasSubstr("\"many\" is neither a VNI nor"));
  create.vnis = {"65536"};
  EXPECT_THAT(usage_error(create), HasSubstr("0 to 65535"));
  create.vnis.clear();
  create.hosts = {"9-3"};
  EXPECT_THAT(usage_error(create), HasSubstr("FIRST-LAST"));
  create.hosts = {"1048576"};
  EXPECT_THAT(usage_error(create), HasSubstr("0 to 1048575"));
  answers(R"({"message":"no hosts of name \"h9\""})", 404);
  create.hosts = {"h9"};
  EXPECT_THROW(static_cast<void>(run_fabric(create, false)), manager_client::ManagerError);
  EXPECT_FALSE(on_loop([this] { return service.asked_job.has_value(); })) << "no job was made";
}

TEST_F(RunFabric, lists_are_narrowed_to_a_switch_a_job_or_a_group) {
  answers(R"({"trees":[]})");
  FabricCommand trees = show("trees");
  trees.at_switch = "leaf 0&x";
  output(trees);
  EXPECT_EQ(on_loop([this] { return service.asked_view.at_switch; }), "leaf 0&x");
  trees.at_switch.clear();
  trees.group = "demo";
  EXPECT_THAT(usage_error(trees), HasSubstr("--job"));
  trees.job = "j1";
  output(trees, true);
  EXPECT_EQ(on_loop([this] { return service.asked_view.job + '/' + service.asked_view.group; }),
            "j1/demo");
  FabricCommand hosts = show("hosts");
  hosts.job = "j1";
  EXPECT_THAT(usage_error(hosts),
              HasSubstr("--job filters only the lists of groups, trees, not of"));
  FabricCommand one = show("trees", "7");
  one.at_switch = "leaf0";
  EXPECT_THAT(usage_error(one), HasSubstr("\"7\""));
}

TEST_F(RunFabric, every_page_of_a_list_is_narrowed) {
  on_loop([&] {
    service.pages[""] = json::parse(R"({"hosts": [{"name": "h0"}], "next": "5"})");
    service.pages["5"] = json::parse(R"({"hosts": [{"name": "h1"}]})");
  });
  FabricCommand hosts = show("hosts");
  hosts.at_switch = "leaf0";
  EXPECT_THAT(output(hosts), HasSubstr("h1"));
  EXPECT_EQ(on_loop([this] { return service.asked_view.after + service.asked_view.at_switch; }),
            "5leaf0");
}

constexpr std::string_view small_tree =
    R"({"tree":5,"job":"j1","group":"demo","root":{"host":"h0"},
        "parts":[{"switch":"leaf0","parent":{"port":1,"to":"h0"},"depth":0,"wait_count":1,
                  "children":[{"port":2,"to":"h1"}]}]})";

TEST_F(RunFabric, trees_are_drawn_in_each_form) {
  answers(small_tree);
  FabricCommand draw = command(Verb::draw_tree);
  draw.tree = 5;
  EXPECT_THAT(output(draw), HasSubstr("leaf0"));
  EXPECT_EQ(last_call(), "view 5 5");
  EXPECT_EQ(json::parse(output(draw, true)), json::parse(small_tree));
  draw.format = "svg";
  EXPECT_THAT(output(draw), StartsWith("<svg"));
}

constexpr std::string_view found_topology = R"({"switches": [
  {"name": "a", "guid": "0x00000000000a11ce", "up": true, "ports": [{"port": 0}, {"port": 7}]},
  {"name": "b", "guid": "0x0000000000000b0b", "up": true, "ports": []}],
 "hosts": [{"name": "h0", "nid": 1, "switch": "a", "port": 0, "up": true},
           {"name": "moved", "nid": 2, "switch": "a", "port": 7, "up": false}],
 "links": [{"link": 0, "a": {"switch": "a", "port": 7}, "b": {"switch": "b", "port": 2},
            "up": true, "speed_mbps": 100},
           {"link": 1, "a": {"switch": "a", "port": 3}, "b": {"switch": "b", "port": 3},
            "up": false, "speed_mbps": 0}], "problems": []})";

TEST_F(RunFabric, the_topology_that_was_found_is_written_in_every_format_and_read_again) {
  answers(found_topology);
  FabricCommand write = command(Verb::write_topology);
  for (const char* format : {"toml", "netlist"}) {
    write.topology_format = format;
    const topology::Graph graph = topology::read_topology(output(write), format);
    EXPECT_EQ(last_call(), "view 0 -");
    ASSERT_EQ(graph.switches().size(), 2U) << format;
    EXPECT_EQ(graph.switches()[0].guid, 0xA11CEU);
    ASSERT_EQ(graph.hosts().size(), 1U) << "the other one's port has a link by now";
    EXPECT_EQ(graph.hosts()[0].name, "h0");
    const auto link = graph.link_at({*graph.find_switch("a"), 7});
    ASSERT_TRUE(link.has_value());
    EXPECT_EQ(graph[*link].ends[1].port, 2);
    EXPECT_EQ(graph.links().size(), *format == 't' ? 2U : 1U) << "a netlist has what is up";
  }
  write.topology_format = "dot";
  EXPECT_THAT(output(write), StartsWith("graph"));
  EXPECT_EQ(json::parse(output(write, true)), json::parse(found_topology));
}

TEST_F(RunFabric, events_that_are_kept_are_shown_once) {
  on_loop([this] {
    service.publish("link", {{"time", "12:00"}, {"text", "leaf0 port 3 is down"}});
  });
  EXPECT_EQ(output(show("events")), "     1  12:00  link         leaf0 port 3 is down\n");
}

TEST_F(RunFabric, events_are_followed_until_interrupted) {
  on_loop([this] {
    service.publish("link", {{"text", "before"}});
    service.publish("link", {{"text", "kept"}});
  });
  FabricCommand follow = show("events");
  follow.follow = true;
  follow.after = 1;
  const std::string expected = "{\"number\":2,\"event\":\"link\",\"text\":\"kept\"}\n"
                               "{\"number\":3,\"event\":\"tree\",\"text\":\"new\"}\n";
  std::thread meanwhile([&] {
    EXPECT_TRUE(eventually([this] { return service.follower_count() == 1; }));
    on_loop([this] { service.publish("tree", {{"text", "new"}}); });
    EXPECT_TRUE(eventually([&] { return printed() >= expected.size(); }));
    ::kill(::getpid(), SIGTERM);
  });
  const std::string said = output(follow, true);
  meanwhile.join();
  EXPECT_EQ(said, expected);
}

TEST_F(RunFabric, route_computes_trees_without_a_manager) {
  FabricCommand route = command(Verb::route);
  route.manager = "http://nowhere.invalid";
  route.topologies = {"ft3:4"};
  route.patterns = {"4x4"};
  const json::value rows = json::parse(output(route, true));
  ASSERT_EQ(rows.as_array().size(), 2U);
  EXPECT_TRUE(rows.at(0).at("valid").as_bool());
  EXPECT_THAT(output(route), HasSubstr("prism_repaired"));
  route.topologies = {"mobius:3"};
  EXPECT_FALSE(usage_error(route).empty());
  route.topologies = {"ft3:4"};
  route.patterns = {"4by4"};
  EXPECT_FALSE(usage_error(route).empty());
}

TEST_F(RunFabric, adopts_a_fabric) {
  FabricCommand made = command(Verb::adopt);
  made.name = "000000000000000b";
  answers(R"({"fabric":"000000000000000a","epoch":6,"adopted":"000000000000000b"})");
  EXPECT_EQ(output(made), "the manager leads fabric 000000000000000a with epoch 6; switches of "
                          "fabric 000000000000000b are taken over as they connect\n");
  answers(R"({"fabric":"000000000000000a","epoch":42,"adopted":"000000000000000a"})");
  EXPECT_EQ(output(made), "the manager leads fabric 000000000000000a with epoch 42\n");
  EXPECT_THAT(output(made, true), HasSubstr("\"epoch\":42"));
}

TEST_F(RunFabric, lets_another_manager_lead) {
  FabricCommand made = command(Verb::failover);
  answers(R"({"from":"a","to":"b"})", 202);
  EXPECT_EQ(output(made), "manager a gives the lead up for b\n");
  made.name = "b";
  answers(R"({"from":"a","to":"b"})", 202);
  EXPECT_THAT(output(made, true), HasSubstr("\"to\":\"b\""));
}

TEST_F(RunFabric, drains_and_says_when_it_is_safe) {
  FabricCommand made = command(Verb::drain);
  made.name = "spine 3";
  answers(R"({"switch":"spine 3","drained":true,"safe":true,"through":[]})", 202);
  EXPECT_EQ(output(made), "spine 3 is drained: nothing leads through it, it may be taken out\n");
  EXPECT_THAT(output(made, true), HasSubstr("\"safe\":true"));
  made.verb = Verb::undrain;
  answers(R"({"switch":"spine 3","drained":false,"safe":false,"through":[]})", 202);
  EXPECT_EQ(output(made), "spine 3 is in use\n");
}

TEST_F(RunFabric, a_drain_that_takes_too_long_fails_and_names_what_is_in_the_way) {
  FabricCommand made = command(Verb::drain);
  made.name = "spine3";
  made.timeout = std::chrono::nanoseconds(0);
  answers(R"({"switch":"spine3","drained":true,"safe":false,"through":["tree 7"]})", 202);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_fabric(made, false), exit_failure);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("draining continues"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "spine3 is being drained; still through it: tree 7\n");
  made.no_wait = true;
  EXPECT_EQ(output(made), "spine3 is being drained; still through it: tree 7\n");
}

TEST_F(RunFabric, a_drain_that_is_refused_says_why) {
  FabricCommand made = command(Verb::drain);
  made.name = "leaf0";
  answers(R"({"message":"draining leaf0 would cut hosts off: 4 hosts are attached to leaf0"})",
          409);
  EXPECT_THROW(
      {
        try {
          static_cast<void>(run_fabric(made, false));
        } catch (const std::exception& e) {
          EXPECT_THAT(e.what(), HasSubstr("would cut hosts off"));
          throw;
        }
      },
      std::exception);
}

TEST_F(RunFabric, a_path_needs_two_hosts_and_routes_take_no_name) {
  EXPECT_THAT(usage_error(show("paths", "h0")), HasSubstr("two hosts"));
  EXPECT_THAT(usage_error(show("routes", "h0")), HasSubstr("takes no name"));
  FabricCommand hosts = show("hosts", "h0");
  hosts.to = "h1";
  EXPECT_THAT(usage_error(hosts), HasSubstr("only paths have two ends"));
}

} // namespace fabric_run_test
} // namespace tributary::cli
