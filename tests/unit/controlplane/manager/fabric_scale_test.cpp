// The manager's cost of a fabric of any size: counts of work and of bytes, not times.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include "controlplane/topology/toml_file.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace tributary::manager {
namespace {

constexpr std::uint64_t a_second = 1'000'000'000;

std::string name_of(std::uint32_t i) { return "sw" + std::to_string(i); }

/// Switch after switch of a chain connects, with hosts, and is linked to the previous one; a second
/// apart, so that each is stored separately.
void connect_chain(World& world, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    world.connect_star(name_of(i), 4, 1 + 4 * i);
    if (i > 0) {
      world.report_link(name_of(i - 1), 7, name_of(i), 6);
    }
    world.pass(a_second);
  }
}

/// Bytes written to any file.
std::uint64_t bytes_written() {
  std::ifstream in("/proc/self/io");
  std::string word;
  std::uint64_t bytes = 0;
  while (in >> word >> bytes) {
    if (word == "wchar:") {
      return bytes;
    }
  }
  return 0;
}

TEST(fabric_scale, a_switch_that_connects_writes_no_more_when_there_are_many_already) {
  const test::ScratchDirectory scratch;
  World world;
  world.disk.emplace(scratch.file("fabric.db"));
  connect_chain(world, 0, 20);
  const std::uint64_t start = bytes_written();
  connect_chain(world, 20, 40);
  const std::uint64_t middle = bytes_written();
  connect_chain(world, 60, 100); // the log is cut back in between
  const std::uint64_t early = (middle - start) / 40;
  const std::uint64_t late = (bytes_written() - middle) / 100;
  EXPECT_LT(late, early * 3 / 2) << "bytes a switch";
  EXPECT_LT(late, 64U * 1024) << "bytes a switch";
  const records::Snapshot all = world.disk->load();
  EXPECT_EQ(all.switches.size(), 160U);
  EXPECT_EQ(all.links.size(), 159U);
  EXPECT_EQ(all.hosts.size(), 640U);
}

TEST(fabric_scale, a_switch_that_connects_stores_itself_its_links_and_hosts_and_nothing_else) {
  World world;
  connect_chain(world, 0, 30);
  const std::size_t before = world.stored;
  connect_chain(world, 30, 1);
  EXPECT_EQ(world.stored - before, 6U) << "a switch, a link, four hosts";
}

TEST(fabric_scale, many_that_connect_together_are_stored_together) {
  World world;
  world.log.clear();
  for (std::uint32_t i = 0; i < 50; ++i) {
    world.connect_star(name_of(i), 4, 1 + 4 * i);
  }
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "stored"), 0);
  world.pass(a_second);
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "stored"), 1);
}

/// A turn that took more than StallDetector::limit_ns is reported.
TEST(fabric_scale, many_that_connect_together_are_taken_notice_of_in_slices) {
  World world;
  for (std::uint32_t i = 0; i < 100; ++i) {
    world.connect_star(name_of(i), 4, 1 + 4 * i);
  }
  world.log.clear();
  world.each_look_takes_ns = 20'000;
  world.reconcile();
  world.each_look_takes_ns = 0;
  EXPECT_THAT(world.log, testing::Each(testing::Not(testing::StartsWith("stalled"))));
  world.create_job("job");
  for (std::uint32_t rank = 0; rank < 400; ++rank) { // all hosts were found
    world.join("all", 400, rank, 1 + rank);
  }
  world.reconcile();
  EXPECT_THAT(world.metrics(),
              testing::HasSubstr("tributary_groups{state=\"receiving_join_req\"} 0\n"));
}

TEST(fabric_scale, metrics_of_many_switches_come_in_parts_and_are_one_text) {
  World world;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    world.connect_star(name_of(i), 1, 1 + i);
  }
  world.reconcile();
  const std::string text = world.metrics();
  EXPECT_GT(world.metrics_parts, 1U);
  std::set<std::string> heads;
  std::size_t connected = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE")) {
      EXPECT_TRUE(heads.insert(line).second) << line;
    }
    connected += line.starts_with("tributary_switch_connected{") ? 1 : 0;
  }
  EXPECT_EQ(connected, 2000U);
  EXPECT_GT(heads.size(), 20U);
}

