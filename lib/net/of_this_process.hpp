// Owns what belongs to the process that made it: threads, and locks that they may hold. After
// fork() the child has a copy of the memory, but not the threads.
#pragma once

#include <memory>
#include <vector>

#include <unistd.h>

namespace tributary::net {

/// Like std::unique_ptr in the process that made it. In a child process nothing is destroyed; the
/// memory stays until the child ends.
template <typename T> class OfThisProcess {
public:
  OfThisProcess() = default;
  explicit OfThisProcess(std::unique_ptr<T> owned) : owned_(std::move(owned)) {}
  OfThisProcess(const OfThisProcess&) = delete;
  OfThisProcess& operator=(const OfThisProcess&) = delete;
  ~OfThisProcess() {
    end([](T&) {});
  }

  void set(std::unique_ptr<T> owned) { owned_ = std::move(owned); }
  /// Calls `finish` and then destroys what is owned, if anything is. In a child process it does
  /// neither, and returns false.
  template <typename Finish> bool end(const Finish& finish) {
    if (::getpid() != process_) {
      abandon();
      return false;
    }
    if (owned_) {
      finish(*owned_);
      owned_.reset();
    }
    return true;
  }

  explicit operator bool() const { return owned_ != nullptr; }
  T* get() const { return owned_.get(); }
  T* operator->() const { return owned_.get(); }
  T& operator*() const { return *owned_; }

private:
  void abandon() {
    if (owned_) {
      // Kept reachable, so that leak checkers do not report it.
      static std::vector<T*>* const abandoned = new std::vector<T*>;
      abandoned->push_back(owned_.release());
    }
  }

  std::unique_ptr<T> owned_;
  pid_t process_ = ::getpid();
};

} // namespace tributary::net
