// The switches: packets in places of buffers, queues of them, and which queue asks which output.
//
//   join      a packet is appended to its queue; the first one asks its output
//   leave     the first one has gone; the next one asks
//   reserve   an output is busy, and a port's buffers are read, until `release`
//
// An output *may choose* when it is idle and a readable buffer asks for it. The step that makes
// this true puts the switch on the list `changed`, and the output into its set; outputs of which
// nothing has changed are never looked at.
//
// Plain data with the steps that keep it consistent; times and decisions are the engine's.
#pragma once

#include "tools/simulator/engine/fabric.hpp"
#include "tools/simulator/engine/layout.hpp"
#include "tools/simulator/engine/packet.hpp"
#include "tools/simulator/engine/parameters.hpp"
#include "tools/simulator/engine/pipeline.hpp"

#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::simulator::engine {

class Switches {
public:
  Switches(const Fabric& fabric, const Parameters& parameters);

  std::vector<Switch> all;
  std::vector<Output> outputs; ///< by port
  std::vector<Buffer> buffers;
  std::vector<Packet> packets;        ///< by buffer and place
  std::vector<std::uint32_t> changed; ///< switches with outputs that may choose

  [[nodiscard]] Packet& packet(std::uint32_t buffer, std::uint8_t place) {
    return packets[std::size_t{buffer} * places_ + place];
  }
  [[nodiscard]] const Packet& packet(std::uint32_t buffer, std::uint8_t place) const {
    return packets[std::size_t{buffer} * places_ + place];
  }
  [[nodiscard]] std::uint32_t number(const Buffer& buffer) const {
    return static_cast<std::uint32_t>(&buffer - buffers.data());
  }
  /// The queues of a buffer: one, or one for each output.
  [[nodiscard]] std::span<const Queue> queues(const Buffer& buffer) const {
    return voq_ ? std::span<const Queue>(&queues_[buffer.first_queue], all[buffer.input.at].ports)
                : std::span<const Queue>(&buffer.queue, 1);
  }
  [[nodiscard]] Queue& queue(Buffer& buffer, std::uint16_t output) {
    return voq_ ? queues_[std::size_t{buffer.first_queue} + output] : buffer.queue;
  }

  /// Sets of a switch.
  [[nodiscard]] std::uint64_t* idle(Switch& s) { return sets(s); }
  [[nodiscard]] std::uint64_t* to_choose(Switch& s) { return sets(s) + s.port_words; }
  [[nodiscard]] std::uint64_t* asked(Switch& s) { return sets(s) + std::size_t{2} * s.port_words; }
  [[nodiscard]] std::uint64_t* readable(Switch& s) {
    return sets(s) + std::size_t{3} * s.port_words;
  }
  /// The requests of an output: Output::near if they fit.
  [[nodiscard]] std::uint64_t* requests(Output& output) {
    return output.far == 0 ? output.near.data() : &far_[output.far];
  }

  /// Call it after a change: effective if the output is idle and a readable buffer asks for it.
  void may_choose(Switch& s, std::uint16_t output) {
    const std::size_t w = output / 64;
    to_choose(s)[w] |= idle(s)[w] & asked(s)[w] & std::uint64_t{1} << (output % 64);
    list(s);
  }

  /// The lowest free place; 64: none.
  [[nodiscard]] static std::uint8_t next_place(const Buffer& buffer) {
    return static_cast<std::uint8_t>(std::countr_zero(buffer.free));
  }
  [[nodiscard]] static std::uint8_t take_place(Buffer& buffer) {
    assert(buffer.free != 0);
    const std::uint8_t place = next_place(buffer);
    buffer.free &= buffer.free - 1;
    return place;
  }

  /// What `join` writes to.
  void fetch_tail(std::uint32_t number) const {
    if (const std::uint8_t tail = buffers[number].queue.tail; tail != no_place) {
      fetch(&packet(number, tail));
    }
  }
  void join(std::uint32_t number, std::uint8_t place) {
    Buffer& buffer = buffers[number];
    Packet& p = packet(number, place);
    Queue& q = queue(buffer, p.out);
    if (buffer.waiting++ == 0) {
      first_of_port(buffer).vcs_waiting |= vc_bit(buffer);
    }
    p.behind = no_place;
    if (q.head != no_place) {
      packet(number, q.tail).behind = place;
      q.tail = place;
      return;
    }
    q.head = q.tail = place;
    Switch& s = all[buffer.input.at];
    ask(buffer, s, p);
    list(s);
  }
  void leave(Buffer& buffer, Switch& s, const Packet& first) {
    withdraw(buffer, s, first);
    Queue& q = queue(buffer, first.out);
    q.head = first.behind;
    if (--buffer.waiting == 0) {
      first_of_port(buffer).vcs_waiting &= static_cast<std::uint8_t>(~vc_bit(buffer));
    }
    if (q.head != no_place) {
      ask(buffer, s, packet(number(buffer), q.head));
    }
  }
  /// Takes all packets out of the queues of a buffer.
  void empty_queues(Buffer& buffer, std::vector<std::uint8_t>& places);

