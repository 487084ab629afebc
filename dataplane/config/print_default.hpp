// The commented default configuration and the reference of all keys, both generated from the
// schema.
#pragma once

#include <string>

namespace tributary::config {

/// A complete file that parses: one switch with two ports, a tree and routes, every key explained
/// and marked `live` or `restart`.
[[nodiscard]] std::string default_toml();

/// The tables of keys in docs/guide/configuration.md.
[[nodiscard]] std::string keys_markdown();

} // namespace tributary::config
