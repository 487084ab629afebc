// The record for a restart, cgroups, and the program nft.

#include "endpoint/hostd/nft.hpp"
#include "endpoint/hostd/peer.hpp"
#include "endpoint/hostd/record_file.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(HostAgentPeer, RootOfAContainerDoesNotAdministerTheNodesNetwork) {
  const std::string all = "         0          0 4294967295\n";
  const std::string root = "Name:\tsh\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\n";
  const std::string docker = "Name:\tsh\nCapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\n";
  EXPECT_TRUE(administers_network(root, all, all));
  EXPECT_TRUE(administers_network("Name:\ta\nCapEff:\t0000000000001000\n", all, all));
  EXPECT_FALSE(administers_network(docker, all, all));
  // It has all capabilities, in a user namespace that it has made.
  EXPECT_FALSE(administers_network(root, "         0          0          1\n", all));
  EXPECT_FALSE(administers_network(root, "", all));
  // The name is the process's own word, and has no line of its own.
  EXPECT_FALSE(administers_network("Name:\tCapEff:\t000001ffffffffff\n", all, all));
  EXPECT_FALSE(administers_network("", all, all));
}

TEST(HostAgentPeer, AProcessThatHasEndedHasNoCgroupAndIsNotRoot) {
  std::array<int, 2> ends{};
  const test::ScratchDirectory directory;
  const auto address = net::UnixAddress::of_file(directory.file("socket"));
  const net::FileDescriptor listening(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(listening.get(), address->get(), address->size()), 0);
  ASSERT_EQ(::listen(listening.get(), 2), 0);
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int own = ::socket(AF_UNIX, SOCK_STREAM, 0);
    char byte = 0;
    ::_exit(::connect(own, address->get(), address->size()) == 0 && ::read(ends[0], &byte, 1) == 1
                ? 0
                : 1);
  }
  const net::FileDescriptor accepted(::accept(listening.get(), nullptr, nullptr));
  const host_agent::Peer alive = peer_of(accepted.get());
  EXPECT_EQ(alive.pid, static_cast<std::uint32_t>(child));
  EXPECT_FALSE(alive.cgroup.empty());
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);
  const host_agent::Peer gone = peer_of(accepted.get());
  EXPECT_TRUE(gone.cgroup.empty());
  EXPECT_FALSE(gone.is_root());
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
