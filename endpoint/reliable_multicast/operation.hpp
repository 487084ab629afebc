// One collective call, and how it is numbered: the same at every member.
//
// A call moves blocks: a broadcast the one of its root, an allgather one of each rank. Block r is
// cut into chunks of P bytes. The chunks of a call are taken in layers: the first chunk of each
// block in the order of the ranks, then the second ones, and so on; blocks that have ended are left
// out. So in each window every sender has nearly the same share, N senders load a receiver's link
// as one does, and no schedule is needed. The chunks of a call fill its windows of K, of which it
// has at least one.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tributary::reliable_multicast {

enum class Kind : std::uint8_t { broadcast = 1, allgather = 2, reduce_scatter = 3, reduce = 4 };
/// Whether the call's blocks are reduced, and not multicast.
constexpr bool reduces(Kind kind) { return kind >= Kind::reduce_scatter; }

/// What members must agree on. Two calls that differ in it are a program's error.
struct CallShape {
  Kind kind = Kind::broadcast;
  std::uint32_t root = 0;  ///< of a broadcast, and of a reduction to one rank
  std::uint64_t bytes = 0; ///< of all blocks; below `most_call_bytes`
  std::uint8_t op = 0;     ///< of a reduction: its opcode
  std::uint8_t type = 0;   ///< likewise: its element type
  friend constexpr bool operator==(const CallShape&, const CallShape&) = default;
};

/// Above what any memory has; the bits above it name operation and type in frames.
inline constexpr std::uint64_t most_call_bytes = std::uint64_t{1} << 54;

/// The bytes of one rank, at an offset of the call's memory.
struct Block {
  std::uint32_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Chunk {
  std::uint32_t owner = 0;
  std::uint32_t bytes = 0;
  std::uint64_t offset = 0; ///< in the call's memory
};

/// The chunks of a call in their order.
class ChunkWalk {
public:
  /// `blocks`: by ascending rank, at most one of each.
  ChunkWalk(std::vector<Block> blocks, std::uint32_t chunk_bytes)
      : active_(std::move(blocks)), chunk_bytes_(chunk_bytes) {
    for (const Block& block : active_) {
      left_ += block.bytes / chunk_bytes + (block.bytes % chunk_bytes != 0 ? 1U : 0U);
    }
    drop_ended();
  }

  /// Chunks that `next` has not returned yet.
  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// Requires that one is left.
  Chunk next() {
    const Block& block = active_[at_];
    const Chunk chunk{.owner = block.rank,
                      .bytes = static_cast<std::uint32_t>(
                          std::min<std::uint64_t>(chunk_bytes_, block.bytes - done_)),
                      .offset = block.offset + done_};
    --left_;
    if (++at_ == active_.size()) {
      at_ = 0;
      done_ += chunk_bytes_;
      drop_ended();
    }
    return chunk;
  }

private:
  void drop_ended() {
    std::erase_if(active_, [this](const Block& block) { return block.bytes <= done_; });
  }

