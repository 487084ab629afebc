#include "tools/tributaryctl/store/run.hpp"

#include "controlplane/process/store_transfer.hpp"
#include "tools/tributaryctl/exit_codes.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace tributary::cli {
namespace {

std::string text_of(const std::string& file) {
  if (file == "-") {
    return {std::istreambuf_iterator<char>(std::cin), {}};
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw std::runtime_error(fmt::format("{} cannot be read: {}", file, std::strerror(errno)));
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

int run_store(const StoreCommand& command, bool json) {
  if (command.verb == StoreCommand::Verb::export_all) {
    // It is JSON in lines, with --json, too.
    const std::string text = fabricd::export_store(command.config);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return exit_success;
  }
  const std::string said =
      fabricd::import_store(command.config, text_of(command.file), command.replace);
  fmt::print("{}\n", json ? boost::json::serialize(boost::json::object{{"result", said}}) : said);
  return exit_success;
}

} // namespace tributary::cli
