"""Build the wheel attn-cli: the program, libattn.so and the Python module attn, without a compiler.

    make wheel                                        BUILD/wheel/attn_cli-VERSION-py3-none-PLATFORM.whl
    python3 data/packages/wheel.py build              the same, from the files of `make wheel-files`

pip calls build_wheel and build_sdist (PEP 517), which need no other package; the variable BUILD
names the folder of objects. The platform is manylinux_2_N if the files need only the C library of
version 2.N, and else linux: where archives.sh gets no sources, they need the system's libraries,
which are named. The same files give the same bytes; the time is SOURCE_DATE_EPOCH, or that of the
last commit.
"""
import base64
import glob
import hashlib
import io
import os
import re
import shlex
import subprocess
import sys
import tarfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.path.join(ROOT, "lib", "bindings", "python")
METADATA = """Metadata-Version: 2.4
Name: attn-cli
Version: %s
Summary: Inspect attention in transformer language models: a program, and a module for Python
Description-Content-Type: text/plain
Keywords: attention,interpretability,surprisal,transformer,gguf
License-Expression: MIT AND BSD-2-Clause AND BSD-3-Clause AND Unicode-3.0
License-File: LICENSE
License-File: THIRD-PARTY.md
License-File: LIBRARIES.txt
Classifier: Environment :: Console
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.8
Requires-Dist: numpy

attn-cli runs a transformer language model (a Hugging Face folder or a GGUF file) on a text and
prints, plots or exports every attention head and every intermediate tensor:

    attn-cli run "Life is short, eat dessert first"
    python3 -c 'import attn; print(attn.Model("tiny").run("Life is short")["h.1.weights"])'
"""
WHEEL = """Wheel-Version: 1.0
Generator: attn-cli
Root-Is-Purelib: false
Tag: py3-none-%s
"""


def read(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return file.read()


def version():
    return re.search(rb'ATTN_VERSION "(.*)"', read("cmd", "command.h")).group(1).decode()


def epoch():
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    git = ["git", "-c", "safe.directory=*", "-C", ROOT, "log", "-1", "--format=%ct"]
    if os.path.exists(os.path.join(ROOT, ".git")):
        return int(subprocess.check_output(git))
    return int(os.path.getmtime(os.path.join(ROOT, "README.md")))


def platform_of(files):
    """The platform on which the files run, and the libraries that they need there."""
    about = subprocess.check_output(["readelf", "-hdVW"] + files, env=dict(os.environ, LC_ALL="C"),
                                    universal_newlines=True)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", about))
    machine = {"X86-64": "x86_64", "AArch64": "aarch64"}[re.search(r"Machine: .*?(\S+)\n",
                                                                   about).group(1)]
    of_libc = re.compile(r"(lib(c|m|pthread|dl)|ld-linux.*)\.so\.\d+$")
    others = sorted(name for name in needed if not of_libc.match(name))
    if others:
        return "linux_" + machine, others
    minor = max(int(number) for number in re.findall(r"Name: GLIBC_2\.(\d+)", about))
    return "manylinux_2_%d_%s" % (minor, machine), others


def libraries(build):
    """The names, versions and licences of the libraries in the program and in libattn.so."""
    table = dict(re.findall(r"\| (\w+) \| .*in the binary.* \| (.*) \|",
                            read("THIRD-PARTY.md").decode()))
    text = "Libraries in attn-cli and in libattn.so. THIRD-PARTY.md has their licences.\n\n"
    for line in read(build, "wheel", "versions").decode().splitlines():
        text += "%s: %s\n" % (line, table[line.split()[0]])
    return text.encode()


def contents(build, editable):
    """The platform, the libraries it must have, and the bytes of each file. Editable: what leads to
    the sources and to BUILD."""
    program, library = "attn-cli", "libattn.so." + version().rpartition(".")[0]
    platform, needed = platform_of([os.path.join(build, "wheel", name) for name in (program, library)])
    name = "attn_cli-" + version()
    about = name + ".dist-info/"
    files = {name + ".data/scripts/attn-cli": read(build, "wheel", program),
             "attn/" + library: read(build, "wheel", library),
             "attn/py.typed": b"",
             about + "METADATA": (METADATA % version()).encode(),
             about + "WHEEL": (WHEEL % platform).encode(),
             about + "licenses/LICENSE": read("LICENSE"),
             about + "licenses/THIRD-PARTY.md": read("THIRD-PARTY.md"),
             about + "licenses/LIBRARIES.txt": libraries(build)}
    for path in sorted(glob.glob(os.path.join(MODULE, "**", "*.py"), recursive=True)):
        inside = os.path.relpath(path, MODULE)
        files["attn/__init__.py" if inside == "attn.py" else inside] = read(path)
    if editable:
        files = {file: data for file, data in files.items() if file.startswith(about)}
        start = "#!/bin/sh\nexec %s \"$@\"\n" % shlex.quote(os.path.join(build, "attn-cli"))
        files[name + ".data/scripts/attn-cli"] = start.encode()
        files["attn_cli.pth"] = (MODULE + "\n").encode()
    record = ""
    for inside, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += "%s,sha256=%s,%d\n" % (inside, digest, len(data))
    files[about + "RECORD"] = (record + about + "RECORD,,\n").encode()
    return platform, needed, files


def pack(build, folder, editable=False):
    """Write the wheel; its name, and the libraries that it needs."""
    platform, needed, files = contents(build, editable)
    name = "attn_cli-%s-py3-none-%s.whl" % (version(), platform)
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, data in files.items():
            info = zipfile.ZipInfo(inside, time.gmtime(max(epoch(), 315532800))[:6])  # from 1980
            info.external_attr = (0o100755 if "/scripts/" in inside else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return name, needed


# --- called by pip (PEP 517) --------------------------------------------------------------------


def build_wheel(folder, config_settings=None, metadata_directory=None, editable=False):
    build = os.path.join(ROOT, os.environ.get("BUILD", "build"))
    within = os.path.relpath(build, ROOT)  # make takes no blank, which the folder may have
    subprocess.check_call(["make", "-C", ROOT, "--no-print-directory", "DEPS=0", "BUILD=" + within,
                           "wheel-files"] + ["all"] * editable)
    return pack(build, folder, editable)[0]


def build_editable(folder, config_settings=None, metadata_directory=None):
    """PEP 660: the program in build and the module in the sources, which `make` renews."""
    return build_wheel(folder, editable=True)


def build_sdist(folder, config_settings=None):
    name = "attn_cli-" + version()
    packed = os.path.join(folder, name + ".tar.gz")
    subprocess.check_call(["sh", os.path.join(ROOT, "data", "packages", "dist.sh"), packed])
    about = tarfile.TarInfo(name + "/PKG-INFO")
    data = (METADATA % version()).encode()
    about.size, about.mtime = len(data), epoch()
    with tarfile.open(packed) as old:
        files = [(file, old.extractfile(file).read()) for file in old]
    with tarfile.open(packed, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file, content in files + [(about, data)]:
            archive.addfile(file, io.BytesIO(content))
    return name + ".tar.gz"


def main(build):
    folder = os.path.join(build, "wheel")
    for old in glob.glob(os.path.join(folder, "attn_cli-*.whl")):
        os.remove(old)
    name, needed = pack(build, folder)
    print("  wheel    %s/%s" % (folder, name))
    if needed:
        print("for this system only: it needs %s, which 'make wheel' puts into a wheel where "
              "apt-get gets their sources" % ", ".join(needed), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
