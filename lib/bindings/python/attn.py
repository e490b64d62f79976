"""attn: libattn for Python: run a model on a text and read its attention weights and other tensors.

    import attn
    with attn.Model("tiny") as model:
        run = model.run("Life is short")
        run["h.1.weights"]              # numpy, [head, query, key]
        run.axes["h.1.weights"]         # ("head", "query", "key")
        run.frame()                     # pandas, a row for each cell, with tokens
        model.run(["Life is", "short"]) # a list of runs, which share passes of the model
        model.score("Life is short")["logprob"]             # NaN for the first token
        model.score("Life is", continuations=[" short", " eat"]).frame()
        model.score(pairs=[("Life is short", "Life is eat")]).frame()
        model.generate("Life is", 8).text
        model.page("Life is short")     # the program's interactive page, shown in a notebook
        attn.page(out.attentions, tokens)                       # of another program's weights
        model.run(texts, show=["weights", "resid_post"], query=-1)  # lists; rows of the last token
        model.attribute("Life is", answer=" short: eat").frame()     # likewise lens, heads, compare
        model.patch("The keys", "The key", answer=" are: is").frame()
        model.gradients("Life is", answer={" short": 1, " long": -0.5})["h.1.weights"]
        model.saliency("Life is").frame()                            # integrated gradients
        model.run("Life is", edits={"h.1.resid_post": lambda x: 2 * x})   # or an array, or a number

Text arguments are str or lists of ids; a list of texts, or an array or Series of str, gives a list
of results.

The library is the file that $LIBATTN names, else libattn.so beside this file (as in the wheel), in
build of the sources, on the loader's path, or in lib of Python's prefix, ~/.local or /usr/local.
Tensors are copied once, during the forward pass. A model serves one thread at a time; other threads
wait, also in close(). Using a closed object, or in a forked process one that was opened before,
raises ValueError. Models and caches cannot be copied or pickled; results can.
"""
import collections
import csv
import ctypes
import functools
import html
import inspect
import io
import itertools
import json
import keyword
import operator
import os
import re
import sys
import tempfile
import threading
import unicodedata
import weakref
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_float, c_int
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p

import numpy

__all__ = ["Cache", "Counts", "Error", "Ids", "Model", "Page", "Place", "Results", "Run", "Table",
           "page"]
__version__ = "0.4.0"
VERSION = "0.4"  # of the library; each version 0.N has its own ABI


class Error(ValueError):
    """`status` is attn-cli's exit status for this error: 2 usage, 3 bad input, 4 not supported."""

    def __init__(self, text, status=2):
        super().__init__(text)
        self.status = status

    def __reduce__(self):
        return Error, (str(self), self.status)


# --- attn.h ------------------------------------------------------------------------------------


class _Error(Structure):
    _fields_ = [("status", c_int), ("text", c_char * 1024)]


class _Ids(Structure):
    _fields_ = [("ids", POINTER(c_uint32)), ("starts", POINTER(c_size_t)),
                ("ends", POINTER(c_size_t)), ("count", c_size_t), ("words", POINTER(c_size_t)),
                ("segments", POINTER(ctypes.c_ubyte)), ("joins", POINTER(ctypes.c_ubyte))]


class _Tensor(Structure):
    _fields_ = [("name", c_char_p), ("layer", c_int), ("data", POINTER(c_float)),
                ("rank", c_size_t), ("shape", c_size_t * 3), ("stride", c_size_t * 3),
                ("axes", c_char_p * 3), ("heads", POINTER(c_size_t)),
                ("text", c_size_t), ("first", c_size_t * 3)]


class Counts(Structure):
    """Sizes of a model. `positions` is 0 if the number of tokens is not limited. `begin` is the id
    of the token that begins texts; it is not below `vocabulary` if there is none. `adds_begin` is 1
    if the tokenizer's own program begins each text with it. `mask` is the id that hides a token
    from a masked model; in other models it is not below `vocabulary`."""

    _fields_ = [(name, c_size_t) for name in
                ("layers", "encoder_layers", "heads", "kv_heads", "channels", "hidden_channels",
                 "key_channels", "value_channels", "vocabulary", "positions", "begin",
                 "adds_begin", "mask")]


_Sink = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_Tensor))
_Printed = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
_Change = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c_float), POINTER(_Tensor))


class _Value(Structure):
    _fields_ = [("name", c_char_p), ("data", POINTER(c_float)), ("rank", c_size_t),
                ("shape", c_size_t * 3), ("function", _Change), ("context", c_void_p)]


class _Request(Structure):
    _fields_ = [("show", c_char_p), ("layers", c_char_p), ("heads", c_char_p), ("sink", _Sink),
                ("context", c_void_p), ("source", POINTER(_Ids)), ("edits", c_char_p),
                ("attention", c_char_p), ("temperature", c_float), ("within_word", c_int),
                ("values", POINTER(_Value)), ("value_count", c_size_t)]


class _Logit(Structure):
    _fields_ = [("position", c_size_t), ("id", c_uint32), ("weight", c_float)]


_SCORE = numpy.dtype([("logprob", numpy.float32), ("entropy", numpy.float32),
                      ("rank", numpy.uintp)])
_Token = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint32, POINTER(c_char), c_size_t, c_float)


class _Generation(Structure):
    _fields_ = [("sink", _Token), ("context", c_void_p), ("tokens", c_size_t),
                ("temperature", c_double), ("top_k", c_size_t), ("top_p", c_double),
                ("beams", c_size_t), ("seed", c_uint64), ("past_end", c_int), ("logprobs", c_int)]


_FUNCTIONS = {
    "attn_open": (c_void_p, c_char_p, c_size_t, POINTER(_Error)),
    "attn_close": (None, c_void_p),
    "attn_set_packing": (c_int, c_void_p, c_size_t, POINTER(_Error)),
    "attn_encode": (c_int, c_void_p, c_char_p, c_size_t, POINTER(_Ids), POINTER(_Error)),
    "attn_encode_source": (c_int, c_void_p, c_char_p, c_size_t, POINTER(_Ids), POINTER(_Error)),
    "attn_encode_special": (c_int, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, POINTER(_Ids),
                            POINTER(_Error)),
    "attn_ids_free": (None, POINTER(_Ids)),
    "attn_token_text": (c_void_p, c_void_p, c_uint32, POINTER(c_size_t)),
    "attn_count": (Counts, c_void_p),
    "attn_weight": (c_int, c_void_p, c_char_p, _Sink, c_void_p, POINTER(_Error)),
    "attn_run_all": (c_int, c_void_p, POINTER(_Ids), c_size_t, POINTER(_Request), POINTER(_Error)),
    "attn_gradient": (c_int, c_void_p, POINTER(_Ids), POINTER(_Request), POINTER(_Logit), c_size_t,
                      POINTER(c_double), POINTER(_Error)),
    "attn_score_all": (c_int, c_void_p, POINTER(_Ids), c_size_t, POINTER(_Request),
                       c_void_p, POINTER(_Error)),
    "attn_generate": (c_int, c_void_p, POINTER(_Ids), POINTER(_Request), POINTER(_Generation),
                      POINTER(_Error)),
    "attn_cache_open": (c_void_p, c_void_p, POINTER(_Error)),
    "attn_step": (c_int, c_void_p, POINTER(_Ids), POINTER(_Request), POINTER(_Error)),
    "attn_cache_count": (c_size_t, c_void_p),
    "attn_cache_close": (None, c_void_p),
    "attn_report": (c_int, POINTER(c_char_p), POINTER(_Value), c_size_t, _Printed, c_void_p,
                    POINTER(_Error)),
}


def _load():
    soname, given = "libattn.so." + VERSION, os.environ.get("LIBATTN")
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here, os.path.join(here.rpartition("/lib/bindings/")[0] or here, "build"),
               os.path.join(sys.prefix, "lib"), os.path.expanduser("~/.local/lib"),
               "/usr/local/lib"]
    beside, built, *others = [os.path.join(folder, soname) for folder in folders]
    for path in [given] if given else [beside, built, soname, *others]:
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


