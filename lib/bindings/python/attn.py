"""attn: libattn for Python: run a model on a text and read its attention weights and other tensors.

    import attn
    with attn.Model("tiny") as model:
        run = model.run("Life is short")
        run["h.1.weights"]              # numpy, [head, query, key]
        run.axes["h.1.weights"]         # ("head", "query", "key")
        run.frame()                     # pandas, a row for each cell, with tokens
        model.score("Life is short")    # log-probabilities, NaN for the first token

The library is the file that $LIBATTN names, else libattn.so beside this file (as in the wheel), on
the loader's path, or in lib of Python's prefix, ~/.local or /usr/local. Tensors are copied once,
during the forward pass. A model serves one thread at a time; other threads wait, also in close().
Using a closed object raises ValueError.
"""
import ctypes
import functools
import operator
import os
import sys
import threading
import weakref
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint32
from ctypes import c_void_p

import numpy

VERSION = "0.3"  # of the library; each version 0.N has its own ABI


class Error(Exception):
    """`status` is attn-cli's exit status for this error: 2 usage, 3 bad input, 4 not supported."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


# --- attn.h ------------------------------------------------------------------------------------


class _Error(Structure):
    _fields_ = [("status", c_int), ("text", c_char * 1024)]


class _Ids(Structure):
    _fields_ = [("ids", POINTER(c_uint32)), ("starts", POINTER(c_size_t)),
                ("ends", POINTER(c_size_t)), ("count", c_size_t)]


class _Tensor(Structure):
    _fields_ = [("name", c_char_p), ("layer", c_int), ("data", POINTER(c_float)),
                ("rank", c_size_t), ("shape", c_size_t * 3), ("stride", c_size_t * 3),
                ("axes", c_char_p * 3), ("heads", POINTER(c_size_t))]


class Counts(Structure):
    """Sizes of a model. `positions` is 0 if the number of tokens is not limited."""

    _fields_ = [(name, c_size_t) for name in
                ("layers", "encoder_layers", "heads", "kv_heads", "channels", "hidden_channels",
                 "key_channels", "value_channels", "vocabulary", "positions")]


_Sink = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_Tensor))


class _Request(Structure):
    _fields_ = [("show", c_char_p), ("layers", c_char_p), ("heads", c_char_p), ("sink", _Sink),
                ("context", c_void_p), ("source", POINTER(_Ids)), ("edits", c_char_p),
                ("attention", c_char_p), ("temperature", c_float)]


_FUNCTIONS = {
    "attn_open": (c_void_p, c_char_p, c_size_t, POINTER(_Error)),
    "attn_close": (None, c_void_p),
    "attn_set_packing": (c_int, c_void_p, c_size_t, POINTER(_Error)),
    "attn_encode": (c_int, c_void_p, c_char_p, c_size_t, POINTER(_Ids), POINTER(_Error)),
    "attn_ids_free": (None, POINTER(_Ids)),
    "attn_token_text": (c_void_p, c_void_p, c_uint32, POINTER(c_size_t)),
    "attn_count": (Counts, c_void_p),
    "attn_run": (c_int, c_void_p, POINTER(_Ids), POINTER(_Request), POINTER(_Error)),
    "attn_score": (c_int, c_void_p, POINTER(_Ids), POINTER(c_float), POINTER(_Error)),
    "attn_cache_open": (c_void_p, c_void_p, POINTER(_Error)),
    "attn_step": (c_int, c_void_p, POINTER(_Ids), POINTER(_Request), POINTER(_Error)),
    "attn_cache_close": (None, c_void_p),
}


def _load():
    soname, given = "libattn.so." + VERSION, os.environ.get("LIBATTN")
    folders = [os.path.dirname(os.path.abspath(__file__)), os.path.join(sys.prefix, "lib"),
               os.path.expanduser("~/.local/lib"), "/usr/local/lib"]
    beside, *others = [os.path.join(folder, soname) for folder in folders]
    for path in [given] if given else [beside, soname, *others]:
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            if given or os.path.exists(path):
                raise ImportError("%scannot load '%s': %s"
                                  % ("LIBATTN: " if given else "", path, error)) from None
    else:
        raise ImportError("expected %s in %s or on the loader's path, found none: 'make install "
                          "PREFIX=$HOME/.local' installs it, or set LIBATTN to its path"
                          % (soname, ", ".join(folders)))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def _check(failed, error):
    if failed:
        raise Error(error.text.decode("utf-8", "replace"), error.status)


def _words(name, text):
    """Convert a text, or None, to a C string, which cannot contain a NUL character."""
    if text is not None and "\0" in str(text):
        raise ValueError("%s: expected no NUL character, found %r" % (name, str(text)))
    return None if text is None else str(text).encode()


def _whole(name, number, end):
    """Check that a whole number is below `end`; ctypes would silently keep its low bits."""
    whole = operator.index(number)
    if not 0 <= whole < end:
        raise ValueError("%s: expected a number from 0 to %d, found %d" % (name, end - 1, whole))
    return whole


def _ids(numbers):
    given = numpy.atleast_1d(numbers)
    if given.ndim > 1:
        raise ValueError("ids: expected a list, found an array of shape %s" % (given.shape,))
    if given.dtype.kind not in "iu" and given.size:
        for number in given.tolist():
            _whole("an id", number, 2**32)
    elif given.size:
        _whole("an id", given.min(), 2**32)
        _whole("an id", given.max(), 2**32)
    numbers = numpy.array(given, dtype=numpy.uint32, order="C")  # a copy: labels are read later
    return numbers, _Ids(numbers.ctypes.data_as(POINTER(c_uint32)), None, None, numbers.size)


# --- results of a run -----------------------------------------------------------------------------


class Run(dict):
    """The tensors of a run by name, as numpy arrays of float32, and the meaning of their axes."""

    def __init__(self, model, ids, source, before):
        super().__init__()
        self.ids = ids
        self._model = model
        self._source, self._before = source, before  # ids; `before`: earlier ones, in a cache
        self.axes = {}    # ("head", "query", "key")
        self.heads = {}   # numbers of the heads (of k and v: of the key/value heads)
        self.layers = {}  # None: no layer

    @functools.cached_property
    def tokens(self):
        """The text of each id, or None if it has none."""
        return [self._model._text(number) for number in self.ids.tolist()]

    @functools.cached_property
    def _labels(self):
        """The names of the ids, of the source's and of those in a cache."""
        return [self._model._names(numpy.asarray(ids).tolist())
                for ids in (self.ids, self._source, self._before)]

    def _take(self, tensor):
        shape = tensor.shape[:tensor.rank]
        strides = [4 * stride for stride in tensor.stride[:tensor.rank]]
        bytes_seen = 4 + sum((n - 1) * stride for n, stride in zip(shape, strides))
        seen = (c_char * bytes_seen).from_address(
            ctypes.cast(tensor.data, c_void_p).value)
        name = tensor.name.decode()
        self[name] = numpy.ndarray(shape, numpy.float32, seen, strides=strides).copy()
        self.axes[name] = tuple(axis.decode() for axis in tensor.axes[:tensor.rank])
        self.layers[name] = None if tensor.layer < 0 else tensor.layer
        if tensor.heads:
            self.heads[name] = tensor.heads[:shape[0]]

    def _texts(self, tensor, axis):
        """The index of the first token of an axis, and all texts; None if it has no tokens."""
        what = self.axes[tensor][axis]
        if what == "word":
            return 0, self._model._vocabulary()
        if what not in ("token", "query", "key"):
            return 0, None
        of_keys = what == "key" or self.axes[tensor][0] == "kv_head"
        across = ".cross_" in tensor or not self._model.counts.encoder_layers
        names, source, before = self._labels
        if tensor.startswith(("enc.", "source_")) or of_keys and across and source:
            return 0, source
        if self[tensor].shape[axis] > len(names):
            return 0, before + names
        return len(before), names

    def _place(self, tensor, axis, cells):
        first, texts = self._texts(tensor, axis)
        numbers = cells[axis]
        labels = numpy.array(texts or [str(n) for n in range(self[tensor].shape[axis])], object)
        return numbers + first, labels[numbers]

    def frame(self, name=None):
        """A data frame with a row for each cell of a tensor or of all, and the columns of attn-cli
        run --format tidy: tensor, layer, head, row, row_token, column, column_token, value. With
        keys or values, kv_head follows head, which is empty where query heads share it."""
        import pandas
        counts, parts = self._model.counts, []
        for tensor in [name] if name else self:
            values, layer = self[tensor], self.layers[tensor]
            cells = numpy.indices(values.shape).reshape(values.ndim, -1)
            heads = self.heads.get(tensor)
            heads = numpy.asarray(heads)[cells[0]] if heads else None
            of_keys = self.axes[tensor][0] == "kv_head"
            row, row_token = self._place(tensor, -2, cells)
            column, column_token = self._place(tensor, -1, cells)
            parts.append(pandas.DataFrame({
                "tensor": tensor.replace("h.%s." % layer, "", 1).replace("enc.%s." % layer, "enc."),
                "layer": layer,
                "head": None if of_keys and counts.kv_heads < counts.heads else heads,
                "kv_head": heads if of_keys else None,
                "row": row,
                "row_token": row_token,
                "column": column,
                "column_token": column_token,
                "value": values.reshape(-1),
            }))
        table = pandas.concat(parts, ignore_index=True)
        return table if table.kv_head.notna().any() else table.drop(columns="kv_head")


