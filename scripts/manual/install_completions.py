#!/usr/bin/env python3
"""Part of `meson install`: completions under the names by which their shells look for them.

    install_completions.py FOLDER-WITH-THEM BASH-FOLDER ZSH-FOLDER FISH-FOLDER     (relative to the prefix)
"""

import os
import shutil
import sys
from pathlib import Path


def main():
    source, *folders = map(Path, sys.argv[1:])
    prefix = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"])
    for shell, folder, name in zip(("bash", "zsh", "fish"), folders, ("{}", "_{}", "{}.fish")):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
        for completion in sorted(source.glob(f"*.{shell}")):
            target = prefix / folder / name.format(completion.stem)
            shutil.copyfile(completion, target)
            target.chmod(0o644)


if __name__ == "__main__":
    main()
