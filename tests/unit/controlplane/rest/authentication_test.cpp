#include "controlplane/rest/authentication.hpp"

#include "lib/net/file_descriptor.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

namespace tributary::rest {
namespace {

TEST(token_of, takes_bearer_and_the_password_of_basic) {
  EXPECT_EQ(token_of("Bearer abc.DEF-123"), "abc.DEF-123");
  EXPECT_EQ(token_of("  bearer   abc  "), "abc");
  EXPECT_EQ(token_of("Basic dXNlcjpwYXNz"), "pass");      // user:pass
  EXPECT_EQ(token_of("Basic dXNlcjpwYTpzcw=="), "pa:ss"); // user:pa:ss
  EXPECT_EQ(token_of("Basic OnBhc3M="), "pass");          // :pass
  EXPECT_EQ(token_of("basic dXNlcjo="), "");              // user:
}

TEST(token_of, takes_nothing_else) {
  for (const char* text :
       {"", " ", "Bearer", "Bearer ", "Bearerabc", "abc", "Basic", "Basic ", "Basic !!!!",
        "Basic dXNlcg==", "Basic dXN", "Basic ====", "Negotiate abc"}) {
    EXPECT_EQ(token_of(text), "") << text;
  }
}

TEST(same_secret, compares_whole_texts) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  EXPECT_FALSE(same_secret("", "a"));
}

TEST(peer_user, is_the_one_at_the_other_end) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const net::FileDescriptor here(ends[0]);
  const net::FileDescriptor there(ends[1]);
  EXPECT_EQ(peer_user(here.get()), ::geteuid());
  EXPECT_TRUE(is_administrator(*peer_user(here.get())));
  EXPECT_TRUE(is_administrator(0));
  EXPECT_FALSE(is_administrator(::geteuid() + 12345));
  EXPECT_EQ(peer_user(-1), std::nullopt);
}

} // namespace
} // namespace tributary::rest
