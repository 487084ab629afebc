// The web page: HTML, style sheet and modules, as stored in this folder. They are embedded when the
// manager is built, served unchanged, and load nothing from other sites.
//
// docs/operate/view.md describes what the page shows, main.js how its modules fit together. Pure.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace tributary::web_page {

struct File {
  std::string_view name;    ///< "index.html"; no folders
  std::string_view type;    ///< "text/html; charset=utf-8"
  std::string_view content; ///< UTF-8
};

/// By name.
[[nodiscard]] std::span<const File> files();

/// nullptr when the name is unknown.
[[nodiscard]] inline const File* find(std::string_view name) {
  const auto all = files();
  const auto found = std::ranges::find(all, name, &File::name);
  return found == all.end() ? nullptr : &*found;
}

} // namespace tributary::web_page
