#include "tools/host/rdma_options.hpp"

#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <fstream>
#include <map>
#include <string_view>
#include <vector>

namespace tributary::host {

namespace {

/// 64 hexadecimal digits, in the form that `serve` prints.
bool read_hex(std::string_view text, tributary_rdma_region& region) {
  if (text.size() != 2 * sizeof region.bytes) {
    return false;
  }
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < sizeof region.bytes; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return false;
    }
    region.bytes[i] = static_cast<unsigned char>(16 * high + low);
  }
  return true;
}

int rights_in(const std::vector<std::string>& names) {
  int rights = 0;
  for (const std::string& name : names) {
    if (name != "write" && name != "read" && name != "none") {
      throw CLI::ValidationError("--rights", "'" + name + "' is none of write, read, none");
    }
    rights |= name == "write"  ? TRIBUTARY_RDMA_PEERS_WRITE
              : name == "read" ? TRIBUTARY_RDMA_PEERS_READ
                               : 0;
  }
  return rights;
}

void add_common(CLI::App& app, RdmaOptions& o) {
  app.add_option("--interface", o.interface, "Network interface, for example eth0")->required();
  app.add_option("--ethertype", o.host.ethertype, "EtherType of the frames")->capture_default_str();
  app.add_option("--nid", o.host.nid,
                 "Own NID; default: low 20 bits of the interface's MAC address");
  app.add_option("--spin", o.host.spin_usec,
                 "Microseconds to poll for frames before sleeping; default: 0");
  app.add_option("--transport", o.host.transport,
                 "Transport of frames: raw or af_xdp; default: TRIBUTARY_TRANSPORT, or raw")
      ->transform(CLI::CheckedTransformer(std::map<std::string, int>{
          {"raw", TRIBUTARY_TRANSPORT_RAW}, {"af_xdp", TRIBUTARY_TRANSPORT_AF_XDP}}));
  app.add_option(
         "--progress", o.host.progress,
         "Who makes progress: caller or thread; default: TRIBUTARY_PROGRESS, or the caller, "
         "and a thread where memory is served")
      ->transform(CLI::CheckedTransformer(std::map<std::string, int>{
          {"caller", TRIBUTARY_PROGRESS_CALLER}, {"thread", TRIBUTARY_PROGRESS_THREAD}}));
  app.add_option("--transfers", o.sizes.transfers, "Transfers at once; default: 4096");
  app.add_option("--window", o.sizes.window, "Frames that a sender may be ahead; default: 1024");
  app.add_option("--retries", o.sizes.retries,
                 "How often a peer is asked in vain before it counts as unreachable; default: 250");
  app.add_option("--frame-bytes", o.sizes.frame_bytes,
                 "Longest frame behind its Ethernet header; default: the interface's MTU");
  app.add_option("--seed", o.seed, "Seed of the bytes that are written, or stand in the region")
      ->capture_default_str();
  app.add_flag("--json", o.json, "Report in lines of JSON");
}

void add_serve(CLI::App& serve, RdmaOptions& o, std::vector<std::string>& rights) {
  serve.add_option("--length", o.length, "Bytes of the region")->required();
  serve.add_option("--vni", o.vni, "Protection key of the region")->capture_default_str();
  serve.add_option("--rights", rights, "What peers may do: write, read, none")
      ->delimiter(',')
      ->capture_default_str();
  serve.add_option("--region-file", o.region_file, "File for the region, once it can be used");
  serve.add_option("--output", o.output, "File for what is in the region at the end");
  serve
      .add_option("--arrivals", o.arrivals,
                  "End after so many writes with immediate data; 0: never")
      ->capture_default_str();
  serve.add_option("--seconds", o.seconds, "End after so long; 0: never")->capture_default_str();
}

