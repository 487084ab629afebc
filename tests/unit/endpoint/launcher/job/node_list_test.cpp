#include "endpoint/launcher/job/node_list.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tributary::launch::job {
namespace {

using Nodes = std::vector<NodeSlots>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const NodeListError& error) {
    return error.what();
  }
  return "no error";
}

TEST(NodeList, OfAnOptionHasNamesAndRanks) {
  EXPECT_EQ(parse_nodes("ns1:2,ns2:3"), (Nodes{{"ns1", 2}, {"ns2", 3}}));
  EXPECT_EQ(parse_nodes("ns1"), (Nodes{{"ns1", 1}}));
  EXPECT_EQ(parse_nodes(" ns1 : 2 , ns2 "), (Nodes{{"ns1", 2}, {"ns2", 1}}));
}

TEST(NodeList, OfAnOptionRefusesWhatIsNone) {
  for (const char* text :
       {"", ",", "ns1,,ns2", "ns1:", "ns1:0", "ns1:x", "ns1:-1", "ns1:2x", "-oProxyCommand=x",
        ".hidden", "a b", "a/b", "ns1:99999999999", "ns1:65537"}) {
    EXPECT_THROW((void)parse_nodes(text), NodeListError) << text;
  }
  EXPECT_NE(error_of([] { (void)parse_nodes("a:2,b,a:3"); }).find("a is named twice"),
            std::string::npos);
}

TEST(NodeList, OfAFileHasALineForEachNode) {
  EXPECT_EQ(
      parse_host_file("# the rack\nnode1:4\n\n  node2 slots=2 # old\nnode3\r\nnode1\n", "hosts"),
      (Nodes{{"node1", 5}, {"node2", 2}, {"node3", 1}}));
  EXPECT_EQ(parse_host_file("root@10.0.0.1:2", "hosts"), (Nodes{{"root@10.0.0.1", 2}}));
}

TEST(NodeList, OfAFileNamesTheLineThatIsWrong) {
  EXPECT_NE(
      error_of([] { (void)parse_host_file("a\nb max=3\n", "hosts.txt"); }).find("hosts.txt:2"),
      std::string::npos);
  EXPECT_NE(error_of([] { (void)parse_host_file("a slots=none\n", "h"); }).find("h:1"),
            std::string::npos);
  EXPECT_NE(error_of([] { (void)parse_host_file("# nothing\n", "h"); }).find("no node"),
            std::string::npos);
}

TEST(NodeList, OfSlurmExpandsRangesAndTasks) {
  EXPECT_EQ(parse_slurm("node[01-03,7],login0", "4(x3),2,1"),
            (Nodes{{"node01", 4}, {"node02", 4}, {"node03", 4}, {"node7", 2}, {"login0", 1}}));
  EXPECT_EQ(parse_slurm("rack[1-2]n[1-2]", ""),
            (Nodes{{"rack1n1", 1}, {"rack1n2", 1}, {"rack2n1", 1}, {"rack2n2", 1}}));
}

TEST(NodeList, OfSlurmRefusesWhatIsNone) {
  for (const char* text :
       {"", "node[1", "node[3-1]", "node[a-b]", "node[1-999999999]", "a[1],,b"}) {
    EXPECT_THROW((void)parse_slurm(text, ""), NodeListError) << text;
  }
  EXPECT_THROW((void)parse_slurm("a", "x"), NodeListError);
  EXPECT_THROW((void)parse_slurm("a", "2(x0)"), NodeListError);
}

} // namespace
} // namespace tributary::launch::job