  /// `local`: number of the buffer that is read.
  void reserve(Switch& s, std::uint16_t output, std::uint32_t local) {
    clear_bit(idle(s), output);
    const bool has_siblings = local < std::uint32_t{s.links} * vcs_;
    const std::uint32_t first = has_siblings ? local - local % vcs_ : local;
    if (reads_ == 1 || ++buffers[s.first_buffer + first].reads == reads_) {
      clear_bits(readable(s), first, has_siblings ? vcs_ : 1);
    }
  }
  void release(Switch& s, std::uint16_t output, Buffer& buffer) {
    Buffer* const first = &first_of_port(buffer);
    if (reads_ != 1) {
      --first->reads;
    }
    set_bit(idle(s), output);
    set_bits(readable(s), first->local,
             first->input.port == forwarding_table::local_port ? 1 : vcs_);
    for (unsigned left = first->vcs_waiting; left != 0; left &= left - 1) {
      what_it_wants_may_choose(s, first[std::countr_zero(left)]);
    }
    may_choose(s, output);
  }

private:
  void list(Switch& s) {
    if (!s.listed) {
      s.listed = true;
      changed.push_back(static_cast<std::uint32_t>(&s - all.data()));
    }
  }
  [[nodiscard]] static Buffer& first_of_port(Buffer& buffer) {
    return *(&buffer - buffer.input.vc);
  }
  [[nodiscard]] static std::uint8_t vc_bit(const Buffer& buffer) {
    return static_cast<std::uint8_t>(1U << buffer.input.vc);
  }
  [[nodiscard]] std::uint64_t* sets(Switch& s) { return s.far == 0 ? s.near.data() : &far_[s.far]; }

  void ask(Buffer& buffer, Switch& s, const Packet& p) {
    Output& output = outputs[s.first_port + p.out];
    std::uint64_t* const words = requests(output) + std::size_t{buffer.local} / 64 * vcs_;
    const std::uint64_t bit = std::uint64_t{1} << (buffer.local % 64);
    for (unsigned left = p.vcs; left != 0; left &= left - 1) {
      words[std::countr_zero(left)] |= bit;
    }
    ++output.asking;
    set_bit(asked(s), p.out);
    if (voq_) {
      set_bit(&far_[buffer.wants], p.out);
    } else {
      buffer.asks = p.out;
    }
    if (has_bit(idle(s), p.out) && has_bit(readable(s), buffer.local)) {
      set_bit(to_choose(s), p.out);
    }
  }
  void withdraw(Buffer& buffer, Switch& s, const Packet& p) {
    Output& output = outputs[s.first_port + p.out];
    std::uint64_t* const words = requests(output) + std::size_t{buffer.local} / 64 * vcs_;
    const std::uint64_t bit = std::uint64_t{1} << (buffer.local % 64);
    for (unsigned left = p.vcs; left != 0; left &= left - 1) {
      words[std::countr_zero(left)] &= ~bit;
    }
    if (--output.asking == 0) {
      clear_bit(asked(s), p.out);
    }
    if (voq_) {
      clear_bit(&far_[buffer.wants], p.out);
    } else {
      buffer.asks = no_output;
    }
  }
  void what_it_wants_may_choose(Switch& s, const Buffer& buffer) {
    if (!voq_) {
      to_choose(s)[buffer.asks / 64] |= idle(s)[buffer.asks / 64] & std::uint64_t{1}
                                                                        << (buffer.asks % 64);
      return;
    }
    for (std::size_t w = 0; w < s.port_words; ++w) {
      to_choose(s)[w] |= far_[buffer.wants + w] & idle(s)[w];
    }
  }

  std::uint32_t places_; ///< places of a buffer
  std::uint32_t vcs_;
  std::uint32_t reads_;
  bool voq_;
  std::vector<Queue> queues_;      ///< voq
  std::vector<std::uint64_t> far_; ///< words of sets that are in no line; 0: none
};

} // namespace tributary::simulator::engine
