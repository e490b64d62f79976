"""Run a command and check its exit status, its processor time and its memory.

    python3 measure.py STATUS SECONDS MIB COMMAND...

The command reads the file `input`; its output goes to `out` and `err` (at most one line), its peak
memory in MiB to `peak`. SECONDS limits processor time, which a busy machine changes little; ten
times as many may pass on the clock. With READ=N in the environment, the output is closed after N
bytes; a command that this ends has the status -13. With MAPPED=FILE, what it reads of that file from
the disk counts as memory, too. With LONG_HAULS_FREE, time and memory are not checked.
"""
import ctypes
import mmap
import os
import resource
import subprocess
import sys
import time


def run(command, read):
    with open("input", "rb") as source, open("out", "wb") as out, open("err", "wb") as err:
        program = subprocess.Popen(command, stdin=source, stderr=err,
                                   stdout=subprocess.PIPE if read else out)
        began = time.monotonic()
        if read:
            out.write(program.stdout.read(int(read)))
            began = time.monotonic()  # measure how soon it ends after that
            program.stdout.close()
        return program.wait(), time.monotonic() - began


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
    found, passed = run(sys.argv[4:], os.environ.get("READ"))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    peak = max(peak, cached(mapped)) if mapped else peak
    with open("peak", "w", encoding="ascii") as file:
        file.write(f"{peak:.0f}\n")
    with open("err", "rb") as file:
        lines = file.read().count(b"\n")
    print(f"status {found}, {busy:.2f} s of {passed:.2f}, {peak:.0f} MiB")
    if found != status or lines > 1:
        print(f"expected status {status} and at most one line, found {lines}")
        return 1
    if os.environ.get("LONG_HAULS_FREE"):
        return 0
    if busy > seconds or passed > 10 * seconds or peak > mib:
        print(f"expected at most {seconds} s and {mib} MiB")
        return 1
    return 0


sys.exit(main())
