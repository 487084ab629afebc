"""Shared parts of the project's own scripts: frames, captures. Standard library only."""
