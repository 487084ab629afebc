// The rules that the paper lacks or has wrong, each with a switch. Only tests turn one off, to show
// that something breaks without it (docs/protocol/rdma.md, "Rules").
#pragma once

namespace tributary::rdma {

struct Rules {
  bool loc_plus_one = true;    ///< the frame that fills the base counts itself
  bool sender_limit = true;    ///< sources send nothing above their credit
  bool identity = true;        ///< frames must be of the transfer that owns the context
  bool generation = true;      ///< and of the present owner's time
  bool finished_memory = true; ///< sinks remember what has been finished
  bool back_off = true;        ///< a busy peer is left in peace for a while
  bool query = true;           ///< a source that hears nothing asks
};

} // namespace tributary::rdma
