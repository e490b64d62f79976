"""Write ours.safetensors and tokens.json as other programs do."""
import json, struct, zipfile
data = open("ours.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
head, body = json.loads(data[8:8 + size]), data[8 + size:]
layers = [body[slice(*head[f"h.{i}.weights"]["data_offsets"])] for i in range(2)]
heads, tokens, _ = head["h.0.weights"]["shape"]
def npy(shape, numbers):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + numbers
open("lhtt.npy", "wb").write(npy((2, heads, tokens, tokens), layers[0] + layers[1]))
open("lbhtt.npy", "wb").write(npy((2, 1, heads, tokens, tokens), layers[0] + layers[1]))
open("two.npy", "wb").write(npy((1, 2, heads, tokens, tokens), layers[0] + layers[1]))
open("layer.npy", "wb").write(npy((heads, tokens, tokens), layers[1]))
open("matrix.npy", "wb").write(npy((heads, tokens * tokens), layers[1]))
open("double.npy", "wb").write(npy((heads, tokens, tokens), struct.pack("<f", 2) * (len(layers[1]) // 4)))
with zipfile.ZipFile("tuple.npz", "w") as out:
    for i in range(11, -1, -1): # as np.savez names them
        out.writestr(f"arr_{i}.npy", npy((1, heads, tokens, tokens), layers[i % 2]))
flat = [iter(struct.unpack(f"<{len(x) // 4}f", x)) for x in layers]
attn = [[[[next(x) for _ in range(tokens)] for _ in range(tokens)] for _ in range(heads)] for x in flat]
names = json.load(open("tokens.json"))
json.dump({"attention": [{"name": None, "attn": attn, "left_text": names, "right_text": names}]}, open("bertviz.json", "w"))
json.dump({"all": {"left_text": names, "attn": attn}}, open("older.json", "w"), indent=1)
json.dump({"attention": [{"attn": [[[[1, 0], [1]]]]}]}, open("ragged.json", "w"))
json.dump({"attn": [[[["a"]]]]}, open("texts.json", "w"))
