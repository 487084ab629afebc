#include "lib/terminal/command_line.hpp"

#include "lib/configuration/schema.hpp"
#include "lib/configuration/suggest.hpp"
#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

namespace tributary::terminal {
namespace {

/// "tributaryctl fabric show"
std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr || app.get_parent()->get_name().empty()
             ? app.get_name()
             : fmt::format("{} {}", path_of(*app.get_parent()), app.get_name());
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_name().empty() && !one->get_group().empty()) {
      commands.push_back(one);
    }
  }
  return commands;
}

/// The last command on the command line.
const CLI::App& chosen(const CLI::App& app) {
  for (const CLI::App* one : commands_of(app)) {
    if (one->parsed()) {
      return chosen(*one);
    }
  }
  return app;
}

/// Calls `use` for every option of the command itself, including those of its groups.
template <typename Use> void for_each_option(const CLI::App& app, const Use& use) {
  for (const CLI::Option* option : app.get_options()) {
    use(*option);
  }
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (group->get_name().empty()) {
      for_each_option(*group, use);
    }
  }
}

/// The options that may follow this command: its own, and those of commands above it that
/// unmatched options fall through to.
std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr;
       app = app->get_fallthrough() ? app->get_parent() : nullptr) {
    for_each_option(*app, [&](const CLI::Option& option) {
      for (const std::string& name : option.get_lnames()) {
        if (!option.get_group().empty()) {
          names.push_back("--" + name);
        }
      }
    });
  }
  return names;
}

const CLI::Option* option_named(const CLI::App& command, std::string_view name) {
  const CLI::Option* found = nullptr;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for_each_option(*app, [&](const CLI::Option& option) {
      found = found == nullptr && option.get_name() == name ? &option : found;
    });
  }
  return found;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string_view near = configuration::nearest(word, words);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

/// "a, b or c"
std::string any_of(const std::vector<std::string>& words) {
  return words.size() < 2 ? fmt::format("{}", fmt::join(words, ""))
                          : fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "),
                                        words.back());
}

/// What no option and no command takes; empty if there is nothing.
std::string unknown_word(const CLI::App& app) {
  if (app.get_prefix_command()) {
    return ""; // the words of the program that it starts
  }
  std::vector<std::string> left = app.remaining(true);
  std::erase(left, "--"); // behind it are words of positional options
  if (left.empty()) {
    return "";
  }
  const CLI::App& command = chosen(app);
  const auto option = std::ranges::find_if(
      left, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (option != left.end()) {
    return unknown_option(app, *option);
  }
  std::vector<std::string> names;
  for (const CLI::App* one : commands_of(command)) {
    names.push_back(one->get_name());
  }
  return names.empty() ? fmt::format("unexpected word \"{}\"", left.front())
                       : fmt::format("unknown command \"{}\"{}", left.front(),
                                     suggestion(left.front(), names));
}

/// A number of these errors is named by CLI11 in words of its own; it gives us no other way to
/// learn the option than its text.
std::string option_in(std::string_view text, std::string_view before, std::string_view after) {
  text.remove_prefix(text.starts_with(before) ? before.size() : 0);
  return std::string(text.substr(0, text.find(after)));
}

std::string missing(const CLI::App& command, const CLI::RequiredError& error) {
  if (const CLI::Option* const option =
          option_named(command, option_in(error.what(), "", " is required"))) {
    return option->get_positional() ? fmt::format("{} is missing", shown_value(*option))
                                    : fmt::format("{} is missing", option->get_name());
  }
  std::vector<std::string> names;
  for (const CLI::App* one : commands_of(command)) {
    names.push_back(one->get_name());
  }
  return names.empty() ? std::string(error.what())
                       : fmt::format("a command is missing: {}", any_of(names));
}

std::string mismatch(const CLI::App& command, const CLI::ArgumentMismatch& error) {
  const std::string name = option_in(error.what(), "", ":");
  const std::string bare = name.substr(0, name.find(' '));
  const CLI::Option* const option = option_named(command, bare);
  if (option == nullptr) {
    return error.what();
  }
  return option->count() > 1
             ? fmt::format("{} is given {} times; give it once", bare, option->count())
         : option->get_items_expected_max() == 0
             ? fmt::format("{} takes no value", bare)
             : fmt::format("{} needs a value: {}", bare, shown_value(*option));
}

std::string text_of(const CLI::App& app, const CLI::ParseError& error) {
  if (std::string unknown = unknown_word(app); !unknown.empty()) {
    return unknown;
  }
  const CLI::App& command = chosen(app);
  if (const auto* const required = dynamic_cast<const CLI::RequiredError*>(&error)) {
    return missing(command, *required);
  }
  if (const auto* const arguments = dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    return mismatch(command, *arguments);
  }
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    const std::size_t at = text.find(" excludes ");
    return at == std::string::npos ? text
                                   : fmt::format("{} and {} cannot be given together",
                                                 text.substr(0, at), text.substr(at + 10));
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    const std::size_t at = text.find(" requires ");
    return at == std::string::npos
               ? text
               : fmt::format("{} needs {}", text.substr(0, at), text.substr(at + 10));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const std::string name = option_in(text, "Could not convert: ", " = ");
    const std::size_t at = text.find(" = ");
    return fmt::format("{} does not take \"{}\"", name,
                       at == std::string::npos ? "" : text.substr(at + 3));
  }
  return text;
}

