// Keys of [[switch.class]] and [[switch.port.class]].
#include "dataplane/config/section_keys.hpp"

namespace tributary::config {

using configuration::Choice;
using configuration::Integer;
using configuration::integer;
using configuration::Key;
using configuration::specs_of;
using configuration::text;
using configuration::Value;

namespace {

constexpr std::string_view services[] = {"strict", "weighted"};
constexpr std::string_view full_policies[] = {"trim", "drop", "pause"};
constexpr std::int64_t max_queue_bytes = 1 << 30;

const Key<ClassDraft> class_keys[] = {
    {{.name = "class",
      .type = Integer{0, traffic_classes - 1},
      .fallback = "",
      .sample = "3",
      .required = true,
      .help = "Number of the traffic class. All frames are of class 0, except those that arrive "
              "with another class in their tag."},
     [](ClassDraft& c, const Value& v) { c.number = std::get<std::int64_t>(v); }},
    {{.name = "service",
      .type = Choice{services},
      .fallback = "\"weighted\"",
      .sample = "",
      .help = "Order of sending. strict: before all weighted classes, and among strict ones the "
              "higher number first. weighted: in turns, by weight."},
     [](ClassDraft& c, const Value& v) {
       c.queue.service = text(v) == "strict" ? egress::Service::strict : egress::Service::weighted;
     }},
    {{.name = "weight",
      .type = Integer{1, 65535},
      .fallback = "1",
      .sample = "",
      .help = "Share of a weighted class in what strict ones leave: a class of weight 3 sends "
              "three bytes for each byte of a class of weight 1."},
     [](ClassDraft& c, const Value& v) { c.queue.weight = integer<std::uint16_t>(v); }},
    {{.name = "policy",
      .type = Choice{full_policies},
      .fallback = "\"trim\"",
      .sample = "",
      .help =
          "Treatment of frames that find the queue full. trim: RDMA data is cut to its headers, "
          "which leave ahead of what waits, so that the receiver asks for it immediately; all else "
          "is dropped. drop: everything is. pause: the class is lossless; senders are asked to "
          "pause in time, and pause frames of the neighbour are obeyed."},
     [](ClassDraft& c, const Value& v) {
       const std::string policy = text(v);
       c.queue.when_full = policy == "pause"  ? egress::WhenFull::pause
                           : policy == "drop" ? egress::WhenFull::drop
                                              : egress::WhenFull::trim;
     }},
    {{.name = "queue_frames",
      .type = Integer{1, egress::most_queue_frames},
      .fallback = "512",
      .sample = "",
      .help = "Number of frames of the class that may wait to leave by the port."},
     [](ClassDraft& c, const Value& v) { c.queue.limit.frames = integer<std::uint32_t>(v); }},
    {{.name = "queue_bytes",
      .type = Integer{1, max_queue_bytes},
      .fallback = "1048576",
      .sample = "",
      .help = "Number of bytes that may wait."},
     [](ClassDraft& c, const Value& v) { c.queue.limit.bytes = integer<std::uint32_t>(v); }},
    {{.name = "trimmed_frames",
      .type = Integer{1, egress::most_queue_frames},
      .fallback = "512",
      .sample = "",
      .help = "Number of trimmed frames that may wait beside those; with trim."},
     [](ClassDraft& c, const Value& v) { c.queue.trimmed_frames = integer<std::uint32_t>(v); }},
    {{.name = "xoff_frames",
      .type = Integer{1, egress::most_queue_frames},
      .fallback = "64",
      .sample = "",
      .help = "Number of waiting frames that came in by this port above which its senders must "
              "pause; with pause."},
     [](ClassDraft& c, const Value& v) { c.pause.xoff.frames = integer<std::uint32_t>(v); }},
    {{.name = "xoff_bytes",
      .type = Integer{1, max_queue_bytes},
      .fallback = "131072",
      .sample = "",
      .help = "The same in bytes; either is enough."},
     [](ClassDraft& c, const Value& v) { c.pause.xoff.bytes = integer<std::uint32_t>(v); }},
    {{.name = "xon_frames",
      .type = Integer{0, egress::most_queue_frames},
      .fallback = "32",
      .sample = "",
      .help = "Number of waiting frames at which the pause ends; with pause."},
     [](ClassDraft& c, const Value& v) { c.pause.xon.frames = integer<std::uint32_t>(v); }},
    {{.name = "xon_bytes",
      .type = Integer{0, max_queue_bytes},
      .fallback = "65536",
      .sample = "",
      .help = "The same in bytes; both must be met."},
     [](ClassDraft& c, const Value& v) { c.pause.xon.bytes = integer<std::uint32_t>(v); }},
    {{.name = "headroom_frames",
      .type = Integer{0, egress::most_queue_frames},
      .fallback = "128",
      .sample = "",
      .help = "Number of frames beyond xoff that may still wait, because they were on their way; "
              "with pause."},
     [](ClassDraft& c, const Value& v) { c.pause.headroom.frames = integer<std::uint32_t>(v); }},
    {{.name = "headroom_bytes",
      .type = Integer{0, max_queue_bytes},
      .fallback = "131072",
      .sample = "",
      .help = "The same in bytes: link speed times the time until the sender has heard, and two of "
              "the longest frames."},
     [](ClassDraft& c, const Value& v) { c.pause.headroom.bytes = integer<std::uint32_t>(v); }},
};

} // namespace

std::span<const configuration::KeySpec> specs_of_class() {
  static const auto specs = specs_of(class_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, ClassDraft& target) {
  class_keys[index].set(target, value);
}

} // namespace tributary::config
