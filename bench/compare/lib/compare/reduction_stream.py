"""Two capture files that, replayed without end and in lockstep, arm and complete real reductions.

Both ports are parents of every other tree: the first has port 1 as parent and port 0 as child, the
second the other way round. A group is a tree with some of its reductions. Both files consist of slots
of equal length, one group each. Slot s of a file holds

    the arms for group s + LEAD of the trees whose parent is this port, then
    the contributions to group s of the other trees.

Ports are polled in turn, a burst at a time, so events that need an order must be a burst apart: two
slots are at least that long, and so is the distance from the last contribution to the next arm.
"""

from dataclasses import dataclass

from tributary import frames

IDS = 8
BURST = 32
LEAD = 2
COOKIE = 0x5EED5EED
SEQUENCE = 5
# In one file. Each frame is kept in a buffer of 2.5 KB, of which every contender has its own.
MOST_FRAMES = 600_000


@dataclass(frozen=True)
class Stream:
    """The replayed stream: `leaves` contributions make one reduction."""

    leaves: int
    groups: int
    ids: int  # reductions in a group
    first_tree: int = 0
    step: int = 1  # from one tree to the next; with N, all are at one worker of N

    @property
    def one_tree(self):
        """Whether all groups of a direction are parts of one tree."""
        return self.ids < IDS

    @property
    def trees(self):
        """In rotation, of both directions together."""
        return 2 if self.one_tree else 2 * self.groups

    @property
    def frames_per_file(self):
        return self.groups * self.ids * (self.leaves + 1)

    def keys(self, direction, group):
        """(tree, reduction) of a group; `direction` 0: children at port 0."""
        group %= self.groups
        number, first = (0, group * self.ids) if self.one_tree else (group, 0)
        return [(self.tree(2 * number + direction), first + r) for r in range(self.ids)]

    def tree(self, number):
        return self.first_tree + self.step * number

    def lay(self, switch, ports, count=0):
        """Its trees for the configuration of a switch, at least `count`; `ports`: the names of ports
        0 and 1."""
        for number in range(max(self.trees, count)):
            lay_tree(switch, self.tree(number), self.leaves, ports, number % 2)

    def file(self, port):
        """The frames for one port, as bytes."""
        out = []
        for slot in range(self.groups):
            for tree, reduction in self.keys(1 - port, slot + LEAD):
                out.append(bytes(frames.arm(tree=tree, reduction=reduction, nid=1, cookie=COOKIE,
                                            seqno=SEQUENCE)))
            group = self.keys(port, slot)
            for leaf in range(1, self.leaves + 1):
                for tree, reduction in group:
                    out.append(bytes(frames.Frame(
                        tree=tree, reduction=reduction, nid=1 + leaf, cookie=COOKIE, rank=leaf,
                        seqno=SEQUENCE, resno=SEQUENCE, data=(leaf, -leaf, leaf << 40, 1))))
        return out


def lay_tree(switch, tree, leaves, ports, direction):
    switch.tree(tree, wait_count=leaves, parent=ports[1 - direction], children=[ports[direction]])


def stream(leaves, trees, most_frames=MOST_FRAMES):
    """The stream for this many trees, within the limits on the length of the files."""
    if trees == 1 and 2 * (leaves + 1) >= BURST:
        return Stream(leaves, groups=4, ids=2)
    slot = IDS * (leaves + 1)
    apart = -(-BURST // slot)
    shortest = LEAD + 1 + apart
    return Stream(leaves, max(shortest, min(trees // 2, most_frames // slot)), IDS)