def _check(failed, error, command="run"):
    if failed:
        raise Error(_in_python(error.text.decode("utf-8", "replace"), command), error.status)


def _joined(value):
    """A list, an array or a Series of several values of an option, 0,3, or of one."""
    return ",".join(str(one) for one in value) if numpy.ndim(value) else value


def _words(name, text):
    """Convert a text, or None, to a C string, which cannot contain a NUL character."""
    if text is not None and "\0" in str(text):
        raise ValueError("%s: expected no NUL character, found %r" % (name, str(text)))
    return None if text is None else str(text).encode()


def _whole(name, number, end, first=0):
    """Check that a whole number is below `end`; ctypes would silently keep its low bits."""
    try:
        whole = operator.index(number)
    except TypeError:
        raise TypeError("%s: expected a whole number, found %.200r" % (name, number)) from None
    if not first <= whole < end:
        raise ValueError("%s: expected a number from %d to %d, found %d"
                         % (name, first, end - 1, whole))
    return whole


def _positions(query, count):
    """The positions that --query selects: an int, a list, "-1" or "0,3-5"."""
    found = set()
    for part in str(_joined(query)).replace("all", "0-").split(","):
        match = re.fullmatch(r"(-?\d+)(?:(-)(-?\d+)?)?", part)
        first, last = (match[1], (match[3] or -1) if match[2] else match[1]) if match else (1, 0)
        first, last = (int(end) + count * (int(end) < 0) for end in (first, last))
        if not 0 <= first <= last < count:
            raise ValueError("query: expected numbers from 0 to %d (or -%d to -1 from the end), "
                             "ranges such as 0-%d, or all, found %r: the text has %d tokens"
                             % (count - 1, count, count - 1, query, count))
        found.update(range(first, last + 1))
    return numpy.array(sorted(found))


_UNSPACED = re.compile(  # scripts without spaces between words, as in lib/base/utf8.c
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f"
    "\u3000-\u312f\u3190-\u31ff\u3400-\u4dbf\u4e00-\ua4cf\ua980-\ua9ff\uaa60-\uaadf"
    "\uf900-\ufaff\uff66-\uff9f\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff]")


def _is_of_word(character):
    return character.isalnum() or unicodedata.category(character)[0] == "M" or character == "_"


class Ids(numpy.ndarray):
    """The ids of a pair of texts, as Model.encode returns them: `segments` are those of the
    tokens. Run them as they are: a part of them has no segments."""

    segments = joins = None


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
    ids = _Ids(numbers.ctypes.data_as(POINTER(c_uint32)), None, None, numbers.size)
    for name in "segments", "joins":
        marks = getattr(given, name, None)
        if marks is not None:
            marks = numpy.asarray(marks)
            if marks.shape != numbers.shape or not numpy.isin(marks, range(256)).all():
                raise ValueError("%s: expected %d numbers from 0 to 255, as many as ids, found %s"
                                 % (name, numbers.size, marks))
            numbers = numbers.view(Ids)  # keeps the memory of the marks
            setattr(numbers, name, numpy.ascontiguousarray(marks, numpy.uint8))
            setattr(ids, name, getattr(numbers, name).ctypes.data_as(POINTER(ctypes.c_ubyte)))
    return numbers, ids


def _several(texts):
    """A list of the texts, if they are several: of str, or of lists of ids, such as [[1, 2], [3]];
    else None. They may be an array or a Series."""
    is_array = hasattr(texts, "dtype") and numpy.ndim(texts) == 1
    if is_array and texts.dtype.kind not in "iu":
        texts = list(texts)
    return list(texts) if isinstance(texts, (list, tuple)) and len(texts) > 0 and all(
        isinstance(text, (str, list, tuple, numpy.ndarray)) and numpy.ndim(text) < 2
        for text in texts) else None


def _is_list(value):
    return hasattr(value, "__len__") and not isinstance(value, (str, dict))


def _expect_text(name, text):
    if text is None:
        raise TypeError("%s: expected a text or ids, found None" % name)


def _for_each(name, values, count):
    """The values of an option, one for each text; what is no list is for all."""
    values = list(values) if _is_list(values) else [values] * count
    if len(values) != count:
        raise ValueError("%s: expected one value%s, found %d: %.200r"
                         % (name, " or a list of %d" % count if count > 1 else "", len(values),
                            values))
    return values


def _structs(lists):
    """Arrays of ids, as `struct attn_ids[]`, and the memory that they need."""
    pairs = [_ids(numbers) for numbers in lists]
    return (_Ids * len(pairs))(*[ids for _, ids in pairs]), [numbers for numbers, _ in pairs]


# --- results --------------------------------------------------------------------------------------


class Results(list):
    """Results of several texts."""

    def frame(self) -> "pandas.DataFrame":
        """One table of all; the first column is the number of the text."""
        import pandas
        return pandas.concat([result.frame() for result in self], keys=range(len(self)),
                             names=["sentence"]).reset_index("sentence").reset_index(drop=True)


class Table(dict):
    """Columns by name, as numpy arrays or lists of the same length. `text`: a generated text."""

    text = None

    def frame(self) -> "pandas.DataFrame":
        """The columns as a pandas table."""
        import pandas
        return pandas.DataFrame(self)


class Page(str):
    """An HTML page as attn-cli writes it. A notebook shows it."""

    def _repr_html_(self):
        return ('<iframe srcdoc="%s" style="width: 100%%; height: 40em; border: 0"></iframe>'
                % html.escape(self))


def page(attentions, tokens=None, **options) -> Page:
    """The page of attention weights that another program computed, without a model: an array
    [layers, heads, tokens, tokens], with or without an axis of 1 text after the layers; or a list
    of those of each layer, such as output.attentions of Hugging Face's models. `tokens` are texts;
    options are layers="0-3", heads="1", view="lines". A notebook shows the page."""
    def numbers(array):
        array = array.detach().cpu().float() if hasattr(array, "detach") else array
        return numpy.asarray(array, numpy.float32)
    several = isinstance(attentions, (list, tuple))
    array = numpy.stack([numbers(x) for x in attentions]) if several else numbers(attentions)
    with _folder() as folder:
        path = os.path.join(folder, "attentions.npy")
        numpy.save(path, array)
        if tokens is not None:
            options["tokens"] = os.path.join(folder, "tokens.json")
            with open(options["tokens"], "w", encoding="utf-8") as file:
                json.dump([str(token) for token in tokens], file)
        return Page(_report("page", weights=path, **options))


Place = collections.namedtuple("Place", "name layer text first axes")
Place.__doc__ = """Where a function of `edits` is called: the tensor, its layer (-1: none), the
index of the text (None: in a report of the program), and that of the first element on each of the
`axes`."""


