#include "dataplane/config/print_default.hpp"
#include "dataplane/config/schema.hpp"
#include "lib/configuration/section_reader.hpp"
#include "sample.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace tributary::config {
namespace {

using testing::HasSubstr;

TEST(default_toml, parses) {
  const Parsed parsed = parse_text(default_toml(), "default.toml");
  ASSERT_EQ(parsed.config.switches.size(), 1U);
  EXPECT_EQ(parsed.config.switches[0].ports.size(), 2U);
  EXPECT_EQ(parsed.config.switches[0].trees.size(), 1U);
  EXPECT_EQ(parsed.config.switches[0].routes.size(), 2U);
  EXPECT_FALSE(parsed.config.manager.has_value());
}

TEST(default_toml, names_every_key_and_whether_it_is_live) {
  const std::string text = default_toml();
  for (const configuration::SectionSpec& section : switch_schema()) {
    for (const configuration::KeySpec& spec : section.keys) {
      EXPECT_THAT(text, HasSubstr(fmt::format("{} = ", spec.name)));
      EXPECT_THAT(text, HasSubstr(fmt::format("# [{}] {}", name_of(spec.change),
                                              spec.help.substr(0, spec.help.find(' ')))));
    }
  }
}

/// All fallbacks in the schema, against the values of absent keys in the structures.
TEST(schema, written_out_fallbacks_equal_the_defaults_of_the_structures) {
  const auto check = [](Section section, auto fresh, auto same) {
    const auto specs = spec_of(section).keys;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].fallback.empty()) {
        continue;
      }
      const auto table = toml::parse(fmt::format("v = {}", specs[i].fallback));
      std::string problem;
      const auto value = configuration::read_value(*table.get("v"), specs[i].type, problem);
      ASSERT_TRUE(value.has_value()) << specs[i].name << ": " << problem;
      auto assigned = fresh;
      assign(i, *value, assigned);
      EXPECT_TRUE(same(fresh, assigned)) << spec_of(section).path << "." << specs[i].name;
    }
  };
  check(Section::process, Process{}, [](const Process& a, const Process& b) {
    return a.workers == b.workers && a.cores == b.cores && a.poll == b.poll &&
           a.idle_spin == b.idle_spin && a.idle_awake == b.idle_awake &&
           a.idle_sleep_max == b.idle_sleep_max && a.control_socket == b.control_socket &&
           a.hugepages == b.hugepages && a.memory_mib == b.memory_mib &&
           a.buffers_per_port == b.buffers_per_port && a.log_level == b.log_level;
  });
  check(Section::manager, Manager{},
        [](const Manager& a, const Manager& b) { return a.hello_interval == b.hello_interval; });
  check(Section::switches, Switch{}, [](const Switch& a, const Switch& b) {
    return a.ethertype == b.ethertype && a.settings.nan_mode == b.settings.nan_mode &&
           a.settings.descriptors_per_engine == b.settings.descriptors_per_engine &&
           a.settings.drop_foreign == b.settings.drop_foreign &&
           a.settings.wide_memory == b.settings.wide_memory &&
           a.settings.timers.limits == b.settings.timers.limits &&
           a.settings.timers.units == b.settings.timers.units &&
           a.classes.queues.watchdog.detection_ns == b.classes.queues.watchdog.detection_ns;
  });
  check(Section::port, Port{}, [](const Port& a, const Port& b) {
    return a.kind == b.kind && a.role == b.role && a.memif_id == b.memif_id &&
           a.repeat == b.repeat && a.policy == b.policy && a.tags == b.tags && a.vlan == b.vlan;
  });
  check(Section::switch_class, ClassDraft{}, [](const ClassDraft& a, const ClassDraft& b) {
    return a.queue == b.queue && a.pause.xoff == b.pause.xoff && a.pause.xon == b.pause.xon &&
           a.pause.headroom == b.pause.headroom;
  });
  check(Section::tree, TreeDraft{},
        [](const TreeDraft& a, const TreeDraft& b) { return a.slots == b.slots; });
  check(Section::impairment, Impairment{}, [](const Impairment& a, const Impairment& b) {
    return a.settings == b.settings && a.seed == b.seed;
  });
}

TEST(schema, samples_and_fallbacks_satisfy_their_own_types) {
  for (const configuration::SectionSpec& section : switch_schema()) {
    for (const configuration::KeySpec& spec : section.keys) {
      for (const auto text : {spec.fallback, spec.sample}) {
        if (text.empty()) {
          continue;
        }
        std::string problem;
        const auto table = toml::parse(fmt::format("v = {}", text));
        EXPECT_TRUE(configuration::read_value(*table.get("v"), spec.type, problem).has_value())
            << section.path << "." << spec.name << " = " << text << ": " << problem;
      }
      EXPECT_FALSE(spec.help.empty()) << spec.name;
      EXPECT_FALSE(spec.required && !spec.fallback.empty()) << spec.name;
    }
  }
}

TEST(guide, holds_the_tables_of_keys_as_the_schema_has_them) {
  std::ifstream in(std::string(TRIBUTARY_SOURCE_ROOT) + "/docs/guide/configuration.md");
  ASSERT_TRUE(in.is_open());
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(keys_markdown()))
      << "docs/guide/configuration.md is behind the schema; put in there what "
         "`tributary-switch --print-keys` writes";
}

} // namespace
} // namespace tributary::config
