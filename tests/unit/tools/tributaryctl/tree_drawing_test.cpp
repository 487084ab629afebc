#include "tools/tributaryctl/fabric/tree_drawing.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace tributary::cli {
namespace tree_drawing_test {

using boost::json::parse;
using testing::HasSubstr;
using testing::Not;

DrawnTree drawn(const std::string& text) {
  const boost::json::value value = parse(text);
  return drawn_tree(Entry(value));
}

/// h0 is the root; leaf0 and leaf1 with two more hosts each, joined by a spine.
const std::string two_leaves = R"({"tree":5,"job":"j1","group":"demo","root":{"host":"h0"},"parts":[
  {"switch":"leaf0","depth":0,"wait_count":3,"parent":{"port":0,"to":"h0"},
   "children":[{"port":1,"to":"h1"},{"port":4,"to":"spine"}]},
  {"switch":"spine","depth":1,"wait_count":2,"parent":{"port":0,"to":"leaf0"},
   "children":[{"port":1,"to":"leaf1"}]},
  {"switch":"leaf1","depth":2,"wait_count":2,"parent":{"port":4,"to":"spine"},
   "children":[{"port":0,"to":"h2"},{"port":1,"to":"h3"}]}]})";

TEST(tree_text, hangs_from_the_root) {
  EXPECT_EQ(tree_text(drawn(two_leaves)), "tree 5 of j1/demo\n"
                                          "h0  (root)\n"
                                          "└─ leaf0  (port 0 up, waits for 3)\n"
                                          "   ├─ 1: h1\n"
                                          "   └─ 4: spine  (port 0 up, waits for 2)\n"
                                          "      └─ 1: leaf1  (port 4 up, waits for 2)\n"
                                          "         ├─ 0: h2\n"
                                          "         └─ 1: h3\n");
}

TEST(tree_dot, has_every_node_and_edge) {
  const std::string dot = tree_dot(drawn(two_leaves));
  EXPECT_THAT(dot, HasSubstr("graph \"tree 5 of j1/demo\" {"));
  EXPECT_THAT(dot, HasSubstr("n1 [label=\"leaf0 (3)\", shape=box];"));
  EXPECT_THAT(dot, HasSubstr("n1 -- n3 [taillabel=\"4\", headlabel=\"0\"];"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '\n'), 1 + 1 + 7 + 6 + 1);
}

TEST(tree_dot, names_cannot_break_out_of_their_quotes) {
  const std::string dot = tree_dot(drawn(R"({"root":{"host":"a\"];\\x"},"parts":[]})"));
  EXPECT_THAT(dot, HasSubstr(R"([label="a\"];\\x", shape=ellipse, style=bold])"));
}

TEST(tree_drawing, a_tree_that_does_not_hang_together_is_shown_as_far_as_it_does) {
  const DrawnTree tree = drawn(R"({"root":{"host":"h0"},"parts":[
    {"switch":"a","depth":0,"parent":{"port":0},"children":[{"port":1,"to":"b"}]},
    {"switch":"b","depth":1,"parent":{"port":0},"children":[{"port":1,"to":"a"},{"port":2}]},
    {"switch":"c","depth":2,"parent":{"port":0},"children":[]}]})");
  EXPECT_EQ(tree.nodes.size(), 5U);
  EXPECT_THAT(tree.apart, testing::ElementsAre("c"));
  EXPECT_THAT(tree_text(tree), HasSubstr("disconnected: c\n"));
  EXPECT_THAT(tree_dot(tree), HasSubstr("\"c\" [shape=box, style=dashed]"));
  EXPECT_THAT(tree_svg(tree), HasSubstr("disconnected: c"));
}

TEST(tree_drawing, takes_what_is_no_tree) {
  for (const char* answer : {"null", "[]", "{}", R"({"parts":[1,{}],"root":7})"}) {
    const DrawnTree tree = drawn(answer);
    EXPECT_THAT(tree_text(tree), HasSubstr("root"));
    EXPECT_THAT(tree_svg(tree), HasSubstr("</svg>"));
  }
}

struct Box {
  double x, y, width, height;
};

/// The boxes of a picture; the white ground is not one.
std::vector<Box> boxes_of(const std::string& svg) {
  static const std::regex box(
      R"re(<rect x="([-0-9.]+)" y="([-0-9.]+)" width="([0-9.]+)" height="([0-9.]+)")re");
  std::vector<Box> boxes;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), box); it != std::sregex_iterator();
       ++it) {
    boxes.push_back(
        {std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
  }
  return boxes;
}

/// A tree of this many levels of switches, each with `fan` switches below and two hosts.
std::string wide_tree(unsigned levels, unsigned fan) {
  std::string parts;
  const auto add = [&](const auto& self, const std::string& name, unsigned depth) -> void {
    std::string children =
        fmt::format(R"({{"port":60,"to":"{0}-host-a"}},{{"port":61,"to":"{0}-host-b"}})", name);
    for (unsigned i = 0; i < fan && depth + 1 < levels; ++i) {
      children += fmt::format(R"(,{{"port":{},"to":"{}.{}"}})", i, name, i);
    }
    parts += fmt::format(
        R"({}{{"switch":"{}","depth":{},"wait_count":1,"parent":{{"port":63}},"children":[{}]}})",
        parts.empty() ? "" : ",", name, depth, children);
    for (unsigned i = 0; i < fan && depth + 1 < levels; ++i) {
      self(self, fmt::format("{}.{}", name, i), depth + 1);
    }
  };
  add(add, "s", 0);
  return R"({"root":{"host":"the root's host"},"parts":[)" + parts + "]}";
}

TEST(tree_svg, nothing_overlaps_and_nothing_is_outside) {
  for (const auto& [levels, fan] : {std::pair{1U, 0U}, {2U, 5U}, {4U, 3U}, {7U, 1U}}) {
    const std::string svg = tree_svg(drawn(wide_tree(levels, fan)));
    std::smatch size;
    ASSERT_TRUE(std::regex_search(svg, size, std::regex(R"re(width="(\d+)" height="(\d+)")re")));
    const std::vector<Box> boxes = boxes_of(svg);
    std::size_t switches = 0;
    for (unsigned level = 0, wide = 1; level < levels; ++level, wide *= fan) {
      switches += wide;
    }
    ASSERT_EQ(boxes.size(), 1 + 3 * switches) << "the root, switches, two hosts each";
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_GE(boxes[i].x, 0);
      EXPECT_LE(boxes[i].x + boxes[i].width, std::stod(size[1]));
      EXPECT_LE(boxes[i].y + boxes[i].height, std::stod(size[2]));
      for (std::size_t k = 0; k < i; ++k) {
        const bool apart = boxes[i].x >= boxes[k].x + boxes[k].width - 0.11 ||
                           boxes[k].x >= boxes[i].x + boxes[i].width - 0.11 ||
                           boxes[i].y >= boxes[k].y + boxes[k].height - 0.11 ||
                           boxes[k].y >= boxes[i].y + boxes[i].height - 0.11;
        EXPECT_TRUE(apart) << "boxes " << k << " and " << i << " of " << levels << " levels";
      }
    }
  }
}

TEST(tree_svg, names_are_escaped) {
  const std::string svg = tree_svg(drawn(R"({"root":{"host":"<a & \"b\">"},"parts":[]})"));
  EXPECT_THAT(svg, HasSubstr("&lt;a &amp; &quot;b&quot;&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<a")));
}

} // namespace tree_drawing_test
} // namespace tributary::cli