  std::vector<Block> active_; ///< blocks with chunks of this layer
  std::size_t at_ = 0;
  std::uint64_t done_ = 0; ///< bytes of each block that belong to former layers
  std::uint64_t left_ = 0;
  std::uint32_t chunk_bytes_;
};

/// A call to make. `data`: the memory of all blocks, in which the caller's own block is there; the
/// others are written. Where blocks are reduced all of them are there and none is written: `result`
/// gets this rank's own one, and overlaps none. Both belong to the member until the operation has
/// finished.
struct Task {
  CallShape shape;
  std::byte* data = nullptr;
  std::vector<Block> blocks;
  std::byte* result = nullptr;  ///< null where this rank has no block
  std::uint64_t own_offset = 0; ///< of the block that `result` gets
};

/// A broadcast of `bytes` bytes at `data` from rank `root`.
[[nodiscard]] inline Task broadcast(std::uint32_t root, std::byte* data, std::uint64_t bytes) {
  return {.shape = {.kind = Kind::broadcast, .root = root, .bytes = bytes},
          .data = data,
          .blocks = {{.rank = root, .offset = 0, .bytes = bytes}}};
}
/// An allgather of `size` blocks of `bytes` bytes, one after the other at `data`.
[[nodiscard]] inline Task allgather(std::uint32_t size, std::byte* data, std::uint64_t bytes) {
  Task task{.shape = {.kind = Kind::allgather, .root = 0, .bytes = size * bytes},
            .data = data,
            .blocks = {}};
  task.blocks.reserve(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    task.blocks.push_back({.rank = rank, .offset = rank * bytes, .bytes = bytes});
  }
  return task;
}

[[nodiscard]] inline CallShape reduction_shape(Kind kind, std::uint32_t root, wire::Opcode op,
                                               collective::ElementType type, std::uint64_t bytes) {
  return {.kind = kind,
          .root = root,
          .bytes = bytes,
          .op = static_cast<std::uint8_t>(op),
          .type = static_cast<std::uint8_t>(type)};
}
/// The elements that wide frames can carry of a reduction: not longer than 8 bytes.
[[nodiscard]] constexpr bool can_reduce(wire::Opcode op, collective::ElementType type) {
  return collective::bytes_of(type) <= 8 && collective::form_of(op, type) != wire::Form::words &&
         wire::element_bytes(collective::form_of(op, type)) == collective::bytes_of(type);
}
/// A reduction of `size` blocks of `bytes` bytes each, one after the other at `data`: block r goes
/// to rank r, here to `result`. Requires `can_reduce(op, type)`, and blocks of whole elements.
[[nodiscard]] inline Task reduce_scatter(std::uint32_t size, std::uint32_t rank, std::byte* data,
                                         std::byte* result, std::uint64_t bytes, wire::Opcode op,
                                         collective::ElementType type) {
  Task task = allgather(size, data, bytes);
  task.shape = reduction_shape(Kind::reduce_scatter, 0, op, type, size * bytes);
  task.result = result;
  task.own_offset = rank * bytes;
  return task;
}
/// A reduction of `bytes` bytes at `data` to rank `root`.
[[nodiscard]] inline Task reduce(std::uint32_t root, std::byte* data, std::byte* result,
                                 std::uint64_t bytes, wire::Opcode op,
                                 collective::ElementType type) {
  Task task = broadcast(root, data, bytes);
  task.shape = reduction_shape(Kind::reduce, root, op, type, bytes);
  task.result = result;
  return task;
}

/// A call under way. Its owner keeps it, and the memory of its task, until it has finished or the
/// group has failed.
class Operation {
public:
  Operation(Task task, std::uint32_t chunk_bytes, std::uint32_t window_chunks)
      : shape_(task.shape), data_(task.data), result_(task.result), own_offset_(task.own_offset),
        walk_(std::move(task.blocks), chunk_bytes),
        windows_(std::max<std::uint64_t>(
            walk_.left() / window_chunks + (walk_.left() % window_chunks != 0 ? 1U : 0U), 1)),
        unfinished_(windows_) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  [[nodiscard]] bool finished() const { return unfinished_ == 0; }
  [[nodiscard]] const CallShape& shape() const { return shape_; }
  [[nodiscard]] std::uint64_t windows() const { return windows_; }
  [[nodiscard]] std::uint64_t windows_done() const { return windows_ - unfinished_; }
  /// Of a reduction: the worst code of the results that this rank has.
  [[nodiscard]] wire::ResultCode rc() const { return rc_; }

private:
  friend class Member;

  CallShape shape_;
  std::byte* data_;
  std::byte* result_;
  std::uint64_t own_offset_;
  wire::ResultCode rc_ = wire::ResultCode::success;
  ChunkWalk walk_;
  std::uint64_t windows_;
  std::uint64_t opened_ = 0;
  std::uint64_t unfinished_; ///< windows that still need the call's memory
  Operation* next_ = nullptr;
};

} // namespace tributary::reliable_multicast
