// Messages between the leaders of a team's nodes, on TCP besides the fabric: whether a reduction is
// stuck, how lost ones are completed, and when the team ends (agreement.hpp). A connection between
// two processes carries those of all teams.
//
// On the stream a message is a header of 56 bytes, then `bytes` of payload; numbers are
// little-endian.
//
//   0  u32 magic "TMPI"     4  u16 version, u16 type    8  u64 step        16  u64 call
//  24  i32 frame type      28  i32 operator            32  u64 elements    40  u64 bytes
//  48  u64 team
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::mpi {

/// A call of the program on a communicator, counted from 1; the same call has one number at all
/// ranks. A long one is cut into steps, which are counted separately, also from 1.
using CallNumber = std::uint64_t;
using StepNumber = std::uint64_t;
/// Identifies a team in the whole job: the ranks of a communicator, their group and their shared
/// memory, which communicators of the same ranks use one after the other.
using TeamKey = std::uint64_t;

enum class MessageType : std::uint16_t {
  hello = 1,    ///< first on a connection: payload is the accepting process's secret, step the
                ///< number of the connecting process
  suspect,      ///< to it: `step` has not completed for long, payload has details
  failed,       ///< to it: the group has ended or the host is broken, payload has the reason
  poll,         ///< from it: asks for the progress
  status,       ///< to it: contributed to `step`, completed `call` (a step, too), `elements` pieces
  freeze,       ///< from it: complete nothing more through the fabric; payload has the reason
  frozen,       ///< to it: completed `step`, payload is its result; entered `call`
  decision,     ///< from it: calls up to `call` are completed here, all later ones by MPI
  contribution, ///< to it: contribution to `step`
  result,       ///< from it: result of `step`
  broken,       ///< from it: it cannot be completed; payload has the reason
  mismatch,     ///< to it: ranks made different calls; payload has details
  left,         ///< to it: this node makes no more calls, and has all its results
  vacate,       ///< from it: a node has left, so the team gets no further communicator
  ended,        ///< from it: all nodes have left
};
inline constexpr std::uint16_t last_message_type = 15;

struct Message {
  MessageType type = MessageType::hello;
  StepNumber step = 0;
  CallNumber call = 0;
  std::int32_t frame_type = 0; ///< enum tributary_type
  std::int32_t op = 0;         ///< enum tributary_op
  std::uint64_t elements = 0;
  TeamKey team = 0;
  std::vector<std::byte> payload;

  [[nodiscard]] std::string text() const;
};
/// A message whose payload is a text.
[[nodiscard]] Message text_message(MessageType type, StepNumber step, const std::string& text);

inline constexpr std::size_t header_bytes = 56;
/// Limit of the payload; longer messages are damaged.
inline constexpr std::size_t most_payload_bytes = std::size_t{16} << 20;
/// Payload of a hello: a secret.
inline constexpr std::size_t secret_bytes = 16;
using Header = std::array<std::byte, header_bytes>;

[[nodiscard]] Header encode_header(const Message& message);
/// Decodes all but the payload, including its length. Throws std::runtime_error for other bytes.
[[nodiscard]] Message decode_header(std::span<const std::byte, header_bytes> header,
                                    std::size_t& payload_bytes);

} // namespace tributary::mpi
