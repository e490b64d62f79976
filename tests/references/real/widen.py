"""Convert the matrices of a quantised GGUF file to F32 or BF16.

    python widen.py FROM TO F32|BF16
"""
import sys

import gguf
from gguf.constants import GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

KEPT = "GGUF.", "general.architecture", "general.quantization_version", "general.file_type"


def value_of(field):
    """A key's value, and the type of an array's elements."""
    sub_type = field.types[1] if len(field.types) > 1 else None
    return field.contents(), field.types[0], sub_type


def main():
    source, target, kind = sys.argv[1:]
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if not name.startswith(KEPT):
            writer.add_key_value(name, *value_of(field))
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        wanted = Type[kind] if len(tensor.shape) > 1 else Type.F32
        writer.add_tensor(tensor.name, quantize(values, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
