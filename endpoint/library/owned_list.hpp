// Objects that are owned together and go away one by one, in any order, at a cost that does not
// depend on how many there are.
//
//   struct Request { OwnedList<Request>::Link& link() { return link_; } ... };
//   OwnedList<Request> all;
//   Request& one = all.add(std::make_unique<Request>(...));
//   all.remove(one);            // frees it
//
// An object is in one list only, and keeps its address. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace tributary::library {

template <typename T> class OwnedList {
public:
  /// The list's part of each object.
  struct Link {
    T* before = nullptr;
    T* after = nullptr;
  };

  OwnedList() = default;
  OwnedList(const OwnedList&) = delete;
  OwnedList& operator=(const OwnedList&) = delete;
  ~OwnedList() {
    while (first_ != nullptr) {
      remove(*first_);
    }
  }

  T& add(std::unique_ptr<T> item) {
    T* const added = item.release();
    added->link() = {nullptr, first_};
    if (first_ != nullptr) {
      first_->link().before = added;
    }
    first_ = added;
    ++size_;
    return *added;
  }

  /// Frees the object, which must be in this list.
  void remove(T& item) {
    const std::unique_ptr<T> owned(&item);
    const Link link = item.link();
    if (link.before == nullptr) {
      first_ = link.after;
    } else {
      link.before->link().after = link.after;
    }
    if (link.after != nullptr) {
      link.after->link().before = link.before;
    }
    --size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

private:
  T* first_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace tributary::library
