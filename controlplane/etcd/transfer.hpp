// All records of a fabric in etcd, read and written as a whole: for export and import, while no
// manager leads where it writes.
//
// An import that ends half way leaves the key "import", and no "format": no manager starts on it,
// and it can be repeated with `replace`.
//
// Shell: blocks.
#pragma once

#include "controlplane/etcd/client.hpp"
#include "controlplane/record_text/export_text.hpp"
#include "controlplane/store/store_error.hpp"

#include <string>

namespace tributary::etcd {

/// At one revision. Throws store::StoreError.
[[nodiscard]] record_text::Exported read_records(const ClientSettings& settings,
                                                 const std::string& prefix);
/// The epoch of the next leader is above that of the records, and above all of this etcd before.
/// `replace`: what is there is erased. Throws store::StoreError, also when a manager leads.
void write_records(const ClientSettings& settings, const std::string& prefix,
                   const record_text::Exported& all, bool replace);

} // namespace tributary::etcd
