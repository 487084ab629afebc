// Rules that the paper lacks or has wrong, each with a switch. Only tests turn one off, to show
// that something breaks without it (docs/protocol/rdma.md, "Rules").
#pragma once

namespace tributary::rdma {

struct Rules {
  bool loc_plus_one = true;    ///< the frame that fills the base counts itself
  bool sender_limit = true;    ///< sources send nothing above their credit
  bool identity = true;        ///< frames must belong to the transfer that owns the context
  bool generation = true;      ///< and to the current owner's generation
  bool finished_memory = true; ///< sinks remember finished transfers
  bool back_off = true;        ///< a busy peer is not asked for a while
  bool query = true;           ///< a source that receives nothing sends a QUERY
};

} // namespace tributary::rdma