class _Edits:
    """Edits by name as a request has them: `words`, 'h.1.resid_post = v0', and the `values`.
    `first` is the index of the first text; None: unknown."""

    _NAME = re.compile(r"\s*([^\[=+*]*(?:\[[^\]]*\])?)\s*([=+*]?)\s*(?:(\S+)\s*\*)?\s*")
    _MAP = re.compile(r"(.*[._])?(scores|softmax|masked|weights)\s*(\[.*)?")

    def __init__(self, edits, first=0):
        words, made = [], []
        self._kept, self.raised, self._first, self._parts = [], [], first, []
        for name, value in edits.items() if isinstance(edits, dict) else ():
            of_texts = self._are_of_texts(value)
            known = self._NAME.fullmatch(name)
            if not callable(value) and known and numpy.ndim(value[0] if of_texts else value) and \
                    (of_texts or self._MAP.fullmatch(known[1])):
                value = functools.partial(self._combine, known[2], float(known[3] or 1),
                                          value if of_texts else numpy.asarray(value), of_texts,
                                          "[" not in known[1])
                name = known[1]
            name = name if name.rstrip().endswith(("+", "=", "*")) else name + " ="
            if callable(value) or numpy.ndim(value) > 0:
                made.append(self._value("v%d" % len(made), value))
                value = made[-1].name.decode()
            words.append("%s %s" % (name, value))
        self.words = ("; ".join(words) or None) if isinstance(edits, dict) else edits
        self.values = (_Value * len(made))(*made)

    @staticmethod
    def _are_of_texts(value):
        return isinstance(value, (list, tuple)) and len(value) > 0 and all(
            isinstance(one, numpy.ndarray) and one.ndim > 1 for one in value)

    @staticmethod
    def check_count(edits, count):
        """Check that there are as many arrays as texts."""
        for value in edits.values() if isinstance(edits, dict) else ():
            if _Edits._are_of_texts(value):
                _for_each("edits", value, count)

    def _value(self, name, value):
        if callable(value):
            try:
                needed = [one for one in inspect.signature(value).parameters.values()
                          if one.default is one.empty and one.kind <= one.POSITIONAL_OR_KEYWORD]
            except ValueError:  # of a function in C
                needed = ()
            self._kept.append(_Change(functools.partial(self._change, value, len(needed) > 1)))
            return _Value(name.encode(), function=self._kept[-1])
        self._kept.append(numpy.array(value, numpy.float32, order="C"))
        shape = self._kept[-1].shape
        if len(shape) > 3:
            raise ValueError("edits: expected at most 3 axes, found shape %s" % (shape,))
        return _Value(name.encode(), self._kept[-1].ctypes.data_as(POINTER(c_float)), len(shape),
                      (c_size_t * 3)(*shape))

    def _combine(self, sign, factor, array, of_texts, whole_array, values, place):
        """Set, add or multiply the elements of an array, or of that of the text."""
        if of_texts and place.text is None:
            raise ValueError("edits: expected one array, found %d: only run, score and generate "
                             "take one for each text" % len(array))
        array = array[place.text] if of_texts else array
        more = max(values.ndim - array.ndim, 0)
        ends = tuple(map(operator.add, place.first[more:], values.shape[more:]))
        if whole_array:
            self._parts.append((id(array), place.text, array.shape, ends))
        if any(1 < size < end for size, end in zip(array.shape, ends)):
            raise ValueError("edits: '%s': expected an array of the text's tensor, found shape %s"
                             % (place.name, array.shape))
        part = factor * array[tuple(
            slice(first, first + size) if whole > 1 else slice(None) for first, size, whole in
            zip(place.first[more:], values.shape[more:], array.shape))]
        return numpy.broadcast_to(part if sign in ("", "=") else values + part if sign == "+" else
                                  values * part, values.shape)

    def _change(self, function, takes_place, _context, _at, tensor):
        try:
            if not self.raised:
                tensor = tensor.contents
                values = _view(tensor)
                given = values.copy()
                axes = tuple(axis.decode() for axis in tensor.axes[:tensor.rank])
                text = None if self._first is None else self._first + tensor.text
                place = Place(tensor.name.decode(), tensor.layer, text,
                              tuple(tensor.first[:tensor.rank]), axes)
                result = function(given, place) if takes_place else function(given)
                result = given if result is None else result
                if numpy.shape(result) != values.shape:
                    raise ValueError("edits: expected a result of shape %s, as the argument of the "
                                     "function, found %s" % (values.shape, numpy.shape(result)))
                values[...] = result
        except BaseException as problem:  # ctypes would ignore it
            self.raised.append(problem)

    def call(self, function, *arguments, command="run"):
        """Call the library, which calls functions of Python. A signal's exception, such as
        KeyboardInterrupt, may begin before the `try` of such a function: ctypes only reports it."""
        error, before = _Error(), sys.unraisablehook
        is_main = threading.current_thread() is threading.main_thread()

        def keep(report):
            if "ctypes callback" in (report.err_msg or "") and \
                    threading.current_thread() is threading.main_thread():
                self.raised.append(report.exc_value)
            else:
                before(report)

        try:
            if is_main:  # handlers of signals run in no other thread
                sys.unraisablehook = keep
            failed = function(*arguments, byref(error))
        finally:
            if is_main:
                sys.unraisablehook = before
        if self.raised:
            raise self.raised[0]
        _check(failed, error, command)
        ends = {}  # of what was edited: arrays for longer texts have more
        for *key, end in self._parts:
            before = ends.setdefault(tuple(key), end)
            ends[tuple(key)] = tuple(map(max, before, end))
        for (_, _, shape), end in ends.items():
            if any(size not in (1, last) for size, last in zip(shape, end)):
                raise ValueError("edits: expected an array of shape %s, found %s" % (end, shape))


_reports = threading.RLock()  # the library makes one at a time


# --- options of the program -----------------------------------------------------------------------


_ARGUMENTS = {"layer": "layers", "head": "heads", "edit": "edits", "continue": "continuations",
              "sentence": "text"}  # Python's names of some options
_SYNONYMS = {"layers": "layer", "heads": "head"}    # names that _report takes for options


@functools.lru_cache(None)
def _options():
    """The options of each command of the program, and whether each is a flag, by name; none if the
    library is older than this."""
    found = {}
    try:
        printed = _report("help", completion="bash")
    except Error:
        return found
    for row in printed.splitlines():
        kind, *cells = row.split("\t")
        if kind in ("flag", "option", "options") and len(cells) > 2:
            found.setdefault(cells[0], {})[cells[1].lstrip("-")] = kind == "flag"
    return found


def _argument(option):
    name = _ARGUMENTS.get(option, option.replace("-", "_"))
    return name + "_" * keyword.iskeyword(name)


@functools.lru_cache(None)
def _keyword(name):
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)


def _takes_options(command, *own):
    """Give a function that takes **options of a command a signature with these, for completion and
    help(); `own`: those that the function sets itself."""
    def decorate(function):
        signature = inspect.signature(function)
        named = [one for one in signature.parameters.values() if one.kind != one.VAR_KEYWORD]
        names = {one.name for one in named} | {"help", "model", "ids", "text", "output", "format"}
        more = [_keyword(_argument(name)) for name in _options().get(command, ())
                if name not in own and _argument(name) not in names]
        if more:
            function.__signature__ = signature.replace(parameters=named + more)
        return function
    return decorate


def _also(**names):
    """Let a function take arguments by other names, too: layer=0 for layers=0."""
    def decorate(function):
        @functools.wraps(function)
        def called(*given, **named):
            for name in names.keys() & named.keys():
                if names[name] in named:
                    raise TypeError("%s and %s: expected one of them, found both"
                                    % (names[name], name))
                named[names[name]] = named.pop(name)
            return function(*given, **named)
        return called
    return decorate


def _folder():
    """A temporary folder for files of arguments; the files have the names of the arguments."""
    return tempfile.TemporaryDirectory(prefix="attn-arguments-")


def _in_python(text, command):
    """A message of the program with the names of Python's arguments. Command lines stay."""
    text = re.sub(r"'[^']*/attn-arguments-[^/']*/(\w+)\.\w+'(?: line (\d+))?",
                  lambda file: file[1] + ("[%d]" % (int(file[2]) - 1) if file[2] else ""), text)
    text = text.replace(": --help lists them", ": help(attn.Model.%s) lists them" % command)
    text = re.sub("unknown option '--([^']*)'",
                  lambda name: "unknown argument '%s'" % _argument(name[1]), text)
    known = {} if command == "help" else \
        {name: flag for options in _options().values() for name, flag in options.items()}

    def argument(option):
        if option[1] not in known:
            return option[0]
        return _argument(option[1]) + ("=True" if known[option[1]] and not option[2] else option[2])

    parts = re.split("('attn-cli [^']*'?)", text)
    parts[::2] = [re.sub("(?<![\\w-])--([a-z][a-z-]*)([:']?)", argument, part)
                  for part in parts[::2]]
    return re.sub(r"\b(\w+): \1(?=[:[])", r"\1", "".join(parts))


_REPEATED = ("sentence", "model", "edit", "continue")  # options with a word for each value
# Options with one value, or a list with one for each text: columns of a table of texts.
_OF_TEXTS = ("source", "pair", "answer", "position", "corrupt_source", "target", "continue")


