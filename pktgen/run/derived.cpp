#include "pktgen/run/derived.hpp"

#include "pktgen/scenario/keys.hpp"

#include <algorithm>

namespace tributary::pktgen::run {

using scenario::Kind;

namespace {

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

} // namespace

std::pair<std::string_view, std::string_view> part_and_name(std::string_view figure) {
  const std::size_t dot = figure.find('.');
  return dot == std::string_view::npos ? std::pair(std::string_view(), figure)
                                       : std::pair(figure.substr(0, dot), figure.substr(dot + 1));
}

std::uint64_t operations_in(const scenario::Scenario& scenario, const measure::Tally& tally) {
  switch (scenario.traffic.kind) {
  case Kind::reduce:
    return scenario.traffic.reduce.role == scenario::Role::leaves
               ? tally.figure("operations_at_leaves") / scenario.traffic.reduce.leaves
               : tally.figure("operations");
  case Kind::multicast:
  case Kind::unicast:
    return scenario.traffic.stream.role == scenario::Role::leaves ? tally.received.frames
                                                                  : tally.sent.frames;
  case Kind::rdma:
    return scenario.traffic.rdma.serve
               ? tally.figure("writes_arrived") + tally.figure("reads_served")
               : tally.figure("transfers");
  case Kind::replay:
  case Kind::mixed: break;
  }
  return tally.sent.frames;
}

double lost_share(const scenario::Scenario& scenario, const measure::Tally& tally) {
  if (scenario.traffic.kind == Kind::reduce) {
    const std::uint64_t missed = tally.sum(measure::Figure::Meaning::loss);
    const std::uint64_t all = missed + operations_in(scenario, tally);
    return all == 0 ? 1 : ratio(missed, all);
  }
  // Several copies of a multicast frame are expected. With several traffics, each has its own
  // figures.
  std::uint64_t all = 0;
  std::uint64_t lost = 0;
  for (const measure::Figure& figure : tally.figures) {
    const std::string_view name = part_and_name(figure.name).second;
    all += name == "expected" || name == "operations" || name == "operations_missed" ? figure.value
                                                                                     : 0;
    lost += figure.meaning == measure::Figure::Meaning::loss ? figure.value : 0;
  }
  return all == 0 ? 1 : ratio(lost, all);
}

void add_savings(const scenario::Scenario& scenario, measure::Tally& tally) {
  if (scenario.traffic.kind != Kind::reduce ||
      scenario.traffic.reduce.role != scenario::Role::both) {
    return;
  }
  const std::uint64_t sent = tally.figure("contributions");
  const std::uint64_t saved = sent - std::min(sent, tally.figure("root_frames"));
  tally.figures.push_back({"frames_saved", saved});
  const std::uint64_t bytes = tally.figure("contribution_bytes");
  tally.figures.push_back(
      {"bytes_saved", bytes - std::min(bytes, tally.figure("root_frame_bytes"))});
}

std::uint64_t leaf_payload_in(const scenario::Scenario& scenario, const measure::Tally& tally) {
  const scenario::Reduce& reduce = scenario.traffic.reduce;
  return reduce.role == scenario::Role::leaves
             ? tally.figure("payload_bytes_at_leaves") / reduce.leaves
             : tally.figure("payload_bytes");
}

namespace {

void add_payload_rates(const scenario::Scenario& scenario, result::Result& result) {
  std::vector<double> of_leaf;
  std::vector<double> total;
  for (const result::Measurement& m : result.repeats) {
    of_leaf.push_back(m.per_second(leaf_payload_in(scenario, m.tally)));
    total.push_back(of_leaf.back() * scenario.traffic.reduce.leaves);
  }
  if (std::ranges::any_of(of_leaf, [](double rate) { return rate > 0; })) {
    result.derived.emplace_back("leaf_payload_bytes_per_second", std::move(of_leaf));
    result.derived.emplace_back("total_payload_bytes_per_second", std::move(total));
  }
}

void add_derived_of_rdma(result::Result& result) {
  std::vector<double> goodput;
  std::vector<double> resent;
  std::vector<double> control;
  bool sends_data = true; ///< a host that is only written to sends none
  for (const result::Measurement& m : result.repeats) {
    const std::uint64_t bytes =
        std::max(m.tally.figure("payload_bytes"), m.tally.figure("bytes_arrived"));
    goodput.push_back(8 * m.per_second(bytes));
    const std::uint64_t data = m.tally.figure("data_frames");
    resent.push_back(ratio(m.tally.figure("resent_frames"), data));
    control.push_back(ratio(m.tally.figure("control_frames"), data));
    sends_data &= data != 0;
  }
  if (!goodput.empty()) {
    result.derived.emplace_back("goodput_bits_per_second", std::move(goodput));
  }
  if (!resent.empty() && sends_data) {
    result.derived.emplace_back("resent_share", std::move(resent));
    result.derived.emplace_back("control_frames_per_data_frame", std::move(control));
  }
}

} // namespace

void add_derived(const scenario::Scenario& scenario, result::Result& result) {
  if (result.kind == name_of(Kind::rdma)) {
    add_derived_of_rdma(result);
    return;
  }
  if (result.kind == name_of(Kind::reduce)) {
    add_payload_rates(scenario, result);
  }
  std::vector<double> root_frames;
  std::vector<double> saved;
  for (const result::Measurement& m : result.repeats) {
    const std::uint64_t reductions = m.tally.figure("reductions");
    if (reductions == 0 || m.tally.figure("frames_that_made_reductions") == 0) {
      if (m.cut_short) {
        break; // the last one: earlier ones have their own
      }
      return;
    }
    root_frames.push_back(ratio(m.tally.figure("frames_that_made_reductions"), reductions));
    saved.push_back(ratio(m.tally.figure("frames_saved"), m.tally.figure("contributions")));
  }
  if (root_frames.empty()) {
    return;
  }
  result.derived.emplace_back("root_frames_per_reduction", std::move(root_frames));
  result.derived.emplace_back("frames_saved_share", std::move(saved));
}

} // namespace tributary::pktgen::run
