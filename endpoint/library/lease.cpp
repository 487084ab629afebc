#include "endpoint/library/lease.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::library {

namespace {

constexpr std::uint64_t first_back_off_ns = 100'000'000;
constexpr std::uint64_t longest_back_off_ns = 5'000'000'000;

} // namespace

Lease::Lease(const manager_client::Membership& membership, std::uint32_t size, bool is_root,
             TimeNs now)
    : membership_(membership), size_(size), is_root_(is_root), renewed_at_(now),
      next_attempt_(now + third_of_lease_ns()) {}

std::uint64_t Lease::third_of_lease_ns() const {
  const auto third = static_cast<std::uint64_t>(membership_.lease.count()) * 1'000'000 / 3;
  return std::max(third, first_back_off_ns);
}

std::uint64_t Lease::news_interval_ns() const {
  constexpr std::uint64_t second = 1'000'000'000;
  constexpr std::uint64_t for_each_member = second / 1000;
  const auto tenth = static_cast<std::uint64_t>(membership_.lease.count()) * 1'000'000 / 10;
  const std::uint64_t shared = is_root_ ? second : std::max(second, size_ * for_each_member);
  return std::max(std::min(tenth, shared), first_back_off_ns);
}

std::uint64_t Lease::interval_ns() const {
  return hurried_ ? news_interval_ns() : third_of_lease_ns();
}

void Lease::over() {
  over_ = true;
  next_attempt_ = never;
}

void Lease::hurry(bool hurried) {
  hurried_ = hurried;
  if (!over_ && !forgotten_ && !failing_since_) {
    next_attempt_ = renewed_at_ + interval_ns();
  }
}

void Lease::renewed(TimeNs now) {
  renewed_at_ = now;
  next_attempt_ = now + interval_ns();
  back_off_ns_ = 0;
  forgotten_ = false;
  failing_since_.reset();
  failure_.clear();
}

void Lease::forgotten(TimeNs now) {
  forgotten_ = true;
  next_attempt_ = now;
}

bool Lease::joined_again(const manager_client::Membership& membership, TimeNs now) {
  const bool moved = !membership.is_on_the_same_trees_as(membership_);
  membership_ = membership;
  moves_ += moved ? 1 : 0;
  renewed(now);
  return moved;
}

void Lease::failed(const std::string& why, TimeNs now) {
  if (!failing_since_) {
    failing_since_ = now;
  }
  failure_ = why;
  back_off_ns_ = back_off_ns_ == 0 ? first_back_off_ns : 2 * back_off_ns_;
  back_off_ns_ = std::min({back_off_ns_, longest_back_off_ns, third_of_lease_ns()});
  next_attempt_ = now + back_off_ns_;
}

std::string Lease::text(TimeNs now) const {
  if (over_) {
    return "the group is over";
  }
  std::string text = fmt::format("lease of {:.1f} s renewed {:.1f} s ago",
                                 static_cast<double>(membership_.lease.count()) / 1e3,
                                 seconds_of(elapsed_ns(now, renewed_at_)));
  if (moves_ > 0) {
    text += fmt::format(", joined again on other trees {} times", moves_);
  }
  if (failing_since_) {
    text += fmt::format("; failing for {:.1f} s: {}; next attempt in {:.1f} s",
                        seconds_of(elapsed_ns(now, *failing_since_)), failure_,
                        seconds_of(elapsed_ns(next_attempt_, now)));
  }
  return text;
}

} // namespace tributary::library