def _report(command, **options):
    """What a command of the program prints, with an option for each name: source="…", lens=True,
    edit=["…", "…"], layer=[0, 1], with_="zero"."""
    edits = _Edits(options.pop("edits", None), None)
    words, printed = [command], []
    for name in _SYNONYMS.keys() & options.keys():
        if options.get(_SYNONYMS[name]) is not None:
            raise TypeError("%s and %s: expected one of them, found both" % (name, _SYNONYMS[name]))
        options[_SYNONYMS[name]] = options.pop(name)
    for name, value in {**options, "edit": edits.words or options.get("edit")}.items():
        for one in value if name in _REPEATED and numpy.ndim(value) else [_joined(value)]:
            if one is not None and one is not False:
                option = "--" + name.rstrip("_").replace("_", "-")
                words.append(option if one is True else "%s=%s" % (option, one))
    sink = _Printed(lambda _, at, size: printed.append(ctypes.string_at(at, size)) or 0)
    lines = (c_char_p * (len(words) + 1))(*[_words("an option", word) for word in words])
    with _reports:
        edits.call(_library.attn_report, lines, edits.values, len(edits.values), sink, None,
                   command=command)
    return b"".join(printed).decode("utf-8", "replace")


def _check_returned(command, options):
    """Refuse options that would write the result of a command elsewhere, or otherwise."""
    for name in "output", "format":
        if options.get(name) is not None:
            raise ValueError("%s: the result is returned, expected no %s, found %r: 'attn-cli %s' "
                             "writes files" % (command, name, options[name], command))


def _view(tensor):
    """A tensor of the library as an array, while it is valid."""
    shape = tensor.shape[:tensor.rank]
    strides = [4 * stride for stride in tensor.stride[:tensor.rank]]
    bytes_seen = 4 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    seen = (c_char * bytes_seen).from_address(ctypes.cast(tensor.data, c_void_p).value)
    return numpy.ndarray(shape, numpy.float32, seen, strides=strides)


def _read_table(printed):
    """The columns of a CSV table; those of numbers are arrays, with NaN where a cell is empty."""
    names, *rows = csv.reader(io.StringIO(printed))
    table = Table()
    for name, column in zip(names, itertools.zip_longest(*rows) if rows else [()] * len(names)):
        try:
            numbers = numpy.array([float(cell) if cell else numpy.nan for cell in column])
            whole = all(cell.lstrip("-").isdigit() for cell in column)
            table[name] = numbers.astype(int) if whole else numbers
        except ValueError:
            table[name] = list(column)
    return table


def _write_table(path, **columns):
    """Write columns as a file of JSON lines for the program; a row lacks what is None."""
    with open(path, "w", encoding="utf-8") as file:
        for row in zip(*columns.values()):
            cells = {name: cell for name, cell in zip(columns, row) if cell is not None}
            file.write(json.dumps(cells, default=lambda one: one.tolist()) + "\n")
    return path


class Run(dict):
    """The tensors of a run by name, as numpy arrays of float32, and the meaning of their axes."""

    def __init__(self, model, ids, source, before, query=None):
        super().__init__()
        self.ids = ids
        self.queries = None if query is None else _positions(query, ids.size)  # None: all tokens
        self._model = model
        self._counts = model.counts
        self._source, self._before = source, before  # ids; `before`: earlier ones, in a cache
        self.axes = {}    # ("head", "query", "key")
        self.heads = {}   # numbers of the heads (of k and v: of the key/value heads)
        self.layers = {}  # None: no layer

    def __reduce_ex__(self, protocol):  # of copy and pickle: the texts are kept, the model is not
        state = dict(self.__dict__, tokens=self.tokens, _labels=self._labels, _model=None)
        return Run.__new__, (Run,), state, None, iter(self.items())

    @functools.cached_property
    def tokens(self) -> list:
        """The text of each id, or None if it has none."""
        return [self._model._text(number) for number in self.ids.tolist()]

    @functools.cached_property
    def _labels(self):
        """The names of the ids, of the source's and of those in a cache."""
        return [self._model._names(numpy.asarray(ids).tolist())
                for ids in (self.ids, self._source, self._before)]

    def _take(self, tensor):
        name = tensor.name.decode()
        self.axes[name] = tuple(axis.decode() for axis in tensor.axes[:tensor.rank])
        axis = self._queries_at(name)
        values = _view(tensor)
        self[name] = values.copy() if axis is None else values.take(self.queries, axis)
        self.layers[name] = None if tensor.layer < 0 else tensor.layer
        if tensor.heads:
            self.heads[name] = tensor.heads[:tensor.shape[0]]

    def _queries_at(self, tensor):
        """The axis that has only the selected queries; None: none has."""
        axes = self.axes[tensor]
        if self.queries is None or axes[0] == "kv_head" or tensor == "pooled" or \
                tensor.startswith(("enc.", "source_")):
            return None
        return next((i for i, axis in enumerate(axes) if axis in ("query", "token")), None)

    def _texts(self, tensor, axis):
        """The index of the first token of an axis, and all texts; None if it has no tokens."""
        what = self.axes[tensor][axis]
        if what == "word":
            if not self._model:
                raise ValueError("a copy has no vocabulary: call frame() on the run")
            return 0, self._model._vocabulary()
        if what not in ("token", "query", "key"):
            return 0, None
        of_keys = what == "key" or self.axes[tensor][0] == "kv_head"
        across = ".cross_" in tensor or not self._counts.encoder_layers
        names, source, before = self._labels
        if tensor.startswith(("enc.", "source_")) or of_keys and across and source:
            return 0, source
        if self[tensor].shape[axis] > len(names):
            return 0, before + names
        return len(before), names

    def _place(self, tensor, axis, cells):
        first, texts = self._texts(tensor, axis)
        numbers = cells[axis]
        if self._queries_at(tensor) == axis % len(cells):
            numbers = self.queries[numbers]
        labels = numpy.array(texts or [str(n) for n in range(self[tensor].shape[axis])], object)
        return numbers + first, labels[numbers]

    def frame(self, name=None) -> "pandas.DataFrame":
        """A data frame with a row for each cell of a tensor or of all, and the columns of attn-cli
        run --format tidy but those of segments: tensor, layer, head, row, row_token, column,
        column_token, value. With keys or values, kv_head follows head, which is empty where query
        heads share it."""
        import pandas
        counts, parts = self._counts, []
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
    _why = "is closed"
    _all = weakref.WeakSet()

    def _opened(self):
        if not self._handle:
            raise ValueError("the %s %s" % (type(self).__name__.lower(), self._why))
        return self._handle

    @staticmethod
    def _after_fork():  # threads of the library, and of locks, exist only in the first process
        global _reports
        _reports = threading.RLock()
        for one in list(_Closing._all):
            one._handle, one._lock = None, threading.RLock()
            one._why = "was opened in another process: open another one after the fork"

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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Closing._after_fork)


class _Weights:
    def __init__(self, model):
        self._model = model

    def __getitem__(self, name):
        return self._model.weight(name)