TEST(host_table, is_not_filled_by_a_port_that_brings_one_host_after_the_other) {
  World world;
  connect_chain(world, 0, 2);
  world.create_job("job");
  const Given waiting = world.join("demo", 2, 0, 1);
  world.pass(a_second);
  const std::size_t before = world.manager->graph().hosts().size();
  world.stored = 0;
  for (std::uint32_t i = 0; i < 500; ++i) {
    control::SwitchMessage message;
    control::Port& port = *message.mutable_ports()->add_ports();
    port.set_number(5);
    port.set_up(true);
    port.mutable_neighbour()->set_name("x");
    port.mutable_neighbour()->set_nid(1000 + i);
    world.manager->switches().message(world.sessions.at(name_of(0)), message);
    world.reconcile();
    world.pass(a_second / 20);
  }
  EXPECT_EQ(world.manager->graph().hosts().size(), before + 8);
  EXPECT_LT(world.stored, 20U) << "a record for each host that was taken, and one when it went";
  EXPECT_THAT(world.metrics(), testing::HasSubstr("tributary_hosts_refused_total 492\n"));
  EXPECT_THAT(world.metrics(), testing::HasSubstr("tributary_problems 1\n"));
}

TEST(host_table, forgets_who_is_down_and_in_no_group) {
  const test::ScratchDirectory scratch;
  Settings settings;
  settings.discovery.host_memory_ns = 60 * a_second;
  settings.groups.join_limit_ns = 300 * a_second;
  settings.groups.lease_ns = 300 * a_second;
  World world(settings);
  world.disk.emplace(scratch.file("fabric.db"));
  connect_chain(world, 0, 1); // hosts 1 to 4
  world.create_job("job");
  const Given waiting = world.join("demo", 2, 0, 1);
  control::SwitchMessage message;
  for (std::uint32_t p = 0; p < 2; ++p) {
    control::Port& port = *message.mutable_ports()->add_ports();
    port.set_number(p);
    port.set_up(false);
    port.set_nid(1 + p);
  }
  world.manager->switches().message(world.sessions.at(name_of(0)), message);
  world.reconcile();
  world.pass(59 * a_second);
  EXPECT_EQ(world.manager->graph().hosts().size(), 4U);
  world.pass(a_second);
  EXPECT_EQ(world.manager->graph().hosts().size(), 3U) << "host 1 is in a group";
  EXPECT_TRUE(world.manager->graph().find_host(Nid{1}));
  world.pass(a_second);
  EXPECT_EQ(world.disk->load().hosts.size(), 3U);
  world.pass(300 * a_second); // the group was not complete in time
  world.pass(60 * a_second);
  EXPECT_EQ(world.manager->graph().hosts().size(), 2U);
}

// ---- views ----

/// All pages of a list, one after the other.
struct Pages {
  boost::json::array all;
  std::size_t count = 0;
  std::size_t largest = 0; ///< bytes
};
Pages pages_of(World& world, api::ViewRequest request, const char* name) {
  Pages pages;
  for (bool more = true; more;) {
    Given given;
    world.manager->ask<&Manager::view>(administrator, request, given.reply());
    EXPECT_EQ(given->status, 200U) << boost::json::serialize(given->body);
    const auto& list = given.body().at(name).as_array();
    pages.all.insert(pages.all.end(), list.begin(), list.end());
    pages.largest = std::max(pages.largest, boost::json::serialize(given->body).size());
    more = given.body().contains("next");
    request.after = more ? std::string(given.body().at("next").as_string()) : "";
    if (++pages.count > 10'000) {
      ADD_FAILURE() << "the list has no end";
      return pages;
    }
  }
  return pages;
}

