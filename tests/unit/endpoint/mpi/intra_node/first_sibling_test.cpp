#include "endpoint/mpi/intra_node/first_sibling.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace tributary::mpi::intra_node::test {
namespace {

/// A child that asks, and runs until its pipe is closed.
class Sibling {
public:
  explicit Sibling(const std::string& deed) {
    std::array<int, 2> answer{};
    EXPECT_EQ(pipe(answer.data()), 0);
    EXPECT_EQ(pipe(life_.data()), 0);
    child_ = fork();
    if (child_ == 0) {
      close(life_[1]);
      FirstSibling sibling(deed);
      const char first = sibling.is_first() ? 1 : 0;
      const char again = sibling.is_first() ? 1 : 0;
      const char both = first == again ? first : 2;
      char end = 0;
      _exit(write(answer[1], &both, 1) == 1 && read(life_[0], &end, 1) == 0 ? 0 : 1);
    }
    close(answer[1]);
    char said = 3;
    EXPECT_EQ(read(answer[0], &said, 1), 1);
    close(answer[0]);
    close(life_[0]);
    first_ = said;
  }
  ~Sibling() {
    close(life_[1]);
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
  }
  Sibling(const Sibling&) = delete;
  Sibling& operator=(const Sibling&) = delete;
  /// 1: yes, 0: no; others: it got both answers.
  [[nodiscard]] int first() const { return first_; }

private:
  pid_t child_ = 0;
  std::array<int, 2> life_{};
  int first_ = 0;
};

TEST(FirstSibling, IsOneOfThoseThatRun) {
  {
    const Sibling one("a-deed");
    const Sibling two("a-deed");
    const Sibling three("a-deed");
    const Sibling elsewhere("another-deed");
    EXPECT_EQ(one.first(), 1);
    EXPECT_EQ(two.first(), 0);
    EXPECT_EQ(three.first(), 0);
    EXPECT_EQ(elsewhere.first(), 1);
  }
  const Sibling later("a-deed");
  EXPECT_EQ(later.first(), 1) << "the first one has ended";
}

} // namespace
} // namespace tributary::mpi::intra_node::test
