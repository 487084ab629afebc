"""What the side-by-side benchmarks of bench/compare share: one concept a file."""