/// Groups g0, g1 ... of two hosts each, `members` large, all ready.
void make_groups(World& world, std::uint32_t count) {
  world.create_job("job");
  std::vector<Given> answers;
  for (std::uint32_t g = 0; g < count; ++g) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      answers.push_back(world.join("g" + std::to_string(g), 2, rank, 1 + 4 * (g + rank)));
    }
  }
  world.reconcile();
  for (const Given& answer : answers) {
    ASSERT_TRUE(answer.there());
    ASSERT_EQ(answer->status, 200U);
  }
}

Settings with_many_groups() {
  Settings settings;
  settings.groups.default_multicast_limit = 8000;
  return settings;
}

TEST(views, come_in_pages_that_are_together_what_is_there) {
  World world(with_many_groups());
  connect_chain(world, 0, 40);
  make_groups(world, 30);
  using api::View;
  const auto check = [&](View what, const char* name, std::size_t size, const char* key) {
    const Pages whole = pages_of(world, {.what = what}, name);
    EXPECT_EQ(whole.all.size(), size) << name;
    const Pages paged = pages_of(world, {.what = what, .limit = 7}, name);
    EXPECT_EQ(paged.all, whole.all) << name;
    EXPECT_EQ(paged.count, (size + 6) / 7) << name;
    std::set<std::string> keys;
    for (const auto& object : paged.all) {
      keys.insert(boost::json::serialize(object.at(key)));
    }
    EXPECT_EQ(keys.size(), size) << name;
  };
  check(View::switches, "switches", 40, "name");
  check(View::memory, "memory", 40, "switch");
  check(View::hosts, "hosts", 160, "nid");
  check(View::links, "links", 39, "link");
  check(View::groups, "groups", 30, "name");
  check(View::trees, "trees", 30, "tree");
  check(View::jobs, "jobs", 1, "job");
  const Pages whole = pages_of(world, {.what = View::transactions}, "transactions");
  EXPECT_EQ(pages_of(world, {.what = View::transactions, .limit = 3}, "transactions").all,
            whole.all);
}

TEST(views, of_the_topology_come_list_by_list) {
  World world;
  connect_chain(world, 0, 20);
  for (const std::size_t limit :
       {std::size_t{1}, std::size_t{7}, std::size_t{20}, std::size_t{100}, std::size_t{1000}}) {
    const api::ViewRequest request{.what = api::View::topology, .limit = limit};
    EXPECT_EQ(pages_of(world, request, "switches").all.size(), 20U) << limit;
    EXPECT_EQ(pages_of(world, request, "hosts").all.size(), 80U) << limit;
    EXPECT_EQ(pages_of(world, request, "links").all.size(), 19U) << limit;
    EXPECT_EQ(pages_of(world, request, "links").count, (119 + limit - 1) / limit) << limit;
  }
}

TEST(views, hold_no_more_than_an_answer_may_whatever_the_limit) {
  World world(with_many_groups());
  connect_chain(world, 0, 600); // 8 ports each: 5,400 lines
  const Pages pages =
      pages_of(world, {.what = api::View::switches, .limit = api::ViewRequest::most}, "switches");
  EXPECT_EQ(pages.all.size(), 600U);
  EXPECT_EQ(pages.count, 2U);
  // A larger entry is a page of its own.
  EXPECT_EQ(
      pages_of(world, {.what = api::View::hosts, .limit = api::ViewRequest::most}, "hosts").count,
      1U);
}

TEST(views, are_of_a_switch_a_job_or_a_group_when_that_is_asked_for) {
  World world(with_many_groups());
  connect_chain(world, 0, 40);
  make_groups(world, 30); // group g is over the switches g and g + 1
  using api::View;
  const auto size = [&](const api::ViewRequest& request, const char* name) {
    return pages_of(world, request, name).all.size();
  };
  EXPECT_EQ(size({.what = View::hosts, .at_switch = "sw7"}, "hosts"), 4U);
  EXPECT_EQ(size({.what = View::links, .at_switch = "sw7"}, "links"), 2U);
  EXPECT_EQ(size({.what = View::trees, .at_switch = "sw7"}, "trees"), 2U);
  EXPECT_EQ(size({.what = View::trees, .at_switch = "sw39"}, "trees"), 0U);
  EXPECT_EQ(size({.what = View::trees, .job = "job", .group = "g3"}, "trees"), 1U);
  EXPECT_EQ(size({.what = View::trees, .job = "other"}, "trees"), 0U);
  EXPECT_EQ(size({.what = View::groups, .job = "job"}, "groups"), 30U);
  EXPECT_EQ(size({.what = View::groups, .job = "other"}, "groups"), 0U);
  EXPECT_EQ(size({.what = View::hosts, .at_switch = "nowhere"}, "hosts"), 0U);
}

