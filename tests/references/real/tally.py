"""Counts of checks, and the last line of a stage."""
import sys


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def quiet(self, good, what):
        """Print only failures."""
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"failed: {what}", flush=True)

    def check(self, good, what):
        self.quiet(good, what)
        if good:
            print(f"passed: {what}", flush=True)

    def near(self, expected, found, bound, what):
        """Compare two numbers, or two tensors of one shape."""
        off = float(abs(expected - found).max()) if hasattr(found, "max") else abs(expected - found)
        self.check(off <= bound, f"{what}: off by {off:.1e}")

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(self.failed > 0)
