// The writes and reads that a program has begun and whose end it has not yet taken: by number, and
// in the order in which they ended. Fixed size.
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
  /// Takes a place; returns its number, which is never 0. Requires that the table is not full.
  std::uint64_t begin(std::uint64_t user) {
    const std::uint32_t i = free_.pop_front();
    Transfer& transfer = transfers_[i];
    transfer.state = Transfer::State::in_progress;
    transfer.user = user;
    ++transfer.generation;
    return number_of(i);
  }
  /// Null if the number is unknown, or its transfer was taken.
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
  /// The number of the first to end of those not yet taken; 0 if none.
  [[nodiscard]] std::uint64_t oldest_over() const {
    return over_.empty() ? 0 : number_of(over_.front());
  }
  /// Frees a transfer that was taken, or never begun.
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
  /// Bits 31:0 the place, counted from 1; 63:32 how often the place was taken.
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
