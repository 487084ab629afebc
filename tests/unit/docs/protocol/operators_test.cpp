// The operators' table against the lists that cannot be made from it: the enum of the C header, the
// dissector's script, and the guides. wire_format_page_test.cpp does it for the page of frames.
#include "tests/support/page_table.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/opcode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace tributary::wire {
namespace {

std::string contents(const std::string& file) {
  std::ifstream in(TRIBUTARY_SOURCE_ROOT "/" + file);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Calls `with` with each match of the pattern.
template <typename With>
void for_each_match(const std::string& text, const char* pattern, With with) {
  const std::regex expression(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    with(*at);
  }
}

std::string lower_case(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

TEST(Operators, HaveCodesInOrderAndCallsWithoutGaps) {
  EXPECT_TRUE(std::ranges::is_sorted(all_opcodes));
  EXPECT_EQ(std::ranges::adjacent_find(all_opcodes), all_opcodes.end());
  for (std::size_t number = 0; number < calls.size(); ++number) {
    EXPECT_EQ(calls[number].number, static_cast<int>(number)) << "no row has this call";
  }
  std::map<int, std::string_view> names;
  std::set<std::pair<int, Operands>> seen;
  for (const Operator& row : operators) {
    EXPECT_EQ(names.emplace(row.call.number, row.call.name).first->second, row.call.name)
        << "call " << row.call.number << " has two names";
    EXPECT_TRUE(seen.emplace(row.call.number, row.operands).second)
        << row.name << ": another row has its call with the same elements";
  }
}

TEST(Operators, AreTheEnumOfTheCHeader) {
  const std::string header = contents("include/tributary/tributary.h");
  const auto begin = header.find("enum tributary_op {");
  ASSERT_NE(begin, std::string::npos);
  std::map<std::string, int> listed;
  for_each_match(header.substr(begin, header.find("};", begin) - begin),
                 R"(TRIBUTARY_(\w+) = (\d+))",
                 [&](const std::smatch& m) { listed[m[1]] = std::stoi(m[2]); });
  for (const Call& call : calls) {
    const auto found = listed.find(std::string(call.name));
    ASSERT_NE(found, listed.end()) << "the header lacks " << call.name;
    EXPECT_EQ(found->second, call.number) << call.name;
  }
  EXPECT_EQ(listed.size(), calls.size()) << "the header has calls that no row has";
}

TEST(Operators, AreThoseOfTheDissector) {
  const std::string script = contents("packaging/wireshark/tributary.lua");
  const auto begin = script.find("local OPERATORS = {");
  ASSERT_NE(begin, std::string::npos);
  std::map<unsigned long, std::string> listed;
  for_each_match(script.substr(begin, script.find("\n}", begin) - begin),
                 R"(\[(0x\w+)\] = \{([^}]*)\})",
                 [&](const std::smatch& m) { listed[std::stoul(m[1], nullptr, 16)] = m[2]; });
  const auto classes = [](Operands operands) -> std::string {
    switch (operands) {
    case Operands::none: return R"("bits", "nothing")";
    case Operands::bits: return R"("bits")";
    case Operands::integers:
    case Operands::signed_integers: return R"("int")";
    case Operands::floats: return R"("float")";
    case Operands::integer_tuples: return R"("int", "tuple")";
    case Operands::float_tuples: return R"("float", "tuple")";
    case Operands::repsums: return R"("limbs", "repsum")";
    }
    return "";
  };
  for (const Operator& row : operators) {
    const auto code = static_cast<unsigned long>(row.code);
    EXPECT_EQ(listed[code], '"' + std::string(row.name) + "\", " + classes(row.operands))
        << "code " << code;
  }
  EXPECT_EQ(listed.size(), std::size(operators)) << "it lists reserved codes";
}

/// All the words in backticks of a table.
std::string words_of(const std::string& page, std::string_view head) {
  std::string words;
  for (const auto& row : test::page_table(page, head)) {
    for (const std::string& cell : row) {
      words += cell + ' ';
    }
  }
  return words;
}

/// The last and the first of a row of roundings stand for all.
bool is_abbreviated(std::string_view name) { return name.starts_with("SUM_"); }

TEST(Operators, AreInTheGuides) {
  const std::string python = words_of("docs/guide/python.md", "| array of | reduced as |");
  const std::string generator =
      words_of("docs/guide/traffic-generator.md", "| elements | operations |");
  for (const Call& call : calls) {
    if (!is_abbreviated(call.name)) {
      const std::string word = '`' + lower_case(call.name) + '`';
      EXPECT_NE(python.find(word), std::string::npos) << "docs/guide/python.md lacks " << word;
      EXPECT_NE(generator.find(word), std::string::npos)
          << "docs/guide/traffic-generator.md lacks " << word;
    }
  }
}

} // namespace
} // namespace tributary::wire
