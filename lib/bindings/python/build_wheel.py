"""Build the wheel for pip (PEP 517) from attn.py; needs no setuptools, so nothing is downloaded."""
import base64
import hashlib
import os
import zipfile

VERSION = "0.2.0"
NAME = "attn-" + VERSION
METADATA = """Metadata-Version: 2.1
Name: attn
Version: %s
Summary: Attention weights and other tensors of transformer language models, by libattn
Requires-Python: >=3.8
Requires-Dist: numpy
""" % VERSION
WHEEL = """Wheel-Version: 1.0
Generator: attn
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build_wheel(folder, config_settings=None, metadata_directory=None):
    wheel, about = NAME + "-py3-none-any.whl", NAME + ".dist-info/"
    with open("attn.py", encoding="utf-8") as source:
        files = {"attn.py": source.read(), about + "METADATA": METADATA, about + "WHEEL": WHEEL}
    record = ""
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            data = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record += "%s,sha256=%s,%d\n" % (name, digest, len(data))
            archive.writestr(name, data)
        archive.writestr(about + "RECORD", record + about + "RECORD,,\n")
    return wheel
