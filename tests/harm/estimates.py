"""Compare the memory that a command says it needs with the memory that it takes.

    python3 estimates.py ATTN MODEL ARGUMENT...

The command runs three times: with far too little memory, where its message tells its estimate; with
a little less than that; and with a little more. The first two must be refused in one line, with
status 3 and both numbers, before anything is computed. The last must succeed, with a peak within a
fifth of the estimate (or 12 MiB). Memory is limited by a control group if one can be made, else by
`ulimit -v`. An estimate is of the memory in addition to that of the process at its start and to
the pages of the weights' file: MODEL is the folder with that file. With READ=N in the environment
the output is closed after N bytes.
"""
import contextlib
import glob
import os
import re
import resource
import subprocess
import sys

MIB = 1 << 20
SMALL = 12 * MIB
START = 6 * MIB  # of the process at its start; it differs from run to run by some of them
LESS = 6 * MIB
RESERVED = 192 * MIB  # `ulimit -v` counts addresses that threads reserve for their heaps
PROBES = [48 * MIB, 80 * MIB, 128 * MIB, 192 * MIB]  # and those of stacks and libraries


class Limit:
    """A limit of memory for processes that call `enter` before they run the command."""

    def __init__(self):
        self.size = self.file = self.folder = None
        with open("/proc/self/cgroup", encoding="ascii") as file:
            groups = [line.rstrip("\n").split(":", 2)[1:] for line in file]
        for kind, path in groups:
            places = {"memory": ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                      "": ("/sys/fs/cgroup", "memory.max")}
            if kind not in places or self.file:
                continue
            folder = f"{places[kind][0]}{path}/attn-cli-test-{os.getpid()}"
            with contextlib.suppress(OSError):
                os.mkdir(folder)
                if os.path.exists(f"{folder}/{places[kind][1]}"):
                    self.folder, self.file = folder, f"{folder}/{places[kind][1]}"
                else:
                    os.rmdir(folder)

    def set(self, size):
        self.size = size
        if self.file:
            with open(self.file, "w", encoding="ascii") as file:
                file.write(str(size))

    def enter(self):
        if not self.file:
            resource.setrlimit(resource.RLIMIT_AS, (self.size, self.size))
            return
        with open(f"{self.folder}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def end(self):
        if self.folder:
            os.rmdir(self.folder)


def is_in_memory(folder):
    """True if a control group counts the files of the folder: those of a tmpfs."""
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = [line.split()[1:3] for line in file]
    inside = [mount for mount in mounts if f"{folder}/".startswith(mount[0].rstrip("/") + "/")]
    return max(inside, key=lambda mount: len(mount[0]))[1] == "tmpfs"


def run(command, limit, size):
    """The status, the message and the peak memory of the command with this limit."""
    read = os.environ.get("READ")
    limit.set(size)
    with open("err", "w+b") as err:
        program = subprocess.Popen(command, stdout=subprocess.PIPE if read else subprocess.DEVNULL,
                                   stderr=err, preexec_fn=limit.enter)
        if read:
            program.stdout.read(int(read))
            program.stdout.close()
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return program.returncode, err.read().decode(), usage.ru_maxrss * 1024


def refusal(status, message):
    """The expected and the found bytes of a refusal in one line, or None."""
    found = re.fullmatch(r"attn-cli: error: '.*': expected (\d+) MB of free memory, "
                         r"found (\d+) MB .*\n", message)
    return [int(number) * MIB for number in found.groups()] if found and status == 3 else None


def check(command, model, limit):
    for probe in PROBES:
        status, message, _ = run(command, limit, probe)
        if refusal(status, message):
            break
    else:
        return f"expected a refusal, found status {status}: {message}"
    estimate, left = refusal(status, message)
    start = probe - left
    status, message, peak = run(command, limit, start + estimate - max(LESS, estimate // 16))
    if not refusal(status, message) or peak > estimate // 2:
        return f"expected a refusal, found status {status}, {peak // MIB} MiB: {message}"
    slack = estimate // 20 + SMALL + (0 if limit.file else RESERVED)
    if limit.file and is_in_memory(os.getcwd()):
        slack += 2 * estimate  # of the result, which is in memory, too
    status, message, peak = run(command, limit, start + estimate + slack)
    weights = sum(os.path.getsize(file) for file in glob.glob(f"{model}/*.safetensors"))
    taken = peak - START - weights
    print(f"{estimate // MIB} MiB expected, {taken // MIB} MiB taken")
    if status not in (0, -13):
        return f"expected success, found status {status}: {message}"
    if abs(taken - estimate) > max(estimate // 5, SMALL):
        return "expected an estimate within a fifth"
    return 0


def main():
    limit = Limit()
    try:
        return check([sys.argv[1], *sys.argv[3:]], sys.argv[2], limit)
    finally:
        limit.end()


sys.exit(main())
