#include "tools/simulator/engine/switches.hpp"

namespace tributary::simulator::engine {

Switches::Switches(const Fabric& fabric, const Parameters& parameters)
    : places_(parameters.buffer), vcs_(fabric.vcs()), reads_(parameters.reads),
      voq_(parameters.queueing == Queueing::voq), far_(1) {
  const auto far = [&](std::size_t count) {
    const auto at = static_cast<std::uint32_t>(far_.size());
    far_.resize(far_.size() + count);
    return at;
  };
  const bool pauses = parameters.flow_control == FlowControl::pause;
  const auto credits = static_cast<std::uint8_t>(pauses ? 1 : parameters.buffer);
  for (std::uint32_t n = 0; n < fabric.switches().size(); ++n) {
    const Fabric::Switch& of = fabric.switches()[n];
    Switch& s = all.emplace_back();
    s.first_port = of.first_port;
    s.first_buffer = of.first_buffer;
    s.ports = of.ports;
    s.links = of.links;
    s.buffers = of.buffers;
    s.port_words = static_cast<std::uint8_t>(words_for(of.ports));
    const std::size_t words = std::size_t{3} * s.port_words + s.buffer_words();
    s.far = words <= s.near.size() ? 0 : far(words);
    for (std::uint16_t p = 0; p < of.ports; ++p) {
      Output& output = outputs.emplace_back();
      output.owner = n;
      output.local = p;
      output.buffer = fabric.ports()[of.first_port + p].buffer;
      output.credits.fill(credits);
      output.ready = static_cast<std::uint8_t>((1U << vcs_) - 1);
      const std::size_t requests = vcs_ * s.buffer_words();
      output.far = requests <= output.near.size() ? 0 : far(requests);
      set_bit(idle(s), p);
    }
    for (std::uint16_t b = 0; b < of.buffers; ++b) {
      const Fabric::Buffer& from = fabric.buffers()[of.first_buffer + b];
      Buffer& buffer = buffers.emplace_back();
      buffer.free = ~std::uint64_t{0} >> (64 - places_);
      buffer.local = b;
      buffer.input.at = n;
      buffer.input.port = from.in;
      buffer.input.vc = from.vc;
      if (from.channel != nothing) {
        buffer.sender = (from.channel & Fabric::host_flag) != 0
                            ? Sender::host_flag | (from.channel & ~Fabric::host_flag)
                            : Sender::of_channel(from.channel / vcs_, from.channel % vcs_);
      }
      if (voq_) {
        buffer.wants = far(s.port_words);
        buffer.first_queue = static_cast<std::uint32_t>(queues_.size());
        queues_.resize(queues_.size() + of.ports);
      }
      set_bit(readable(s), b);
    }
  }
  packets.resize(buffers.size() * places_);
}

void Switches::empty_queues(Buffer& buffer, std::vector<std::uint8_t>& places) {
  places.clear();
  const std::uint32_t of = number(buffer);
  Switch& s = all[buffer.input.at];
  for (const Queue& q : queues(buffer)) {
    if (q.head != no_place) {
      withdraw(buffer, s, packet(of, q.head));
    }
    for (std::uint8_t place = q.head; place != no_place; place = packet(of, place).behind) {
      places.push_back(place);
    }
  }
  for (std::uint16_t output = 0; output < s.ports; ++output) {
    queue(buffer, output) = {};
  }
  buffer.waiting = 0;
  first_of_port(buffer).vcs_waiting &= static_cast<std::uint8_t>(~vc_bit(buffer));
}

} // namespace tributary::simulator::engine
