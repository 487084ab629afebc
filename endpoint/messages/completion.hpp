// How operations of a messenger end.
#pragma once

#include "endpoint/rdma/completion.hpp"
#include "endpoint/streams/session.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <cstdint>
#include <string_view>

namespace tributary::messages {

// clang-format off
#define TRIBUTARY_MESSAGE_FAILURES(X)                                                              \
  X(none,        "done")                                                                           \
  X(truncated,   "the message is longer than the memory for it")                                   \
  X(cancelled,   "it was cancelled")                                                               \
  X(session,     "the session with the peer has ended")                                            \
  X(transfer,    "the RDMA transfer has failed")                                                   \
  X(at_peer,     "the peer could not read the message")                                            \
  X(malformed,   "the peer has sent what is no message; its program has another release, or lies")
// clang-format on

enum class Failure : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_MESSAGE_FAILURES(TRIBUTARY_X)
#undef TRIBUTARY_X
};
constexpr std::string_view text_of(Failure failure) {
  switch (failure) {
#define TRIBUTARY_X(name, text)                                                                    \
  case Failure::name: return text;
    TRIBUTARY_MESSAGE_FAILURES(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

struct Completion {
  enum class Kind : std::uint8_t {
    send,
    receive,
    write,   ///< to memory of a peer
    read,    ///< from memory of a peer
    arrival, ///< a peer's write with data has been placed here
    atomic,  ///< on memory of a peer
    fetch,   ///< the same, with the old values
  };
  Kind kind = Kind::send;
  Failure failure = Failure::none;
  streams::Cause session = streams::Cause::none;  ///< with `session`
  rdma::Cause transfer = rdma::Cause::none;       ///< with `transfer`
  wire::RdmaStatus status = wire::RdmaStatus::ok; ///< with `transfer`: what the peer says
  bool tagged = false;
  bool has_data = false;
  bool silent = false; ///< wanted only if it failed
  EndPoint peer{};
  Vni vni{};
  std::uint64_t user = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint64_t length = 0; ///< bytes that were moved
  std::uint64_t total = 0;  ///< of the message

  [[nodiscard]] bool done() const { return failure == Failure::none; }
};

} // namespace tributary::messages
