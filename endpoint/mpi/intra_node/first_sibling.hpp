// Which of the ranks that one launcher started on a node does something that one of them should do,
// when they have no communicator to agree in.
//
// The first one binds a name in the abstract namespace of Unix sockets, which the kernel frees when
// the process ends, however it ends. Ranks that were started through a shell each have no
// siblings: then each is the first.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <string>
#include <string_view>

namespace tributary::mpi::intra_node {

class FirstSibling {
public:
  /// `deed`: a short word for what one of them does.
  explicit FirstSibling(std::string_view deed) : deed_(deed) {}
  /// Whether no sibling that still runs has asked before. True again for the one that was first.
  [[nodiscard]] bool is_first();

private:
  std::string deed_;
  net::FileDescriptor name_;
};

} // namespace tributary::mpi::intra_node
