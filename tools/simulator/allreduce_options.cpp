#include "tools/simulator/allreduce_options.hpp"

#include "lib/terminal/command_line.hpp"
#include "lib/terminal/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace tributary::simulator {

using allreduce::Algorithm;
using allreduce::AllreduceError;
using allreduce::Call;
using allreduce::Costs;
using terminal::one_of;
using terminal::within;

namespace {

constexpr const char* allreduce_examples = R"(Examples:
  tributary-sim allreduce --topology ft3:8 --host-counts 16,128 --bytes 8,64KiB,1MiB
      all four algorithms on a fat tree of 128 hosts
  tributary-sim allreduce --topology dragonfly:12,6,6 --host-counts 4096 --bytes 100MB --placement scattered
      4,096 hosts drawn by the seed
  tributary-sim allreduce --topology ft3:16 --host-counts 1024 --bytes 1MiB --link-gbps 100 --cores-per-switch 4
      other costs: each is printed with where it is from
  tributary-sim allreduce --call allgather --topology ft3:32 --host-counts 4096 --bytes 16MiB
      how long 4,096 blocks take to be everywhere, by multicast and among hosts
  tributary-sim allreduce --algorithms in_network,ring --csv allreduce.csv --plot allreduce.gp
      then: gnuplot -p allreduce.gp)";

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

std::uint64_t parse_size(std::string_view text) {
  static const std::map<std::string_view, double> units{
      {"", 1},     {"B", 1},      {"kB", 1e3},          {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024.0 * 1024 * 1024}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto unit =
      units.find(std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)));
  const double bytes = unit == units.end() ? 0 : value * unit->second;
  if (error != std::errc() || !(bytes >= 8 && bytes <= static_cast<double>(most_bytes))) {
    throw AllreduceError(fmt::format(
        "\"{}\" is not the size of a vector: give 8 bytes to 1 TiB, as 8, 64KiB or 100MB", text));
  }
  return static_cast<std::uint64_t>(bytes) / 8 * 8;
}

std::uint32_t parse_hosts(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 2) {
    throw AllreduceError(
        fmt::format("\"{}\" is not a number of hosts: give 2 or more, as 16,64,256", text));
  }
  return value;
}

Call parse_call(const std::string& text) {
  for (const Call call :
       {Call::allreduce, Call::broadcast, Call::allgather, Call::reduce_scatter}) {
    if (text == allreduce::name(call)) {
      return call;
    }
  }
  return Call::allreduce; // others are refused before
}

std::vector<Algorithm> parse_algorithms(Call call, const std::string& text) {
  std::vector<Algorithm> found;
  for (const std::string& one : CLI::detail::split(text, ',')) {
    const std::size_t before = found.size();
    for (const Algorithm a : allreduce::algorithms_of(call)) {
      if (one == "all" || one == allreduce::name(a)) {
        found.push_back(a);
      }
    }
    if (found.size() == before) {
      std::vector<std::string_view> known;
      for (const Algorithm a : allreduce::algorithms_of(call)) {
        known.push_back(allreduce::name(a));
      }
      throw AllreduceError(
          fmt::format("--algorithms: \"{}\" must be {} or all", one, fmt::join(known, ", ")));
    }
  }
  return found;
}

std::string option_of(std::string_view cost) {
  std::string text = "--" + std::string(cost);
  std::ranges::replace(text, '_', '-');
  return text;
}

} // namespace

std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& one : CLI::detail::split(text, ',')) {
    sizes.push_back(parse_size(one));
  }
  return sizes;
}

struct AllreduceOptions::Texts {
  AllreduceInvocation invocation;
  std::string call = "allreduce";
  std::string algorithms = "all";
  std::string hosts = "16,64,128";
  std::string bytes = "8,1KiB,64KiB,1MiB,16MiB";
  std::string placement = "packed";
  std::string routes = "shortest";
};