class Model(_Closing):
    """A model directory or a bundled model by name; `threads` 0: one for each processor. `packing`
    limits the bytes of the copies of weights that the second run makes so that later ones take less
    time (0: none; None: four for each number, but no more than half of the free memory)."""

    def __init__(self, name: str = "tiny", threads: int = 0, packing: "int | None" = None):
        error = _Error()
        self.name = str(name)
        self._lock = threading.RLock()
        self._free = _library.attn_close
        self._words = None  # vocabulary, read when first used
        self._texts = {}    # of the ids that were asked for; close() asks for those of all runs
        self._runs, self._runs_end = [], 64  # without functions of Python that a signal may enter
        self._handle = _library.attn_open(_words("a model", name),
                                          _whole("threads", threads, 257), byref(error))
        _check(not self._handle, error)
        self._all.add(self)
        self.counts = _library.attn_count(self._handle)
        if packing is not None:
            packing = _whole("packing", packing, 2**64)
            _check(_library.attn_set_packing(self._handle, packing, byref(error)), error)

    def close(self):
        """Free the memory, after calls of other threads have ended. Closing twice does nothing."""
        with self._lock:
            for run in [ref() for ref in self._runs] if self._handle else ():
                run is None or run._labels  # read once
            super().close()

    def __repr__(self):
        counts = self.counts
        encoder = "%d encoder layers, " % counts.encoder_layers if counts.encoder_layers else ""
        return "<attn.Model %r: %s%d layers, %d heads, %d channels, %d words%s>" % (
            self.name, encoder, counts.layers, counts.heads, counts.channels, counts.vocabulary,
            "" if self._handle else ", closed")

    def encode(self, text: str, special: bool = False, pair: "str | None" = None,
               source: bool = False) -> numpy.ndarray:
        """The ids of a text, by the model's tokenizer; with `special`, also of the special tokens
        that attn-cli adds. Or of a pair of texts, which has these tokens, and segments (Ids). Or of
        a source of an encoder-decoder, which has these tokens too."""
        return self._encode(text, special, pair, source=source)[0]

    def _encode(self, text, special=False, pair=None, joins=False, source=False):
        """The ids of a text; the index of the word of each (-1: of an added token); its bytes."""
        if not isinstance(text, str):
            raise TypeError("a text: expected str, found %s" % type(text).__name__)
        error, ids, text = _Error(), _Ids(), text.encode()
        pair = None if pair is None else str(pair).encode()
        more = [pair, len(pair or b"")] if (special or pair is not None) and not source else []
        call = (_library.attn_encode_source if source else
                _library.attn_encode_special if more else _library.attn_encode)
        with self._lock:
            _check(call(self._opened(), text, len(text), *more, byref(ids), byref(error)), error)
        numbers = numpy.array(ids.ids[:ids.count], dtype=numpy.uint32)
        numbers = numbers.view(Ids) if ids.segments or joins else numbers
        for name, kept in ("segments", bool(ids.segments)), ("joins", joins):
            if kept:
                setattr(numbers, name, numpy.array(getattr(ids, name)[:ids.count], numpy.uint8))
        words = numpy.array(ids.words[:ids.count], dtype=numpy.uint64).astype(int)
        of_pair = ids.segments[:ids.count] if ids.segments else [0] * ids.count
        spans = list(zip(ids.starts[:ids.count], ids.ends[:ids.count], of_pair))
        spelt = [(pair if second and pair else text)[start:end] for start, end, second in spans]
        _library.attn_ids_free(byref(ids))
        return numbers, words, spelt, spans

    def _resolve(self, words, text):
        """Replace @NAME, a word of the text (@NAME/2: the second such word), by the indices of its
        tokens, as attn-cli does; "4" or "4-5"."""
        if not isinstance(words, str) or "@" not in words:
            return words
        if not isinstance(text, str):
            raise ValueError("%r: expected a text, since names are words, found ids" % words)
        ids, of_words, _, spans = self._encode(text, self.counts.encoder_layers > 0)

        def edge(at):
            around = text[max(at - 1, 0):at + 1]
            return at in (0, len(text)) or not all(map(_is_of_word, around)) or \
                _UNSPACED.search(around)

        def place(match):
            size, found = len(match[2]), []
            for at in range(len(text) - size + 1):
                if text[at:at + size] == match[2] and edge(at) and edge(at + size):
                    start, end = (len(text[:i].encode()) for i in (at, at + size))
                    found.append([i for i, (first, last, _) in enumerate(spans)
                                  if first < end and last > start and of_words[i] >= 0])
            nth = int(match[3] or 1)
            if not 0 < nth <= len(found) or not match[3] and len(found) > 1:
                raise ValueError("%r: expected a word that the text has once, or @%s/2 for its "
                                 "second, found %d of %r in %r"
                                 % (words, match[2], len(found), match[2], text))
            tokens = found[nth - 1]
            return match[1] + ("%d-%d" % (tokens[0], tokens[-1]) if tokens[1:] else
                               str(tokens[0]))

        return re.sub(r"(^|[,:=\[])@([^:,\]/; ]+)(?:/(\d+))?", place, words)

    def _resolve_edits(self, edits, text):
        return {self._resolve(name, text): value for name, value in edits.items()} \
            if isinstance(edits, dict) else self._resolve(edits, text)

    def token(self, number: int) -> "str | None":
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

    def _numbers(self, text, source=False):
        """The ids of a text. Those of an encoder-decoder have the tokens that attn-cli adds."""
        adds = self.counts.encoder_layers > 0
        return self.encode(text, adds, source=adds and source) if isinstance(text, str) else text

    def _prompt(self, text):
        """The ids of a text without those that are added after it."""
        whole = numpy.asarray(self._numbers(text))
        alone = self.encode(text) if isinstance(text, str) else whole
        ends = range(alone.size, whole.size + 1)
        return whole[:next(i for i in ends if (whole[i - alone.size:i] == alone).all())]

    def _translated(self, text, sources, i):
        """A text, or the ids of the model's own translation of a source."""
        if text is not None or sources is None:
            return text
        return [self.counts.begin, *self.generate(source=sources[i])["id"]]

    def _request(self, sources=None, temperature=0, within_word=False, edits=None, first=0,
                 **fields):
        """A request, its edits, and the memory that it needs; `first`: index of the first text."""
        edits, kept = _Edits(edits, first), None
        request = _Request(temperature=temperature, within_word=bool(within_word),
                           values=edits.values, value_count=len(edits.values))
        for name, value in dict(fields, edits=edits.words).items():
            setattr(request, name, _words(name, _joined(value)))
        if sources is not None:
            ids, kept = _structs(sources)
            request.source = ids
        return request, edits, kept

    def _look(self, call, opened, texts, sources, before=(), query=(None,), **fields):
        lists, numbers = _structs(texts)
        request, edits, of_sources = self._request(sources, **fields)
        runs = Results(Run(self, ids, of_sources[i] if of_sources else numpy.empty(0, int), before,
                           query[i]) for i, ids in enumerate(numbers))

        def take(_, tensor):
            try:
                runs[tensor.contents.text]._take(tensor.contents)
            except BaseException as problem:  # ctypes would ignore it
                edits.raised.append(problem)
            return len(edits.raised)

        request.sink = _Sink(take)
        with self._lock:
            if len(self._runs) > self._runs_end:
                self._runs = [ref for ref in self._runs if ref() is not None]
                self._runs_end = 64 + 2 * len(self._runs)
            self._runs += map(weakref.ref, runs)
            edits.call(call, opened._opened(), lists, request)
        return runs

    def weight(self, name: str) -> numpy.ndarray:
        """A weight as float32, as in the files, with the names and axes of TransformerLens: W_E,
        W_pos, W_U [channel, word], b_U, ln_f.w, ln_f.b; of a layer h.3.W_Q, W_K, W_V [head,
        channel, dim], W_O [head, dim, channel], W_gate, W_in, W_out, b_Q, b_K, b_V, b_O, b_in,
        b_out, ln_1.w, ln_1.b, ln_2.w, ln_2.b; h.3.cross_W_Q; of an encoder enc.3.W_Q. The whole
        names are accepted, too: unembed.W_U, blocks.3.attn.W_Q. No norm is folded into them."""
        found, edits = [], _Edits(None)
        sink = _Sink(lambda _, tensor: found.append(_view(tensor.contents).copy()) or 0)
        with self._lock:
            edits.call(_library.attn_weight, self._opened(), _words("a weight", name), sink, None)
        return found[0]

    @property
    def weights(self):
        """Weights by name: `model.weights["W_U"]` is `model.weight("W_U")`."""
        return _Weights(self)

    def _sources(self, texts, source):
        """The ids of a source for each text: the same for all, or one for each."""
        if source is None:
            return None
        sources = _several(source) or [source] * len(texts)
        return [self._numbers(text, True) for text in _for_each("source", sources, len(texts))]

    @_also(layer="layers", head="heads")
    def run(self, text=None, show="weights", layers=None, heads=None, source=None,
            edits: "str | dict | None" = None, attention: "str | None" = None,
            temperature: float = 0, query=None) -> "Run | Results":
        """Run a text or ids, or a list of these; without a text, the model's own translation of the
        source. The other arguments have the values of attn-cli run --show, --layer, --head,
        --source, --edit, --attention, --attention-temperature and --query, or are lists:
        show=["weights", "resid_post"], layers=[0, 1], query=-1, query="@gave" (a word of the text).
        `edits` may be a dict: a name with a number, an array, a list of an array [tokens, channels]
        for each text, or a function of the tensor, which is called once for each text and layer
        with an array [tokens, channels] and changes or returns it; "h.1.resid_post +" adds. A
        function of two arguments also gets a Place. With positions, "h.1.context[head=3]", it gets
        these; of scores, masked, weights and softmax, each row [1, 1, keys] alone, with the
        visible keys."""
        many = _several(source if text is None else text)
        texts = _several(text) or [text] * len(many or "1")
        sources = self._sources(texts, source)
        if sources is None:
            _expect_text("run", text)
        numbers = [self._numbers(self._translated(one, sources, i)) for i, one in enumerate(texts)]
        query = [self._resolve(_joined(query), one) for one in texts]
        _Edits.check_count(edits, len(texts))
        named = "@" in "".join(edits) if isinstance(edits, (dict, str)) else False
        size = 1 if named else len(texts)  # names are other tokens in each text
        runs = Results()
        for i in range(0, len(texts), size):
            runs += self._look(
                lambda model, lists, request, error: _library.attn_run_all(
                    model, lists, len(lists), byref(request), error),
                self, numbers[i:i + size], sources and sources[i:i + size], show=show,
                layers=layers, heads=heads, first=i, query=query[i:i + size],
                edits=self._resolve_edits(edits, texts[i]), attention=attention,
                temperature=temperature)
        return runs if many else runs[0]

    @_also(layer="layers", head="heads")
    def gradients(self, text, answer=None, against=None, query: int = -1, sites="weights",
                  layers=None, heads=None, source=None) -> "Run | Results":
        """The gradients of a logit at the tensors `sites` of run ("attention_gradient": weights
        times gradient; with "embedding" also `token_rows`), as arrays by their names, and `value`,
        the logit. `answer` is a token or an id (None: the most likely one), less the logit of
        `against`; a difference, " are: is"; or a sum of logits of your own: answer={" Mary": 1,
        " John": -0.5}. `query` is the position after which the logits are read (in masked models,
        at it). A list of texts gives a list; answer, against, query and source are for all, or
        lists."""
        _expect_text("gradients", text)
        many = _several(text)
        if many:
            columns = dict(answer=answer, against=against, query=query,
                           source=_several(source) or source)
            columns = [_for_each(name, value, len(many)) for name, value in columns.items()]
            return Results(self.gradients(one, asked, other, at, sites, layers, heads, its)
                           for one, asked, other, at, its in zip(many, *columns))
        numbers = self._numbers(text)
        place, = _positions(query, numpy.size(numbers))
        sources = self._sources([text], source)
        if answer is None:
            logits = self.run(text, show="logits", source=source)["logits"]
            answer = int(logits[place].argmax())
        terms = self._terms(answer)
        if against is not None:
            terms[against] = terms.get(against, 0) - 1
        logits = (_Logit * len(terms))(*[(place, self._one_id(token), weight)
                                         for token, weight in terms.items()])
        value = c_double()
        run, = self._look(
            lambda model, lists, request, error: _library.attn_gradient(
                model, lists, byref(request), logits, len(logits), byref(value), error),
            self, [numbers], sources, show=sites, layers=layers, heads=heads)
        run.value = value.value
        return run

    def _terms(self, answer):
        """The tokens of an answer, and the weight of the logit of each."""
        colon = answer.find(":", 1) if isinstance(answer, str) else -1
        if colon > 0 and self.encode(answer).size != 1:
            return {answer[:colon]: 1, answer[colon + 1:]: -1}
        return dict(answer) if isinstance(answer, dict) else {answer: 1}

    def _answer(self, answer):
        """An answer, or a list of answers, as the program takes it: " are: is" for {" are": 1,
        " is": -1}, and the texts of ids."""
        if _is_list(answer):
            return [self._answer(one) for one in answer]
        if answer is None or isinstance(answer, str):
            return answer
        terms = sorted(self._terms(answer).items(), key=lambda term: -term[1])
        if [weight for _, weight in terms] not in ([1], [1, -1]):
            raise ValueError("answer: expected the weight 1, or 1 and -1, found %r: only gradients "
                             "takes other sums of logits" % (answer,))
        texts = [token if isinstance(token, str) else self.token(token) for token, _ in terms]
        if None in texts:
            raise ValueError("answer: expected ids with a text, found %r" % (answer,))
        return ":".join(texts)

    def _one_id(self, token):
        """The id of a token, given as such or as its text."""
        ids = self.encode(token) if isinstance(token, str) else [_whole("an id", token, 2**32)]
        if len(ids) != 1:
            raise ValueError("answer: expected a text of 1 token, found %r, which has %d"
                             % (token, len(ids)))
        return int(ids[0])

    def _scores(self, texts, sources=None, **fields):
        """The scores of lists of ids, each as an array of `logprob`, `entropy` and `rank`."""
        lists, numbers = _structs(texts)
        _Edits.check_count(fields.get("edits"), len(lists))
        request, edits, _kept = self._request(sources, **fields)
        ends = numpy.cumsum([0] + [ids.size for ids in numbers])
        scores = numpy.empty(ends[-1], _SCORE)
        with self._lock:
            edits.call(_library.attn_score_all, self._opened(), lists, len(lists), byref(request),
                       scores.ctypes.data)
        return numpy.split(scores, ends[1:-1])

    @_takes_options("score")
    def score(self, text=None, words: bool = False, continuations=None, pairs=None,
              begin: "bool | None" = None, source=None, edits: "str | dict | None" = None,
              attention: "str | None" = None, temperature: float = 0, pair: "str | None" = None,
              within_word: bool = False, **options) -> "Table | Results":
        """Log-probabilities, in nats, of the tokens of a text or ids, given those before; NaN for
        the first; with their entropies and ranks. Or of its words (`words`), of `continuations` of
        a text, or of `pairs` of a good and a bad text. A list of texts gives a list of tables.
        `source` is one for all, or a list with one for each text or pair.

        With `begin`, the model's beginning token comes before each text, so that all tokens have a
        score; it has no row. By default it does where the model's own tokenizer adds it, and before
        words and pairs where the model has one, as in attn-cli.

        In a masked model, a token is masked and scored given all others (pseudo-log-likelihood);
        `within_word` also masks the later tokens of its word. Texts, but not ids, get the special
        tokens, which have no score, and the second text `pair`.

        With `options` of the program, such as at="-1", next=10, window=64, stride=32 or bits=True,
        the result is one table, that of attn-cli score --format csv. The model is opened again."""
        if (text is None) == (pairs is None) and (text is not None or not options):
            raise ValueError("score: expected a text or pairs, found %s"
                             % ("neither" if pairs is None else "both"))
        pairs = [pairs] if isinstance(pairs, str) else None if pairs is None else list(pairs)
        continuations = [continuations] if isinstance(continuations, str) else \
            None if continuations is None else list(continuations)
        for both in pairs or ():
            if isinstance(both, str) or not hasattr(both, "__len__") or len(both) != 2:
                raise TypeError("pairs: expected pairs of a good and a bad text, found %r"
                                % (both,))
        for name, given in ("pairs", pairs), ("continuations", continuations):
            if given is not None and not given:
                raise ValueError("score: expected at least one of %s, found %r" % (name, given))
        if options:
            special = None if begin is None else "bos" if begin else "none"
            options = {
                **options, "words": words, "continue": continuations, "special": special,
                "source": source, "edits": edits, "attention": attention, "pair": pair,
                "attention_temperature": temperature or None, "within_word": within_word}
            good, bad = zip(*pairs) if pairs else (None, None)
            return self._table("score", "csv", options, needs=False, text=text, good=good, bad=bad)
        fields = dict(edits=edits, attention=attention, temperature=temperature,
                      within_word=within_word)
        masked = self.counts.mask < self.counts.vocabulary
        if begin is None:
            begin = words or pairs is not None or self.counts.adds_begin
        begin = begin and not masked and self.counts.begin < self.counts.vocabulary
        first = [self.counts.begin] if begin else []

        starts = begin and self.counts.encoder_layers > 0

        def encode(one, second):  # without the start token, which begun() puts before all texts
            read = self._encode(one, masked or starts, second, within_word)
            has_start = starts and read[0][:1].tolist() == first
            return tuple(each[1:] for each in read) if has_start else read

        def begun(ids):  # segments belong to all ids of a pair
            return numpy.append(first, ids).astype(numpy.uint32) if first else ids

        if pairs is not None:
            pairs = [tuple(both) for both in pairs]
            second, = _for_each("pair", pair, 1)
            return self._pairs(
                pairs, self._sources(pairs, source),
                lambda one: begun(encode(one, second)[0] if isinstance(one, str) else one), fields)
        several = _several(text)
        asked = several or [text]
        seconds, sources = _for_each("pair", pair, len(asked)), self._sources(asked, source)
        if continuations is not None:
            if not any(map(_is_list, continuations)):
                continuations = [continuations] * len(asked)
            tables = self._continued(
                asked, _for_each("continuations", continuations, len(asked)), sources,
                lambda one, i: begun(encode(one, seconds[i])[0]), fields)
            return tables if several else tables[0]
        read = [encode(one, second) if words or isinstance(one, str) else
                (one if isinstance(one, Ids) else _ids(one)[0], None, None)
                for one, second in zip(asked, seconds)]
        scores = self._scores([begun(each[0]) for each in read], sources, **fields)
        tables = Results()
        for (ids, word, spelt, *_), score in zip(read, scores):
            score, texts = score[len(first):], self._names(ids.tolist())
            columns = dict(logprob=score["logprob"].copy(), entropy=score["entropy"].copy())
            if words:  # a word with a token that has no score has none
                lacks = masked & numpy.isnan(score["logprob"])
                of_words = numpy.unique(word[~lacks & (word >= 0)])
                texts = [b"".join(spelt[i] for i in numpy.flatnonzero(word == w))
                         .decode("utf-8", "replace").strip() for w in of_words]
                columns = dict(
                    logprob=numpy.array([score["logprob"][word == w].sum(dtype=float)
                                         for w in of_words]),
                    entropy=numpy.array([score["entropy"][word == w][0] for w in of_words]))
            else:
                columns.update(rank=score["rank"].copy(), id=ids)
            tables.append(Table(position=numpy.arange(len(texts)), text=texts, **columns))
        return tables if several else tables[0]

    def _continued(self, texts, continuations, sources, encode, fields):
        read, places = [], []  # ids of all; for each: index of its text, and of its first token
        of_text = [[more] if isinstance(more, str) else list(more) for more in continuations]
        for i, (text, more_of) in enumerate(zip(texts, of_text)):
            alone = self.encode(text)
            for more in more_of:
                ids = self.encode(text + more)
                if ids[:alone.size].tolist() != alone.tolist() or ids.size == alone.size:
                    raise ValueError("continuation %r: expected the text's %d tokens unchanged, "
                                     "and more: begin it at a token boundary, for example with a "
                                     "space" % (more, alone.size))
                whole = encode(text + more, i)
                first = next(k for k in range(whole.size)
                             if whole[k:k + ids.size].tolist() == ids.tolist())
                read.append(whole)
                places.append((i, first + alone.size, first + ids.size))
        scores = self._scores(read, sources and [sources[i] for i, *_ in places], **fields)
        tables = Results()
        for i, more_of in enumerate(of_text):
            own = [(score["logprob"][first:end].sum(dtype=float), end - first)
                   for score, (text, first, end) in zip(scores, places) if text == i]
            sums = numpy.array([total for total, _ in own])
            tables.append(Table(continuation=more_of, logprob=sums,
                                tokens=numpy.array([tokens for _, tokens in own]),
                                difference=sums - sums[:1]))
        return tables

    def _pairs(self, pairs, sources, encode, fields):
        texts = [encode(text) for pair in pairs for text in pair]
        sources = sources and [ids for ids in sources for _ in "gb"]
        sums = [numpy.nansum(score["logprob"], dtype=float)
                for score in self._scores(texts, sources, **fields)]
        good, bad = numpy.array(sums[::2]), numpy.array(sums[1::2])
        return Table(good=[pair[0] for pair in pairs], bad=[pair[1] for pair in pairs],
                     logprob_good=good, logprob_bad=bad, difference=good - bad,
                     correct=good > bad)

    def generate(self, text="", tokens: "int | None" = None, temperature: float = 0,
                 top_k: int = 0, top_p: float = 1, beams: "int | None" = None, seed: int = 0,
                 ignore_eos: bool = False, logprobs: bool = False, source=None,
                 edits: "str | dict | None" = None,
                 attention: "str | None" = None, then=None) -> "Table | Results":
        """Continue a text or ids, or a list of these, as attn-cli generate does: a table of the new
        tokens, and its `.text`. `then(text)` is called for each new token; if it returns True, the
        text ends. Text N of a list uses the random numbers of the seed `seed` + N * 2**32. Without
        `tokens` and `beams` a model with an encoder chooses both, others 32 and 1."""
        if text is None:
            raise TypeError("generate: expected a text or ids, found None: \"\" begins a text")
        many = _several(source if isinstance(text, str) and text == "" else text)
        texts = _several(text) or [text] * len(many or "1")
        sources = self._sources(texts, source)
        _Edits.check_count(edits, len(texts))
        tokens = 0 if tokens is None else _whole("tokens", tokens, 10**6 + 1, 1)
        beams = _whole("beams", beams or 0, 101)
        tables = Results()
        for i, prompt in enumerate(texts):
            _numbers, ids = _ids([] if isinstance(prompt, str) and prompt == "" else
                                 self._prompt(prompt))
            request, changes, _kept = self._request(
                sources and sources[i:i + 1], attention=attention, first=i,
                edits=self._resolve_edits(edits, prompt))
            new = []

            def take(_, number, at, size, logprob):
                try:
                    new.append((number, ctypes.string_at(at, size), logprob))
                    return 0 if then is None else bool(then(new[-1][1].decode("utf-8", "replace")))
                except BaseException as problem:
                    changes.raised.append(problem)
                    return 1

            how = _Generation(
                sink=_Token(take), tokens=tokens, temperature=temperature,
                top_k=_whole("top_k", top_k, 10**8 + 1), top_p=top_p, beams=beams,
                seed=_whole("seed", seed, 2**63) + (i << 32), past_end=ignore_eos,
                logprobs=logprobs)
            with self._lock:
                changes.call(_library.attn_generate, self._opened(), byref(ids), byref(request),
                             byref(how))
            table = Table(step=numpy.arange(len(new)),
                          id=numpy.array([one[0] for one in new], numpy.uint32),
                          text=[one[1].decode("utf-8", "replace") for one in new])
            if logprobs:
                table["logprob"] = numpy.array([one[2] for one in new], numpy.float32)
            table.text = b"".join(one[1] for one in new).decode("utf-8", "replace")
            tables.append(table)
        return tables if many else tables[0]

    @_takes_options("page")
    def page(self, text: str, **options) -> Page:
        """The interactive page of attn-cli page. `options` are the program's, with _ for -:
        source="…", lens=True, edit=["…", "…"]. A notebook shows the page."""
        _check_returned("page", options)
        _expect_text("page", text)
        return Page(self._printed("page", options, text=text))

    def _printed(self, command, options, **columns):
        """What a command prints of texts. With lists of options as long, or of clean and corrupt
        texts, these are the columns of a table."""
        options = {"model": self.name, **options}
        if "answer" in options:
            options["answer"] = self._answer(options["answer"])
        columns = {name: given for name, given in columns.items() if given is not None}
        lists = {name: _several(given) for name, given in columns.items()}
        more = {name: list(options.pop(name)) for name in _OF_TEXTS
                if _is_list(options.get(name)) and
                (name != "continue" or any(map(_is_list, options[name])))}
        if not more and not any(lists.values()):
            for name, given in columns.items():
                if isinstance(given, str) or name != "text":
                    options["sentence" if name == "text" else name] = given
                else:
                    options["ids"] = _ids(given)[0]
                    if not options["ids"].size:
                        raise ValueError("%s: expected a text or ids, found %r" % (command, given))
            return _report(command, **options)
        if not more and list(lists) == ["text"] and all(isinstance(t, str) for t in lists["text"]):
            return _report(command, **options, sentence=lists["text"])
        if options.get("file") is not None:
            raise ValueError("file: expected its columns, found the lists of %s" % ", ".join(more))
        texts = {name: lists[name] or [given] for name, given in columns.items()}
        count = len(next(iter((texts or more).values())))
        rows = {name: _for_each(name, given, count) for name, given in {**texts, **more}.items()}
        if "text" in rows:
            given = rows.pop("text")
            rows["text"] = [one if isinstance(one, str) else None for one in given]
            rows["ids"] = [None if isinstance(one, str) else _ids(one)[0] for one in given]
        with _folder() as folder:
            name = next(iter({**texts, **rows}))
            path = _write_table(os.path.join(folder, name + ".jsonl"), **rows)
            return _report(command, **dict(options, file=path))

    def _table(self, command, form, options, needs=True, **columns):
        _check_returned(command, options)
        if needs and options.get("file") is None:
            _expect_text(command, next(iter(columns.values())))
        return _read_table(self._printed(command, dict(options, format=form), **columns))

    @_takes_options("lens")
    def lens(self, text, **options) -> Table:
        """The logit lens of a text or ids, or of a list of texts, as attn-cli lens computes it: a
        row for each layer and token. `options`, here and below, are those of the program, with _
        for -: target=" are: is", layers="10-20"; `edits` are those of run. The model is opened
        again."""
        return self._table("lens", "csv", options, text=text)

    @_takes_options("attribute")
    def attribute(self, text, **options) -> Table:
        """The parts of a logit or a logit difference, as attn-cli attribute finds them: a row for
        each part. answer=" Mary: John", position="@gave", by="source"; of a list of texts, also
        lists, answer=[" Mary: John", " Anna: Tom"]."""
        return self._table("attribute", "tidy", options, text=text)

    @_takes_options("attribute", "head")
    def why(self, text, head, key, query=-1, against=None, **options) -> Table:
        """Why a head looks at a key: its score as sums of parts of the query's and the key's
        stream, as attn-cli attribute --head finds them: a row for each part of each side.
        head=(18, 6); key and query are indices or words; against=2, "mean" or "weights" compares
        with other keys; by="pair" and "source" give cells of these matrices."""
        if not isinstance(head, str):
            head = "%d.%d" % tuple(head)
        if against is not None:
            key = "%s:%s" % (key, against)
        form = "csv" if options.get("by", "part") == "part" else "tidy"
        return self._table("attribute", form, dict(options, head=head, key=str(key),
                                                   query=str(query)), text=text)

    @_takes_options("attribute", "by")
    def saliency(self, text, method="integrated", **options) -> Table:
        """A number for each token of a text (and of its source) for a logit, as attn-cli attribute
        --by token finds them; `norm` is the L2 norm over channels. method="gradient"; or
        "integrated" with steps=50, rule="riemann_middle", baseline="mean"; answer=" Mary: John" or
        {" Mary": 1, " John": -1}, query=3."""
        return self._table("attribute", "csv", dict(options, by="token", method=method), text=text)

    @_takes_options("run", "align")
    def align(self, text=None, **options) -> Table:
        """For each token of a text those of its source, as attn-cli run --align: source="…";
        without a text, of the model's own translation. layers=1, heads="0,3" choose heads."""
        return self._table("run", "csv", dict(options, align=True), needs=False, text=text)

    @_takes_options("patch")
    def patch(self, clean, corrupt=None, **options) -> Table:
        """Activation patching, as attn-cli patch: a row for each patch. answer=" are: is",
        estimate=True. Without corrupt an ablation: with_="zero". Of lists of texts, the column
        `sentence` is the index of the pair."""
        if corrupt is not None and len(_several(clean) or "1") != len(_several(corrupt) or "1"):
            raise ValueError("patch: expected as many corrupt as clean texts, found %r and %r"
                             % (clean, corrupt))
        return self._table("patch", "tidy", options, clean=clean, corrupt=corrupt)

    @_takes_options("heads")
    def heads(self, text=None, **options) -> Table:
        """The scores of every head, as attn-cli heads: on random tokens, or on texts."""
        return self._table("heads", "csv", options, needs=False, text=text)

    @_takes_options("examples")
    def examples(self, text, **options) -> Table:
        """The tokens of a list of texts with the largest activations of each channel, as attn-cli
        examples: site="resid_post", layers=0, channel="3,5", smallest=True."""
        return self._table("examples", "csv", options, text=text)

    @_takes_options("features")
    def features(self, text, sae, **options) -> Table:
        """The active features of a sparse autoencoder or transcoder at each token of a text, or of
        a list of texts, as attn-cli features: sae="demo", or a folder; top=10, feature="27,60",
        promote=0. Also sae= of lens, examples and others, for edits="features[feature=27] = 0"."""
        return self._table("features", "csv", dict(options, sae=sae), text=text)

    @_takes_options("compare")
    def compare(self, text, other=None, **options) -> Table:
        """What attn-cli compare finds between this model and another (`other`, a name), or between
        two settings: attention="linear"."""
        options["model"] = [self.name, other] if other else self.name
        return self._table("compare", "csv", options, text=text)

    @_also(layer="layers")
    def steer(self, positive, negative, site: str = "resid_post", layers=None, query="-1") -> dict:
        """The mean difference of a tensor between two lists of texts, as attn-cli steer finds it:
        an array for each layer, by name. edits={"h.15.resid_post +": 4 * found["h.15.resid_post"]}
        adds one."""
        with _folder() as folder:
            path = os.path.join(folder, "v.safetensors")
            options = dict(model=self.name, site=site, layer=layers, query=query, output=path)
            for name, texts in (("positive", positive), ("negative", negative)):
                options[name] = _write_table(os.path.join(folder, name + ".jsonl"),
                                             text=[texts] if isinstance(texts, str) else texts)
            _report("steer", **options)
            with open(path, "rb") as file:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                data = file.read()
        return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4")
                for name, entry in header.items() if name != "__metadata__"}

    def cache(self) -> "Cache":
        """A Cache, for a text that is extended step by step."""
        return Cache(self)


