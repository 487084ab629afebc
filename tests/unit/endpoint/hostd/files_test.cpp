// The record for a restart, cgroups, and the program nft.

#include "endpoint/hostd/nft.hpp"
#include "endpoint/hostd/peer.hpp"
#include "endpoint/hostd/record_file.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>

namespace tributary::hostd {
namespace {

using ::testing::HasSubstr;

template <typename F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(HostAgentRecordFile, IsReadAsItWasWrittenAndForItsUserAlone) {
  const test::ScratchDirectory directory;
  const RecordFile file(directory.file("host.json"));
  EXPECT_FALSE(file.read());
  host_agent::Record record{.highest_mark = 7};
  record.jobs.push_back({.id = "j", .vni = Vni{5}, .mark = host_agent::Mark{7}});
  file.write(record);
  EXPECT_EQ(file.read(), record);
  record.highest_mark = 8;
  file.write(record);
  EXPECT_EQ(file.read(), record);
  EXPECT_EQ(std::filesystem::status(file.path()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(HostAgentRecordFile, OthersCannotPutOneThere) {
  const test::ScratchDirectory directory;
  const RecordFile file(directory.file("host.json"));
  file.write({});
  std::filesystem::permissions(file.path(), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(error_of([&] { static_cast<void>(file.read()); }), HasSubstr("others cannot write"));
  std::filesystem::rename(file.path(), directory.file("elsewhere"));
  std::filesystem::create_symlink(directory.file("elsewhere"), file.path());
  EXPECT_THAT(error_of([&] { static_cast<void>(file.read()); }), HasSubstr("cannot be read"));
}

TEST(HostAgentRecordFile, DamageIsNamed) {
  const test::ScratchDirectory directory;
  const RecordFile file(directory.file("host.json"));
  std::ofstream(file.path()) << "{\"highest_mark\": 1";
  EXPECT_THAT(error_of([&] { static_cast<void>(file.read()); }), HasSubstr("remove it"));
  const RecordFile nowhere(directory.file("no/such/folder"));
  EXPECT_THAT(error_of([&] { nowhere.write({}); }), HasSubstr("cannot be written"));
}

TEST(HostAgentRecordFile, AnOldOneIsRemovedWhereThereIsNoRoomForTheNew) {
  const test::ScratchDirectory directory;
  const RecordFile file(directory.file("host.json"));
  host_agent::Record record;
  record.jobs.push_back({.id = "ended", .vni = Vni{5}, .mark = host_agent::Mark{7}});
  file.write(record);
  host_agent::Record longer;
  longer.jobs.resize(100, {.id = "other", .vni = Vni{6}, .mark = host_agent::Mark{8}});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 1'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string error = error_of([&] { file.write(longer); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("cannot be written"));
  EXPECT_FALSE(file.read()) << "a restart would give its job its rights back";
  EXPECT_EQ(directory.entries(), 0U);
}

TEST(HostAgentPeer, TheCgroupIsTheUnifiedOneOrSystemds) {
  EXPECT_EQ(cgroup_in("0::/user.slice/a.scope\n"), "/user.slice/a.scope");
  EXPECT_EQ(cgroup_in("12:cpu:/x\n1:name=systemd:/system.slice/b\n"), "/system.slice/b");
  EXPECT_EQ(cgroup_in("1:name=systemd:/b\n0::/c:d\n"), "/c:d");
  EXPECT_EQ(cgroup_in("12:cpu:/x\nnonsense\n"), "");
  EXPECT_EQ(cgroup_in(""), "");
}

TEST(HostAgentNft, AMissingProgramIsNamedWithItsPackage) {
  const Nft nft("/nonexistent/nft");
  EXPECT_THAT(error_of([&] { nft.apply(""); }), HasSubstr("install the package nftables"));
}

TEST(HostAgentNft, ARefusalIsItsFirstLine) {
  const test::ScratchDirectory directory;
  const std::string program = directory.file("nft");
  std::ofstream(program)
      << "#!/bin/sh\ncat >/dev/null\necho 'Error: wrong rule' >&2\necho more >&2\n"
         "exit 1\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Nft nft(program);
  const std::string long_text(1 << 20, '#'); // more than a pipe holds
  const std::string error = error_of([&] { nft.apply(long_text); });
  EXPECT_THAT(error, HasSubstr("refuses the rules of the guard: Error: wrong rule;"));
}

TEST(HostAgentNft, ATableThatIsNotThereIsNone) {
  const test::ScratchDirectory directory;
  const std::string program = directory.file("nft");
  std::ofstream(program) << "#!/bin/sh\n[ \"$5\" = here ] && echo '{}' && exit\n"
                            "echo 'Error: No such file or directory' >&2\nexit 1\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Nft nft(program);
  EXPECT_EQ(nft.list_table("here"), "{}\n");
  EXPECT_FALSE(nft.list_table("gone"));
}

} // namespace
} // namespace tributary::hostd
