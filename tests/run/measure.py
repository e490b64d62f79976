"""Run a command and check its exit status, its processor time and its memory.

    python3 measure.py STATUS SECONDS MIB COMMAND...

The command reads the file `input`; its output goes to `out` and `err` (at most one line), its peak
memory in MiB to `peak`. SECONDS limits processor time, ten times of what the command takes or more:
on a slower machine so many more as a loop takes longer there. HANG, as in tally.sh, limits the time
on the clock. With READ=N in the environment, the output is closed after N
bytes; a command that this ends has the status -13. With MAPPED=FILE, what it reads of that file from
the disk counts as memory, too. With LONG_HAULS_FREE, time and memory are not checked.
"""
import ctypes
import mmap
import os
import resource
import subprocess
import sys
import threading
import time

LOOP_SECONDS = 0.1  # of `loop` where the limits were set


def run(command, read):
    with open("input", "rb") as source, open("out", "wb") as out, open("err", "wb") as err:
        program = subprocess.Popen(command, stdin=source, stderr=err,
                                   stdout=subprocess.PIPE if read else out)
        hangs = threading.Timer(float(os.environ.get("HANG", "600")), program.kill)
        hangs.start()
        if read:
            out.write(program.stdout.read(int(read)))
            program.stdout.close()
        status = program.wait()
        hangs.cancel()
        return status


def loop():
    """The processor time of a loop of arithmetic."""
    began = time.process_time()
    sum(number * number for number in range(1000000))
    return time.process_time() - began


def cached(path):
    """The size in MiB of what is in memory of a file."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
        in_memory = (ctypes.c_ubyte * (len(pages) // mmap.PAGESIZE + 1))()
        first = ctypes.c_ubyte.from_buffer(pages)
        ctypes.CDLL(None).mincore(ctypes.byref(first), ctypes.c_size_t(len(pages)), in_memory)
        del first
        return sum(page & 1 for page in in_memory) * mmap.PAGESIZE / 1024**2


def forget(path):
    """Remove a file from memory. False: this file system cannot."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return cached(path) == 0


def main():
    status, seconds, mib = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    mapped = os.environ.get("MAPPED")
    mapped = mapped if mapped and forget(mapped) else None
    found = run(sys.argv[4:], os.environ.get("READ"))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    peak = max(peak, cached(mapped)) if mapped else peak
    with open("peak", "w", encoding="ascii") as file:
        file.write(f"{peak:.0f}\n")
    with open("err", "rb") as file:
        lines = file.read().count(b"\n")
    print(f"status {found}, {busy:.2f} s, {peak:.0f} MiB")
    if found != status or lines > 1:
        print(f"expected status {status} and at most one line, found {lines}")
        return 1
    if os.environ.get("LONG_HAULS_FREE"):
        return 0
    if busy > seconds:
        seconds *= max(1, max(loop() for _ in range(5)) / LOOP_SECONDS)
    if busy > seconds or peak > mib:
        print(f"expected at most {seconds:.1f} s and {mib} MiB")
        return 1
    return 0


sys.exit(main())
