// Keys of [switch.port.impairment] and of its sections for one direction.
#include "dataplane/config/section_keys.hpp"

namespace tributary::config {

using configuration::Integer;
using configuration::integer;
using configuration::Key;
using configuration::specs_of;
using configuration::Value;

namespace {

constexpr std::int64_t max_delay_us = 10'000'000;

std::uint64_t nanos(const Value& v) { return integer<std::uint64_t>(v) * 1000; }

void set_kinds(Impairment& impairment, const Value& v) {
  impairment.settings.kinds = {};
  for (const std::string& name : std::get<std::vector<std::string>>(v)) {
    if (const auto kind = impairment::kind_named(name)) {
      impairment.settings.kinds.insert(*kind);
    } else if (name == impairment::all_kinds) {
      impairment.settings.kinds = impairment::KindSet::all();
    } else {
      impairment.unknown_kind = name;
    }
  }
}

#define TRIBUTARY_X(name, text) #name ", "
#define KIND_LIST TRIBUTARY_FRAME_KINDS(TRIBUTARY_X)

const Key<Impairment> impairment_keys[] = {
    {{.name = "loss",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is lost."},
     [](Impairment& i, const Value& v) { i.settings.loss = std::get<double>(v); }},
    {{.name = "good_to_bad",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Burst loss by the model of Gilbert and Elliott: probability that the bad state "
              "begins before a frame. 0: there is none."},
     [](Impairment& i, const Value& v) { i.settings.good_to_bad = std::get<double>(v); }},
    {{.name = "bad_to_good",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that the bad state ends before a frame; it lasts 1 / bad_to_good frames "
              "in the mean."},
     [](Impairment& i, const Value& v) { i.settings.bad_to_good = std::get<double>(v); }},
    {{.name = "loss_good",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is lost in the good state."},
     [](Impairment& i, const Value& v) { i.settings.loss_good = std::get<double>(v); }},
    {{.name = "loss_bad",
      .type = configuration::Number{0, 1},
      .fallback = "1.0",
      .sample = "",
      .help = "Probability that a frame is lost in the bad state."},
     [](Impairment& i, const Value& v) { i.settings.loss_bad = std::get<double>(v); }},
    {{.name = "duplicate",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is duplicated."},
     [](Impairment& i, const Value& v) { i.settings.duplicate = std::get<double>(v); }},
    {{.name = "corrupt",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that bits of a frame are changed; where is drawn."},
     [](Impairment& i, const Value& v) { i.settings.corrupt = std::get<double>(v); }},
    {{.name = "corrupt_bits",
      .type = Integer{1, impairment::most_corrupt_bits},
      .fallback = "1",
      .sample = "",
      .help = "Number of bits changed in such a frame."},
     [](Impairment& i, const Value& v) { i.settings.corrupt_bits = integer<std::uint32_t>(v); }},
    {{.name = "delay_us",
      .type = Integer{0, max_delay_us},
      .fallback = "0",
      .sample = "",
      .help = "Delay of every frame."},
     [](Impairment& i, const Value& v) { i.settings.delay_ns = nanos(v); }},
    {{.name = "jitter_us",
      .type = Integer{0, max_delay_us},
      .fallback = "0",
      .sample = "",
      .help = "Upper bound of the random time added to the delay of each frame."},
     [](Impairment& i, const Value& v) { i.settings.jitter_ns = nanos(v); }},
    {{.name = "reorder",
      .type = configuration::Number{0, 1},
      .fallback = "0.0",
      .sample = "",
      .help = "Probability that a frame is held back behind later ones."},
     [](Impairment& i, const Value& v) { i.settings.reorder = std::get<double>(v); }},
    {{.name = "reorder_distance",
      .type = Integer{0, impairment::most_distance},
      .fallback = "0",
      .sample = "",
      .help =
          "Number of later frames that pass a frame held back. 0: it is held for reorder_hold_us."},
     [](Impairment& i, const Value& v) {
       i.settings.reorder_distance = integer<std::uint32_t>(v);
     }},
    {{.name = "reorder_hold_us",
      .type = Integer{0, max_delay_us},
      .fallback = "200",
      .sample = "",
      .help = "Time that a frame is held back; with reorder_distance, the longest time."},
     [](Impairment& i, const Value& v) { i.settings.hold_ns = nanos(v); }},
    {{.name = "rate_kbps",
      .type = Integer{0, 400'000'000},
      .fallback = "0",
      .sample = "",
      .help =
          "Rate limit in kbit/s of frames from their Ethernet header on, without FCS. 0: none."},
     [](Impairment& i, const Value& v) { i.settings.rate_kbps = integer<std::uint64_t>(v); }},
    {{.name = "rate_burst_bytes",
      .type = Integer{1, 1 << 30},
      .fallback = "16384",
      .sample = "",
      .help =
          "Depth of the rate limit's token bucket: bytes that may pass together after a pause."},
     [](Impairment& i, const Value& v) {
       i.settings.rate_burst_bytes = integer<std::uint64_t>(v);
     }},
    {{.name = "rate_queue_bytes",
      .type = Integer{0, 1 << 30},
      .fallback = "131072",
      .sample = "",
      .help = "Frames in bytes that may wait for the rate limit. What comes on top is dropped and "
              "counted as rate_limited."},
     [](Impairment& i, const Value& v) {
       i.settings.rate_queue_bytes = integer<std::uint64_t>(v);
     }},
    {{.name = "held_frames",
      .type = Integer{1, impairment::most_held_frames},
      .fallback = "2048",
      .sample = "",
      .help = "Number of frames that may be delayed at the same time, of buffers_per_port. What "
              "comes on "
              "top is dropped and counted as did_not_fit."},
     [](Impairment& i, const Value& v) { i.settings.held_frames = integer<std::uint32_t>(v); }},
    {{.name = "kinds",
      .type = configuration::Names{1, impairment::kind_count + 1},
      .fallback = "[\"all\"]",
      .sample = "",
      .help = "Kinds of frames concerned, of " KIND_LIST "or all. Others pass untouched."},
     set_kinds},
    {{.name = "seed",
      .type = Integer{0, INT64_MAX},
      .fallback = "0",
      .sample = "",
      .help = "Seed that makes the faults repeatable; 0: drawn from the system's random source and "
              "logged."},
     [](Impairment& i, const Value& v) { i.seed = integer<std::uint64_t>(v); }},
};

#undef KIND_LIST
#undef TRIBUTARY_X

} // namespace

std::span<const configuration::KeySpec> specs_of_impairment() {
  static const auto specs = specs_of(impairment_keys);
  return specs;
}
void assign(std::size_t index, const Value& value, Impairment& target) {
  impairment_keys[index].set(target, value);
}

} // namespace tributary::config
