#include "lib/terminal/output_file.hpp"

#include "tests/support/scratch_directory.hpp"
#include "tests/unit/lib/terminal/file_size_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <sys/stat.h>

namespace tributary::terminal {
namespace {

using test::FileSizeLimit;
using testing::AllOf;
using testing::HasSubstr;
using tributary::test::content_of;
using tributary::test::ScratchDirectory;

std::string problem_of(const std::string& path, const std::string& content) {
  try {
    write_output(path, content);
  } catch (const OutputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no OutputError";
  return {};
}

TEST(write_output, makes_the_file_and_nothing_else) {
  const ScratchDirectory scratch;
  const std::string content("a\0b\n", 4);
  write_output(scratch.file("out.json"), content);
  EXPECT_EQ(content_of(scratch.file("out.json")), content);
  EXPECT_EQ(scratch.entries(), 1U);
}

TEST(write_output, replaces_what_was_there) {
  const ScratchDirectory scratch;
  write_output(scratch.file("out.json"), "a long text that was there before");
  write_output(scratch.file("out.json"), "short");
  EXPECT_EQ(content_of(scratch.file("out.json")), "short");
  EXPECT_EQ(scratch.entries(), 1U);
}

TEST(write_output, others_may_read_the_file_as_the_mask_says) {
  const ScratchDirectory scratch;
  const mode_t mask = ::umask(0027);
  write_output(scratch.file("out.json"), "x");
  ::umask(mask);
  struct stat found {};
  ASSERT_EQ(::stat(scratch.file("out.json").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
}

TEST(write_output, through_a_link_the_link_stays) {
  const ScratchDirectory scratch;
  write_output(scratch.file("real"), "old");
  std::filesystem::create_symlink("real", scratch.file("link"));
  write_output(scratch.file("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.file("link")));
  EXPECT_EQ(content_of(scratch.file("real")), "new");
}

TEST(write_output, without_its_directory_says_which_one_to_make) {
  const ScratchDirectory scratch;
  EXPECT_THAT(problem_of(scratch.file("missing/out.json"), "x"),
              AllOf(HasSubstr("cannot write " + scratch.file("missing/out.json") +
                              ": No such file or directory"),
                    HasSubstr("make the directory \"" + scratch.file("missing") + "\" first")));
}

TEST(write_output, to_a_directory_says_that_it_is_one) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.file("results"));
  EXPECT_THAT(problem_of(scratch.file("results"), "x"), HasSubstr("name a file, not a directory"));
}

TEST(write_output, to_a_full_device_says_so) {
  EXPECT_THAT(problem_of("/dev/full", "x"),
              AllOf(HasSubstr("cannot write /dev/full: No space left on device"),
                    HasSubstr("free some space")));
}

TEST(write_output, without_room_leaves_what_was_there_and_no_rest) {
  const ScratchDirectory scratch;
  write_output(scratch.file("out.json"), "old");
  {
    const FileSizeLimit limit(100);
    EXPECT_THAT(problem_of(scratch.file("out.json"), std::string(1000, 'x')),
                AllOf(HasSubstr("File too large"), HasSubstr("free some space")));
  }
  EXPECT_EQ(content_of(scratch.file("out.json")), "old");
  EXPECT_EQ(scratch.entries(), 1U);
}

/// In a process of its own, whose standard output it changes.
TEST(send_output_to, takes_what_is_printed_from_then_on) {
  const ScratchDirectory scratch;
  const std::string file = scratch.file("out.txt");
  write_output(file, "old content");
  EXPECT_EXIT(
      {
        send_output_to(file);
        std::puts("new");
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(content_of(file), "new\n");
  EXPECT_THROW(send_output_to(scratch.file("missing/out.txt")), OutputError);
}

TEST(write_output, devices_are_written_in_place) {
  write_output("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

} // namespace
} // namespace tributary::terminal