/// The option of a message: "--timeout", or what --help calls a positional.
std::string subject(const CLI::Option& option) {
  return option.get_positional() ? shown_value(option) : option.get_name();
}

template <typename T> std::optional<T> number_in(std::string_view text) {
  int base = 10;
  if constexpr (std::is_integral_v<T>) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
      base = 16;
      text.remove_prefix(2);
    }
  }
  T value{};
  std::from_chars_result read{};
  if constexpr (std::is_integral_v<T>) {
    read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  } else {
    read = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && !text.empty()
             ? std::optional(value)
             : std::nullopt;
}

/// Gives every number of a type of CLI11's a name and a check of ours.
void complete(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    const std::string type = raw_value(*option);
    const bool is_whole = type == "INT" || type == "UINT";
    if (option->get_items_expected_max() == 0 || (!is_whole && type != "FLOAT")) {
      continue;
    }
    option->type_name(is_whole ? "N" : "NUMBER");
    checked(option, "", [is_whole, type](const std::string& text) -> std::string {
      const bool is_right = type == "INT"    ? number_in<std::int64_t>(text).has_value()
                            : type == "UINT" ? number_in<std::uint64_t>(text).has_value()
                                             : number_in<double>(text).has_value();
      return is_right ? ""
                      : fmt::format("must be a {}, not \"{}\"",
                                    is_whole ? "whole number" : "number", text);
    });
  }
  for (CLI::App* const one : app.get_subcommands([](const CLI::App*) { return true; })) {
    complete(*one);
  }
}

} // namespace

void set_up(CLI::App& app) {
  add_describe(app);
  fit_help(app);
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), TRIBUTARY_VERSION),
                       "Print the version and exit");
  app.get_help_ptr()->description("Print this help and exit");
}

void add_exit_codes(CLI::App& app, std::initializer_list<const char*> codes) {
  const std::string footer = app.get_footer();
  if (footer.find("Exit codes:") == std::string::npos) {
    app.footer(fmt::format("{}{}Exit codes:\n  {}", footer, footer.empty() ? "" : "\n",
                           fmt::join(codes, "\n  ")));
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    add_exit_codes(*command, codes);
  }
}

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv,
                         const std::function<void()>& check) {
  complete(app);
  try {
    app.parse(argc, argv);
    if (check) {
      check();
    }
  } catch (const CLI::Success& answered) {
    return app.exit(answered);
  } catch (const CLI::ParseError& error) {
    return refuse(app, text_of(app, error));
  } catch (const std::exception& error) {
    return refuse(app, error.what());
  }
  return std::nullopt;
}

std::string unknown_option(const CLI::App& app, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return fmt::format("unknown option {}{}", name, suggestion(name, long_names(chosen(app))));
}

int refuse(const CLI::App& app, std::string_view message) {
  const std::string command = path_of(chosen(app));
  fmt::print(stderr, "{}: {} ({} --help)\n", command, message, command);
  return exit_usage;
}

CLI::Option* checked(CLI::Option* option, const std::string& description,
                     std::function<std::string(const std::string&)> check) {
  return option->check(CLI::Validator(
      [option, check = std::move(check)](const std::string& text) -> std::string {
        if (const std::string problem = check(text); !problem.empty()) {
          throw UsageError(fmt::format("{} {}", subject(*option), problem));
        }
        return "";
      },
      description));
}

CLI::Option* one_of(CLI::Option* option, std::vector<std::string> words) {
  std::string description = fmt::format("{{{}}}", fmt::join(words, ","));
  return checked(option, description,
                 [words = std::move(words)](const std::string& text) -> std::string {
                   return std::ranges::find(words, text) != words.end()
                              ? ""
                              : fmt::format("must be {}, not \"{}\"{}", any_of(words), text,
                                            suggestion(text, words));
                 });
}

CLI::Option* within(CLI::Option* option, double least, double most) {
  const std::string type = raw_value(*option);
  const bool fractions = type == "FLOAT";
  if (fractions || type == "INT" || type == "UINT") {
    option->type_name(fractions ? "NUMBER" : "N");
  }
  const auto shown = [](double bound) {
    return std::abs(bound) < 1e15 && bound == std::floor(bound)
               ? fmt::format("{}", static_cast<std::int64_t>(bound))
               : fmt::format("{}", bound);
  };
  const std::string limits = most < 1e15 ? fmt::format("{} to {}", shown(least), shown(most))
                                         : fmt::format("{} or more", shown(least));
  return checked(option, limits, [=](const std::string& text) -> std::string {
    std::optional<double> value = number_in<double>(text);
    if (!fractions) {
      const auto whole = number_in<std::int64_t>(text);
      value = whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
    }
    return value && *value >= least && *value <= most
               ? ""
               : fmt::format("must be a {}{}{}, not \"{}\"", fractions ? "number" : "whole number",
                             most < 1e15 ? " from " : " of ", limits, text);
  });
}

