#include "endpoint/mpi/model/call_caches.hpp"

#include "endpoint/mpi/model/choices.hpp"

namespace tributary::mpi {

void CallCaches::add(Kind kind, const CallSignature& call, const Why& why, std::uint64_t calls) {
  if (!enabled_ || calls == 0) {
    return;
  }
  const std::size_t place = place_of(kind, call);
  close_at(place);
  if (!all_[place].is_noted(call)) {
    all_[place].note(call);
    return;
  }
  why_[place] = why;
  all_[place].open(calls);
}

void CallCaches::close_at(std::size_t place) {
  if (!all_[place].is_open()) {
    return;
  }
  if (const std::uint64_t taken = all_[place].close(); taken > 0) {
    notify_(static_cast<Kind>(place / of_each_kind), why_[place], taken);
  }
}

void CallCaches::close(const void* owner, Kind kind, std::uint64_t bytes) {
  const std::size_t first = static_cast<std::size_t>(kind) * of_each_kind;
  for (std::size_t place = first; place < first + of_each_kind; ++place) {
    if (why_[place].owner == owner && size_class(why_[place].bytes) == size_class(bytes)) {
      close_at(place);
    }
  }
}

void CallCaches::close(const void* owner) {
  for (std::size_t place = 0; place < all_.size(); ++place) {
    if (why_[place].owner == owner) {
      close_at(place);
    }
  }
}

void CallCaches::know(Kind kind, const CallSignature& call, const Known& known) {
  if (enabled_) {
    found_[place_of(kind, call)] = {.call = call, .known = known};
  }
}

void CallCaches::forget(const void* owner) {
  close(owner);
  for (Found& found : found_) {
    if (found.known.owner == owner) {
      found = {};
    }
  }
}

void CallCaches::disable() {
  for (std::size_t place = 0; place < all_.size(); ++place) {
    close_at(place);
  }
  found_ = {};
  enabled_ = false;
}

} // namespace tributary::mpi
