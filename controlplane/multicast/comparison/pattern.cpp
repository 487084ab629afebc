#include "controlplane/multicast/comparison/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

namespace tributary::multicast::comparison {
namespace {

using topology::HostId;
using topology::Model;
using topology::SwitchId;

constexpr std::uint64_t most_ranks = std::uint64_t{1} << 24;
constexpr std::string_view random_prefix = "rand:";

[[noreturn]] void refuse(std::string_view pattern, std::string_view why) {
  throw PatternError(fmt::format("pattern \"{}\": {}", pattern, why));
}

std::vector<std::uint32_t> numbers(std::string_view pattern, std::string_view text,
                                   char separator) {
  std::vector<std::uint32_t> all;
  for (;;) {
    const std::string_view one = text.substr(0, text.find(separator));
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (error != std::errc{} || end != one.data() + one.size() || value == 0 ||
        value > most_ranks) {
      refuse(pattern,
             fmt::format("\"{}\" is not a number from 1 to {}; patterns are AxB, AxBxC, ~AxB "
                         "and rand:GROUPS,LEAST,MOST",
                         one, most_ranks));
    }
    all.push_back(value);
    if (one.size() == text.size()) {
      return all;
    }
    text = text.substr(one.size() + 1);
  }
}

/// Random numbers that are equal on every machine: the standard's distributions are not.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// 0 to `sides - 1`, by the upper bits: the bias is negligible.
  std::uint32_t roll(std::uint32_t sides) {
    return static_cast<std::uint32_t>((engine_() >> 32) * sides >> 32);
  }

private:
  std::mt19937_64 engine_;
};

/// Places of processes, numbered host by host.
class Placement {
public:
  Placement(const Model& model, std::uint64_t ranks)
      : model_(&model), ranks_per_host_(std::max<std::uint64_t>(
                            model.ranks_per_host, (ranks + model.graph.hosts().size() - 1) /
                                                      model.graph.hosts().size())) {}

  [[nodiscard]] std::uint32_t places() const {
    return static_cast<std::uint32_t>(model_->graph.hosts().size() * ranks_per_host_);
  }
  [[nodiscard]] SwitchId switch_of(std::uint32_t place) const {
    return model_->graph[HostId{static_cast<std::uint32_t>(place / ranks_per_host_)}].at.at;
  }

private:
  const Model* model_;
  std::uint64_t ranks_per_host_;
};

Group distinct(Group group) {
  std::ranges::sort(group);
  group.erase(std::unique(group.begin(), group.end()), group.end());
  return group;
}

std::vector<std::uint32_t> in_order(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    all[i] = i;
  }
  return all;
}

/// Moves `chosen` random elements to the front.
void shuffle_front(std::vector<std::uint32_t>& all, std::uint32_t chosen, Dice& dice) {
  for (std::uint32_t i = 0; i < chosen; ++i) {
    const auto left = static_cast<std::uint32_t>(all.size()) - i;
    std::swap(all[i], all[i + dice.roll(left)]);
  }
}

std::vector<Group> grid_groups(std::string_view pattern, std::string_view text, const Model& model,
                               bool scattered, std::uint64_t seed) {
  const std::vector<std::uint32_t> shape = numbers(pattern, text, 'x');
  if (shape.size() < 2) {
    refuse(pattern, "a grid has two dimensions or more, as in 16x8");
  }
  std::uint64_t ranks = 1;
  for (const std::uint32_t size : shape) {
    ranks *= size;
    if (ranks > most_ranks) {
      refuse(pattern, fmt::format("that is more than {} processes", most_ranks));
    }
  }
  const Placement placement(model, ranks);
  std::vector<std::uint32_t> place_of = in_order(placement.places());
  if (scattered) {
    Dice dice(seed);
    shuffle_front(place_of, static_cast<std::uint32_t>(ranks), dice);
  }

  std::vector<Group> groups;
  std::uint32_t stride = 1; // between neighbours along the dimension
  for (auto dimension = shape.rbegin(); dimension != shape.rend(); ++dimension) {
    const std::uint32_t size = *dimension;
    const std::uint32_t period = stride * size;
    for (std::uint32_t outer = 0; outer < ranks; outer += period) {
      for (std::uint32_t inner = 0; inner < stride; ++inner) {
        Group line;
        for (std::uint32_t i = 0; i < size; ++i) {
          line.push_back(placement.switch_of(place_of[outer + inner + i * stride]));
        }
        groups.push_back(distinct(std::move(line)));
      }
    }
    stride = period;
  }
  return groups;
}

std::vector<Group> random_groups(std::string_view pattern, std::string_view text,
                                 const Model& model, std::uint64_t seed) {
  const std::vector<std::uint32_t> n = numbers(pattern, text, ',');
  const Placement placement(model, 1);
  if (n.size() != 3 || n[1] > n[2] || n[2] > placement.places()) {
    refuse(pattern, fmt::format("needed are a number of groups and the least and the largest "
                                "size, as in rand:100,8,64, up to the {} processes there are",
                                placement.places()));
  }
  Dice dice(seed);
  std::vector<std::uint32_t> places = in_order(placement.places());
  std::vector<Group> groups;
  for (std::uint32_t g = 0; g < n[0]; ++g) {
    const std::uint32_t size = n[1] + dice.roll(n[2] - n[1] + 1);
    shuffle_front(places, size, dice);
    Group group;
    for (std::uint32_t i = 0; i < size; ++i) {
      group.push_back(placement.switch_of(places[i]));
    }
    groups.push_back(distinct(std::move(group)));
  }
  return groups;
}

} // namespace

std::vector<Group> make_groups(std::string_view pattern, const Model& model, std::uint64_t seed) {
  if (pattern.starts_with(random_prefix)) {
    return random_groups(pattern, pattern.substr(random_prefix.size()), model, seed);
  }
  const bool scattered = pattern.starts_with('~');
  return grid_groups(pattern, pattern.substr(scattered ? 1 : 0), model, scattered, seed);
}

} // namespace tributary::multicast::comparison