TEST(views, refuse_a_place_to_begin_that_no_page_named) {
  World world;
  for (const char* after : {"x", "-1", "1 ", "switches", "switches:x", "ports:1"}) {
    Given topology;
    world.manager->ask<&Manager::view>(administrator, {.what = api::View::topology, .after = after},
                                       topology.reply());
    EXPECT_EQ(topology->status, 400U) << after;
    Given links;
    world.manager->ask<&Manager::view>(administrator, {.what = api::View::links, .after = after},
                                       links.reply());
    EXPECT_EQ(links->status, 400U) << after;
  }
}

TEST(views, count_the_trees_of_a_switch) {
  World world(with_many_groups());
  connect_chain(world, 0, 5);
  make_groups(world, 3);
  Given given;
  world.manager->ask<&Manager::view>(administrator, {.what = api::View::switches, .id = "sw1"},
                                     given.reply());
  EXPECT_EQ(given.body().at("trees").to_number<int>(), 2);
}

TEST(leaving, is_answered_with_as_much_as_the_first_in_a_full_fabric) {
  Settings settings;
  settings.groups.leave_limit_ns = 1000 * a_second;
  World world(settings);
  connect_chain(world, 0, 50);
  world.create_job("job");
  std::vector<Given> joined;
  for (std::uint32_t rank = 0; rank < 200; ++rank) {
    joined.push_back(world.join("demo", 200, rank, 1 + rank));
  }
  world.reconcile();
  ASSERT_EQ(joined.back()->status, 200U);
  std::size_t bytes = 0;
  for (std::uint32_t rank = 0; rank < 200; ++rank) {
    Given left;
    world.manager->ask<&Manager::leave_group>(administrator, {"job", "demo", rank}, left.reply());
    world.reconcile();
    ASSERT_EQ(left->status, 200U);
    bytes += boost::json::serialize(left->body).size();
    if (rank == 0) {
      EXPECT_EQ(left.body().at("joined").to_number<int>(), 199);
    }
  }
  EXPECT_LT(bytes, 200U * 200);
}

// ---- returning elements ----

TEST(stored_topology, is_the_graph_again_after_a_restart) {
  const test::ScratchDirectory scratch;
  World world;
  world.disk.emplace(scratch.file("fabric.db"));
  connect_chain(world, 0, 5);
  // A host moves away, and a link is replugged: their old ports are in use.
  world.report_link(name_of(0), 3, name_of(4), 3);
  world.reconcile();
  world.pass(a_second);
  const std::string before = topology::write_toml(world.manager->graph());
  world.restart(world.disk->load());
  EXPECT_EQ(topology::write_toml(world.manager->graph()), before);
  world.pass(5 * a_second); // they do not return: down
  world.pass(5 * a_second);
  world.stored = 0;
  world.pass(5 * a_second);
  EXPECT_EQ(world.stored, 0U) << "nothing changed";
}

TEST(stored_topology, that_makes_no_sense_is_named_and_discovered_again) {
  World world;
  records::Snapshot past;
  past.switches = {{0, "leaf", 1, 8, true}};
  past.links = {{0, {0, 1}, {7, 1}, 0, true, true}}; // of a missing switch
  world.restart(past);
  std::vector<std::string> texts;
  for (const api::Event& event : world.events_of(administrator)) {
    texts.emplace_back(event.body.at("text").as_string());
  }
  EXPECT_THAT(texts, testing::Contains(testing::HasSubstr("no switch number 7")));
  connect_chain(world, 0, 2);
  EXPECT_EQ(world.manager->graph().links().size(), 1U);
}

} // namespace
} // namespace tributary::manager
