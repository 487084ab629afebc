#include "lib/net/framing.hpp"

#include "tests/unit/include/wire/seed.hpp"
#include "tributary/control.pb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace tributary::net {
namespace {

using control::ManagerMessage;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

ManagerMessage ping(std::uint64_t number) {
  ManagerMessage message;
  message.mutable_ping()->set_number(number);
  return message;
}

TEST(Framing, LengthIsFourBytesMostSignificantFirst) {
  std::string out = "x";
  ManagerMessage message;
  message.mutable_rejected()->set_reason(std::string(300, 'r'));
  append_frame(out, message);
  EXPECT_EQ(out.size(), 1 + 4 + message.ByteSizeLong());
  const std::size_t length = message.ByteSizeLong();
  EXPECT_EQ(out.substr(0, 5), (std::string{'x', 0, 0, static_cast<char>(length >> 8U),
                                           static_cast<char>(length & 0xFFU)}));
}

TEST(Framing, MessagesComeOutAsTheyWentInHoweverTheStreamIsCut) {
  test::Random random(test::seed());
  for (unsigned round = 0; round < 200; ++round) {
    std::string stream;
    std::vector<std::string> expected;
    for (unsigned i = 0; i < 20; ++i) {
      ManagerMessage message;
      message.mutable_rejected()->set_reason(std::string(random() % 600, 'a'));
      append_frame(stream, message);
      expected.push_back(message.SerializeAsString());
    }
    FrameReader reader;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 700, stream.size() - at);
      reader.append(bytes_of(stream).subspan(at, piece));
      at += piece;
      while (const auto payload = reader.next()) {
        got.emplace_back(*payload);
      }
    }
    ASSERT_EQ(got, expected);
    EXPECT_FALSE(reader.broken());
  }
}

TEST(Framing, AnEmptyMessageIsOne) {
  std::string stream;
  append_frame(stream, ManagerMessage{});
  FrameReader reader;
  reader.append(bytes_of(stream));
  ASSERT_TRUE(reader.next().has_value());
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Framing, AMessageThatIsTooLongEndsTheStreamBehindThoseThatWereWhole) {
  std::string stream;
  append_frame(stream, ping(1));
  stream += std::string{0, 0, 0, 101};
  append_frame(stream, ping(2));
  FrameReader reader(100);
  reader.append(bytes_of(stream));
  EXPECT_TRUE(reader.next().has_value());
  EXPECT_FALSE(reader.broken()) << "what came before is good";
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_TRUE(reader.broken());
  EXPECT_EQ(reader.announced(), 101U);
  reader.append(bytes_of(stream));
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Framing, TheLongestMessageThatIsAllowedPasses) {
  FrameReader reader(5);
  reader.append(bytes_of(std::string{0, 0, 0, 5} + "abcde"));
  EXPECT_EQ(reader.next(), "abcde");
}

TEST(Framing, AMessageThatNoReaderTakesIsNotWritten) {
  ManagerMessage message;
  message.mutable_rejected()->set_reason(std::string(max_message_bytes, 'x'));
  std::string out = "before";
  EXPECT_THROW(append_frame(out, message), FrameTooLong);
  EXPECT_EQ(out, "before");
}

TEST(TakeMessages, HandsOverWhatIsWholeUntilTheReceiverHasEnough) {
  std::string stream;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    append_frame(stream, ping(number));
  }
  FrameReader reader;
  reader.append(bytes_of(stream).first(stream.size() - 1));
  std::vector<std::uint64_t> got;
  const auto take = [&](std::uint64_t last) {
    return take_messages<ManagerMessage>(reader, [&](const ManagerMessage& message) {
      got.push_back(message.ping().number());
      return got.back() != last;
    });
  };
  EXPECT_EQ(take(2), "");
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(take(0), "");
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1, 2, 3})) << "the last one is not whole";
  reader.append(bytes_of(stream).last(1));
  EXPECT_EQ(take(0), "");
  EXPECT_EQ(got.size(), 4U);
}

TEST(TakeMessages, SaysWhatIsWrong) {
  const auto problem = [](const std::string& bytes) {
    FrameReader reader(100);
    reader.append(bytes_of(bytes));
    return take_messages<ManagerMessage>(reader, [](const ManagerMessage&) { return true; });
  };
  EXPECT_EQ(problem(std::string("\0\0\0\3\xFF\xFF\xFF", 7)),
            "it sent bytes that are not a message");
  EXPECT_EQ(problem(std::string("\0\0\0\x65", 4)),
            "it announced a message of 101 bytes; the limit is 100");
  EXPECT_EQ(problem(std::string("\0\0\0\x64", 4)), "");
}

} // namespace
} // namespace tributary::net
