// A whole group with wide frames on a wire that takes time, and loses, duplicates and delays frames
// by a seed. Bytes travel, as on a link; no switch reduces anything.
#pragma once

#include "frames.hpp"

#include "endpoint/collective/vector_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace tributary::collective::test {

class WideGroup {
public:
  struct Wire {
    std::uint64_t latency_ns = 10'000;
    std::uint64_t jitter_ns = 0; ///< above 0 frames overtake each other
    double loss = 0;
    double duplicates = 0;
    std::uint32_t seed = 1;
    std::size_t frames_at_once = 64; ///< that a member hands to its link in one step
  };
  using Change = std::function<void(GroupParameters&)>;

  WideGroup(std::uint32_t size, const Wire& wire, const Change& change = {})
      : wire_(wire), random_(wire.seed) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      GroupParameters parameters = group_of(size, rank);
      parameters.slots = 128;
      parameters.payload = 1408;
      if (change) {
        change(parameters);
      }
      members_.push_back(std::make_unique<End>(parameters));
    }
  }

  [[nodiscard]] Member& operator[](std::uint32_t rank) { return members_[rank]->member; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  [[nodiscard]] TimeNs now() const { return now_; }
  /// Frames that this says no to never arrive.
  void set_filter(
      std::function<bool(std::uint32_t from, std::uint32_t to, std::span<const std::byte>)> f) {
    filter_ = std::move(f);
  }

  [[nodiscard]] std::size_t payload(std::uint32_t rank) {
    return members_[rank]->member.parameters().payload;
  }
  void start(std::uint32_t rank, VectorOperation& operation) {
    members_[rank]->pipeline.start(operation, now_);
    send();
  }
  /// Runs until `done`, for at most this long; returns whether it is.
  bool run(std::uint64_t ns, const std::function<bool()>& done) {
    const TimeNs end = now_ + ns;
    send();
    while (!done()) {
      const TimeNs next = next_event();
      if (next > end) {
        now_ = end;
        return done();
      }
      now_ = std::max(now_, next);
      while (!on_the_way_.empty() && on_the_way_.begin()->first <= now_) {
        auto [to, bytes] = std::move(on_the_way_.begin()->second);
        on_the_way_.erase(on_the_way_.begin());
        members_[to]->member.receive(bytes, now_);
        members_[to]->pipeline.pump(now_);
      }
      for (const auto& end_point : members_) {
        if (now_ >= end_point->member.next_deadline()) {
          end_point->member.poll(now_);
        }
        end_point->pipeline.pump(now_);
      }
      send();
    }
    return true;
  }

private:
  struct End {
    explicit End(const GroupParameters& parameters) : member(parameters), pipeline(member) {}
    Member member;
    VectorPipeline pipeline;
  };

  [[nodiscard]] TimeNs next_event() const {
    TimeNs next = on_the_way_.empty() ? never : on_the_way_.begin()->first;
    for (const auto& each : members_) {
      next = std::min(next,
                      each->member.outbox().empty() ? each->member.next_deadline() : now_ + 1000);
    }
    return next;
  }
  void send() {
    for (std::uint32_t from = 0; from < size(); ++from) {
      Outbox& outbox = members_[from]->member.outbox();
      for (std::size_t i = 0; i < wire_.frames_at_once && !outbox.empty(); ++i) {
        // Exactly as long as the frame, so that a sanitizer sees every byte too many.
        std::vector<std::byte> bytes(outbox.front_bytes());
        const Outbox::Begun begun = outbox.begin_front(bytes.data());
        ASSERT_EQ(begun.bytes + begun.rest.size(), bytes.size());
        std::ranges::copy(begun.rest, bytes.begin() + static_cast<std::ptrdiff_t>(begun.bytes));
        outbox.pop();
        if (from == 0) {
          for (std::uint32_t to = 1; to < size(); ++to) {
            put(from, to, bytes);
          }
        } else {
          put(from, 0, bytes);
        }
      }
    }
  }
  void put(std::uint32_t from, std::uint32_t to, const std::vector<std::byte>& bytes) {
    if ((filter_ && !filter_(from, to, bytes)) || occurs(wire_.loss)) {
      return;
    }
    for (int copies = occurs(wire_.duplicates) ? 2 : 1; copies > 0; --copies) {
      const std::uint64_t extra = wire_.jitter_ns == 0 ? 0 : random_() % wire_.jitter_ns;
      on_the_way_.emplace(now_ + wire_.latency_ns + extra, std::pair(to, bytes));
    }
  }
  [[nodiscard]] bool occurs(double chance) {
    return chance > 0 && static_cast<double>(random_()) < chance * 4294967296.0;
  }

  Wire wire_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<End>> members_;
  std::multimap<TimeNs, std::pair<std::uint32_t, std::vector<std::byte>>> on_the_way_;
  std::function<bool(std::uint32_t, std::uint32_t, std::span<const std::byte>)> filter_;
  TimeNs now_{1'000'000};
};

} // namespace tributary::collective::test
