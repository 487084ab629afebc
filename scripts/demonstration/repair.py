"""Cuts an uplink that the tree uses while the hosts reduce, and watches the manager install another
tree."""

import threading
import time


class Repair:
    """Runs beside the hosts, from the first progress they report."""

    def __init__(self, fabric, group):
        self.fabric = fabric
        self.group = group
        self.link = "none"
        self.repaired = False
        self.seconds = None
        self._thread = None

    def start(self):
        """Once; later calls do nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def finish(self):
        if self._thread is not None:
            self._thread.join(60)

    def text(self):
        if self.link == "none":
            return "was not needed: the run was over before"
        if not self.repaired:
            return "did NOT come"
        return f"was in force {1e3 * self.seconds:,.0f} ms after the cut"

    def _run(self):
        tree = self.fabric.tree_of(self.group)
        if tree is None:
            return
        leaf, spine = self.fabric.uplink_in_use(tree)
        self.link = f"leaf{leaf} - spine{spine}"
        started = time.monotonic()
        self.fabric.cut(leaf, spine)
        while time.monotonic() - started < 30:
            now = self.fabric.tree_of(self.group)
            if now is None:
                self.link = "none"  # the hosts have left meanwhile
                return
            if now["state"] == "in_force" and not self._crosses(now, leaf, spine):
                self.seconds = time.monotonic() - started
                self.repaired = True
                return
            time.sleep(0.002)

    @staticmethod
    def _crosses(tree, leaf, spine):
        ends = {f"leaf{leaf}", f"spine{spine}"}
        return any({part["switch"], part["parent"]["to"]} == ends for part in tree["parts"])
