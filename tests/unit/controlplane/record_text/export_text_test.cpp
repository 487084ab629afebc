// Exports of whole stores, and texts that are not one.
#include "controlplane/record_text/export_text.hpp"

#include "tests/support/error_of.hpp"
#include "tests/unit/controlplane/store/memory_disk.hpp"
#include "tests/unit/controlplane/store/records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::test {
namespace {

using record_text::export_text;
using record_text::Exported;
using record_text::import_text;
using record_text::ImportError;
using testing::HasSubstr;

Exported some_store() {
  MemoryDisk disk;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    disk.apply(sound_group((std::uint64_t{4} << 32) + n, n));
  }
  disk.apply(std::vector<records::Change>{records::DrainRecord{"spine \"0\""},
                                          records::SwitchRecord{0, "leaf0", 7, 4, true}});
  return {.records = disk.load(4), .fabric = std::string(16, 'f')};
}

TEST(import_text, takes_an_export_as_it_was) {
  const Exported store = some_store();
  const std::string text = export_text(store);
  const Exported again = import_text(text);
  EXPECT_TRUE(same_content(again.records, store.records));
  EXPECT_EQ(again.records.epoch, 4U);
  EXPECT_EQ(again.fabric, store.fabric);
  EXPECT_EQ(export_text(again), text);
}

TEST(import_text, an_empty_store_is_one_line) {
  const std::string text = export_text({});
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_TRUE(import_text(text).records.jobs.empty());
}

TEST(import_text, a_text_that_was_cut_off_anywhere_is_refused) {
  const std::string text = export_text(some_store());
  for (std::size_t length = 0; length + 1 < text.size(); length += 13) {
    EXPECT_THROW(static_cast<void>(import_text(text.substr(0, length))), ImportError) << length;
  }
}

TEST(import_text, names_the_line_and_what_is_wrong) {
  const auto wrong = [](const std::string& text) {
    return std::string(
        error_of<ImportError>([&] { static_cast<void>(import_text(text)); }).value().what());
  };
  const std::string head = R"({"tributary_store":1,"epoch":4,"fabric":"","records":1})"
                           "\n";
  EXPECT_THAT(wrong(""), HasSubstr("not a text of"));
  EXPECT_THAT(wrong("[rest]\nlisten = 1\n"), HasSubstr("not a text of"));
  EXPECT_THAT(wrong(R"({"tributary_store":2})"), HasSubstr("format version 2"));
  EXPECT_THAT(wrong(R"({"tributary_store":1,"epoch":"x"})"), HasSubstr("line 1"));
  EXPECT_THAT(wrong(head), HasSubstr("0 records instead of 1"));
  EXPECT_THAT(wrong(head + R"({"key":"job/a","record":{}})"), HasSubstr("line 2"));
  EXPECT_THAT(wrong(head + R"({"key":"colour/red","record":{}})"), HasSubstr("no record"));
  const std::string address = R"({"key":"address/trees","record":{"space":"trees","next":1}})";
  EXPECT_THAT(wrong(head + address + "\n" + address + "\n"), HasSubstr("occurs twice"));
  std::string text = export_text(some_store());
  const std::size_t job = text.find("\"key\":\"job/j\"");
  text.erase(text.rfind('\n', job), text.find('\n', job) - text.rfind('\n', job));
  text.replace(text.find("\"records\":") + 10, 2,
               std::to_string(std::ranges::count(text, '\n') - 1));
  EXPECT_THAT(wrong(text), HasSubstr("its job is missing"));
}

} // namespace
} // namespace tributary::test
