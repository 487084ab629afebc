"""What the project's own scripts share: frames, captures. Standard library only."""