std::string duration_value(FineDuration duration) {
  const double ns = duration.count();
  return ns == std::floor(ns) ? configuration::duration_text(static_cast<std::int64_t>(ns))
                              : fmt::format("{:g}ns", ns);
}

CLI::Option* add_duration(CLI::App& app, const std::string& names,
                          std::function<void(FineDuration)> take, const std::string& help,
                          const DurationLimits& limits) {
  return as_duration(app.add_option_function<std::string>(
                         names,
                         [take = std::move(take)](const std::string& text) {
                           take(FineDuration(configuration::exact_duration_ns(text).value_or(0)));
                         },
                         help),
                     limits);
}

CLI::Option* as_duration(CLI::Option* option, const DurationLimits& limits) {
  return checked(
      option->type_name("DURATION"), "", [limits](const std::string& text) -> std::string {
        const auto ns = configuration::exact_duration_ns(text);
        if (!ns) {
          return fmt::format("is a duration, such as 2s or 500ms, not \"{}\"", text);
        }
        if (*ns < limits.least.count() || *ns > limits.most.count()) {
          return fmt::format("must be from {} to {}, not {}", duration_value(limits.least),
                             duration_value(limits.most), text);
        }
        // Decimal fractions are not exact: 1.1us is a multiple of 1ns.
        const double steps = limits.step.count() == 0 ? 0 : *ns / limits.step.count();
        return std::abs(steps - std::round(steps)) < 1e-6
                   ? ""
                   : fmt::format("must be a multiple of {}, not {}", duration_value(limits.step),
                                 text);
      });
}

CLI::Option* add_share(CLI::App& app, const std::string& names, std::function<void(double)> take,
                       const std::string& help) {
  return as_share(app.add_option_function<std::string>(
      names,
      [take = std::move(take)](const std::string& text) {
        take(configuration::share_of(text).value_or(0));
      },
      help));
}

CLI::Option* as_share(CLI::Option* option, double least, double most) {
  return checked(option->type_name("SHARE"), "", [=](const std::string& text) -> std::string {
    const auto share = configuration::share_of(text);
    return !share ? fmt::format("is a share, such as 1% or 0.01, not \"{}\"", text)
           : *share < least || *share > most
               ? fmt::format("must be from {:g}% to {:g}%, not {}", 100 * least, 100 * most, text)
               : "";
  });
}

CLI::Option* add_share(CLI::App& app, const std::string& names, double& value,
                       const std::string& help) {
  return add_share(
             app, names, [&value](double share) { value = share; }, help)
      ->default_str(fmt::format("{:g}%", value * 100));
}

std::vector<CLI::Option*> add_manager_options(CLI::App& app, ManagerOptions& options) {
  return {app.add_option("-m,--manager", options.manager,
                         "The fabric manager: unix:PATH, HOST:PORT, http://HOST[:PORT] or "
                         "https://HOST[:PORT]; HOST:PORT is https. With standbys all of them, with "
                         "commas between them")
              ->type_name("ADDRESS")
              ->default_str("TRIBUTARY_FABRIC_MANAGER_URL, or the manager of this machine"),
          app.add_option("--token-file", options.token_file,
                         "File with the token of a job or of the administrator")
              ->type_name("FILE")
              ->default_str("the token in TRIBUTARY_FABRIC_MANAGER_TOKEN"),
          app.add_option("--ca", options.certificate_authority,
                         "CA of the manager's certificate: a PEM file or directory, yes for the "
                         "system's CAs, no for no check")
              ->type_name("PATH")
              ->default_str("TRIBUTARY_FABRIC_MANAGER_CACERT, or yes")};
}

std::string token_in(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!(file >> token)) {
    throw UsageError(fmt::format("--token-file: no token can be read from {} ({})", path,
                                 errno == 0 ? "it is empty" : std::strerror(errno)));
  }
  return token;
}

CLI::Option* add_ethertype(CLI::App& app, std::uint16_t& value) {
  return checked(app.add_option("--ethertype", value, "EtherType of the fabric's frames")
                     ->type_name("ETHERTYPE")
                     ->default_str(fmt::format("0x{:04X}", value)),
                 "0x0600 to 0xFFFF", [](const std::string& text) -> std::string {
                   const auto number = number_in<std::int64_t>(text);
                   return number && *number >= 0x0600 && *number <= 0xFFFF
                              ? ""
                              : fmt::format("must be from 0x0600 to 0xFFFF, not \"{}\"", text);
                 });
}

} // namespace tributary::terminal
