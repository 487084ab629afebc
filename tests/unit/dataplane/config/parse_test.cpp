#include "dataplane/config/build_tables.hpp"
#include "lib/configuration/read_file.hpp"
#include "sample.hpp"
#include "tests/support/scratch_directory.hpp"

#include <cstdio>
#include <fstream>

namespace tributary::config {

using configuration::read_file;

namespace {

using std::chrono::microseconds;

TEST(parse, every_key_of_process_reaches_its_member) {
  const Process p = parse_text("[process]\n"
                               "workers = 2\n"
                               "cores = [0, 1]\n"
                               "poll = \"busy\"\n"
                               "idle_spin_us = 5\n"
                               "idle_awake_us = 40\n"
                               "idle_sleep_max_us = 77\n"
                               "control_socket = \"/tmp/x.sock\"\n"
                               "hugepages = \"never\"\n"
                               "memory_mib = 300\n"
                               "buffers_per_port = 1000\n"
                               "metrics = \"unix:/run/m.sock\"\n"
                               "log_level = \"debug\"\n"
                               "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\n"
                               "kind = \"null\"\n",
                               "test.toml")
                        .config.process;
  EXPECT_EQ(p.workers, 2U);
  EXPECT_EQ(p.cores, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(p.poll, Poll::busy);
  EXPECT_EQ(p.idle_spin, microseconds(5));
  EXPECT_EQ(p.idle_awake, microseconds(40));
  EXPECT_EQ(p.idle_sleep_max, microseconds(77));
  EXPECT_EQ(p.control_socket, "/tmp/x.sock");
  EXPECT_EQ(p.hugepages, "never");
  EXPECT_EQ(p.memory_mib, 300U);
  EXPECT_EQ(p.buffers_per_port, 1000U);
  EXPECT_EQ(p.metrics_address, (net::Address{.path = "/run/m.sock", .tcp = {}}));
  EXPECT_EQ(p.log_level, "debug");
}

TEST(parse, metrics_stay_on_this_machine_unless_configured) {
  const auto at = [](const std::string& address) {
    return parse_text("[process]\nmetrics = \"" + address + "\"\n" +
                          "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\n"
                          "kind = \"null\"\n",
                      "test.toml")
        .config.process.metrics_address->tcp;
  };
  EXPECT_EQ(at(":9464"), (net::HostPort{"127.0.0.1", 9464}));
  EXPECT_EQ(at("0.0.0.0:9464"), (net::HostPort{"0.0.0.0", 9464}));
  EXPECT_EQ(at("[::]:9464"), (net::HostPort{"::", 9464}));
}

TEST(parse, every_key_of_switch_reaches_its_member_and_the_ethertype_every_port) {
  const Config c = parse_text("[[switch]]\n"
                              "name = \"s.1\"\n"
                              "ethertype = 0x88B6\n"
                              "descriptors_per_engine = 4\n"
                              "nan_mode = \"ieee\"\n"
                              "foreign = \"drop\"\n"
                              "timer_limits = [2, 4, 8]\n"
                              "timers_us = [10, 20, 30, 40]\n"
                              "[[switch.port]]\nname = \"a\"\nkind = \"null\"\n"
                              "[[switch.port]]\nname = \"b\"\nkind = \"null\"\n",
                              "test.toml")
                       .config;
  const Switch& s = c.switches.at(0);
  EXPECT_EQ(s.name, "s.1");
  EXPECT_EQ(s.line, 1);
  EXPECT_EQ(s.ethertype, 0x88B6);
  EXPECT_EQ(s.ports.at(0).policy.ethertype, 0x88B6);
  EXPECT_EQ(s.ports.at(1).policy.ethertype, 0x88B6);
  EXPECT_EQ(s.settings.descriptors_per_engine, 4U);
  EXPECT_EQ(s.settings.nan_mode, reduce::NanMode::ieee);
  EXPECT_TRUE(s.settings.drop_foreign);
  EXPECT_EQ(s.settings.timers.limits, (std::array<ContributionCount, 3>{2, 4, 8}));
  EXPECT_EQ(s.settings.timers.units[0], core::EngineTimers::units_from_us(10));
  EXPECT_EQ(s.settings.timers.units[3], core::EngineTimers::units_from_us(40));
}

TEST(parse, ports_of_every_kind_with_their_own_keys) {
  const Config c = parse_text("[[switch]]\nname = \"s\"\n"
                              "[[switch.port]]\nname = \"a\"\ninterface = \"e0\"\n"
                              "[[switch.port]]\nname = \"b\"\nkind = \"af_packet\"\n"
                              "interface = \"e1\"\n"
                              "[[switch.port]]\nname = \"c\"\nkind = \"pci\"\n"
                              "pci = \"0A:00.0\"\n"
                              "[[switch.port]]\nname = \"d\"\nkind = \"memif\"\n"
                              "socket = \"/tmp/m\"\nrole = \"client\"\nmemif_id = 3\n"
                              "[[switch.port]]\nname = \"e\"\nkind = \"ring\"\nring = \"r\"\n"
                              "[[switch.port]]\nname = \"f\"\nkind = \"ring\"\nring = \"r\"\n"
                              "[[switch.port]]\nname = \"g\"\nkind = \"pcap\"\n"
                              "rx_file = \"i\"\ntx_file = \"o\"\nrepeat = true\n"
                              "[[switch.port]]\nname = \"h\"\nkind = \"null\"\n"
                              "verify_checksum = false\n",
                              "test.toml")
                       .config;
  const auto& p = c.switches.at(0).ports;
  ASSERT_EQ(p.size(), 8U);
  EXPECT_EQ(p[0].kind, PortKind::af_xdp);
  EXPECT_EQ(p[0].interface, "e0");
  EXPECT_EQ(p[1].kind, PortKind::af_packet);
  EXPECT_EQ(p[2].kind, PortKind::pci);
  EXPECT_EQ(p[2].pci_address, "0000:0a:00.0") << "as DPDK names the device";
  EXPECT_EQ(p[3].kind, PortKind::memif);
  EXPECT_EQ(p[3].socket, "/tmp/m");
  EXPECT_EQ(p[3].role, "client");
  EXPECT_EQ(p[3].memif_id, 3U);
  EXPECT_EQ(p[4].kind, PortKind::ring);
  EXPECT_EQ(p[5].ring, "r");
  EXPECT_EQ(p[6].kind, PortKind::pcap);
  EXPECT_EQ(p[6].rx_file, "i");
  EXPECT_EQ(p[6].tx_file, "o");
  EXPECT_TRUE(p[6].repeat);
  EXPECT_EQ(p[7].kind, PortKind::null);
  EXPECT_FALSE(p[7].policy.verify_checksum);
  EXPECT_EQ(p[7].line, 34);
}

TEST(parse, guard_and_vnis_of_an_edge_port) {
  const Config c = parse_text(two_ports, "test.toml").config;
  const auto& ports = c.switches.at(0).ports;
  EXPECT_FALSE(ports[0].policy.nid.has_value());
  EXPECT_EQ(ports[0].policy.vnis, nullptr);
  EXPECT_EQ(ports[1].policy.nid, Nid{0x12345});
  ASSERT_NE(ports[1].policy.vnis, nullptr);
  EXPECT_EQ(ports[1].policy.vnis->count(), 2U);
  EXPECT_TRUE(ports[1].policy.vnis->test(1024));
  EXPECT_TRUE(ports[1].policy.vnis->test(7));
}

TEST(parse, empty_vni_list_permits_none) {
  const Config c = parse_text("[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"a\"\n"
                              "kind = \"null\"\nvnis = []\n",
                              "test.toml")
                       .config;
  ASSERT_NE(c.switches[0].ports[0].policy.vnis, nullptr);
  EXPECT_TRUE(c.switches[0].ports[0].policy.vnis->none());
}

TEST(parse, a_class_trims_unless_the_file_says_otherwise) {
  const Switch s = parse_text(with("[[switch.class]]\nclass = 1\npolicy = \"drop\"\n"), "test.toml")
                       .config.switches[0];
  for (std::size_t c = 0; c < traffic_classes; ++c) {
    EXPECT_EQ(s.ports[0].classes.queues.classes[c].trims(), c != 1) << c;
  }
}

TEST(parse, every_key_of_a_class_reaches_its_member) {
  const Switch s =
      parse_text(
          with("[[switch.class]]\nclass = 3\nservice = \"strict\"\n"
               "weight = 9\npolicy = \"pause\"\nqueue_frames = 1000\n"
               "queue_bytes = 2000000\ntrimmed_frames = 77\nxoff_frames = 11\nxoff_bytes = 1200\n"
               "xon_frames = 3\nxon_bytes = 400\nheadroom_frames = 15\n"
               "headroom_bytes = 16000\n"),
          "test.toml")
          .config.switches[0];
  const egress::ClassSettings& queue = s.classes.queues.classes[3];
  EXPECT_EQ(queue.service, egress::Service::strict);
  EXPECT_EQ(queue.weight, 9U);
  EXPECT_EQ(queue.when_full, egress::WhenFull::pause);
  EXPECT_EQ(queue.limit, (egress::Depth{1000, 2'000'000}));
  EXPECT_EQ(queue.trimmed_frames, 77U);
  const egress::PauseLimits& pause = s.classes.pauses[3];
  EXPECT_EQ(pause.xoff, (egress::Depth{11, 1200}));
  EXPECT_EQ(pause.xon, (egress::Depth{3, 400}));
  EXPECT_EQ(pause.headroom, (egress::Depth{15, 16'000}));
  EXPECT_EQ(s.classes.set, ClassSet::of(TrafficClass{3}));
}

TEST(parse, a_port_takes_over_the_classes_of_its_switch_and_says_what_differs) {
  const Switch s = parse_text("[[switch]]\nname = \"s\"\nwatchdog_ms = 7\n"
                              "[[switch.port]]\nname = \"a\"\nkind = \"null\"\n"
                              "[[switch.port]]\nname = \"b\"\nkind = \"null\"\ntags = true\n"
                              "vlan = 12\nwatchdog_ms = 0\n"
                              "[[switch.port.class]]\nclass = 2\nweight = 5\n"
                              // Its position does not matter.
                              "[[switch.class]]\nclass = 2\nqueue_frames = 77\nweight = 3\n",
                              "test.toml")
                       .config.switches[0];
  EXPECT_EQ(s.ports[0].classes.queues.classes[2].limit.frames, 77U);
  EXPECT_EQ(s.ports[0].classes.queues.classes[2].weight, 3U);
  EXPECT_EQ(s.ports[0].classes.queues.watchdog.detection_ns, 7'000'000U);
  EXPECT_FALSE(s.ports[0].has_edge());
  EXPECT_EQ(s.ports[1].classes.queues.classes[2].limit.frames, 77U);
  EXPECT_EQ(s.ports[1].classes.queues.classes[2].weight, 5U);
  EXPECT_EQ(s.ports[1].classes.queues.watchdog.detection_ns, 0U);
  EXPECT_TRUE(s.ports[1].tags);
  EXPECT_EQ(s.ports[1].vlan, 12U);
  EXPECT_TRUE(s.ports[1].has_edge());
  EXPECT_EQ(s.ports[1].classes.queues.classes[1], egress::ClassSettings{});
}

TEST(parse, a_lossless_class_above_0_needs_room_for_ports_with_tags_alone) {
  const std::string text = with("[[switch.class]]\nclass = 3\npolicy = \"pause\"\n"
                                "queue_frames = 1\n");
  EXPECT_NO_THROW(static_cast<void>(parse_text(text, "test.toml")));
}

/// A port with these impairments.
std::string impaired(const std::string& text) {
  return "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"a\"\nkind = \"null\"\n" + text;
}

TEST(parse, every_key_of_impairment_reaches_its_member_in_both_directions) {
  const Config c =
      parse_text(impaired("[switch.port.impairment]\n"
                          "loss = 0.25\ngood_to_bad = 0.125\nbad_to_good = 0.5\n"
                          "loss_good = 0.01\nloss_bad = 0.75\nduplicate = 0.5\n"
                          "corrupt = 0.375\ncorrupt_bits = 7\ndelay_us = 3\njitter_us = 4\n"
                          "reorder = 1\nreorder_distance = 5\nreorder_hold_us = 6\n"
                          "rate_kbps = 1000\nrate_burst_bytes = 2000\nrate_queue_bytes = 3000\n"
                          "held_frames = 17\nkinds = [\"unicast\", \"foreign\"]\nseed = 99\n"),
                 "test.toml")
          .config;
  const Port& port = c.switches[0].ports[0];
  for (const Impairment* i : {&port.impaired_received, &port.impaired_sent}) {
    EXPECT_EQ(i->settings.loss, 0.25);
    EXPECT_EQ(i->settings.good_to_bad, 0.125);
    EXPECT_EQ(i->settings.bad_to_good, 0.5);
    EXPECT_EQ(i->settings.loss_good, 0.01);
    EXPECT_EQ(i->settings.loss_bad, 0.75);
    EXPECT_EQ(i->settings.duplicate, 0.5);
    EXPECT_EQ(i->settings.corrupt, 0.375);
    EXPECT_EQ(i->settings.corrupt_bits, 7U);
    EXPECT_EQ(i->settings.delay_ns, 3'000U);
    EXPECT_EQ(i->settings.jitter_ns, 4'000U);
    EXPECT_EQ(i->settings.reorder, 1.0) << "an integer is as good as a number";
    EXPECT_EQ(i->settings.reorder_distance, 5U);
    EXPECT_EQ(i->settings.hold_ns, 6'000U);
    EXPECT_EQ(i->settings.rate_kbps, 1'000U);
    EXPECT_EQ(i->settings.rate_burst_bytes, 2'000U);
    EXPECT_EQ(i->settings.rate_queue_bytes, 3'000U);
    EXPECT_EQ(i->settings.held_frames, 17U);
    impairment::KindSet kinds;
    kinds.insert(impairment::Kind::unicast);
    kinds.insert(impairment::Kind::foreign);
    EXPECT_EQ(i->settings.kinds, kinds);
    EXPECT_EQ(i->seed, 99U);
  }
}

TEST(parse, a_direction_changes_what_both_have_for_itself) {
  const Config c = parse_text(impaired("[switch.port.impairment]\nloss = 0.25\nseed = 3\n"
                                       "[switch.port.impairment.received]\nloss = 0.0\n"
                                       "[switch.port.impairment.sent]\ndelay_us = 10\n"),
                              "test.toml")
                       .config;
  const Port& port = c.switches[0].ports[0];
  EXPECT_FALSE(port.impaired_received.any());
  EXPECT_EQ(port.impaired_received.seed, 3U);
  EXPECT_EQ(port.impaired_sent.settings.loss, 0.25);
  EXPECT_EQ(port.impaired_sent.settings.delay_ns, 10'000U);
}

TEST(parse, keys_of_an_impairment_alone_are_checked_as_in_a_file) {
  const Impairment i = parse_impairment("loss = 0.5\nkinds = [\"all\"]\n", "request");
  EXPECT_EQ(i.settings.loss, 0.5);
  EXPECT_EQ(i.settings.kinds, impairment::KindSet::all());
  try {
    static_cast<void>(parse_impairment("los = 0.5\nreorder_distance = 3\n", "request"));
    FAIL();
  } catch (const configuration::ConfigError& error) {
    ASSERT_EQ(error.findings().size(), 2U);
    EXPECT_NE(error.findings()[0].text.find("did you mean 'loss'?"), std::string::npos);
    EXPECT_NE(error.findings()[1].text.find("needs reorder above 0"), std::string::npos);
  }
}

TEST(parse, foreign_frames_pass_between_the_two_ports_that_are_joined) {
  const std::string three = "[[switch.port]]\nname = \"a\"\nkind = \"null\"\n"
                            "[[switch.port]]\nname = \"b\"\nkind = \"null\"\n"
                            "[[switch.port]]\nname = \"c\"\nkind = \"null\"\n";
  const auto ports = [&](const std::string& keys) {
    return parse_text("[[switch]]\nname = \"s\"\n" + keys + three, "test.toml")
        .config.switches[0]
        .ports;
  };
  for (const Port& port : ports("")) {
    EXPECT_EQ(port.policy.foreign_to, no_port) << "off by default";
  }
  const auto joined = ports("forward_foreign = true\nforeign_ports = [\"c\", \"a\"]\n");
  EXPECT_EQ(joined[0].policy.foreign_to, PortNumber{2});
  EXPECT_EQ(joined[1].policy.foreign_to, no_port);
  EXPECT_EQ(joined[2].policy.foreign_to, PortNumber{0});
}

TEST(parse, trees_and_routes_name_ports_by_name) {
  const Config c = parse_text(with("[[switch.tree]]\ntree = 0xABC\nwait_count = 5\n"
                                   "parent = \"up\"\nchildren = [\"host\"]\n"
                                   "[[switch.route]]\nnid = 0x12345\nport = \"host\"\n"),
                              "test.toml")
                       .config;
  const Switch& s = c.switches[0];
  ASSERT_EQ(s.trees.size(), 1U);
  EXPECT_EQ(s.trees[0].number, TreeNumber{0xABC});
  EXPECT_EQ(s.trees[0].wait_count, 5U);
  EXPECT_EQ(s.trees[0].parent, PortNumber{0});
  EXPECT_EQ(s.trees[0].children.bits(), 0b10U);
  EXPECT_EQ(s.trees[0].line, 13);
  ASSERT_EQ(s.routes.size(), 1U);
  EXPECT_EQ(s.routes[0].nid, Nid{0x12345});
  EXPECT_EQ(s.routes[0].port, PortNumber{1});

  std::vector<configuration::Diagnostic> findings;
  const auto tables = build_tables(s, 7, findings);
  ASSERT_NE(tables, nullptr);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(tables->version(), 7U);
  EXPECT_TRUE(tables->tree(TreeNumber{0xABC}).valid);
  EXPECT_EQ(tables->tree(TreeNumber{0xABC}).wait_count, 5U);
  EXPECT_EQ(tables->route(Nid{0x12345}), PortNumber{1});
  EXPECT_EQ(tables->port_count(), 2U);
}

TEST(parse, a_tree_with_wide_frames_gets_its_slots) {
  const Config c = parse_text(with("[[switch.tree]]\ntree = 5\nwait_count = 1\n"
                                   "parent = \"up\"\nchildren = [\"host\"]\n"
                                   "slots = 128\npayload = 1408\n"
                                   "[[switch.tree]]\ntree = 6\nwait_count = 1\n"
                                   "parent = \"up\"\nchildren = [\"host\"]\n"
                                   "slots = 16\npayload = 704\nfloat16 = true\n"),
                              "test.toml")
                       .config;
  const Switch& s = c.switches[0];
  EXPECT_EQ(s.settings.wide_memory, 64U << 20);
  ASSERT_EQ(s.trees.size(), 2U);
  EXPECT_EQ(s.trees[0].slots, (core::SlotDemand{128, 1408, false}));
  EXPECT_EQ(s.trees[1].slots, (core::SlotDemand{16, 704, true}));

  std::vector<configuration::Diagnostic> findings;
  const auto tables = build_tables(s, 7, findings);
  ASSERT_NE(tables, nullptr);
  EXPECT_EQ(tables->tree(TreeNumber{5}).slots(), 128U);
  EXPECT_EQ(tables->slot_place(TreeNumber{5}).lines(), 128U * 22);
  EXPECT_EQ(tables->slot_place(TreeNumber{6}).lines(), 16U * 22);
  EXPECT_EQ(tables->slot_lines(), 144U * 22);
}

TEST(parse, several_switches_joined_by_a_ring) {
  const Config c = parse_text("[[switch]]\nname = \"a\"\n[[switch.port]]\nname = \"up\"\n"
                              "kind = \"ring\"\nring = \"link\"\n"
                              "[[switch]]\nname = \"b\"\n[[switch.port]]\nname = \"up\"\n"
                              "kind = \"ring\"\nring = \"link\"\n",
                              "test.toml")
                       .config;
  EXPECT_EQ(c.switches.size(), 2U);
}

TEST(read_file, gives_the_text_that_is_parsed_under_its_name) {
  const tributary::test::ScratchDirectory scratch;
  const std::string path = scratch.file("switch.toml");
  std::ofstream(path) << two_ports;
  EXPECT_EQ(parse_text(read_file(path), path).config.file, path);
}

TEST(read_file, says_that_a_file_is_not_there) {
  try {
    static_cast<void>(read_file("/nonexistent/switch.toml"));
    FAIL();
  } catch (const configuration::ConfigError& e) {
    EXPECT_STREQ(e.what(), "/nonexistent/switch.toml: cannot be read (No such file or directory); "
                           "check the path and its permissions");
  }
}

TEST(read_file, says_that_a_directory_is_not_a_file) {
  try {
    static_cast<void>(read_file(testing::TempDir()));
    FAIL();
  } catch (const configuration::ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("cannot be read"), std::string::npos) << e.what();
  }
}

} // namespace
} // namespace tributary::config
