"""Tables of who takes how long: those who are compared are measured in turn."""
import os
import statistics

ROUNDS = int(os.environ.get("ROUNDS", 5))


def print_line(name, columns):
    print(f"{name:28}" + "".join(f"{column:>13}" for column in columns), flush=True)


def print_row(name, measures):
    """One round that does not count, then ROUNDS of them; measures give seconds, None: no column.
    The median of the first, and of how many times as long the others took in the same round."""
    rounds = [[m and m() for m in measures] for _ in range(1 + ROUNDS)][1:]
    columns = [f"{1e3 * statistics.median(row[0] for row in rounds):.1f} ms"]
    for i in range(1, len(measures)):
        ratio = statistics.median(row[i] / row[0] for row in rounds) if measures[i] else None
        columns.append(f"{ratio:.2f} ×" if ratio else "")
    print_line(name, columns)
