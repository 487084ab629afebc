#include "tests/fabric/describe.hpp"

#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

namespace tributary::fabric {

std::string describe(std::span<const std::byte> frame) {
  wire::ReductionFrame f;
  const auto error = wire::decode(frame, wire::default_ethertype, f);
  if (error != wire::DecodeError::none) {
    return fmt::format("{} bytes, {}", frame.size(), wire::name_of(error));
  }
  const auto& w = f.word;
  return fmt::format("tree {}/{}{}{} seq {} res {} count {} {} rc {} sig {:014x} vni {} cookie "
                     "{:08x} from nid {:05x} data {:x},{:x},{:x},{:x}",
                     f.tree.value, f.reduction.value, w.arm ? " ARM" : "",
                     w.retry() ? " RETRY" : "", w.seqno.value(), w.resno.value(), w.count,
                     wire::name_of(w.opcode()), w.rc, f.signature, f.vni.value, f.cookie.value,
                     f.source_nid.value, f.payload[0], f.payload[1], f.payload[2], f.payload[3]);
}

std::string describe(const LinkEnd& end) {
  return end.kind == LinkEnd::Kind::host
             ? fmt::format("host {}", end.node)
             : fmt::format("switch {} port {}", end.node, end.port.value);
}

} // namespace tributary::fabric
