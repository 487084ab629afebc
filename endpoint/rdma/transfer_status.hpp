// What a transfer in progress waits for, and from which peer.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>
#include <string_view>

namespace tributary::rdma {

// clang-format off
#define TRIBUTARY_RDMA_WAITING(X)                                                                  \
  X(for_acceptance, "the peer to accept it")                                                       \
  X(for_busy_peer,  "the peer, which is busy, to be asked again")                                  \
  X(for_credit,     "the peer to allow more frames")                                               \
  X(to_send,        "its turn to send, or the link")                                               \
  X(for_the_end,    "the peer to say that all has come")                                           \
  X(for_own_credit, "this host to have room for its frames")                                       \
  X(for_data,       "the peer's data")
// clang-format on

struct TransferStatus {
  enum class Kind : std::uint8_t {
    write,       ///< by this host
    read,        ///< by this host
    peers_write, ///< to a region here
    peers_read,  ///< from a region here
  };
  enum class Waiting : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
    TRIBUTARY_RDMA_WAITING(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  Kind kind = Kind::write;
  Waiting waiting = Waiting::for_acceptance;
  EndPoint peer{};
  Vni vni{};
  std::uint32_t message = 0;
  std::uint32_t frames = 0;  ///< N
  std::uint32_t placed = 0;  ///< all below are placed, as far as this host knows
  std::uint32_t sent = 0;    ///< for outgoing data: the first frame never sent
  std::uint32_t retries = 0; ///< time-outs in a row
  std::uint32_t busy = 0;    ///< how often the peer was busy
};

constexpr std::string_view name_of(TransferStatus::Waiting waiting) {
  switch (waiting) {
#define TRIBUTARY_X(name, text)                                                                    \
  case TransferStatus::Waiting::name: return #name;
    TRIBUTARY_RDMA_WAITING(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}
/// The text after "it waits for".
constexpr std::string_view text_of(TransferStatus::Waiting waiting) {
  switch (waiting) {
#define TRIBUTARY_X(name, text)                                                                    \
  case TransferStatus::Waiting::name: return text;
    TRIBUTARY_RDMA_WAITING(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}
constexpr std::string_view name_of(TransferStatus::Kind kind) {
  switch (kind) {
  case TransferStatus::Kind::write: return "write";
  case TransferStatus::Kind::read: return "read";
  case TransferStatus::Kind::peers_write: return "peers_write";
  case TransferStatus::Kind::peers_read: return "peers_read";
  }
  return "unknown";
}

} // namespace tributary::rdma
