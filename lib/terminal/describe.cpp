#include "lib/terminal/describe.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

namespace tributary::terminal {
namespace {

namespace json = boost::json;

/// With the dashes that get_lnames() and get_snames() omit; for a positional its own name.
json::array names_of(const CLI::Option& option) {
  json::array names;
  for (const std::string& name : option.get_snames()) {
    names.emplace_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.emplace_back("--" + name);
  }
  if (names.empty()) {
    names.emplace_back(option.get_name(true));
  }
  return names;
}

json::array names_of(const std::set<CLI::Option*>& options) {
  json::array names;
  for (const CLI::Option* option : options) {
    names.emplace_back(option->get_name());
  }
  return names;
}

json::array words_of(const std::vector<std::string>& words) {
  return json::array(words.begin(), words.end());
}

json::object description(const CLI::Option& option) {
  const bool flag = option.get_items_expected_max() == 0;
  return {{"names", names_of(option)},
          {"positional", option.get_positional()},
          {"flag", flag},
          {"value", flag ? "" : shown_value(option)},
          {"choices", flag ? json::array() : words_of(choices(option))},
          {"limits", flag ? "" : limits(option)},
          {"default", option.get_default_str()},
          {"environment", option.get_envname()},
          {"help", option.get_description()},
          {"group", option.get_group()},
          {"required", option.get_required()},
          {"repeated", option.get_items_expected_max() > 1},
          {"needs", names_of(option.get_needs())},
          {"excludes", names_of(option.get_excludes())}};
}

bool is_version(const CLI::Option& option) { return option.check_lname("version"); }

/// An option group is an app without a name; its options belong to the app that contains it.
void add_options(const CLI::App& app, const std::string& group, json::array& to) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) {
      continue;
    }
    json::object one = description(*option);
    if (!group.empty()) {
      one["group"] = group;
    }
    to.emplace_back(std::move(one));
  }
}

bool has_version(const CLI::App& app) {
  const auto options = app.get_options();
  return std::ranges::any_of(options,
                             [](const CLI::Option* option) { return is_version(*option); });
}

} // namespace

json::object description(const CLI::App& app) {
  json::array options;
  json::array commands;
  add_options(app, "", options);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name().empty()) {
      add_options(*sub, sub->get_group(), options);
    } else if (!sub->get_group().empty()) {
      commands.emplace_back(description(*sub));
    }
  }
  return {{"name", app.get_name()},        {"summary", app.get_description()},
          {"footer", app.get_footer()},    {"version", has_version(app) ? app.version() : ""},
          {"options", std::move(options)}, {"commands", std::move(commands)}};
}

void name_values(CLI::App& app, std::initializer_list<ValueName> names) {
  for (const ValueName& one : names) {
    for (const char* const option : one.options) {
      app.get_option(option)->type_name(one.name);
    }
  }
}

std::string raw_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string shown_value(const CLI::Option& option) {
  constexpr std::size_t longest = 40;
  const std::string all = fmt::format("{}", fmt::join(choices(option), "|"));
  return all.empty() || all.size() > longest || option.get_positional() ? raw_value(option) : all;
}

std::vector<std::string> choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  return begin == std::string::npos || !type.ends_with('}')
             ? std::vector<std::string>()
             : CLI::detail::split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

std::string limits(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(':');
  return begin == std::string::npos || !choices(option).empty() ? "" : type.substr(begin + 1);
}

void add_describe(CLI::App& app) {
  app.add_flag_callback(
         "--describe",
         [&app] {
           fmt::print("{}\n", json::serialize(description(app)));
           throw CLI::Success();
         },
         "Print this command line as JSON, for man pages and completions")
      ->group("");
}

} // namespace tributary::terminal
