#include "lib/configuration/suggest.hpp"
#include "sample.hpp"

#include <gmock/gmock.h>

namespace tributary::config {

using configuration::Diagnostic;
using configuration::edit_distance;

namespace {

using testing::HasSubstr;

/// A text with one mistake, the line and key in error, and a part of the expected message.
struct Mistake {
  std::string name;
  std::string text;
  int line;
  std::string key;
  std::string says;
};

class one_mistake : public testing::TestWithParam<Mistake> {};

TEST_P(one_mistake, is_named_with_line_key_and_remedy) {
  const Mistake& mistake = GetParam();
  const Diagnostic found = finding_of(mistake.text, {.cpu_count = 4});
  EXPECT_EQ(found.line, mistake.line);
  EXPECT_EQ(found.key, mistake.key);
  EXPECT_THAT(found.text, HasSubstr(mistake.says));
  EXPECT_THAT(found.text, testing::AnyOf(HasSubstr("; "), HasSubstr("?")))
      << "a message also says what to do";
}

std::string port(const std::string& keys) {
  return "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\n" + keys;
}
std::string process(const std::string& keys) {
  return "[process]\n" + keys +
         "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\n"
         "kind = \"null\"\n";
}
std::string manager(const std::string& keys) {
  return "[manager]\n" + keys +
         "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\n"
         "kind = \"null\"\n";
}
std::string in_switch(const std::string& keys) {
  return "[[switch]]\nname = \"s\"\n" + keys + "[[switch.port]]\nname = \"p\"\nkind = \"null\"\n";
}
std::string null_port(const std::string& name) {
  return "[[switch.port]]\nname = \"" + name + "\"\nkind = \"null\"\n";
}
std::string tree(const std::string& keys) { return with("[[switch.tree]]\n" + keys); }

std::string wide(const std::string& keys) {
  return tree("tree = 1\nwait_count = 1\nparent = \"up\"\nchildren = [\"host\"]\n" + keys);
}
std::string without_memory() {
  return "[[switch]]\nname = \"s\"\nwide_memory_mib = 0\n[[switch.tree]]\ntree = 1\n"
         "wait_count = 1\nparent = \"up\"\nchildren = [\"host\"]\nslots = 128\npayload = 1408\n" +
         null_port("up") + null_port("host");
}

const std::vector<Mistake> mistakes = {
    // Structure.
    {"syntax", "[process\n", 1, "", "not valid TOML at column 9"},
    {"key_twice", process("workers = 1\nworkers = 2\n"), 3, "", "not valid TOML"},
    {"no_switch", "[process]\nworkers = 1\n", 0, "switch", "has no switch"},
    {"no_port", "[[switch]]\nname = \"s\"\n", 1, "switch.port", "has no port"},
    {"unknown_section", process("") + "[procces]\n", 7, "procces", "did you mean 'process'?"},
    {"unknown_section_far", process("") + "[zebra]\n", 7, "zebra", "known are [process]"},
    {"process_repeated", "[[process]]\nworkers = 1\n" + in_switch(""), 1, "process",
     "write [process], once"},
    {"tree_as_text", in_switch("tree = \"x\"\n"), 3, "switch.tree", "write [[switch.tree]]"},
    {"route_with_one_bracket", with("[switch.route]\nnid = 1\nport = \"up\"\n"), 13, "switch.route",
     "write [[switch.route]]"},
    // The manager.
    {"manager_without_address",
     manager("tls_ca = \"x\"\ntls_certificate = \"y\"\ntls_key = "
             "\"z\"\n"),
     1, "manager.address", "missing"},
    {"manager_address", manager("address = \"fabric\"\n"), 2, "manager.address",
     "\"fabric\" is not an address"},
    {"manager_key_without_ca",
     manager("address = \"h:1\"\ntls_certificate = \"y\"\ntls_key = \"z\"\n"), 1, "manager.tls_ca",
     "over TCP the fabric manager accepts only TLS"},
    {"manager_tls_on_unix_socket",
     manager("address = \"unix:/x\"\ntls_ca = \"x\"\ntls_certificate = \"y\"\ntls_key = \"z\"\n"),
     3, "manager.tls_ca", "has no effect on a Unix socket"},
    {"manager_hello_interval", manager("address = \"unix:/x\"\nhello_interval_ms = 60001\n"), 3,
     "manager.hello_interval_ms", "60000"},
    {"guid_zero", in_switch("guid = 0\n"), 3, "switch.guid", "1 to"},
    {"guid_twice",
     in_switch("guid = 5\n") + "[[switch]]\nname = \"t\"\nguid = 5\n[[switch.port]]\nname = "
                               "\"p\"\nkind = \"null\"\n",
     9, "switch.guid", "the guid 0x5 is already used by switch \"s\" on line 3"},
    // Unknown keys.
    {"misspelt_key", process("worker = 1\n"), 2, "process.worker", "did you mean 'workers'?"},
    {"misspelt_in_port", port("kind = \"null\"\nvni = [1]\n"), 6, "switch.port.vni",
     "did you mean 'vnis'?"},
    {"key_of_another_section", port("kind = \"null\"\nethertype = 0x88B6\n"), 6,
     "switch.port.ethertype", "it belongs in 'switch'"},
    {"key_from_nowhere", in_switch("zebra = 1\n"), 3, "switch.zebra", "known here: "},
    {"unknown_in_impairment", port("kind = \"null\"\n[switch.port.impairment]\nlos = 0.1\n"), 7,
     "switch.port.impairment.los", "did you mean 'loss'?"},
    // Wrong types.
    {"text_for_integer", process("workers = \"2\"\n"), 2, "process.workers",
     "is text; give an integer"},
    {"fraction_for_integer", process("workers = 1.5\n"), 2, "process.workers",
     "is a number with a fraction"},
    {"integer_for_text", process("control_socket = 3\n"), 2, "process.control_socket",
     "is an integer; give text in quotes"},
    {"text_for_list", process("cores = \"0,1\"\n"), 2, "process.cores", "give a list in [ ]"},
    {"text_in_list", process("cores = [\"0\"]\n"), 2, "process.cores",
     "element 1: is text; give an integer"},
    {"integer_for_flag", port("kind = \"null\"\nverify_checksum = 1\n"), 6,
     "switch.port.verify_checksum", "give true or false"},
    {"text_for_number", port("kind = \"null\"\n[switch.port.impairment]\nloss = \"10%\"\n"), 7,
     "switch.port.impairment.loss", "give a number"},
    // Out of range.
    {"no_worker", process("workers = 0\n"), 2, "process.workers", "0 is out of range; give 1 to"},
    {"negative", process("idle_spin_us = -1\n"), 2, "process.idle_spin_us", "out of range"},
    {"probability", port("kind = \"null\"\n[switch.port.impairment]\nloss = 1.01\n"), 7,
     "switch.port.impairment.loss", "1.01 is out of range; give 0 to 1"},
    {"class_twice", in_switch("[[switch.class]]\nclass = 3\n[[switch.class]]\nclass = 3\n"), 6,
     "switch.class.class", "class 3 is defined twice"},
    {"class_out_of_range", in_switch("[[switch.class]]\nclass = 8\n"), 4, "switch.class.class",
     "8 is out of range; give 0 to 7"},
    {"class_policy", in_switch("[[switch.class]]\nclass = 3\npolicy = \"keep\"\n"), 5,
     "switch.class.policy", "give one of \"trim\", \"drop\", \"pause\""},
    {"pause_that_never_ends",
     port("kind = \"null\"\n[[switch.port.class]]\nclass = 3\nxon_frames = 64\n"), 8,
     "switch.port.class.xon_frames", "lower xon_frames"},
    {"vlan_without_tags", port("kind = \"null\"\nvlan = 5\n"), 6, "switch.port.vlan",
     "set tags = true"},
    {"lossless_queue_too_small",
     with("[[switch.class]]\nclass = 0\npolicy = \"pause\"\nqueue_frames = 191\n"), 13,
     "switch.port.class",
     "at port \"up\" must hold xoff and headroom of the 1 port that may fill it: 192 frames"},
    {"foreign_of_three_ports",
     "[[switch]]\nname = \"s\"\nforward_foreign = true\n" + null_port("a") + null_port("b") +
         null_port("c"),
     3, "switch.forward_foreign", "foreign_ports = [\"host0\", \"host1\"]"},
    {"foreign_between_one_port",
     "[[switch]]\nname = \"s\"\nforward_foreign = true\nforeign_ports = [\"a\", \"a\"]\n" +
         null_port("a") + null_port("b"),
     4, "switch.foreign_ports", "twice; name two ports"},
    {"foreign_to_no_port",
     "[[switch]]\nname = \"s\"\nforward_foreign = true\nforeign_ports = [\"a\", \"bb\"]\n" +
         null_port("a") + null_port("b"),
     4, "switch.foreign_ports", "did you mean \"b\"?"},
    {"foreign_ports_alone",
     "[[switch]]\nname = \"s\"\nforeign_ports = [\"a\", \"b\"]\n" + null_port("a") + null_port("b"),
     3, "switch.foreign_ports", "without forward_foreign"},
    {"foreign_on_a_tagged_link",
     "[[switch]]\nname = \"s\"\nforward_foreign = true\n" + null_port("a") + null_port("b") +
         "tags = true\n",
     7, "switch.port.tags", "remove tags"},
    {"unknown_kind_of_frames",
     port("kind = \"null\"\n[switch.port.impairment]\nkinds = [\"unicats\"]\n"), 7,
     "switch.port.impairment.kinds", "did you mean \"unicast\"?"},
    {"burst_without_end",
     port("kind = \"null\"\n[switch.port.impairment.sent]\ngood_to_bad = 0.1\n"), 7,
     "switch.port.impairment.sent.good_to_bad", "needs bad_to_good above 0"},
    {"distance_without_reorder",
     port("kind = \"null\"\n[switch.port.impairment]\nreorder_distance = 3\n"), 7,
     "switch.port.impairment.reorder_distance", "needs reorder above 0"},
    {"probability_nan", port("kind = \"null\"\n[switch.port.impairment]\nloss = nan\n"), 7,
     "switch.port.impairment.loss", "out of range"},
    {"ethertype_is_a_length", in_switch("ethertype = 0x05FF\n"), 3, "switch.ethertype",
     "out of range"},
    {"timer_too_long", in_switch("timers_us = [1, 2, 3, 20300000]\n"), 3, "switch.timers_us",
     "element 4: 20300000 is out of range"},
    {"three_timers", in_switch("timers_us = [1, 2, 3]\n"), 3, "switch.timers_us",
     "has 3 elements; give 4"},
    {"limits_fall", in_switch("timer_limits = [4, 4, 8]\n"), 3, "switch.timer_limits",
     "are not ascending"},
    {"core_not_there", process("cores = [4]\n"), 2, "process.cores",
     "core 4 is out of range; this machine has cores 0 to 3"},
    {"too_few_cores", process("workers = 3\ncores = [0, 1]\n"), 3, "process.cores",
     "names 2 cores for 3 workers"},
    {"core_twice", process("workers = 2\ncores = [1, 1]\n"), 3, "process.cores", "is listed twice"},
    {"vni_too_large", port("kind = \"null\"\nvnis = [1, 65536]\n"), 6, "switch.port.vnis",
     "element 2: 65536 is out of range"},
    {"nid_too_large", port("kind = \"null\"\nnid = 0x100000\n"), 6, "switch.port.nid",
     "out of range"},
    {"nid_like_multicast", port("kind = \"null\"\nnid = 0xFF800\n"), 6, "switch.port.nid",
     "nine 1 bits"},
    {"socket_path_long", process("control_socket = \"" + std::string(108, 'x') + "\"\n"), 2,
     "process.control_socket", "has 108 bytes; give at most 107"},
    {"empty_text", process("control_socket = \"\"\n"), 2, "process.control_socket", "is empty"},
    {"metrics_without_port", process("metrics = \"localhost\"\n"), 2, "process.metrics",
     "\"localhost\""},
    {"bad_name", "[[switch]]\nname = \"a b\"\n[[switch.port]]\nname = \"p\"\nkind = \"null\"\n", 2,
     "switch.name", "is not a name"},
    {"name_of_dots", "[[switch]]\nname = \"..\"\n[[switch.port]]\nname = \"p\"\nkind = \"null\"\n",
     2, "switch.name", "is not a name"},
    // Choices.
    {"misspelt_choice", process("poll = \"adaptiv\"\n"), 2, "process.poll",
     "did you mean \"adaptive\"? give one of \"adaptive\", \"busy\""},
    {"unknown_kind", port("kind = \"tap\"\n"), 5, "switch.port.kind", "give one of"},
    {"hugepages_flag", process("hugepages = true\n"), 2, "process.hugepages", "is true or false"},
    // Missing, or without meaning.
    {"switch_without_name", "[[switch]]\n[[switch.port]]\nname = \"p\"\nkind = \"null\"\n", 1,
     "switch.name", "missing; add it, e.g. name = \"leaf0\""},
    {"port_without_name", "[[switch]]\nname = \"s\"\n[[switch.port]]\nkind = \"null\"\n", 3,
     "switch.port.name", "missing"},
    {"xdp_without_interface", port(""), 3, "switch.port.interface",
     "missing for a port of kind \"af_xdp\""},
    {"pci_without_address", port("kind = \"pci\"\n"), 3, "switch.port.pci",
     "missing for a port of kind \"pci\""},
    {"pci_in_words", port("kind = \"pci\"\npci = \"eth0\"\n"), 6, "switch.port.pci",
     "\"eth0\" is not a PCI address; give domain:bus:device.function, e.g. 0000:03:00.0"},
    {"pci_without_function", port("kind = \"pci\"\npci = \"0000:03:00\"\n"), 6, "switch.port.pci",
     "is not a PCI address"},
    {"pci_beyond_the_last_function", port("kind = \"pci\"\npci = \"03:00.8\"\n"), 6,
     "switch.port.pci", "is not a PCI address"},
    {"pci_and_more", port("kind = \"pci\"\npci = \"0000:03:00.0,0000:03:00.1\"\n"), 6,
     "switch.port.pci", "is not a PCI address"},
    {"memif_without_socket", port("kind = \"memif\"\n"), 3, "switch.port.socket", "missing"},
    {"ring_without_ring", port("kind = \"ring\"\n"), 3, "switch.port.ring", "missing"},
    {"interface_of_null", port("kind = \"null\"\ninterface = \"e0\"\n"), 6, "switch.port.interface",
     "has no effect for a port of kind \"null\""},
    {"a_file_for_each_worker_and_one_for_all",
     port("kind = \"pcap\"\nrx_file = \"i-{queue}\"\ntx_file = \"o\"\n"), 7, "switch.port.tx_file",
     "give both a file for each worker"},
    {"repeat_of_nothing", port("kind = \"pcap\"\nrepeat = true\n"), 6, "switch.port.repeat",
     "nothing to repeat"},
    {"tree_without_wait_count", tree("tree = 1\nparent = \"up\"\nchildren = [\"host\"]\n"), 13,
     "switch.tree.wait_count", "missing"},
    {"route_without_port", with("[[switch.route]]\nnid = 1\n"), 13, "switch.route.port", "missing"},
    // Used twice.
    {"switch_name_twice",
     process("") + "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"q\"\nkind = \"null\"\n", 8,
     "switch.name", "already used"},
    {"port_name_twice", with("[[switch.port]]\nname = \"up\"\nkind = \"null\"\n"), 14,
     "switch.port.name", "already used by another port on line 6"},
    {"interface_twice", with("[[switch.port]]\nname = \"x\"\ninterface = \"e0\"\n"), 15,
     "switch.port.interface",
     "the interface e0 is already used by port \"up\" of switch \"leaf0\""},
    {"nid_twice", with("[[switch.port]]\nname = \"x\"\nkind = \"null\"\nnid = 0x12345\n"), 16,
     "switch.port.nid", "the NID 0x12345 is already used by port \"host\""},
    {"pci_twice",
     with("[[switch.port]]\nname = \"x\"\nkind = \"pci\"\npci = \"0000:01:00.0\"\n"
          "[[switch.port]]\nname = \"y\"\nkind = \"pci\"\npci = \"1:0.0\"\n"),
     20, "switch.port.pci", "already used"},
    {"memif_twice",
     with("[[switch.port]]\nname = \"x\"\nkind = \"memif\"\nsocket = \"/m\"\n"
          "[[switch.port]]\nname = \"y\"\nkind = \"memif\"\nsocket = \"/m\"\n"),
     20, "switch.port.socket", "the memif /m 0 as server is already used"},
    {"tx_file_twice",
     with("[[switch.port]]\nname = \"x\"\nkind = \"pcap\"\ntx_file = \"o\"\n"
          "[[switch.port]]\nname = \"y\"\nkind = \"pcap\"\ntx_file = \"o\"\n"),
     20, "switch.port.tx_file", "already used"},
    {"ring_with_one_end", with("[[switch.port]]\nname = \"x\"\nkind = \"ring\"\nring = \"r\"\n"),
     16, "switch.port.ring", "has only one end"},
    {"ring_with_three_ends",
     with("[[switch.port]]\nname = \"x\"\nkind = \"ring\"\nring = \"r\"\n"
          "[[switch.port]]\nname = \"y\"\nkind = \"ring\"\nring = \"r\"\n"
          "[[switch.port]]\nname = \"z\"\nkind = \"ring\"\nring = \"r\"\n"),
     24, "switch.port.ring", "has 3 ends; a ring joins exactly two"},
    {"tree_twice",
     tree("tree = 1\nwait_count = 1\nparent = \"up\"\nchildren = [\"host\"]\n"
          "[[switch.tree]]\ntree = 1\nwait_count = 1\nparent = \"up\"\nchildren = [\"host\"]\n"),
     19, "switch.tree.tree", "the tree 1 is already used by another tree on line 14"},
    {"route_twice",
     with("[[switch.route]]\nnid = 5\nport = \"up\"\n[[switch.route]]\nnid = 5\nport = \"host\"\n"),
     17, "switch.route.nid", "already used"},
    // Trees and routes against ports.
    {"parent_not_there",
     tree("tree = 1\nwait_count = 1\nparent = \"upp\"\nchildren = [\"host\"]\n"), 16,
     "switch.tree.parent", "has no port \"upp\"; did you mean \"up\"?"},
    {"child_not_there", tree("tree = 1\nwait_count = 1\nparent = \"up\"\nchildren = [\"zebra\"]\n"),
     17, "switch.tree.children", "has no port \"zebra\"; name one of its ports"},
    {"parent_among_children",
     tree("tree = 1\nwait_count = 1\nparent = \"up\"\nchildren = [\"host\", \"up\"]\n"), 17,
     "switch.tree.children", "is the parent of tree 1"},
    {"child_twice",
     tree("tree = 1\nwait_count = 1\nparent = \"up\"\nchildren = [\"host\", \"host\"]\n"), 17,
     "switch.tree.children", "is listed twice"},
    {"no_children", tree("tree = 1\nwait_count = 1\nparent = \"up\"\nchildren = []\n"), 17,
     "switch.tree.children", "has 0 elements"},
    {"tree_out_of_range",
     tree("tree = 8192\nwait_count = 1\nparent = \"up\"\nchildren = [\"host\"]\n"), 14,
     "switch.tree.tree", "8192 is out of range; give 0 to 8191"},
    {"wait_count_out_of_range",
     tree("tree = 1\nwait_count = 1048576\nparent = \"up\"\nchildren = [\"host\"]\n"), 15,
     "switch.tree.wait_count", "out of range"},
    // Slots.
    {"slots_no_power_of_two", wide("slots = 24\npayload = 1408\n"), 18, "switch.tree.slots",
     "24 is not a power of two; give 8, 16, 32, 64 or 128"},
    {"slots_out_of_range", wide("slots = 256\npayload = 1408\n"), 18, "switch.tree.slots",
     "256 is out of range; give 8 to 128"},
    {"in_switch_results_wait_for_no_member_but_the_root", wide("in_switch_results = true\n"), 18,
     "switch.tree.in_switch_results",
     "a tree with in-switch results waits for the root and at least one other"},
    {"slots_without_payload", wide("slots = 16\n"), 18, "switch.tree.slots",
     "16 reductions in flight need wide frames; give their payload too"},
    {"float16_without_payload", wide("float16 = true\n"), 18, "switch.tree.float16",
     "has no effect without a payload"},
    {"payload_no_multiple", wide("payload = 1400\n"), 18, "switch.tree.payload",
     "1400 is not a multiple of 64; give 1344 or 1408"},
    {"payload_too_long", wide("payload = 1792\n"), 18, "switch.tree.payload",
     "1792 bytes make frames of 1854, and longest_frame is 1792; give at most 1728, or raise"},
    {"payload_longer_than_any_frame", wide("payload = 9216\n"), 18, "switch.tree.payload",
     "9216 is out of range; give 0 to 9152"},
    {"payload_of_a_multicast",
     tree("tree = 1\nwait_count = 0\nparent = \"up\"\nchildren = [\"host\"]\npayload = 64\n"), 18,
     "switch.tree.payload", "has no effect on an ordinary multicast"},
    {"no_slot_memory", without_memory(), 4, "switch.tree",
     "tree 1: no room in slot memory: 128 slots of 1408 bytes need 180224 bytes, and 0 of 0 are "
     "free"},
    {"route_to_nowhere", with("[[switch.route]]\nnid = 5\nport = \"x\"\n"), 15, "switch.route.port",
     "has no port \"x\""},
    {"route_nid_like_multicast", with("[[switch.route]]\nnid = 0xFFFFF\nport = \"up\"\n"), 14,
     "switch.route.nid", "nine 1 bits"},
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.text; }

INSTANTIATE_TEST_SUITE_P(config, one_mistake, testing::ValuesIn(mistakes),
                         [](const auto& instance) { return instance.param.name; });

TEST(share_of, takes_fractions_and_percent) {
  using configuration::share_of;
  EXPECT_EQ(share_of("1%"), 0.01);
  EXPECT_EQ(share_of("50 %"), 0.5);
  EXPECT_EQ(share_of("1"), 1);
  for (const char* text : {"", "-1", "1.1", "101%", "1x", "nan", "%"}) {
    EXPECT_EQ(share_of(text), std::nullopt) << text;
  }
}

TEST(exact_duration_ns, has_fractions_of_a_nanosecond) {
  EXPECT_EQ(configuration::exact_duration_ns("2.5ns"), 2.5);
  EXPECT_EQ(configuration::exact_duration_ns("0"), 0);
  for (const char* text : {"", "5", "-1us", "inf", "1 week"}) {
    EXPECT_EQ(configuration::exact_duration_ns(text), std::nullopt) << text;
  }
}

TEST(edit_distance, counts_single_letters_and_swaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kind", "kind"), 0U);
  EXPECT_EQ(edit_distance("knid", "kind"), 1U);
  EXPECT_EQ(edit_distance("worker", "workers"), 1U);
  EXPECT_EQ(edit_distance("abcd", "acbe"), 2U);
}

TEST(nearest, is_the_first_of_equally_near_words_and_none_of_far_ones) {
  const std::vector<std::string_view> words = {"kind", "nid"};
  EXPECT_EQ(configuration::nearest("knid", words), "kind");
  EXPECT_EQ(configuration::nearest("zebra", words), "");
}

TEST(findings, all_are_reported_in_the_order_of_lines) {
  const auto found = findings_of(process("workers = 0\npoll = 3\nzebra = 1\n"));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[1].line, 3);
  EXPECT_EQ(found[2].line, 4);
}

TEST(findings, stop_at_twenty) {
  std::string keys;
  for (int i = 0; i < 30; ++i) {
    keys += fmt::format("unknown_{} = 1\n", i);
  }
  EXPECT_EQ(findings_of(process(keys)).size(), configuration::ConfigError::max_findings);
}

TEST(findings, too_many_ports) {
  std::string text = "[[switch]]\nname = \"s\"\n";
  for (std::size_t i = 0; i <= max_ports; ++i) {
    text += fmt::format("[[switch.port]]\nname = \"p{}\"\nkind = \"null\"\n", i);
  }
  EXPECT_THAT(finding_of(text).text, HasSubstr("more than 64 ports"));
}

TEST(findings, more_devices_than_dpdk_has_room_for) {
  const auto file = [](std::size_t nulls) {
    std::string text = "[[switch]]\nname = \"s\"\n";
    for (std::size_t i = 0; i < 40; ++i) { // rings take no room
      text += fmt::format("[[switch.port]]\nname = \"r{}\"\nkind = \"ring\"\nring = \"l{}\"\n", i,
                          i / 2);
    }
    for (std::size_t i = 0; i < nulls; ++i) {
      text += fmt::format("[[switch.port]]\nname = \"p{}\"\nkind = \"null\"\n", i);
    }
    return text;
  };
  EXPECT_NO_THROW(static_cast<void>(parse_text(file(4), "test.toml", {.dpdk_devices = 4})));
  EXPECT_NO_THROW(static_cast<void>(parse_text(file(6), "test.toml")));
  const Diagnostic finding = finding_of(file(6), {.dpdk_devices = 4});
  EXPECT_THAT(finding.text, HasSubstr("\"p4\" of switch \"s\" is one device more than the 4"));
  EXPECT_EQ(finding.line, 2 + 40 * 4 + 4 * 3 + 1);
}

TEST(findings, af_packet_on_a_processor_that_loads_in_any_order) {
  for (const std::string kind : {"af_packet", "af_xdp"}) {
    const std::string text = "[[switch]]\nname = \"s\"\n[[switch.port]]\nname = \"p\"\nkind = \"" +
                             kind + "\"\ninterface = \"eth1\"\n";
    EXPECT_NO_THROW(static_cast<void>(
        parse_text(text, "test.toml", {.memory_order = MemoryOrder::as_written})));
    if (kind == "af_xdp") {
      EXPECT_NO_THROW(
          static_cast<void>(parse_text(text, "test.toml", {.memory_order = MemoryOrder::any})));
      continue;
    }
    const Diagnostic finding = finding_of(text, {.memory_order = MemoryOrder::any});
    EXPECT_EQ(finding.line, 5);
    EXPECT_EQ(finding.key, "switch.port.kind");
    EXPECT_THAT(finding.text, HasSubstr("no memory barrier"));
    EXPECT_THAT(finding.text, HasSubstr("; use af_xdp, pci or memif"));
  }
}

TEST(host_machine, refuses_no_port_but_af_packet_and_that_only_where_loads_have_no_order) {
  for (const PortKind kind : {PortKind::af_xdp, PortKind::af_packet, PortKind::pci, PortKind::memif,
                              PortKind::ring, PortKind::pcap, PortKind::null}) {
    EXPECT_EQ(refusal_of(kind, MemoryOrder::as_written), "");
    EXPECT_EQ(refusal_of(kind, MemoryOrder::any).empty(), kind != PortKind::af_packet);
  }
  for (const MemoryOrder order : {MemoryOrder::as_written, MemoryOrder::any}) {
    EXPECT_EQ(refusal_of(instead_of_af_xdp(order), order), "") << "suggested, and refused";
  }
  EXPECT_THAT(std::string(words_instead_of_af_xdp(MemoryOrder::as_written)),
              HasSubstr("kind = \"af_packet\""));
  EXPECT_THAT(std::string(words_instead_of_af_xdp(MemoryOrder::any)),
              AllOf(HasSubstr("\"pci\""), Not(HasSubstr("af_packet"))));
#if defined(__aarch64__)
  EXPECT_EQ(memory_order_of_this_processor, MemoryOrder::any);
#elif defined(__x86_64__)
  EXPECT_EQ(memory_order_of_this_processor, MemoryOrder::as_written);
#endif
}

TEST(message, has_file_line_and_key) {
  const Diagnostic d{3, "switch.port.nid", "is wrong; mend it"};
  EXPECT_EQ(d.message("a.toml"), "a.toml:3: key 'switch.port.nid': is wrong; mend it");
  const Diagnostic syntax{3, "", "is wrong"};
  EXPECT_EQ(syntax.message("a.toml"), "a.toml:3: is wrong");
}

} // namespace
} // namespace tributary::config
