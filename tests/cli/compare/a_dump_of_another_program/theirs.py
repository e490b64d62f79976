import struct
def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    shape = eval(data[10:10 + size].decode())["shape"]
    return shape, struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size:])
def write(path, shape, numbers, order="False"):
    head = f"{{'descr': '<f8', 'fortran_order': {order}, 'shape': {tuple(shape)}, }}\n".encode()
    open(path, "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(numbers)}d", *numbers))
import os
os.mkdir("theirs")
(H, T, D), q = read("ours/h.0.q.npy")
at = lambda h, t, d: q[(h * T + t) * D + d]
write("theirs/layer0_q.npy", (H, D, T), [at(h, t, d) for h in range(H) for d in range(D) for t in range(T)])
write("theirs/layer0_q_heads_last.npy", (T, D, H), [at(h, t, d) for t in range(T) for d in range(D) for h in range(H)])
write("theirs/layer0_q_fortran.npy", (1, T, H * D), [at(h, t, d) for h in range(H) for d in range(D) for t in range(T)], "True")
write("theirs/layer0_q_merged_wrongly.npy", (1, T, H * D), [at(h, t, d) for t in range(T) for d in range(D) for h in range(H)])
(T, C), x = read("ours/h.1.resid_post.npy")
write("theirs/layer1_out.npy", (1, T + 1, C), [0] * C + list(x))
write("theirs/layer1_out_last.npy", (C,), x[-C:])
open("names.txt", "w").write("# theirs, ours\nlayer{}_q h.{}.q\nlayer0_q_heads_last,h.0.q\nlayer0_q_fortran\th.0.q\nlayer0_q_merged_wrongly h.0.q\nlayer{}_out h.{}.resid_post\nlayer{}_out_last h.{}.resid_post\n")
