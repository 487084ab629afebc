// docs/protocol/wire-format.md against the codecs: opcodes, forms, result codes.
#include "tests/support/page_table.hpp"
#include "tributary/wire/form.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

namespace tributary::wire {
namespace {

std::vector<std::string> words_of(std::string text) {
  for (char& c : text) {
    c = c == ',' ? ' ' : c;
  }
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

TEST(WireFormatPage, lists_every_opcode_and_no_reserved_one) {
  std::map<unsigned long, std::string> listed;
  for (const auto& row : test::page_table("docs/protocol/wire-format.md", "| code | operator |")) {
    const auto codes = words_of(row[0]);
    const auto names = words_of(row[1]);
    if (codes.size() == 3 && codes[1] == "to") {
      const auto last = std::stoul(codes[2], nullptr, 16);
      for (auto code = std::stoul(codes[0], nullptr, 16); code <= last; ++code) {
        listed[code] = names[0];
      }
      continue;
    }
    ASSERT_EQ(codes.size(), names.size()) << row[0];
    for (std::size_t i = 0; i < codes.size(); ++i) {
      listed[std::stoul(codes[i], nullptr, 16)] = names[i];
    }
  }
  for (unsigned code = 0; code < opcode_count; ++code) {
    EXPECT_EQ(listed.contains(code), is_supported(static_cast<std::uint8_t>(code))) << code;
    if (listed.contains(code)) {
      EXPECT_TRUE(name_of(static_cast<Opcode>(code)).starts_with(listed[code]))
          << code << ' ' << listed[code];
    }
  }
}

/// Whether a row of the table of forms has this operator.
bool has(const std::set<std::string>& operators, Opcode op) {
  if (is_bitwise(op)) {
    return operators.contains("BIT_*");
  }
  if (is_minmaxloc(op)) {
    return operators.contains("MINMAXLOC");
  }
  return operators.contains(is_flt_sum(op) ? std::string("FLT_SUM") : std::string(name_of(op)));
}

TEST(WireFormatPage, lists_every_form_with_its_elements_and_operators) {
  std::set<std::string> operators;
  std::set<unsigned> listed;
  for (const auto& row : test::page_table("docs/protocol/wire-format.md", "| form | element |")) {
    const auto number = static_cast<unsigned>(std::stoul(row[0]));
    listed.insert(number);
    const auto form = static_cast<Form>(number);
    EXPECT_EQ(element_bytes(form), std::stoul(row[2])) << row[1];
    if (row[3] != "the same") {
      std::string text = row[3];
      for (char& c : text) {
        c = c == ';' ? ' ' : c;
      }
      const auto words = words_of(text);
      operators = {words.begin(), words.end()};
    }
    for (const Opcode op : all_opcodes) {
      EXPECT_EQ(has(operators, op), carries(form, op)) << row[1] << ' ' << name_of(op);
    }
  }
  std::set<unsigned> all;
  for (const Form form : wide_forms) {
    all.insert(static_cast<unsigned>(form));
  }
  EXPECT_EQ(listed, all);
}

TEST(WireFormatPage, lists_every_result_code) {
  unsigned code = 0;
  for (const auto& row : test::page_table("docs/protocol/wire-format.md", "| rc | name |")) {
    EXPECT_EQ(row[0], std::to_string(code));
    const auto name = name_of(static_cast<ResultCode>(code++));
    EXPECT_EQ(row[1], name == "unassigned" ? "(unassigned)" : name);
  }
  EXPECT_EQ(name_of(static_cast<ResultCode>(code)), "unknown") << "is missing";
  EXPECT_GT(code, 8U);
}

} // namespace
} // namespace tributary::wire
