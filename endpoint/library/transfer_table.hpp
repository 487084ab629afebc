// The writes and reads that a program has begun and not yet heard of: by number, and in the order
// in which they ended. Of fixed size.
//
//   free -- begin --> in progress -- end --> over -- take --> free
#pragma once

#include "endpoint/rdma/completion.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/node.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::library {

struct Transfer {
  enum class State : std::uint8_t { free, in_progress, over };
  State state = State::free;
  std::uint32_t generation = 0;
  std::uint64_t user = 0;
  rdma::TransferId id{};
  rdma::Completion completion{}; ///< once it is over
};

class TransferTable {
public:
  explicit TransferTable(std::size_t count) : transfers_(count), free_(count), over_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      free_.push_back(i);
    }
  }

  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::size_t size() const { return transfers_.size(); }
  /// A place, and its number, which is never 0. Requires that it is not full.
  std::uint64_t begin(std::uint64_t user) {
    const std::uint32_t i = free_.pop_front();
    Transfer& transfer = transfers_[i];
    transfer.state = Transfer::State::in_progress;
    transfer.user = user;
    ++transfer.generation;
    return number_of(i);
  }
  /// Null if there is none of this number, or it was taken.
  [[nodiscard]] Transfer* find(std::uint64_t number) {
    const std::uint64_t i = (number & 0xFFFFFFFF) - 1;
    return number != 0 && i < transfers_.size() &&
                   number_of(static_cast<std::uint32_t>(i)) == number &&
                   transfers_[i].state != Transfer::State::free
               ? &transfers_[i]
               : nullptr;
  }
  /// Requires that it is in progress; `completion.user` is its number.
  void end(const rdma::Completion& completion) {
    Transfer& transfer = *find(completion.user);
    transfer.state = Transfer::State::over;
    transfer.completion = completion;
    over_.push_back(place_of(completion.user));
  }
  /// The number of the one that ended first and was not taken; 0 if there is none.
  [[nodiscard]] std::uint64_t oldest_over() const {
    return over_.empty() ? 0 : number_of(over_.front());
  }
  /// It has been heard of, or was never begun.
  void release(std::uint64_t number) {
    const std::uint32_t i = place_of(number);
    if (transfers_[i].state == Transfer::State::over) {
      over_.remove(i);
    }
    transfers_[i].state = Transfer::State::free;
    free_.push_back(i);
  }
  /// Calls `f(Transfer&)` for those in progress. Cold.
  template <typename F> void for_each_in_progress(F&& f) {
    for (Transfer& transfer : transfers_) {
      if (transfer.state == Transfer::State::in_progress) {
        f(transfer);
      }
    }
  }

private:
  /// Bits 31:0 the place, counted from 1; 63:32 how often it was given.
  [[nodiscard]] std::uint64_t number_of(std::uint32_t i) const {
    return std::uint64_t{transfers_[i].generation} << 32 | (i + 1);
  }
  static std::uint32_t place_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(number & 0xFFFFFFFF) - 1;
  }

  std::vector<Transfer> transfers_;
  rdma::IndexList free_;
  rdma::IndexList over_;
};

} // namespace tributary::library
