#include "tools/host/rdma_options.hpp"

#include "lib/terminal/command_line.hpp"
#include "tools/host/options.hpp"

#include <cstddef>
#include <fstream>
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
    rights |= name == "write"  ? TRIBUTARY_RDMA_PEERS_WRITE
              : name == "read" ? TRIBUTARY_RDMA_PEERS_READ
                               : 0;
  }
  return rights;
}

/// Options that are not kept in the form in which they are given.
struct Given {
  std::optional<std::chrono::microseconds> spin;
  std::optional<bool> own_thread;
  std::vector<std::string> rights = {"write", "read"};
  std::string region;
};

void add_common(CLI::App& app, RdmaOptions& o, Given& given) {
  add_interface_options(app, o.interface, o.host.ethertype, o.host.nid, o.host.transport);
  terminal::add_duration(app, "--spin", given.spin, "Time to poll for frames before sleeping",
                         {.most = most_time})
      ->default_str("0s");
  add_own_thread(app, given.own_thread);
  app.get_option("--own-thread")->default_str("TRIBUTARY_PROGRESS, or only where memory is served");
  app.add_option("--transfers", o.sizes.transfers, "Largest number of transfers at once")
      ->default_str("4096");
  app.add_option("--window", o.sizes.window, "Frames that a sender may be ahead")
      ->default_str("1024");
  app.add_option("--retries", o.sizes.retries,
                 "Number of unanswered requests after which a peer counts as unreachable")
      ->default_str("250");
  app.add_option("--frame-bytes", o.sizes.frame_bytes, "Longest frame behind its Ethernet header")
      ->default_str("the interface's MTU");
  app.add_option("--seed", o.seed, "Seed of the bytes that are written, or stand in the region")
      ->capture_default_str();
  app.add_flag("--json", o.json, "Report in lines of JSON");
}

void add_serve(CLI::App& serve, RdmaOptions& o, Given& given) {
  serve.add_option("--length", o.length, "Bytes of the region")->required();
  terminal::within(serve.add_option("--vni", o.vni, "Protection key"), 0, 65'535)
      ->capture_default_str();
  terminal::one_of(serve.add_option("--rights", given.rights, "What peers may do")
                       ->type_name("RIGHT,...")
                       ->delimiter(',')
                       ->default_str("write,read"),
                   {"write", "read", "none"});
  serve.add_option("--region-file", o.region_file, "File for the region, once it can be used")
      ->type_name("FILE");
  serve
      .add_option("--arrivals", o.arrivals,
                  "Number of writes with immediate data after which it ends; 0: never")
      ->capture_default_str();
  terminal::add_duration(serve, "--duration", o.duration, "Time after which it ends; 0s: never");
}

void add_transfer(CLI::App& app, RdmaOptions& o, Given& given) {
  app.add_option("--region", given.region, "What `serve` printed, or @FILE with it")
      ->type_name("REGION")
      ->required();
  app.add_option("--offset", o.offset, "Where to begin in the region")->capture_default_str();
  terminal::within(app.add_option("--operations", o.count,
                                  "Number of transfers, always to or from the same place"),
                   1, 1e18)
      ->capture_default_str();
  terminal::within(app.add_option("--in-flight", o.in_flight,
                                  "Number of operations started before waiting for the first"),
                   1, 1e18)
      ->capture_default_str();
  terminal::add_duration(
      app, "--retry-for", o.retry_for,
      "Time for which failed transfers are started again, with the region as it then stands in "
      "@FILE; 0s: a failure is the end");
  terminal::add_duration(app, "--timeout", o.timeout, "Time that one operation may take",
                         {.least = std::chrono::microseconds(1)});
}

} // namespace

tributary_rdma_region region_in(const std::string& text) {
  std::string digits = text;
  if (text.starts_with('@')) {
    std::ifstream file(text.substr(1));
    if (!std::getline(file, digits)) {
      throw terminal::UsageError("--region: no region can be read from \"" + text.substr(1) + "\"");
    }
  }
  tributary_rdma_region region{};
  tributary_rdma_region_facts facts{};
  if (!read_hex(digits, region) || tributary_rdma_describe(&region, &facts) != TRIBUTARY_OK) {
    throw terminal::UsageError("--region takes the 64 digits that `tributary-host rdma serve` "
                               "prints, or @FILE, not \"" +
                               digits + "\"");
  }
  return region;
}

std::optional<RdmaOptions> read_rdma_options(int argc, char** argv, int& exit_code) {
  RdmaOptions o;
  o.host = tributary_host_defaults("");
  o.sizes = tributary_rdma_defaults();
  Given given;

  CLI::App app("tributary-host rdma: memory of other hosts, through a fabric that may lose frames.",
               "tributary-host rdma");
  terminal::set_up(app);
  app.require_subcommand(1);
  // Inherited by every command.
  app.footer("Examples:\n"
             "  tributary-host rdma serve --interface eth0 --length 1048576 --region-file r\n"
             "  tributary-host rdma write --interface eth0 --region @r --input data.bin\n"
             "  tributary-host rdma read --interface eth0 --region @r --output copy.bin");
  CLI::App& serve = *app.add_subcommand("serve", "Register memory, and let peers access it");
  CLI::App& write = *app.add_subcommand("write", "Write to a region of another host");
  CLI::App& read = *app.add_subcommand("read", "Read from a region of another host");
  for (CLI::App* each : {&serve, &write, &read}) {
    add_common(*each, o, given);
  }
  add_serve(serve, o, given);
  add_transfer(write, o, given);
  add_transfer(read, o, given);
  CLI::Option* input =
      write.add_option("--input", o.input, "File with the data to write")->type_name("FILE");
  write.add_option("--length", o.length, "Bytes to write, made from the seed")
      ->default_str("the region's")
      ->excludes(input);
  write.add_option("--immediate", o.immediate,
                   "Number that the peer's program receives once all data is there");
  read.add_option("--length", o.length, "Bytes to read")->default_str("from the offset to the end");
  serve.add_option("-o,--output", o.output, "File for the region's contents at the end")
      ->type_name("FILE");
  read.add_option("-o,--output", o.output, "File for the data read")->type_name("FILE");
  terminal::add_exit_codes(app,
                           {"0  done", "1  a transfer failed, or the network cannot be reached",
                            "2  wrong command line"});
  const auto done = terminal::parse(app, argc, argv, [&] {
    o.action = serve.parsed()   ? RdmaOptions::Action::serve
               : write.parsed() ? RdmaOptions::Action::write
                                : RdmaOptions::Action::read;
    o.rights = rights_in(given.rights);
    o.host.spin_usec =
        given.spin ? static_cast<std::uint32_t>(given.spin->count()) : o.host.spin_usec;
    if (given.own_thread) {
      o.host.progress = *given.own_thread ? TRIBUTARY_PROGRESS_THREAD : TRIBUTARY_PROGRESS_CALLER;
    }
    if (!serve.parsed()) {
      o.region_argument = given.region;
      o.region = region_in(given.region);
      const CLI::App& which = write.parsed() ? write : read;
      tributary_rdma_region_facts facts{};
      static_cast<void>(tributary_rdma_describe(&o.region, &facts));
      if (which.count("--length") == 0) {
        o.length = facts.length > o.offset ? facts.length - o.offset : 0;
      }
    }
  });
  if (done) {
    exit_code = *done;
    return std::nullopt;
  }
  return o;
}

} // namespace tributary::host
