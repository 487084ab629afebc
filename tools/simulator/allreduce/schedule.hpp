// Allreduce and its parts among hosts: which part of the vector each rank sends, and to which rank,
// step by step.
//
//   const Schedule schedule(HostAlgorithm::ring, hosts);
//   for step in 0 .. schedule.steps(): for rank: schedule.sent(step, rank)
//
// A vector is cut into `chunks()` parts of as equal a number of elements as possible. In each step
// a rank sends at most one message, a range of chunks, and receives at most one; the data received
// is added to what the receiver has, or replaces it.
//
// | algorithm          | steps                    | chunks | source                             |
// |--------------------|--------------------------|--------|------------------------------------|
// | ring               | 2 (N - 1)                | N      | reduce-scatter, then allgather     |
// | recursive_doubling | log2 M, and 2 if M < N   | 1      | Thakur, Rabenseifner, Gropp (2005) |
// | rabenseifner       | 2 log2 M, and 2 if M < N | M      | the same: halving, then doubling   |
//
// Of the other calls, on all N chunks where M is not named:
//
// | algorithm             | steps    | chunks | what                                            |
// |-----------------------|----------|--------|-------------------------------------------------|
// | ring_reduce_scatter   | N - 1    | N      | the first half of ring: chunk r + 1 ends at r   |
// | ring_allgather        | N - 1    | N      | chunk r begins at rank r                        |
// | halving, doubling     | log2 N   | N      | the halves of rabenseifner; N a power of two    |
// | binomial              | log2 N   | 1      | a broadcast from rank 0                         |
// | scatter_allgather     | that, and N - 1 | N | the same: a binomial scatter, then a ring       |
//
// Rabenseifner's first and last messages, half of the vector each, go to the next rank, and the
// shortest ones to the farthest: on most fabrics the better order.
//
// M is the largest power of two of at most N. Where M < N, the first 2 (N - M) ranks pair up:
// before the first step those of even rank give all they have to their neighbour and wait, and
// after the last one they get the result.
#pragma once

#include <cstdint>
#include <optional>

namespace tributary::simulator::allreduce {

enum class HostAlgorithm : std::uint8_t {
  ring,
  recursive_doubling,
  rabenseifner,
  ring_reduce_scatter,
  ring_allgather,
  halving,
  doubling,
  binomial,
  scatter_allgather,
};
/// Whether it exists among this number of hosts.
[[nodiscard]] bool is_possible(HostAlgorithm algorithm, std::uint32_t hosts);

/// One message.
struct Transfer {
  std::uint32_t peer = 0;  ///< rank of the receiver, or of the sender
  std::uint32_t first = 0; ///< chunk
  std::uint32_t chunks = 0;
  bool adds = false; ///< else it replaces
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

class Schedule {
public:
  /// Requires at least two hosts, and that it is possible.
  Schedule(HostAlgorithm algorithm, std::uint32_t hosts);

  [[nodiscard]] std::uint32_t hosts() const { return hosts_; }
  [[nodiscard]] std::uint32_t steps() const { return steps_; }
  [[nodiscard]] std::uint32_t chunks() const { return chunks_; }
  /// What a rank sends in this step; nullopt where it only waits.
  [[nodiscard]] std::optional<Transfer> sent(std::uint32_t step, std::uint32_t rank) const;
  /// The message received: the same as seen by the receiver, `peer` the sender.
  [[nodiscard]] std::optional<Transfer> received(std::uint32_t step, std::uint32_t rank) const;
  /// Steps with the same number here have the same pairs of senders and receivers.
  [[nodiscard]] std::uint32_t pairing(std::uint32_t step) const;
  /// Bytes of a range of chunks of a vector of `elements` elements.
  [[nodiscard]] std::uint64_t bytes(const Transfer& transfer, std::uint64_t elements,
                                    std::uint32_t element_bytes) const;

private:
  [[nodiscard]] bool folds() const { return core_ < hosts_; }
  /// Number among the M ranks that take part in every step; `none` for those that gave all away.
  [[nodiscard]] std::uint32_t core_rank(std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t rank_of_core(std::uint32_t core) const;
  [[nodiscard]] Transfer sent_in_ring(std::uint32_t step, std::uint32_t rank) const;
  [[nodiscard]] Transfer exchanged(std::uint32_t core_step, std::uint32_t core) const;
  [[nodiscard]] bool is_ring() const;
  /// From rank 0 to all: whom a rank sends to in this step of a binomial tree, with the ranks
  /// behind it; and whom it receives from.
  [[nodiscard]] std::optional<Transfer> sent_down(std::uint32_t step, std::uint32_t rank) const;
  [[nodiscard]] std::optional<std::uint32_t> received_down(std::uint32_t step,
                                                           std::uint32_t rank) const;

  HostAlgorithm algorithm_;
  std::uint32_t hosts_;
  std::uint32_t core_ = 1; ///< M
  std::uint32_t doublings_ = 0;
  std::uint32_t down_steps_ = 0; ///< of a binomial tree of N: ceil(log2 N)
  std::uint32_t chunks_ = 1;
  std::uint32_t steps_ = 0;
};

} // namespace tributary::simulator::allreduce