class _Closing:
    """An object of the library. `_lock` is the lock of the model. A thread may acquire it twice, as
    in a signal handler: the library then refuses the second call or, for close, delays it until
    the first call ends."""

    _handle = None

    def _opened(self):
        if not self._handle:
            raise ValueError("the %s is closed" % type(self).__name__.lower())
        return self._handle

    def close(self):
        """Free the memory, after calls of other threads have ended. Closing twice does nothing."""
        if self._handle:
            with self._lock:
                self.__del__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce_ex__(self, protocol):  # copy and pickle: two objects would free one handle
        kind = type(self).__name__.lower()
        raise TypeError("a %s cannot be copied or pickled: open another one" % kind)

    def __del__(self):  # no lock: no other reference exists
        handle, self._handle = self._handle, None
        if handle:
            self._free(handle)


class Model(_Closing):
    """A model directory or a bundled model by name; `threads` 0: one for each processor. `packing`
    limits the bytes of the copies of weights that the second run makes so that later ones take less
    time (0: none; None: four for each number, but no more than half of the free memory)."""

    def __init__(self, name="tiny", threads=0, packing=None):
        error = _Error()
        self._lock = threading.RLock()
        self._free = _library.attn_close
        self._words = None  # vocabulary, read when first used
        self._texts = {}    # of the ids that were asked for; close() asks for those of all runs
        self._runs = weakref.WeakValueDictionary()
        self._handle = _library.attn_open(_words("a model", name),
                                          _whole("threads", threads, 257), byref(error))
        _check(not self._handle, error)
        self.counts = _library.attn_count(self._handle)
        if packing is not None:
            packing = _whole("packing", packing, 2**64)
            _check(_library.attn_set_packing(self._handle, packing, byref(error)), error)

    def close(self):
        """Free the memory, after calls of other threads have ended. Closing twice does nothing."""
        with self._lock:
            for run in list(self._runs.values()) if self._handle else ():
                run._labels  # read once
            super().close()

    def encode(self, text):
        """The ids of a text, by the model's tokenizer."""
        if not isinstance(text, str):
            raise TypeError("a text: expected str, found %s" % type(text).__name__)
        error, ids, text = _Error(), _Ids(), text.encode()
        with self._lock:
            _check(_library.attn_encode(self._opened(), text, len(text), byref(ids), byref(error)),
                   error)
        numbers = numpy.array(ids.ids[:ids.count], dtype=numpy.uint32)
        _library.attn_ids_free(byref(ids))
        return numbers

    def token(self, number):
        """The text of an id, or None if there is none. Bytes that are not UTF-8 become U+FFFD."""
        size, number = c_size_t(), _whole("an id", number, 2**32)
        with self._lock:
            at = _library.attn_token_text(self._opened(), number, byref(size))
            return ctypes.string_at(at, size.value).decode("utf-8", "replace") if at else None

    def _text(self, number):
        if number not in self._texts:
            self._texts[number] = self.token(number)
        return self._texts[number]

    def _names(self, numbers):
        """The texts of ids. For an id without text it is the number."""
        texts = [self._text(number) for number in numbers]
        return [str(n) if text is None else text for n, text in zip(numbers, texts)]

    def _vocabulary(self):
        if not self._words:
            if not self._handle:
                raise ValueError("the model is closed: call frame() before close()")
            self._words = self._names(range(self.counts.vocabulary))
        return self._words

    def _numbers(self, text):
        return self.encode(text) if isinstance(text, str) else text

    def _look(self, function, opened, text, source=None, before=(), **fields):
        numbers, ids = _ids(self._numbers(text))
        looked_at, of_source = _ids([] if source is None else self._numbers(source))
        run, error, raised = Run(self, numbers, looked_at, before), _Error(), []

        def take(_, tensor):
            try:
                run._take(tensor.contents)
            except BaseException as problem:  # ctypes would ignore it
                raised.append(problem)
            return len(raised)

        request = _Request(sink=_Sink(take), temperature=fields.pop("temperature", 0))
        for name, value in fields.items():
            setattr(request, name, _words(name, value))
        if source is not None:
            request.source = ctypes.pointer(of_source)
        with self._lock:
            self._runs[id(run)] = run
            failed = function(opened._opened(), byref(ids), byref(request), byref(error))
        if raised:
            raise raised[0]
        _check(failed, error)
        return run

    def run(self, text, show="weights", layers=None, heads=None, source=None, edits=None,
            attention=None, temperature=0):
        """Run a text or ids. The arguments have the values of attn-cli run --show, --layer, --head,
        --source, --edit, --attention and --attention-temperature."""
        return self._look(_library.attn_run, self, text, source, show=show, layers=layers,
                          heads=heads, edits=edits, attention=attention, temperature=temperature)

    def score(self, text):
        """Log-probability of each token after the tokens before it, in nats; NaN for the first."""
        numbers, ids = _ids(self._numbers(text))
        error, scores = _Error(), numpy.empty(numbers.size, numpy.float32)
        with self._lock:
            room = scores.ctypes.data_as(POINTER(c_float))
            _check(_library.attn_score(self._opened(), byref(ids), room, byref(error)), error)
        return scores

    def cache(self):
        """A Cache, for a text that is extended step by step."""
        return Cache(self)


class Cache(_Closing):
    """Keys and values of earlier tokens: each step runs only the new ids, with the same bits as one
    run of all ids."""

    def __init__(self, model):
        error = _Error()
        self._model = model  # a reference keeps the model open
        self._lock = model._lock
        self._free = _library.attn_cache_close
        self._read = numpy.empty(0, numpy.uint32)  # ids so far
        with self._lock:
            self._handle = _library.attn_cache_open(model._opened(), byref(error))
        _check(not self._handle, error)

    def step(self, text, show="logits", layers=None, heads=None):
        with self._lock:
            self._model._opened()
            run = self._model._look(_library.attn_step, self, text, before=self._read,
                                    show=show, layers=layers, heads=heads)
            self._read = numpy.concatenate((self._read, run.ids))
        return run
