#!/usr/bin/env python3
"""Print the log of llama.cpp's llama-eval-callback for a GGUF file and ids, by llama.cpp's own
callback (common_debug_cb_eval of libllama-common) on a run without flash attention.

usage: eval_callback.py BUILD FILE.gguf ID,ID,…        (BUILD/peers: tests/references/peers/fetch.sh)

The structs of parameters are those of this version, found by their defaults: fields change often.
"""
import ctypes, glob, os, struct, sys, time

build, path, ids = sys.argv[1:]
folder = f"{build}/peers/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"
libraries = {}
for name in "ggml-base", "ggml", "llama", "llama-common":
    file = glob.glob(f"{folder}/lib{name}.*so")[0]
    libraries[name] = ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
llama, common = libraries["llama"], libraries["llama-common"]


class Params(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 512)]


class Batch(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 56)]


def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


pointer = ctypes.c_void_p
function(libraries["ggml"], "ggml_backend_load_all_from_path", None, ctypes.c_char_p)(folder.encode())
silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, pointer)(lambda *rest: None)
function(llama, "llama_log_set", None, type(silent), pointer)(silent, None)
model = function(llama, "llama_model_load_from_file", pointer, ctypes.c_char_p, Params)(
    path.encode(), function(llama, "llama_model_default_params", Params)())
params = function(llama, "llama_context_default_params", Params)()
raw = bytearray(ctypes.string_at(ctypes.addressof(params), 512))

# Of the types of rotary scaling, pooling, attention and flash attention, -1 each, the last: off.
unset = raw.index(b"\xff" * 16)
struct.pack_into("<i", raw, unset + 12, 0)
# The callback and its data, NULL, are before the types of keys and values, F16 each: now F32.
types = next(at for at in range(unset, 256, 8)
             if raw[at:at + 8] == struct.pack("<ii", 1, 1) and not any(raw[at - 16:at]))
struct.pack_into("<ii", raw, types, 0, 0)
data = ctypes.create_string_buffer(4096)
function(common, "_ZN25common_debug_cb_user_dataC1Ev", None, pointer)(data)
callback = ctypes.cast(common._Z20common_debug_cb_evalP11ggml_tensorbPv, pointer).value
struct.pack_into("<QQ", raw, types - 16, callback, ctypes.addressof(data))
ctypes.memmove(ctypes.addressof(params), bytes(raw), 512)

context = function(llama, "llama_init_from_model", pointer, pointer, Params)(model, params)
tokens = [int(i) for i in ids.split(",")]
array = (ctypes.c_int32 * len(tokens))(*tokens)
batch = function(llama, "llama_batch_get_one", Batch, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32)(
    array, len(tokens))
status = function(llama, "llama_decode", ctypes.c_int32, pointer, Batch)(context, batch)
time.sleep(1)  # another thread prints
sys.stdout.flush()
os._exit(status)