AllreduceOptions::AllreduceOptions(CLI::App& app)
    : command_(app.add_subcommand("allreduce",
                                  "Time of allreduces and other collective calls: in the network "
                                  "and among hosts, by number of hosts and size of the vector")),
      texts_(std::make_unique<Texts>()) {
  CLI::App& command = *command_;
  Texts& texts = *texts_;
  allreduce::Study& study = texts.invocation.study;
  Costs& costs = study.costs;
  command.footer(allreduce_examples);
  command
      .add_option("--topology", study.topology, "Fabric: any model, as ft3:8 or dragonfly:12,6,6")
      ->capture_default_str()
      ->group("Job");
  one_of(command
             .add_option("--routes", texts.routes,
                         "Paths among hosts: shortest (spread by receiver), planned (the "
                         "manager's general routes)")
             ->capture_default_str()
             ->type_name("NAME"),
         {"shortest", "planned"})
      ->group("Job");
  within(command.add_option("--vcs", study.vcs, "Number of virtual channels of planned routes"), 1,
         8)
      ->default_str("2")
      ->group("Job");
  command.add_option("--host-counts", texts.hosts, "Numbers of hosts of the job, as 16,64,256")
      ->capture_default_str()
      ->group("Job");
  one_of(
      command.add_option("--call", texts.call, "allreduce, broadcast, allgather or reduce_scatter")
          ->capture_default_str()
          ->type_name("NAME"),
      {"allreduce", "broadcast", "allgather", "reduce_scatter"})
      ->group("Job");
  command
      .add_option("--bytes", texts.bytes,
                  "Sizes of the vector of doubles, of all hosts' blocks together, as "
                  "8,64KiB,100MB")
      ->capture_default_str()
      ->group("Job");
  command
      .add_option("--algorithms", texts.algorithms,
                  "Some, or all. allreduce: in_network, ring, recursive_doubling, rabenseifner; "
                  "broadcast: in_network, binomial, scatter_allgather; allgather: in_network, "
                  "ring, recursive_doubling; reduce_scatter: in_network, ring, "
                  "recursive_halving")
      ->capture_default_str()
      ->group("Job");
  one_of(command
             .add_option("--placement", texts.placement,
                         "Hosts of the job: packed (the first ones), scattered (drawn)")
             ->capture_default_str()
             ->type_name("NAME"),
         {"packed", "scattered"})
      ->group("Job");
  command.add_option("--seed", study.seed, "Seed of scattered hosts and of the tree")
      ->capture_default_str()
      ->group("Job");

  allreduce::for_each_cost(
      [&](std::string_view cost, std::string_view unit, allreduce::Cost Costs::*member) {
        allreduce::Cost& figure = costs.*member;
        within(command.add_option_function<double>(
                   option_of(cost),
                   [&figure](double value) {
                     figure = {value, "given on the command line"};
                   },
                   fmt::format("{}: {}", unit, figure.source)),
               cost == "link_gbps" ? 1e-3 : 0.0, 1e9)
            ->default_str(fmt::format("{}", figure.value))
            ->group("Costs");
      });
  within(command.add_option("--cores-per-switch", costs.switch_cores,
                            "Cores of a switch that share its work"),
         1, 1024)
      ->capture_default_str()
      ->group("Costs");
  within(command.add_option("--payload", costs.payload,
                            "Bytes of vector in a frame, of every algorithm"),
         40, 65'472)
      ->capture_default_str()
      ->group("Costs");
  within(command.add_option("--slots", costs.slots, "Reductions of a tree in flight, at most"), 8,
         128)
      ->capture_default_str()
      ->group("Costs");

  AllreduceInvocation& invocation = texts.invocation;
  add_outputs(command, invocation.outputs);
  command.add_flag("--quiet", invocation.quiet, "No progress, no seed")->group("Output");
  terminal::name_values(command, {{"MODEL", {"--topology"}},
                                  {"N,...", {"--host-counts"}},
                                  {"SIZE,...", {"--bytes"}},
                                  {"NAME,...", {"--algorithms"}}});
}

void add_outputs(CLI::App& app, Outputs& outputs) {
  app.add_flag("--json", outputs.json, "The report as JSON instead of a table")->group("Output");
  app.add_option("-o,--output", outputs.report, "File for the report; - is standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group("Output");
  app.add_option("--csv", outputs.csv, "Also write CSV to this file; - is standard output")
      ->type_name("FILE")
      ->group("Output");
  app.add_option("--plot", outputs.plot,
                 "Also write a gnuplot script with its data to this file; - is standard output")
      ->type_name("FILE")
      ->group("Output");
}

void check(const Outputs& outputs) {
  if (outputs.csv == "-" && outputs.plot == "-") {
    throw terminal::UsageError("--csv and --plot cannot both have standard output");
  }
  if (outputs.json && outputs.report == "-" && (outputs.csv == "-" || outputs.plot == "-")) {
    throw terminal::UsageError(
        fmt::format("--json and {} cannot both have standard output; give one a file",
                    outputs.csv == "-" ? "--csv" : "--plot"));
  }
}

AllreduceOptions::~AllreduceOptions() = default;

bool AllreduceOptions::given() const { return command_->parsed(); }

AllreduceInvocation AllreduceOptions::take() const {
  AllreduceInvocation invocation = texts_->invocation;
  invocation.study.call = parse_call(texts_->call);
  invocation.study.algorithms = parse_algorithms(invocation.study.call, texts_->algorithms);
  invocation.study.placement = texts_->placement == "packed" ? allreduce::Placement::packed
                                                             : allreduce::Placement::scattered;
  invocation.study.routes =
      texts_->routes == "planned" ? allreduce::Routes::planned : allreduce::Routes::shortest;
  for (const std::string& one : CLI::detail::split(texts_->hosts, ',')) {
    invocation.study.hosts.push_back(parse_hosts(one));
  }
  invocation.study.bytes = parse_sizes(texts_->bytes);
  if (invocation.study.costs.payload % 8 != 0) {
    throw AllreduceError("--payload must be a multiple of 8");
  }
  check(invocation.outputs);
  return invocation;
}

} // namespace tributary::simulator