void add_transfer(CLI::App& app, RdmaOptions& o, std::string& region) {
  app.add_option("--region", region, "What `serve` printed, or @FILE with it")->required();
  app.add_option("--offset", o.offset, "Where to begin in the region")->capture_default_str();
  app.add_option("--count", o.count, "How many times, always to or from the same place")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--in-flight", o.in_flight, "Transfers at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option(
         "--again", o.again_seconds,
         "Seconds for which a transfer that fails is begun anew, with the region as it then "
         "stands in @FILE; 0: a failure is the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--timeout", o.timeout_seconds, "Seconds that one transfer may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

} // namespace

tributary_rdma_region region_in(const std::string& text) {
  std::string digits = text;
  if (text.starts_with('@')) {
    std::ifstream file(text.substr(1));
    if (!std::getline(file, digits)) {
      throw CLI::ValidationError("--region", "no region can be read from '" + text.substr(1) + "'");
    }
  }
  tributary_rdma_region region{};
  tributary_rdma_region_facts facts{};
  if (!read_hex(digits, region) || tributary_rdma_describe(&region, &facts) != TRIBUTARY_OK) {
    throw CLI::ValidationError("--region", "'" + digits +
                                               "' is no region: it is the 64 digits "
                                               "that `tributary-host rdma serve` prints, or @FILE");
  }
  return region;
}

std::optional<RdmaOptions> read_rdma_options(int argc, char** argv, int& exit_code) {
  RdmaOptions o;
  o.host = tributary_host_defaults("");
  o.sizes = tributary_rdma_defaults();
  std::string region;
  std::vector<std::string> rights = {"write", "read"};

  CLI::App app(
      "tributary-host rdma: memory of other hosts, through a fabric that may lose frames.");
  app.name("tributary-host rdma");
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.require_subcommand(1);
  // Inherited by every command.
  app.footer("Examples:\n"
             "  tributary-host rdma serve --interface eth0 --length 1048576 --region-file r\n"
             "  tributary-host rdma write --interface eth0 --region @r --input data.bin\n"
             "  tributary-host rdma read --interface eth0 --region @r --output copy.bin\n\n"
             "Exit codes: 0 done, 1 a transfer failed or the network cannot be reached, 2 wrong\n"
             "command line.");
  CLI::App& serve = *app.add_subcommand("serve", "Register memory, and let peers access it");
  CLI::App& write = *app.add_subcommand("write", "Write to a region of another host");
  CLI::App& read = *app.add_subcommand("read", "Read from a region of another host");
  for (CLI::App* each : {&serve, &write, &read}) {
    add_common(*each, o);
  }
  add_serve(serve, o, rights);
  add_transfer(write, o, region);
  add_transfer(read, o, region);
  CLI::Option* input = write.add_option("--input", o.input, "File with what to write");
  write.add_option("--length", o.length, "Bytes to write, made of the seed; default: the region's")
      ->excludes(input);
  write.add_option("--immediate", o.immediate,
                   "A number for the peer's program, which is told once all is there");
  read.add_option("--length", o.length, "Bytes to read; default: from the offset to the end");
  read.add_option("--output", o.output, "File for what was read");
  for (CLI::App* each : {&serve, &write, &read}) {
    terminal::name_values(*each, {{"NAME", {"--interface"}}, {"MICROSECONDS", {"--spin"}}});
  }
  terminal::name_values(serve, {{"RIGHTS", {"--rights"}},
                                {"PATH", {"--region-file", "--output"}},
                                {"SECONDS", {"--seconds"}}});
  for (CLI::App* each : {&write, &read}) {
    terminal::name_values(*each, {{"REGION", {"--region"}}, {"SECONDS", {"--again", "--timeout"}}});
  }
  terminal::name_values(write, {{"PATH", {"--input"}}});
  terminal::name_values(read, {{"PATH", {"--output"}}});
  try {
    app.parse(argc, argv);
    o.action = serve.parsed()   ? RdmaOptions::Action::serve
               : write.parsed() ? RdmaOptions::Action::write
                                : RdmaOptions::Action::read;
    o.rights = rights_in(rights);
    if (!serve.parsed()) {
      o.region_argument = region;
      o.region = region_in(region);
      const CLI::App& which = write.parsed() ? write : read;
      tributary_rdma_region_facts facts{};
      static_cast<void>(tributary_rdma_describe(&o.region, &facts));
      if (which.count("--length") == 0) {
        o.length = facts.length > o.offset ? facts.length - o.offset : 0;
      }
    }
  } catch (const CLI::ParseError& error) {
    constexpr int usage_error = 2;
    exit_code = app.exit(error) == 0 ? 0 : usage_error;
    return std::nullopt;
  }
  return o;
}

} // namespace tributary::host
