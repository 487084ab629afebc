// The layout is a stack of blocks. A block is a switch with everything below it: hosts in a column
// to the left, then the blocks of the switches, side by side. A block is as wide as its widest row,
// and its switch is centred above it; so nothing can overlap, and the picture grows with the number
// of hosts downward, not sideways.

#include "tools/tributaryctl/fabric/tree_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tributary::cli {
namespace {

using Node = DrawnTree::Node;

constexpr double box_height = 34;
constexpr double host_height = 20;
constexpr double level_gap = 44;
constexpr double side_gap = 18;
constexpr double margin = 20;
constexpr double title_height = 30;
constexpr double letter_width = 7.5;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    default: out += c;
    }
  }
  return out;
}

/// Counts characters, not bytes.
double text_width(std::string_view text) {
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  });
  return static_cast<double>(letters) * letter_width;
}

std::string wait_text(const Node& node) { return fmt::format("waits for {}", node.wait_count); }

class Picture {
public:
  explicit Picture(const DrawnTree& tree) : tree_(tree), sizes_(tree.nodes.size()) {
    measure(0);
    draw(0, margin, title_height + margin);
  }

  [[nodiscard]] std::string text() const {
    const double width = std::max(sizes_[0].width, text_width(tree_.title)) + 2 * margin;
    const double below = static_cast<double>(tree_.apart.size()) * host_height;
    const double height = title_height + sizes_[0].height + below + 2 * margin;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"{3:.0f}\" y=\"26\" font-size=\"15\">{2}</text>\n",
        width, height, escaped(tree_.title), margin);
    out += lines_ + boxes_;
    double y = title_height + sizes_[0].height + 2 * margin;
    for (const std::string& name : tree_.apart) {
      out +=
          fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#b00020\">disconnected: {}</text>\n",
                      margin, y, escaped(name));
      y += host_height;
    }
    return out + "</svg>\n";
  }

private:
  struct Size {
    double width = 0;       ///< width of the block
    double height = 0;      ///< height of the block
    double own_width = 0;   ///< width of the box
    double below_width = 0; ///< width of the row below the box
    double hosts_width = 0; ///< width of the column of hosts; 0: none
    std::size_t hosts = 0;
  };

  static void widen(double& row, double block) { row += (row > 0 ? side_gap : 0) + block; }

  void measure(std::size_t at) {
    const Node& node = tree_.nodes[at];
    Size& size = sizes_[at];
    size.own_width =
        std::max(text_width(node.name), node.is_switch ? text_width(wait_text(node)) : 0) + 16;
    double below_height = 0;
    for (const std::size_t child : node.children) {
      const Node& below = tree_.nodes[child];
      if (!below.is_switch) {
        ++size.hosts;
        const double wide = text_width(below.port_above + ": " + below.name) + 16;
        size.hosts_width = std::max(size.hosts_width, wide);
        continue;
      }
      measure(child);
      widen(size.below_width, sizes_[child].width);
      below_height = std::max(below_height, sizes_[child].height);
    }
    if (size.hosts > 0) {
      widen(size.below_width, size.hosts_width);
      below_height = std::max(below_height, static_cast<double>(size.hosts) * host_height);
    }
    size.width = std::max(size.own_width, size.below_width);
    size.height = box_height + (below_height > 0 ? level_gap + below_height : 0);
  }

  /// Returns the middle of the node's box.
  double draw(std::size_t at, double left, double top) {
    const Node& node = tree_.nodes[at];
    const Size& size = sizes_[at];
    const double middle = left + size.width / 2;
    draw_box(node, at == 0, middle - size.own_width / 2, top, size.own_width);
    double x = left + (size.width - size.below_width) / 2;
    const double below = top + box_height + level_gap;
    if (size.hosts > 0) {
      const double column = x + size.hosts_width / 2;
      draw_line(middle, top + box_height, column, below, "", "");
      double y = below;
      for (const std::size_t child : node.children) {
        if (!tree_.nodes[child].is_switch) {
          draw_host(tree_.nodes[child], x, y, size.hosts_width);
          y += host_height;
        }
      }
      x += size.hosts_width + side_gap;
    }
    for (const std::size_t child : node.children) {
      const Node& down = tree_.nodes[child];
      if (down.is_switch) {
        const double there = draw(child, x, below);
        draw_line(middle, top + box_height, there, below, down.port_above, down.port_here);
        x += sizes_[child].width + side_gap;
      }
    }
    return middle;
  }

  void draw_box(const Node& node, bool root, double x, double y, double width) {
    const auto out = std::back_inserter(boxes_);
    fmt::format_to(out,
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" "
                   "rx=\"{}\" fill=\"{}\" stroke=\"#33507a\"/>\n",
                   x, y, width, box_height, node.is_switch ? 3 : 16, root ? "#ffe9b8" : "#dce8f7");
    const double middle = x + width / 2;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                   middle, y + (node.is_switch ? 14 : 21), escaped(node.name));
    if (node.is_switch) {
      fmt::format_to(out,
                     "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"10\" "
                     "fill=\"#555\">{}</text>\n",
                     middle, y + 28, wait_text(node));
    }
  }

  void draw_host(const Node& node, double x, double y, double width) {
    fmt::format_to(std::back_inserter(boxes_),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" "
                   "fill=\"#f4f4f4\" stroke=\"#999\"/>\n"
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                   x, y, width, host_height, x + width / 2, y + 14,
                   escaped(node.port_above + ": " + node.name));
  }

  void draw_line(double x1, double y1, double x2, double y2, const std::string& upper,
                 const std::string& lower) {
    const auto out = std::back_inserter(lines_);
    fmt::format_to(out,
                   "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
                   "stroke=\"#33507a\"/>\n",
                   x1, y1, x2, y2);
    const auto label = [&](double share, const std::string& port) {
      if (!port.empty()) {
        fmt::format_to(out,
                       "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" fill=\"#33507a\">{}"
                       "</text>\n",
                       x1 + (x2 - x1) * share + 3, y1 + (y2 - y1) * share + 3, escaped(port));
      }
    };
    label(0.3, upper);
    label(0.85, lower);
  }

  const DrawnTree& tree_;
  std::vector<Size> sizes_;
  std::string lines_;
  std::string boxes_;
};

} // namespace

std::string tree_svg(const DrawnTree& tree) { return Picture(tree).text(); }

} // namespace tributary::cli
