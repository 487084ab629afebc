// Which message goes to which receive: by source, tag and the bits of it that are ignored, in the
// order of receives and in that of messages.
//
//   receive of one source    a list for each bucket of sources         both are searched, and the
//   receive of any source    one list                                  earlier one is taken
//   message without one      a list for each bucket, and one of all
//
// Knows nothing of what they are: receives and messages are numbers of their owner's. Fixed size;
// memory that was never used costs nothing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tributary::messages {

/// A peer and its VNI, in 64 bits.
using Source = std::uint64_t;
inline constexpr Source any_source = ~Source{0};

/// What a message is known by. Without initial values: so that a table of many takes no memory
/// before it is used.
struct Envelope {
  Source source;
  std::uint64_t tag;
  bool tagged; ///< messages without a tag match receives without one
};

/// What a receive is for.
struct Pattern {
  Source source = any_source;
  std::uint64_t tag = 0;
  std::uint64_t ignored = 0; ///< bits of the tag
  bool tagged = false;

  [[nodiscard]] bool matches(const Envelope& e) const {
    return tagged == e.tagged && (source == any_source || source == e.source) &&
           ((tag ^ e.tag) & ~ignored) == 0;
  }
};

/// Doubly linked lists over numbers below a limit, each with a link of its own.
class Lists {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct List {
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  explicit Lists(std::size_t count) : links_(std::make_unique_for_overwrite<Link[]>(count)) {}

  void append(List& list, std::uint32_t i) {
    links_[i] = {list.last, none};
    (list.last == none ? list.first : links_[list.last].next) = i;
    list.last = i;
  }
  void remove(List& list, std::uint32_t i) {
    const Link link = links_[i];
    (link.previous == none ? list.first : links_[link.previous].next) = link.next;
    (link.next == none ? list.last : links_[link.next].previous) = link.previous;
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t i) const { return links_[i].next; }

private:
  struct Link {
    std::uint32_t previous;
    std::uint32_t next;
  };
  std::unique_ptr<Link[]> links_;
};

class Matching {
public:
  static constexpr std::uint32_t none = Lists::none;

  /// For receives and messages of these numbers.
  Matching(std::size_t receives, std::size_t messages);

  /// Requires that it is not posted already.
  void post(std::uint32_t receive, const Pattern& pattern);
  /// Requires that it is posted.
  void withdraw(std::uint32_t receive);
  /// Takes the first receive that the message matches; `none` if there is none.
  std::uint32_t take_receive(const Envelope& envelope);

  /// A message that no receive was posted for. Requires that it is not stored already.
  void store(std::uint32_t message, const Envelope& envelope);
  /// Requires that it is stored.
  void remove(std::uint32_t message);
  /// The first message that matches; `none` if there is none.
  [[nodiscard]] std::uint32_t find(const Pattern& pattern) const;

  [[nodiscard]] std::size_t posted() const { return posted_; }
  [[nodiscard]] std::size_t stored() const { return stored_; }
  [[nodiscard]] const Envelope& envelope_of(std::uint32_t message) const {
    return messages_[message];
  }

private:
  static constexpr std::size_t buckets = 1024;
  [[nodiscard]] static std::size_t bucket_of(Source source) {
    return static_cast<std::size_t>(source * 0x9E3779B97F4A7C15ULL >> 54);
  }
  struct Receive {
    Pattern pattern;
    std::uint64_t order;
  };
  [[nodiscard]] Lists::List& list_of(const Pattern& pattern) {
    return pattern.source == any_source ? of_any_ : of_source_[bucket_of(pattern.source)];
  }
  [[nodiscard]] std::uint32_t first_in(const Lists::List& list, const Envelope& envelope) const;

  std::unique_ptr<Receive[]> receives_;
  std::unique_ptr<Envelope[]> messages_;
  Lists receive_links_;
  Lists bucket_links_; ///< of messages
  Lists all_links_;    ///< of messages
  std::vector<Lists::List> of_source_ = std::vector<Lists::List>(buckets);
  Lists::List of_any_;
  std::vector<Lists::List> from_source_ = std::vector<Lists::List>(buckets);
  Lists::List all_;
  std::uint64_t orders_ = 0;
  std::size_t posted_ = 0;
  std::size_t stored_ = 0;
};

} // namespace tributary::messages
