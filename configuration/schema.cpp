#include "configuration/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::config {
namespace {

std::string count_text(std::size_t min, std::size_t max) {
  return min == max ? fmt::format("{}", min)
         : min == 0 ? fmt::format("at most {}", max)
                    : fmt::format("{} to {}", min, max);
}

struct Describe {
  std::string operator()(Flag) const { return "true or false"; }
  std::string operator()(Integer i) const { return fmt::format("integer, {} to {}", i.min, i.max); }
  std::string operator()(Number n) const { return fmt::format("number, {} to {}", n.min, n.max); }
  std::string operator()(Text t) const {
    return fmt::format("text, at most {} bytes", t.max_length);
  }
  std::string operator()(Name) const { return "name"; }
  std::string operator()(Choice c) const {
    return fmt::format("one of \"{}\"", fmt::join(c.values, "\", \""));
  }
  std::string operator()(Integers i) const {
    return fmt::format("list of {} integers, {} to {}", count_text(i.min_count, i.max_count), i.min,
                       i.max);
  }
  std::string operator()(Names n) const {
    return fmt::format("list of {} names", count_text(n.min_count, n.max_count));
  }
  std::string operator()(Texts t) const {
    return fmt::format("list of {} texts, at most {} bytes each",
                       count_text(t.min_count, t.max_count), t.max_length);
  }
};

} // namespace

std::string describe(const Type& type) { return std::visit(Describe{}, type); }

} // namespace tributary::config
