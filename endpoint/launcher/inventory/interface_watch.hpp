// Notifies of possible changes to the network interfaces of this network namespace (rtnetlink,
// RTMGRP_LINK). The caller looks again to find what changed.
#pragma once

namespace tributary::launch::inventory {

/// A non-blocking descriptor that is readable after a change; -1 when none can be opened. The
/// caller closes it.
[[nodiscard]] int watch_interfaces();
/// Discards pending notifications. One read may stand for many changes.
void clear_watch(int descriptor);

} // namespace tributary::launch::inventory
