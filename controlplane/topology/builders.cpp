// Names of models: a kind, a colon, numbers.

#include "controlplane/topology/builders.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace tributary::topology {
namespace {

constexpr std::uint64_t most_switches = 65'536;
constexpr std::uint64_t most_hosts = std::uint64_t{max_nid} + 1;
constexpr std::uint64_t most_ports = 0xFFFF;

constexpr std::array<std::string_view, 10> forms{
    "ft40",
    "torus",
    "dragonfly",
    "bluelight",
    "taihulight",
    "ft3:K",
    "tft:PODS,LEAVES,HOSTS,MIDDLES,TOPS,PATHS",
    "torus:AxBx...xHOSTS",
    "dragonfly:SWITCHES,HOSTS,GLOBALS[,palmtree|absolute|relative]",
    "kdft:AxBx...xHOSTS[,ROOTS]",
};

struct Machine {
  std::string_view name;
  std::string_view model;
  std::uint32_t ranks_per_host;
};
constexpr std::array<Machine, 5> machines{{
    {"ft40", "ft3:40", 1},
    {"torus", "torus:30x20x20x2", 1},
    {"dragonfly", "dragonfly:18,9,9", 1},
    {"bluelight", "tft:17,32,16,8,16,8", 4},
    {"taihulight", "tft:40,32,32,16,128,2", 1},
}};

/// The parameters of one name, and errors about them.
class Parameters {
public:
  Parameters(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  [[noreturn]] void refuse(std::string_view why) const {
    throw ModelError(fmt::format("topology \"{}\": {}", name_, why));
  }

  /// Removes and returns the text behind the last comma when it is not a number.
  [[nodiscard]] std::optional<std::string_view> take_word() {
    const std::size_t comma = text_.rfind(',');
    if (comma == std::string_view::npos || comma + 1 == text_.size() ||
        (text_[comma + 1] >= '0' && text_[comma + 1] <= '9')) {
      return std::nullopt;
    }
    const std::string_view word = text_.substr(comma + 1);
    text_ = text_.substr(0, comma);
    return word;
  }
  /// Removes and returns the number behind the last comma.
  [[nodiscard]] std::optional<std::uint32_t> take_last() {
    const std::size_t comma = text_.rfind(',');
    if (comma == std::string_view::npos) {
      return std::nullopt;
    }
    const std::uint32_t value = number(text_.substr(comma + 1));
    text_ = text_.substr(0, comma);
    return value;
  }
  [[nodiscard]] std::vector<std::uint32_t> numbers(char separator) const {
    std::vector<std::uint32_t> all;
    for (std::string_view rest = text_;;) {
      const std::size_t end = rest.find(separator);
      all.push_back(number(rest.substr(0, end)));
      if (end == std::string_view::npos) {
        return all;
      }
      rest = rest.substr(end + 1);
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> exactly(std::size_t count) const {
    auto all = numbers(',');
    if (all.size() != count) {
      refuse(fmt::format("{} numbers are needed, {} given", count, all.size()));
    }
    return all;
  }
  /// At least one dimension, followed by the hosts of each switch.
  [[nodiscard]] std::pair<std::vector<std::uint32_t>, std::uint32_t> grid() const {
    auto shape = numbers('x');
    if (shape.size() < 2) {
      refuse("sizes of dimensions and hosts a switch are needed, as in 4x4x2");
    }
    const std::uint32_t hosts = shape.back();
    shape.pop_back();
    return {std::move(shape), hosts};
  }
  /// Refuses models that are too large.
  void limit(std::uint64_t switches, std::uint64_t hosts, std::uint64_t ports) const {
    if (switches > most_switches || hosts > most_hosts || ports > most_ports) {
      refuse(fmt::format("{} switches, {} hosts and up to {} ports a switch are too many; the "
                         "limits are {}, {} and {}",
                         switches, hosts, ports, most_switches, most_hosts, most_ports));
    }
  }

private:
  [[nodiscard]] std::uint32_t number(std::string_view text) const {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0 ||
        value > most_ports) {
      refuse(fmt::format("\"{}\" is not a number from 1 to {}", text, most_ports));
    }
    return value;
  }

  std::string_view name_;
  std::string_view text_;
};

Model fat_tree(const Parameters& parameters, const TrimmedFatTree& s) {
  const std::uint64_t ports =
      std::max({std::uint64_t{s.hosts} + s.middles, std::uint64_t{s.leaves} + s.tops,
                std::uint64_t{s.pods} * s.paths});
  parameters.limit(std::uint64_t{s.pods} * (s.leaves + s.middles) + s.tops,
                   std::uint64_t{s.pods} * s.leaves * s.hosts, ports);
  return build_trimmed_fat_tree(s);
}

Model full_fat_tree(const Parameters& parameters) {
  const std::uint32_t k = parameters.exactly(1).front();
  if (k % 2 != 0) {
    parameters.refuse("a fat tree needs an even number of ports a switch");
  }
  return fat_tree(parameters, {k, k / 2, k / 2, k / 2, k / 2 * (k / 2), 1, PlaneOrder::blocks});
}

Model trimmed_fat_tree(const Parameters& parameters) {
  const auto n = parameters.exactly(6);
  return fat_tree(parameters, {n[0], n[1], n[2], n[3], n[4], n[5]});
}

/// The product of a grid's dimensions, capped just above the largest model.
std::uint64_t places(std::span<const std::uint32_t> shape) {
  std::uint64_t product = 1;
  for (const std::uint32_t size : shape) {
    product = std::min(product * size, most_switches + 1);
  }
  return product;
}

Model torus(const Parameters& parameters) {
  const auto [shape, hosts] = parameters.grid();
  const std::uint64_t switches = places(shape);
  parameters.limit(switches, switches * hosts, hosts + 2 * shape.size());
  return build_torus(shape, hosts);
}

Model dragonfly(Parameters& parameters) {
  Dragonfly shape;
  if (const auto how = parameters.take_word()) {
    if (*how == "absolute") {
      shape.how = GlobalLinks::absolute;
    } else if (*how == "relative") {
      shape.how = GlobalLinks::relative;
    } else if (*how != "palmtree") {
      parameters.refuse(fmt::format(
          "\"{}\" is not an arrangement of global links; they are palmtree, absolute, relative",
          *how));
    }
  }
  const auto n = parameters.exactly(3);
  shape.switches = n[0];
  shape.hosts = n[1];
  shape.globals = n[2];
  const std::uint64_t switches = (std::uint64_t{n[0]} * n[2] + 1) * n[0];
  parameters.limit(switches, switches * n[1], std::uint64_t{n[0]} + n[1] + n[2]);
  return build_dragonfly(shape);
}

Model k_dimension_fat_tree(Parameters& parameters) {
  const std::uint32_t roots = parameters.take_last().value_or(1);
  const auto [shape, hosts] = parameters.grid();
  const std::uint64_t leaves = places(shape);
  std::uint64_t switches = leaves;
  for (const std::uint32_t size : shape) {
    switches += leaves / size * roots;
  }
  parameters.limit(switches, leaves * hosts,
                   std::max<std::uint64_t>(hosts + std::uint64_t{roots} * shape.size(),
                                           std::ranges::max(shape)));
  return build_k_dimension_fat_tree(shape, hosts, roots);
}

Model build_kind(std::string_view name, std::string_view kind, Parameters parameters) {
  if (kind == "ft3") {
    return full_fat_tree(parameters);
  }
  if (kind == "tft") {
    return trimmed_fat_tree(parameters);
  }
  if (kind == "torus") {
    return torus(parameters);
  }
  if (kind == "dragonfly") {
    return dragonfly(parameters);
  }
  if (kind == "kdft") {
    return k_dimension_fat_tree(parameters);
  }
  throw ModelError(
      fmt::format("unknown topology \"{}\"; models: {}", name, fmt::join(forms, ", ")));
}

} // namespace

Model build_model(std::string_view name) {
  const auto machine = std::ranges::find(machines, name, &Machine::name);
  const std::string_view written = machine == machines.end() ? name : machine->model;
  const std::size_t colon = written.find(':');
  const std::string_view kind = written.substr(0, colon);
  const std::string_view text =
      colon == std::string_view::npos ? std::string_view{} : written.substr(colon + 1);
  Model model = build_kind(name, kind, Parameters(name, text));
  model.name = name;
  if (machine != machines.end()) {
    model.ranks_per_host = machine->ranks_per_host;
  }
  return model;
}

std::span<const std::string_view> model_forms() { return forms; }

} // namespace tributary::topology
