"""Convert a model folder to GGUF with llama.cpp's own converter, in F32 (or another type of
llama.cpp's, such as MOSTLY_BF16) and without a tokenizer.

    LLAMA_CPP=FOLDER /usr/bin/python3 tests/references/gguf/convert.py MODEL FILE.gguf [JSON [TYPE]]

JSON has keys that the converter reads besides those of config.json, "none": it reads none. It needs torch and transformers.
"""
import json
import os
import pathlib
import sys

llama_cpp = os.environ["LLAMA_CPP"]
sys.path[:0] = [f"{llama_cpp}/gguf-py", llama_cpp]
import conversion  # noqa: E402
import gguf  # noqa: E402

folder, path = map(pathlib.Path, sys.argv[1:3])
config = conversion.ModelBase.load_hparams(folder, False) | json.loads([*sys.argv, "{}"][3])
config = {key: value for key, value in config.items() if value != "none"}
kind = conversion.get_model_class(conversion.get_model_architecture(config, conversion.ModelType.TEXT))


def set_vocab(model):
    model.gguf_writer.add_tokenizer_model("no_vocab")
    model.gguf_writer.add_vocab_size(model.hparams["vocab_size"])


kind.set_vocab = set_vocab
kind.no_mtp = not any("mtp" in key for key in config.get("text_config", config))
copies = config.get("altup_num_inputs", 4)
changed = {"hparams": config | {"altup_num_inputs": 4}} if copies != 4 or len(sys.argv) > 3 else {}
file_type = gguf.LlamaFileType[sys.argv[4] if len(sys.argv) > 4 else "ALL_F32"]
model = kind(folder, file_type, path, eager=True, model_name="x", **changed)
if copies != 4:  # the converter takes no other number of copies, for no reason of its own
    model.hparams["altup_num_inputs"] = copies
    del model._altup_proj[copies - 1:], model._altup_unembd[copies - 1:]
model.write()
