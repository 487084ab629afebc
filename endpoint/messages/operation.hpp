// Operations of a messenger: what its owner has begun, and answers to peers.
//
//   send      queued --------------------------> over            short
//             queued --> waiting --------------> over            short with an answer, or long
//   receive   posted --> arriving -------------> over            short
//             posted --> to_read --> reading --> over            long
//                                    then, for an answer: queued
//   reply     queued --------------------------> over
//   write, read                      reading --> over            RDMA of the owner's
//   atomic, put                      waiting --> over            done by the peer's program
#pragma once

#include "endpoint/messages/matching.hpp"
#include "endpoint/rdma/node.hpp"
#include "endpoint/rdma/regions.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::messages {

struct Operation {
  enum class Kind : std::uint8_t { unused, send, receive, reply, write, read, atomic, put };
  enum class State : std::uint8_t { queued, waiting, posted, arriving, to_read, reading };

  Kind kind = Kind::unused;
  State state = State::queued;
  bool tagged = false;
  bool has_data = false;
  bool silent = false;     ///< completes only if it fails
  bool wants_done = false; ///< a send: its owner waits for the receiver. A receive: its sender does
  bool is_long = false;    ///< its receiver reads it
  bool failed_here = false; ///< a reply: the message could not be read
  std::uint16_t generation = 0;
  std::uint32_t session = 0;
  std::uint32_t epoch = 0;          ///< of the session's number
  std::uint32_t next = Lists::none; ///< in the session's queue
  std::uint32_t peers_number = 0;   ///< of its operation there
  std::byte* memory = nullptr;      ///< a send only reads it
  std::uint64_t size = 0;
  std::uint64_t total = 0; ///< of the message
  std::uint64_t moved = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint64_t user = 0;
  std::uint64_t key = 0; ///< of the region to read from, or of the one that was registered; 0: none
  Source source = 0;
  rdma::TransferId transfer{};
};

/// Fixed number of them. Each has a number that peers and transfers return, and that an operation
/// after it in the same place does not have.
class Operations {
public:
  static constexpr std::uint32_t none = Lists::none;

  explicit Operations(std::size_t count) : operations_(count) {
    free_.reserve(count);
    for (std::size_t i = count; i-- > 0;) {
      free_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  [[nodiscard]] std::size_t in_use() const { return operations_.size() - free_.size(); }
  [[nodiscard]] Operation& operator[](std::uint32_t i) { return operations_[i]; }
  [[nodiscard]] const Operation& operator[](std::uint32_t i) const { return operations_[i]; }
  /// Requires that one is free.
  std::uint32_t take(Operation::Kind kind) {
    const std::uint32_t i = free_.back();
    free_.pop_back();
    const auto generation = static_cast<std::uint16_t>(operations_[i].generation + 1U);
    operations_[i] = {};
    operations_[i].kind = kind;
    operations_[i].generation = generation;
    return i;
  }
  void give_back(std::uint32_t i) {
    operations_[i].kind = Operation::Kind::unused;
    free_.push_back(i);
  }
  [[nodiscard]] std::uint32_t number_of(std::uint32_t i) const {
    return std::uint32_t{operations_[i].generation} << 16 | i;
  }
  /// The operation of a number; `none` if it is over.
  [[nodiscard]] std::uint32_t find(std::uint32_t number) const {
    const std::uint32_t i = number & 0xFFFF;
    return i < operations_.size() && operations_[i].kind != Operation::Kind::unused &&
                   number_of(i) == number
               ? i
               : none;
  }

private:
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_;
};

} // namespace tributary::messages