class Cache(_Closing):
    """Keys and values of earlier tokens: each step runs only the new ids, with the same bits as one
    run of all ids (MPT: up to rounding)."""

    def __init__(self, model):
        error = _Error()
        self._model = model  # a reference keeps the model open
        self._lock = model._lock
        self._free = _library.attn_cache_close
        self._read = numpy.empty(0, numpy.uint32)  # ids so far
        with self._lock:
            self._handle = _library.attn_cache_open(model._opened(), byref(error))
            self._all.add(self)
        _check(not self._handle, error)

    def __repr__(self):
        tokens = "%d tokens" % _library.attn_cache_count(self._handle) if self._handle else "closed"
        return "<attn.Cache of %r: %s>" % (self._model.name, tokens)

    @_also(layer="layers", head="heads")
    def step(self, text, show="logits", layers=None, heads=None) -> Run:
        """Add a text or ids, and run them. The arguments are those of Model.run."""
        with self._lock:
            self._model._opened()
            ids, _ = _ids(self._model._numbers(text))
            before = self._read[:_library.attn_cache_count(self._opened())]
            self._read = numpy.concatenate((before, ids))  # now: a signal may end the step later
            run, = self._model._look(
                lambda cache, lists, request, error: _library.attn_step(
                    cache, lists, byref(request), error),
                self, [ids], None, before=before, show=show, layers=layers, heads=heads)
        return run
