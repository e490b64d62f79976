"""Tables of who takes how long: those who are compared are measured in turn."""
import os
import statistics
import sys
import time

ROUNDS = int(os.environ.get("ROUNDS", 5))
MINUTES = float(os.environ.get("MINUTES", 9))
END = float(os.environ.get("STARTED", time.time())) + 60 * MINUTES


def print_line(name, columns):
    print(f"{name:28}" + "".join(f"{column:>13}" for column in columns), flush=True)


def tell(text):
    """How far it is, on a terminal, in a line that the next one takes the place of."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def share(rows):
    """Seconds for each of so many rows that are still to come."""
    return max(0, END - time.time()) / rows


def take_rounds(name, measures, seconds):
    """One round that does not count, then ROUNDS of them: fewer where time is up, and the first alone
    where another would go beyond it."""
    start = time.monotonic()
    rounds = []
    while len(rounds) <= ROUNDS:
        taken = time.monotonic() - start
        if rounds and taken * (1 + 1 / len(rounds)) > seconds:
            break
        tell(f"{name}: round {len(rounds)} of {ROUNDS}")
        rounds.append([m and m() for m in measures])
    tell("")
    return rounds[1:] or rounds


def print_row(name, measures, rows):
    """Measures give seconds, None: no column; so many rows, this one too, share the time up to END.
    The median of the first, and of how many times as long the others took in the same round."""
    rounds = take_rounds(name.strip(), measures, share(rows))
    columns = [f"{1e3 * statistics.median(row[0] for row in rounds):.1f} ms"]
    for i in range(1, len(measures)):
        ratio = statistics.median(row[i] / row[0] for row in rounds) if measures[i] else None
        columns.append(f"{ratio:.2f} ×" if ratio else "")
    if len(rounds) < ROUNDS:
        columns.append(f"  {len(rounds)} of {ROUNDS} rounds")
    print_line(name, columns)
