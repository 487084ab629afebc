#include "endpoint/launcher/pmi/pmi1.hpp"

#include <gtest/gtest.h>

namespace tributary::launch::pmi {
namespace {

/// Two nodes of a job with four ranks.
class Pmi1Nodes : public ::testing::Test {
protected:
  static Pmi1Settings settings() { return {"job", 4, process_mapping({2, 2})}; }
  static std::string ask(Pmi1& node, std::uint32_t rank, const std::string& line) {
    return node.received(rank, line + "\n").reply;
  }
  void connect() {
    for (const std::uint32_t rank : {0U, 1U}) {
      EXPECT_TRUE(first.received(rank, "cmd=init pmi_version=1 pmi_subversion=1\n").connected);
    }
    for (const std::uint32_t rank : {2U, 3U}) {
      EXPECT_TRUE(second.received(rank, "cmd=init pmi_version=1 pmi_subversion=1\n").connected);
    }
  }
  Pmi1 first{settings(), {0, 1}};
  Pmi1 second{settings(), {2, 3}};
};

TEST(Pmi1Mapping, HasBlocksOfEqualNodes) {
  EXPECT_EQ(process_mapping({2, 2}), "(vector,(0,2,2))");
  EXPECT_EQ(process_mapping({4, 4, 1, 4}), "(vector,(0,2,4),(2,1,1),(3,1,4))");
  EXPECT_EQ(process_mapping({3}), "(vector,(0,1,3))");
}

TEST_F(Pmi1Nodes, AnswerWhatMpichAsksAtTheStart) {
  EXPECT_EQ(ask(first, 0, "cmd=init pmi_version=1 pmi_subversion=1"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(ask(first, 0, "cmd=get_maxes"),
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n");
  EXPECT_EQ(ask(first, 0, "cmd=get_appnum"), "cmd=appnum appnum=0 rc=0\n");
  EXPECT_EQ(ask(first, 0, "cmd=get_my_kvsname"), "cmd=my_kvsname kvsname=job rc=0\n");
  EXPECT_EQ(ask(first, 0, "cmd=get_universe_size"), "cmd=universe_size size=4 rc=0\n");
  EXPECT_EQ(ask(first, 0, "cmd=get kvsname=job key=PMI_process_mapping"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
}

TEST_F(Pmi1Nodes, ExchangeValuesAtABarrier) {
  connect();
  EXPECT_EQ(ask(first, 0, "cmd=put kvsname=job key=a value=one two"),
            "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(ask(second, 2, "cmd=put kvsname=job key=b value=three"),
            "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(ask(second, 3, "cmd=get kvsname=job key=a"),
            "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  EXPECT_FALSE(first.received(0, "cmd=barrier_in\n").barrier);
  EXPECT_TRUE(first.received(1, "cmd=barrier_in\n").barrier);
  EXPECT_FALSE(second.received(2, "cmd=barrier_in\n").barrier);
  EXPECT_TRUE(second.received(3, "cmd=barrier_in\n").barrier);
  const std::string puts = first.take_puts() + second.take_puts();
  const auto answers = first.release(puts, true);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0], (std::pair<std::uint32_t, std::string>(0, "cmd=barrier_out rc=0\n")));
  EXPECT_EQ(second.release(puts, true).size(), 2U);
  EXPECT_EQ(ask(second, 3, "cmd=get kvsname=job key=a"),
            "cmd=get_result rc=0 msg=success value=one two\n");
  EXPECT_EQ(ask(first, 1, "cmd=get kvsname=job key=b"),
            "cmd=get_result rc=0 msg=success value=three\n");
  EXPECT_EQ(first.take_puts(), "") << "each put travels once";
}

TEST_F(Pmi1Nodes, SayThatABarrierIsNotComplete) {
  connect();
  (void)first.received(0, "cmd=barrier_in\n");
  EXPECT_TRUE(first.forget(1)) << "no other rank is waited for here";
  const auto answers = first.release("", false);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].second, "cmd=barrier_out rc=-1 msg=a_rank_has_ended\n");
  EXPECT_FALSE(first.forget(0)) << "no rank waits";
}

TEST_F(Pmi1Nodes, TakeLinesInPieces) {
  connect();
  EXPECT_EQ(first.received(0, "cmd=get_app").reply, "");
  EXPECT_EQ(first.received(0, "num\ncmd=get_maxes\n").reply,
            "cmd=appnum appnum=0 rc=0\ncmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 "
            "rc=0\n");
}

TEST_F(Pmi1Nodes, SayHowARankEnds) {
  connect();
  const auto aborted = first.received(0, "cmd=abort exitcode=5\n");
  EXPECT_TRUE(aborted.aborted);
  EXPECT_EQ(aborted.exit_code, 5);
  const auto finalized = first.received(1, "cmd=finalize\n");
  EXPECT_TRUE(finalized.finalized);
  EXPECT_EQ(finalized.reply, "cmd=finalize_ack rc=0\n");
}

TEST_F(Pmi1Nodes, RefuseWhatTheyCannotDo) {
  connect();
  EXPECT_EQ(ask(first, 0, "cmd=publish_name service=x port=y"),
            "cmd=publish_result rc=-1 msg=not_supported\n");
  EXPECT_EQ(first.received(0, "mcmd=spawn\nnprocs=1\nexecname=a\nendcmd\n").reply,
            "cmd=spawn_result rc=-1 msg=processes_cannot_be_spawned\n");
  EXPECT_NE(
      ask(first, 0, "cmd=put kvsname=job key=" + std::string(65, 'k') + " value=v").find("rc=-1"),
      std::string::npos);
  EXPECT_NE(
      ask(first, 0, "cmd=put kvsname=job key=k value=" + std::string(1025, 'v')).find("rc=-1"),
      std::string::npos);
}

TEST_F(Pmi1Nodes, HangUpOnWhoDoesNotSpeakIt) {
  EXPECT_FALSE(first.received(0, "GET / HTTP/1.1\n").error.empty());
  EXPECT_FALSE(first.received(1, "cmd=get_maxes\n").error.empty()) << "before init";
  EXPECT_FALSE(second.received(2, std::string(Pmi1::longest_line + 1, 'x')).error.empty());
  EXPECT_FALSE(first.received(7, "cmd=init\n").error.empty()) << "no rank of this node";
}

} // namespace
} // namespace tributary::launch::pmi
