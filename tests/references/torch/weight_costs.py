"""What `compare ORIGINAL QUANTISED --parameters` must find, by transformers with dequantised weights.

    python3 tests/references/torch/weight_costs.py quantise tests/references/gguf/q5_0.gguf Q4_0 tests/references/gguf/q4_0.gguf
    python3 tests/references/torch/weight_costs.py tests/references/gguf/q5_0.gguf tests/references/gguf/q4_0.gguf 3,4,20,42,20,52 \\
        >tests/cli/compare/what_quantised_layers_cost/expected.csv

The first command quantises matrices with the Python package `gguf`. The second prints each tensor's
distance and largest difference, and the cost of each layer: the first model runs with that layer's
weights from the other one. It needs `torch`, `transformers` and `accelerate`.
"""
import os
import sys

import gguf
import numpy


def quantise(source, kind, target):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            of_items = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], of_items)
    for tensor in reader.tensors:
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        numbers = numbers.reshape([int(size) for size in tensor.shape][::-1])
        kinds = gguf.GGMLQuantizationType
        is_matrix = numbers.ndim > 1 and kind != "F32"
        writer.add_tensor(tensor.name, gguf.quants.quantize(numbers, kinds[kind]) if is_matrix else numbers,
                          raw_dtype=kinds[kind] if is_matrix else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(original, quantised, ids):
    import torch
    import transformers
    transformers.utils.logging.set_verbosity_error()
    ids = [int(i) for i in ids.split(",")]
    model, other = (transformers.AutoModelForCausalLM.from_pretrained(
        os.path.dirname(path) or ".", gguf_file=os.path.basename(path), dtype=torch.float32).double().eval()
        for path in (original, quantised))
    mine, theirs = model.state_dict(), other.state_dict()
    own = {name: x.clone() for name, x in mine.items()}

    def predictions():
        with torch.no_grad():
            return torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)

    base = predictions()
    print("weights,distance,relative,kl,surprisal,same_best")
    for name, x in own.items():
        off = x - theirs[name]
        print(f"{name},{off.norm() / x.norm():.9g},{off.abs().max() / x.abs().max():.9g},,,")
    layers = [f"layer {i}" for i in range(model.config.num_hidden_layers)]
    for unit in ["outside of layers", *layers, "all"]:
        for name in own:
            of = f"layer {name.split('.')[2]}" if ".layers." in name else "outside of layers"
            mine[name].copy_((theirs if unit in (of, "all") else own)[name])
        found = predictions()
        kl = (base.exp() * (base - found)).sum(-1).mean()
        rise = numpy.mean([float(base[i, id] - found[i, id]) for i, id in enumerate(ids[1:])])
        same = (base.argmax(-1) == found.argmax(-1)).double().mean()
        print(f"{unit},,,{kl:.9g},{rise:.9g},{same:.9g}")


quantise(*sys.argv[2:]) if sys.argv[1] == "quantise" else main(*sys.argv[1:])
