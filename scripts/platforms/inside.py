"""The command that runs something in a root of another release.

It has a mount namespace of its own, so no other process sees its mounts, and they end with it,
however it ends:

    /                the root
    /dev /proc /sys  this machine's
    /run             empty
    the tree         at the path that it has here
    build-peers      in it: of the release, build-PLATFORM/peers

Programs in it are this machine's processes with its network: the tests make namespaces of their own.
"""

import os
import subprocess
from pathlib import Path

from platforms.names import VARIABLE

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# $1: the root; $2: the working directory in it; then how many folders are bound, each as three
# words (here, there, ro or rw), and the command. pivot_root
# and not chroot, in which the kernel refuses some namespaces.
ENTER = """
root=$1 stand=$2 folders=$3
shift 3
export PATH=@PATH@
mount --bind "$root" "$root"
cd "$root"
for each in dev proc sys; do mount --rbind "/$each" "$each"; done
mount -t tmpfs -o mode=755 tributary-run run
mkdir -p run/lock
while [ "$folders" -gt 0 ]; do
  mkdir -p ".$2"
  mount --bind "$1" ".$2"
  [ "$3" = rw ] || mount -o remount,bind,ro ".$2"
  folders=$((folders - 1))
  shift 3
done
pivot_root . .
umount -l .
cd "$stand"
exec "$@"
""".replace("@PATH@", PATH)


def _common_git_folder(tree):
    """For a worktree: the folder outside of it that has the history."""
    output = subprocess.run(["git", "-C", str(tree), "rev-parse", "--path-format=absolute", "--git-common-dir"],
                          capture_output=True, text=True, check=False) if (tree / ".git").is_file() else None
    return Path(output.stdout.strip()) if output and output.returncode == 0 else None


def compiler_cache(environment=os.environ):
    home = Path(environment.get("HOME", "/root"))
    asked = environment.get("CCACHE_DIR")
    return next((path for path in ([Path(asked)] if asked else [home / ".ccache", home / ".cache/ccache"])
                 if path.is_dir()), None)


class Inside:
    def __init__(self, tree, place, platform):
        """`tree`: the sources; `place`: the root's folder, which is ready."""
        self.tree, self.place, self.platform = Path(tree), Path(place), platform
        self.folder = self.tree / f"build-{platform.name}"  # of everything built from the tree on
                                                            # the platform

    def bindings(self):
        """(folder here, folder there, "rw" or "ro")"""
        peers = self.folder / "peers"
        for folder in (peers, self.tree / "build-peers"):
            folder.mkdir(parents=True, exist_ok=True)
        found = [(self.tree, self.tree, "rw"), (peers, self.tree / "build-peers", "rw")]
        if history := _common_git_folder(self.tree):
            found.append((history, history, "ro"))
        if cache := compiler_cache():
            found.append((cache, cache, "rw"))
        return found

    def environment(self):
        """In addition to this program's own."""
        return {
            "PATH": PATH, "LC_ALL": "C.UTF-8", VARIABLE: self.platform.name,
            # The tree may be another user's, and git only reads.
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "GIT_OPTIONAL_LOCKS": "0",
        }

    def command(self, words, stand=None):
        """The command that runs `words` in the root, in the tree or in the folder `stand`; the
        environment is the caller's, too."""
        bindings = self.bindings()
        bound = [str(word) for binding in bindings for word in binding]
        settings = [f"{name}={value}" for name, value in self.environment().items()]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", str(self.place),
                str(stand or self.tree), str(len(bindings)), *bound, "env", "-u", "TMPDIR", *settings, *map(str, words)]
