// Messages that came before a receive was posted for them: their envelopes, and the data of short
// ones, in chunks. Fixed room, of which no peer gets so much that nothing is left for others;
// memory that was never used costs nothing.
#pragma once

#include "endpoint/messages/matching.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace tributary::messages {

/// An entry of a table, without initial values: see Envelope.
struct UnexpectedMessage {
  enum class State : std::uint8_t {
    arriving, ///< its data is not complete
    complete,
    to_read, ///< at its sender, by RDMA
    failed,  ///< its sender was gone before it was complete
  };
  State state;
  bool claimed;    ///< by a program; no receive matches it any more
  bool has_data;   ///< `data` is the sender's
  bool wants_done; ///< its sender waits until it was received
  std::uint32_t session;
  std::uint32_t epoch;  ///< of the session's number
  std::uint32_t number; ///< of its sender's operation
  std::uint64_t data;
  std::uint64_t total;
  std::uint64_t key; ///< of the sender's region, if it is to be read
  std::uint64_t received;
  std::uint32_t first_chunk;
  std::uint32_t last_chunk;
};

class Unexpected {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::size_t chunk_bytes = 252; ///< with the number of the next one 256

  Unexpected(std::size_t messages, std::size_t chunks, std::size_t sessions)
      : messages_(messages), chunks_(chunks), held_(sessions) {}

  [[nodiscard]] UnexpectedMessage& operator[](std::uint32_t i) { return messages_[i]; }
  [[nodiscard]] const UnexpectedMessage& operator[](std::uint32_t i) const { return messages_[i]; }
  [[nodiscard]] std::size_t size() const { return messages_.used(); }

  /// Whether a session may store one more, with this much data to come now.
  [[nodiscard]] bool has_share(std::uint32_t session, std::size_t bytes) const {
    const Held& held = held_[session];
    return held.messages < 2 * messages_.free() && has_chunks(session, bytes);
  }
  /// The same for more data of one that is stored, of which the last chunk may have room.
  [[nodiscard]] bool has_chunks(std::uint32_t session, std::size_t bytes) const {
    const std::size_t wanted = (bytes + chunk_bytes - 1) / chunk_bytes;
    return wanted == 0 ||
           (wanted <= chunks_.free() && held_[session].chunks + wanted <= 2 * chunks_.free());
  }
  /// Requires that the session has a share.
  std::uint32_t add(const UnexpectedMessage& message) {
    const std::uint32_t i = messages_.take();
    messages_[i] = message;
    messages_[i].received = 0;
    messages_[i].first_chunk = messages_[i].last_chunk = none;
    ++held_[message.session].messages;
    return i;
  }
  /// Appends data; requires chunks for it.
  void append(std::uint32_t i, std::span<const std::byte> data) {
    UnexpectedMessage& message = messages_[i];
    while (!data.empty()) {
      const std::size_t used = message.received % chunk_bytes;
      if (used == 0) {
        const std::uint32_t chunk = chunks_.take();
        ++held_[message.session].chunks;
        chunks_[chunk].next = none;
        (message.first_chunk == none ? message.first_chunk : chunks_[message.last_chunk].next) =
            chunk;
        message.last_chunk = chunk;
      }
      const std::size_t part = std::min(data.size(), chunk_bytes - used);
      std::memcpy(chunks_[message.last_chunk].bytes + used, data.data(), part);
      message.received += part;
      data = data.subspan(part);
    }
  }
  /// Copies what has come to `out`, as far as there is room. Returns the bytes copied.
  std::size_t copy(std::uint32_t i, std::span<std::byte> out) const {
    const UnexpectedMessage& message = messages_[i];
    std::size_t at = 0;
    std::uint64_t left = message.received;
    for (std::uint32_t c = message.first_chunk; c != none && at < out.size(); c = chunks_[c].next) {
      const std::size_t part =
          std::min({std::size_t{chunk_bytes}, out.size() - at, static_cast<std::size_t>(left)});
      std::memcpy(&out[at], chunks_[c].bytes, part);
      at += part;
      left -= part;
    }
    return at;
  }
  void remove(std::uint32_t i) {
    const UnexpectedMessage& message = messages_[i];
    for (std::uint32_t c = message.first_chunk; c != none;) {
      const std::uint32_t next = chunks_[c].next;
      chunks_.give_back(c);
      --held_[message.session].chunks;
      c = next;
    }
    --held_[message.session].messages;
    messages_.give_back(i);
  }
  /// Calls `f(index)` for each message of a session. Cold.
  template <typename F> void for_each_of(std::uint32_t session, F&& f) {
    messages_.for_each([&](std::uint32_t i) {
      if (messages_[i].session == session) {
        f(i);
      }
    });
  }
  [[nodiscard]] std::size_t held_by(std::uint32_t session) const { return held_[session].messages; }

private:
  /// Numbered places of one type, taken from the beginning at first.
  template <typename T> class Pool {
  public:
    explicit Pool(std::size_t count)
        : count_(count), places_(std::make_unique_for_overwrite<T[]>(count)), taken_(count) {}
    [[nodiscard]] T& operator[](std::uint32_t i) { return places_[i]; }
    [[nodiscard]] const T& operator[](std::uint32_t i) const { return places_[i]; }
    [[nodiscard]] std::size_t used() const { return used_; }
    [[nodiscard]] std::size_t free() const { return count_ - used_; }
    std::uint32_t take() {
      std::uint32_t i = first_free_;
      if (i == none) {
        i = beginning_++;
      } else {
        std::memcpy(&first_free_, &places_[i], sizeof first_free_);
      }
      taken_[i] = true;
      ++used_;
      return i;
    }
    void give_back(std::uint32_t i) {
      std::memcpy(static_cast<void*>(&places_[i]), &first_free_, sizeof first_free_);
      taken_[i] = false;
      first_free_ = i;
      --used_;
    }
    template <typename F> void for_each(F&& f) {
      for (std::uint32_t i = 0; i < beginning_; ++i) {
        if (taken_[i]) {
          f(i);
        }
      }
    }

  private:
    std::size_t count_;
    std::unique_ptr<T[]> places_; ///< a free one begins with the number of the next free one
    std::vector<bool> taken_;
    std::uint32_t first_free_ = none;
    std::uint32_t beginning_ = 0; ///< those from here on were never used
    std::size_t used_ = 0;
  };
  struct Chunk {
    std::uint32_t next;
    std::byte bytes[chunk_bytes];
  };
  struct Held {
    std::size_t messages = 0;
    std::size_t chunks = 0;
  };

  Pool<UnexpectedMessage> messages_;
  Pool<Chunk> chunks_;
  std::vector<Held> held_; ///< by session
};

} // namespace tributary::messages
