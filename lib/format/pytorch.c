#include "format/pytorch.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/utf8.h"

/* --- the pickle: the opcodes of a dict of tensors, on a stack of values ----------------------- */

/* Each kind is a letter: a text can then describe the kinds of a tuple's items. */
enum pickle_kind {
    PICKLE_NONE = 'N',
    PICKLE_BOOL = 'b',
    PICKLE_INTEGER = 'i', /* an integer that is not negative */
    PICKLE_TEXT = 't',
    PICKLE_TUPLE = 'P',
    PICKLE_DICT = 'D',
    PICKLE_LIST = 'L',    /* a list, without its items */
    PICKLE_REAL = 'f',    /* a real number, without its value */
    PICKLE_GLOBAL = 'g',  /* a class or a function */
    PICKLE_STORAGE = 'S', /* a storage: items "tgtti": "storage", class, name, device, number of
                           * elements */
    PICKLE_TENSOR = 'T',  /* a tensor: items "SiPPbD": storage, offset, shape, strides, … */
    PICKLE_MARK = '(',
};

struct pickle_value {
    enum pickle_kind kind;
    uint32_t size; /* bytes of a text, number of items of a tuple, or enum role of a global */
    union {
        int64_t integer; /* value of an integer; for a class of storages, its enum dtype; for a
                          * dict, its number */
        const char *text;
        const struct pickle_value *items;
    };
};

/* The updates of all dicts, in order. Each update begins with its dict, whose `size` is the number
 * of values that follow it: names and their values in turn. The saved dict has the number 0. */
struct pickle {
    struct pickle_value *updates;
    size_t size, dicts;
};

enum { PICKLE_BYTES_MAX = 1 << 23 };

/* Each array has room for as many values as the pickle has bytes: an opcode makes at most one value
 * or update, and a value is added to at most one tuple or dict. */
struct pickle_machine {
    const char *at, *end;
    size_t size;
    struct pickle_value *stack, *memo, *items; /* `items`: the items of all tuples */
    size_t depth, memoized, item_count;
    struct pickle *pickle;

    /* the values that the current opcode has popped, and their number */
    const struct pickle_value *taken;
    size_t taken_count;
    uint64_t argument;
    int row;
};

static const char *pickle_describe(const struct pickle_value *value)
{
    static const char *const kinds[] = {
        [PICKLE_NONE] = "None",         [PICKLE_BOOL] = "a bool",   [PICKLE_INTEGER] = "a number",
        [PICKLE_TEXT] = "a text",       [PICKLE_TUPLE] = "a tuple", [PICKLE_DICT] = "a dict",
        [PICKLE_GLOBAL] = "a class",    [PICKLE_MARK] = "a mark",   [PICKLE_TENSOR] = "a tensor",
        [PICKLE_STORAGE] = "a storage", [PICKLE_LIST] = "a list",   [PICKLE_REAL] = "a number"};
    return kinds[value->kind];
}

/* --- known classes and functions; none is called ---------------------------------------------- */

enum role { MAKE_DICT, MAKE_TENSOR, MAKE_PARAMETER, STORAGE_CLASS };

static const struct global {
    const char *module, *name;
    enum role role;
    enum dtype dtype;
} globals[] = {
    {"collections", "OrderedDict", MAKE_DICT, 0},
    {"torch._utils", "_rebuild_tensor_v2", MAKE_TENSOR, 0},
    {"torch._utils", "_rebuild_parameter", MAKE_PARAMETER, 0},
    {"torch", "FloatStorage", STORAGE_CLASS, DTYPE_F32},
    {"torch", "HalfStorage", STORAGE_CLASS, DTYPE_F16},
    {"torch", "BFloat16Storage", STORAGE_CLASS, DTYPE_BF16},
    {"torch", "DoubleStorage", STORAGE_CLASS, DTYPE_F64},
    {"torch", "BoolStorage", STORAGE_CLASS, DTYPE_BOOL},
    {"torch", "ByteStorage", STORAGE_CLASS, DTYPE_U8},
    {"torch", "CharStorage", STORAGE_CLASS, DTYPE_I8},
    {"torch", "ShortStorage", STORAGE_CLASS, DTYPE_I16},
    {"torch", "IntStorage", STORAGE_CLASS, DTYPE_I32},
    {"torch", "LongStorage", STORAGE_CLASS, DTYPE_I64},
};

static bool is_text(const struct pickle_value *value, const char *text)
{
    return value->kind == PICKLE_TEXT && value->size == strlen(text) &&
           memcmp(value->text, text, value->size) == 0;
}

static bool has_form(const struct pickle_value *tuple, const char *form)
{
    if (tuple->kind != PICKLE_TUPLE || tuple->size != strlen(form))
        return false;
    for (size_t i = 0; form[i]; i++)
        if (tuple->items[i].kind != (enum pickle_kind)form[i])
            return false;
    return true;
}

/* --- opcodes: `taken` has the values that were popped ----------------------------------------- */

enum { TO_MARK = -1 }; /* the opcode pops the last mark and all values above it */

static int push(struct pickle_machine *m, struct pickle_value value)
{
    m->stack[m->depth++] = value;
    return 0;
}

/* Read the next `size` bytes. Returns NULL with an error if fewer bytes are left. */
static const char *read(struct pickle_machine *m, uint64_t size, struct err *err)
{
    if (size > (size_t)(m->end - m->at)) {
        err_set(err, "expected more bytes, found the end");
        return NULL;
    }
    m->at += size;
    return m->at - size;
}

static int take(struct pickle_machine *m, int count, struct err *err)
{
    size_t taken = count == TO_MARK ? 0 : (size_t)count;
    while (count == TO_MARK && taken < m->depth &&
           m->stack[m->depth - 1 - taken].kind != PICKLE_MARK)
        taken++;
    size_t left = taken + (count == TO_MARK);
    if (m->depth < left)
        return err_set(err, "expected %zu values on the stack, found %zu", left, m->depth);
    m->taken = m->stack + m->depth - taken;
    m->taken_count = taken;
    m->depth -= left;
    return 0;
}

static int constant(struct pickle_machine *m, struct err *err)
{
    (void)err;
    int64_t number = m->row == PICKLE_DICT ? (int64_t)m->pickle->dicts++ : 0;
    return push(m, (struct pickle_value){(enum pickle_kind)m->row, 0, .integer = number});
}

static int integer(struct pickle_machine *m, struct err *err)
{
    if (m->argument > (m->row ? INT32_MAX : INT64_MAX))
        return err_unsupported(err, "expected a number from 0 to 2^63 - 1, found another");
    return push(m, (struct pickle_value){PICKLE_INTEGER, 0, .integer = (int64_t)m->argument});
}

static int long_integer(struct pickle_machine *m, struct err *err)
{
    uint64_t size = m->argument;
    const char *bytes = read(m, size, err);
    if (!bytes)
        return -1;
    bool fits = size <= 8 && !(size && bytes[size - 1] & 0x80);
    m->argument = fits ? num_of_bytes(bytes, size) : UINT64_MAX;
    return integer(m, err);
}

static int text(struct pickle_machine *m, struct err *err)
{
    uint32_t size = (uint32_t)m->argument;
    const char *bytes = read(m, m->argument, err);
    return bytes ? push(m, (struct pickle_value){PICKLE_TEXT, size, .text = bytes}) : -1;
}

static int global(struct pickle_machine *m, struct err *err)
{
    const struct pickle_value *names = m->taken;
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        const struct global *row = &globals[i];
        if (is_text(&names[0], row->module) && is_text(&names[1], row->name))
            return push(m, (struct pickle_value){PICKLE_GLOBAL, row->role, .integer = row->dtype});
    }
    if (names[0].kind != PICKLE_TEXT || names[1].kind != PICKLE_TEXT)
        return err_set(err, "expected the name of a class, found %s", pickle_describe(&names[1]));
    return err_unsupported(err, "expected only tensors, found '%.*s.%.*s'", (int)names[0].size,
                           names[0].text, (int)names[1].size, names[1].text);
}

/* Push the class or function that two lines name: its module and its own name. */
static int global_by_lines(struct pickle_machine *m, struct err *err)
{
    for (int i = 0; i < 2; i++) {
        const char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
        m->argument = (uint64_t)((end ? end : m->end) - m->at);
        if (text(m, err) || !read(m, 1, err))
            return -1;
    }
    return err_if(take(m, 2, err) || global(m, err));
}

static int put(struct pickle_machine *m, struct err *err)
{
    uint64_t index = m->row ? m->memoized : m->argument;
    if (index >= m->size)
        return err_unsupported(err, "expected fewer memoized values than bytes, found more");
    m->memo[index] = *m->taken;
    m->memoized++;
    return push(m, *m->taken);
}

static int get(struct pickle_machine *m, struct err *err)
{
    if (m->argument >= m->size || !m->memo[m->argument].kind)
        return err_set(err, "expected a memoized value, found none");
    return push(m, m->memo[m->argument]);
}

static int tuple(struct pickle_machine *m, struct err *err)
{
    (void)err;
    struct pickle_value *items = m->items + m->item_count;
    uint32_t count = (uint32_t)m->taken_count;
    memcpy(items, m->taken, count * sizeof *items);
    m->item_count += count;
    return push(m, (struct pickle_value){PICKLE_TUPLE, count, .items = items});
}

static int set_items(struct pickle_machine *m, struct err *err)
{
    struct pickle *pickle = m->pickle;
    const struct pickle_value *dict = m->depth ? &m->stack[m->depth - 1] : NULL;
    if (!dict || dict->kind != PICKLE_DICT || m->taken_count % 2)
        return err_set(err, "expected a dict and pairs for it, found %s",
                       dict ? pickle_describe(dict) : "nothing");
    struct pickle_value *update = pickle->updates + pickle->size;
    memcpy(update + 1, m->taken, m->taken_count * sizeof *m->taken);
    *update = *dict;
    update->size = (uint32_t)m->taken_count;
    pickle->size += 1 + m->taken_count;
    return 0;
}

/* Append to a list: only check that it is a list, as items of lists are not kept. */
static int append(struct pickle_machine *m, struct err *err)
{
    if (m->depth && m->stack[m->depth - 1].kind == PICKLE_LIST)
        return 0;
    return err_set(err, "expected a list for items, found another value");
}

static int reduce(struct pickle_machine *m, struct err *err)
{
    const struct pickle_value *call = &m->taken[0];
    const struct pickle_value *arguments = &m->taken[1];
    int role = call->kind == PICKLE_GLOBAL ? (int)call->size : -1;
    if (role == MAKE_DICT && has_form(arguments, ""))
        return constant(m, err);
    if (role == MAKE_TENSOR && has_form(arguments, "SiPPbD"))
        return push(m, (struct pickle_value){PICKLE_TENSOR, 0, .items = arguments->items});
    if (role == MAKE_PARAMETER && has_form(arguments, "TbD"))
        return push(m, arguments->items[0]);
    return err_unsupported(
        err, "expected a call that makes a dict, a tensor or a parameter, found another call");
}

/* Set the state of an object. It must be a dict whose state is a dict (its _metadata), which is
 * ignored; any other state is refused. */
static int build(struct pickle_machine *m, struct err *err)
{
    if (m->taken[0].kind == PICKLE_DICT && m->taken[1].kind == PICKLE_DICT)
        return push(m, m->taken[0]);
    return err_unsupported(err, "expected a dict updated with a dict, found %s updated with %s",
                           pickle_describe(&m->taken[0]), pickle_describe(&m->taken[1]));
}

static int storage(struct pickle_machine *m, struct err *err)
{
    const struct pickle_value *id = m->taken;
    if (!has_form(id, "tgtti") || !is_text(&id->items[0], "storage") ||
        id->items[1].size != STORAGE_CLASS)
        return err_unsupported(err, "expected the name of a storage, found another");
    return push(m, (struct pickle_value){PICKLE_STORAGE, 0, .items = id->items});
}

static const struct opcode {
    unsigned char code, bytes; /* `code`: the opcode; `bytes`: size of its argument in bytes */
    int takes, row;            /* number of values popped from the stack, or TO_MARK;
                                * `row`: a parameter of `run` */
    int (*run)(struct pickle_machine *m, struct err *err);
} opcodes[] = {
    {0x80, 1, 0, 0, NULL},               /* PROTO */
    {0x95, 8, 0, 0, NULL},               /* FRAME */
    {'(', 0, 0, PICKLE_MARK, constant},  /* MARK */
    {'}', 0, 0, PICKLE_DICT, constant},  /* EMPTY_DICT */
    {']', 0, 0, PICKLE_LIST, constant},  /* EMPTY_LIST */
    {'N', 0, 0, PICKLE_NONE, constant},  /* NONE */
    {'G', 8, 0, PICKLE_REAL, constant},  /* BINFLOAT */
    {0x88, 0, 0, PICKLE_BOOL, constant}, /* NEWTRUE */
    {0x89, 0, 0, PICKLE_BOOL, constant}, /* NEWFALSE */
    {'K', 1, 0, 0, integer},             /* BININT1 */
    {'M', 2, 0, 0, integer},             /* BININT2 */
    {'J', 4, 0, 1, integer},             /* BININT */
    {0x8a, 1, 0, 0, long_integer},       /* LONG1 */
    {0x8c, 1, 0, 0, text},               /* SHORT_BINUNICODE */
    {'X', 4, 0, 0, text},                /* BINUNICODE */
    {0x8d, 8, 0, 0, text},               /* BINUNICODE8 */
    {'c', 0, 0, 0, global_by_lines},     /* GLOBAL */
    {0x93, 0, 2, 0, global},             /* STACK_GLOBAL */
    {'q', 1, 1, 0, put},                 /* BINPUT */
    {'r', 4, 1, 0, put},                 /* LONG_BINPUT */
    {0x94, 0, 1, 1, put},                /* MEMOIZE */
    {'h', 1, 0, 0, get},                 /* BINGET */
    {'j', 4, 0, 0, get},                 /* LONG_BINGET */
    {')', 0, 0, 0, tuple},               /* EMPTY_TUPLE */
    {0x85, 0, 1, 0, tuple},              /* TUPLE1 */
    {0x86, 0, 2, 0, tuple},              /* TUPLE2 */
    {0x87, 0, 3, 0, tuple},              /* TUPLE3 */
    {'t', 0, TO_MARK, 0, tuple},         /* TUPLE */
    {'s', 0, 2, 0, set_items},           /* SETITEM */
    {'u', 0, TO_MARK, 0, set_items},     /* SETITEMS */
    {'a', 0, 1, 0, append},              /* APPEND */
    {'e', 0, TO_MARK, 0, append},        /* APPENDS */
    {'R', 0, 2, PICKLE_DICT, reduce},    /* REDUCE */
    {'b', 0, 2, 0, build},               /* BUILD */
    {'Q', 0, 1, 0, storage},             /* BINPERSID */
};

static int step(struct pickle_machine *m, unsigned char code, struct err *err)
{
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        const struct opcode *opcode = &opcodes[i];
        if (opcode->code != code)
            continue;
        const char *argument = read(m, opcode->bytes, err);
        if (!argument || take(m, opcode->takes, err))
            return -1;
        m->argument = num_of_bytes(argument, opcode->bytes);
        m->row = opcode->row;
        return opcode->run ? opcode->run(m, err) : 0;
    }
    return err_unsupported(err, "expected an opcode that torch.save writes, found 0x%02x", code);
}

static int pickle_read(struct pickle *pickle, const char *bytes, size_t size, struct arena *arena,
                       struct err *err)
{
    struct pickle_machine m = {.at = bytes, .end = bytes + size, .size = size, .pickle = pickle};
    if (size > PICKLE_BYTES_MAX)
        return err_unsupported(err, "expected at most %d bytes, found %zu", PICKLE_BYTES_MAX, size);
    m.memo = arena_alloc(arena, size, sizeof *m.memo, err);
    m.stack = m.memo ? arena_room(arena, size, 3 * sizeof *m.stack, err) : NULL;
    if (!m.stack)
        return -1;
    m.items = m.stack + size;
    pickle->updates = m.items + size;
    for (const char *at = bytes;; at = m.at) {
        const char *code = read(&m, 1, err);
        if (code && *code == '.')
            break;
        if (!code || step(&m, (unsigned char)*code, err))
            return err_prefix(err, "byte %zu", (size_t)(at - bytes));
    }
    if (take(&m, 1, err))
        return -1;
    if (m.taken->kind == PICKLE_DICT && m.taken->integer == 0)
        return 0;
    return err_unsupported(err, "expected a dict of tensors, found %s", pickle_describe(m.taken));
}

/* --- the file --------------------------------------------------------------------------------- */

struct pickle_reading {
    struct safetensors *tensors;
    struct zip zip;
    const char *root; /* "archive/": the folder of all entries */
    bool nested;      /* also read dicts in the saved dict, for pytorch_open_nested */
    size_t copied_bytes;
    struct arena arena;
};

/* Find an entry below the root and check its data. A missing entry is an error if it is `needed`;
 * otherwise `*entry` becomes NULL. */
static int find(const struct zip_entry **entry, struct pickle_reading *reading, const char *folder,
                const struct pickle_value *name, bool needed, struct err *err)
{
    uint32_t index = 0;
    const char *path = arena_format(&reading->arena, err, "%s%s%.*s", reading->root, folder,
                                    name ? (int)name->size : 0, name ? name->text : "");
    *entry = NULL;
    if (!path)
        return -1;
    if (!hash_table_get(&reading->zip.names, path, strlen(path), &index))
        return needed ? err_set(err, "expected an entry '%s', as torch.save writes it, found none",
                                path)
                      : 0;
    *entry = &reading->zip.entries[index];
    return zip_check(&reading->zip.entries[index], err);
}

/* --- a tensor: offset and strides in a storage, in elements ----------------------------------- */

struct storage_layout {
    const char *numbers; /* all elements of the storage */
    size_t count;        /* number of elements of the storage */
    size_t offset;
    size_t strides[SAFETENSORS_RANK_MAX];
    bool in_rows; /* true if the elements are contiguous: nothing must be copied */
};

static int read_storage(struct storage_layout *layout, struct safetensors_entry *entry,
                        struct pickle_reading *reading, const struct pickle_value *storage,
                        struct err *err)
{
    const struct zip_entry *found = NULL;
    size_t size = 0;
    if (find(&found, reading, "data/", &storage->items[2], true, err))
        return -1;
    entry->dtype = (enum dtype)storage->items[1].integer;
    layout->numbers = found->data;
    layout->count = (size_t)storage->items[4].integer;
    if (num_multiply(&size, layout->count, dtype_size_bytes(entry->dtype)) && size == found->size)
        return 0;
    return err_set(err, "expected a storage of %zu numbers of type %s, found %zu bytes",
                   layout->count, dtype_name(entry->dtype), found->size);
}

/* Read sizes and strides, from the last dimension to the first. The elements are contiguous if each
 * stride is the product of the sizes after it. */
static int read_shape(struct storage_layout *layout, struct safetensors_entry *entry,
                      const struct pickle_value *shape, const struct pickle_value *strides,
                      struct err *err)
{
    size_t last = layout->offset;
    bool fits = true;
    if (shape->size > SAFETENSORS_RANK_MAX || shape->size != strides->size)
        return err_unsupported(err,
                               "shape: expected at most %d dimensions, each with a stride, "
                               "found %zu with %zu",
                               SAFETENSORS_RANK_MAX, (size_t)shape->size, (size_t)strides->size);
    entry->rank = shape->size;
    entry->count = 1;
    layout->in_rows = true;
    for (size_t i = entry->rank; i-- > 0;) {
        if (shape->items[i].kind != PICKLE_INTEGER || strides->items[i].kind != PICKLE_INTEGER)
            return err_set(err, "shape: expected numbers, found %s with the stride %s",
                           pickle_describe(&shape->items[i]), pickle_describe(&strides->items[i]));
        size_t size = entry->shape[i] = (size_t)shape->items[i].integer;
        size_t stride = layout->strides[i] = (size_t)strides->items[i].integer;
        size_t steps = size ? size - 1 : 0;
        layout->in_rows = layout->in_rows && (size == 1 || stride == entry->count);
        fits = fits && num_multiply(&entry->count, entry->count, size) &&
               num_multiply(&steps, steps, stride) && num_add(&last, last, steps);
    }
    if (fits && (entry->count ? last < layout->count : layout->offset <= layout->count))
        return 0;
    return err_set(err, "expected elements within its storage of %zu numbers, found some beyond it",
                   layout->count);
}

/* Copy the elements of a tensor in C order. All copies together may be at most as large as the
 * file, because many tensors could share a storage. */
static int copy_rows(struct safetensors_entry *entry, const struct storage_layout *layout,
                     struct pickle_reading *reading, struct err *err)
{
    size_t size = dtype_size_bytes(entry->dtype);
    size_t at[SAFETENSORS_RANK_MAX] = {0};
    size_t from = layout->offset;
    if (entry->count > (reading->tensors->file.size - reading->copied_bytes) / size)
        return err_unsupported(err, "expected a contiguous tensor, found other strides");
    char *to = arena_room(&reading->tensors->arena, entry->count, size, err);
    if (!to)
        return -1;
    entry->data = to;
    reading->copied_bytes += entry->count * size;
    for (size_t n = 0; n < entry->count; n++, to += size) {
        memcpy(to, layout->numbers + from * size, size);
        for (size_t i = entry->rank; i-- > 0;) { /* the last index changes fastest */
            from += layout->strides[i];
            if (++at[i] < entry->shape[i])
                break;
            from -= at[i] * layout->strides[i];
            at[i] = 0;
        }
    }
    return 0;
}

static int read_tensor(struct safetensors_entry *entry, struct pickle_reading *reading,
                       const struct pickle_value *tensor, struct err *err)
{
    const struct pickle_value *items = tensor->items;
    struct storage_layout layout = {0};
    if (tensor->kind != PICKLE_TENSOR)
        return err_unsupported(err, "expected a tensor, found %s", pickle_describe(tensor));
    layout.offset = (size_t)items[1].integer;
    if (read_storage(&layout, entry, reading, &items[0], err) ||
        read_shape(&layout, entry, &items[2], &items[3], err))
        return -1;
    entry->data = layout.numbers + layout.offset * dtype_size_bytes(entry->dtype);
    entry->begin = (size_t)((const char *)entry->data - reading->tensors->file.bytes);
    entry->end = entry->begin + entry->count * dtype_size_bytes(entry->dtype);
    return layout.in_rows || !entry->count ? 0 : copy_rows(entry, &layout, reading, err);
}

/* Return the name of a value in a dict; if dicts are nested, a name may be a number. NULL: there is
 * an error. */
static const char *read_name(struct pickle_reading *reading, const struct pickle_value *name,
                             struct err *err)
{
    struct arena *arena = &reading->tensors->arena;
    if (reading->nested && name->kind == PICKLE_INTEGER)
        return arena_format(arena, err, "%" PRId64, name->integer);
    if (name->kind == PICKLE_TEXT && utf8_invalid_at(name->text, name->size) == name->size &&
        !memchr(name->text, '\0', name->size))
        return arena_text(arena, name->text, name->size, err);
    err_set(err, "expected the name of a tensor in UTF-8, found %s", pickle_describe(name));
    return NULL;
}

/* Read a name and its value as the next entry; `folder` is the name of the dict that contains them,
 * or NULL for the saved dict. */
static int read_pair(struct pickle_reading *reading, const struct pickle_value *folder,
                     const struct pickle_value *name, struct err *err)
{
    struct safetensors *tensors = reading->tensors;
    struct safetensors_entry *entry = &tensors->entries[tensors->count];
    const struct pickle_value *value = name + 1;
    const bool is_number = reading->nested && value->kind == PICKLE_INTEGER;
    if (reading->nested && !is_number && value->kind != PICKLE_TENSOR)
        return 0;
    const char *above = folder ? read_name(reading, folder, err) : "";
    entry->name = above ? read_name(reading, name, err) : NULL;
    if (entry->name && folder)
        entry->name = arena_format(&tensors->arena, err, "%s.%s", above, entry->name);
    if (!entry->name)
        return -1;
    tensors->count++;
    if (!is_number)
        return read_tensor(entry, reading, value, err) ? err_prefix(err, "tensor '%s'", entry->name)
                                                       : 0;
    int64_t *number = arena_alloc(&tensors->arena, entry->count = 1, sizeof *number, err);
    if (!number)
        return -1;
    *number = value->integer;
    entry->dtype = DTYPE_I64;
    entry->data = number;
    entry->end = sizeof *number;
    return 0;
}

/* Read all values of the saved dict and, if dicts are nested, of the dicts in it. */
static int read_updates(struct pickle_reading *reading, const struct pickle *pickle,
                        struct err *err)
{
    struct safetensors *tensors = reading->tensors;
    const struct pickle_value **names = /* [dicts] name of each dict in the saved dict, or NULL */
        arena_alloc(&reading->arena, pickle->dicts, sizeof *names, err);
    tensors->entries =
        arena_alloc(&tensors->arena, pickle->size / 2, sizeof *tensors->entries, err);
    if (!names || !tensors->entries)
        return -1;
    const struct pickle_value *end = pickle->updates + pickle->size;
    for (int pass = 0; pass < 2; pass++)
        for (const struct pickle_value *at = pickle->updates; at < end; at += 1 + at->size)
            for (size_t i = 1; i < at->size; i += 2) {
                const bool is_saved = at->integer == 0;
                if (!pass && is_saved && at[i + 1].kind == PICKLE_DICT)
                    names[at[i + 1].integer] = &at[i];
                else if (pass && (is_saved || (reading->nested && names[at->integer])) &&
                         read_pair(reading, is_saved ? NULL : names[at->integer], &at[i], err))
                    return -1;
            }
    return safetensors_list(tensors, err);
}

static int read_archive(struct pickle_reading *reading, struct err *err)
{
    static const char little[] = "little";
    struct safetensors *tensors = reading->tensors;
    struct pickle pickle = {0};
    if (zip_read(&reading->zip, &tensors->file, "torch.save", &reading->arena, err))
        return -1;
    const struct zip_entry *first = reading->zip.entries; /* the archive's first entry, usually
                                                           * data.pkl */
    const char *slash = reading->zip.count ? memchr(first->name, '/', first->name_size) : NULL;
    size_t root = slash ? (size_t)(slash + 1 - first->name) : 0;
    reading->root = arena_text(&reading->arena, root ? first->name : "", root, err);
    const struct zip_entry *list = NULL, *order = NULL;
    if (!reading->root || find(&list, reading, "data.pkl", NULL, true, err) ||
        find(&order, reading, "byteorder", NULL, false, err))
        return -1;
    if (order && (order->size != strlen(little) || memcmp(order->data, little, order->size) != 0))
        return err_unsupported(err, "byteorder: expected \"little\", found another");
    if (pickle_read(&pickle, list->data, list->size, &reading->arena, err))
        return err_prefix(err, "data.pkl");
    return read_updates(reading, &pickle, err);
}

static int open_archive(struct safetensors *tensors, const struct folder *folder, const char *name,
                        bool nested, struct err *err)
{
    struct pickle_reading reading = {.tensors = tensors, .nested = nested};
    *tensors = (struct safetensors){0};
    if (folder_open(&tensors->file, folder, name, err))
        return -1;
    const struct file *file = &tensors->file;
    bool archive = file->size > 0 && *file->bytes == 'P';
    int failed = 0;
    if (archive || !file_refuse_format(file->bytes, file->size, "a zip archive of torch.save", err))
        failed = read_archive(&reading, err);
    else if (*file->bytes == '\x80')
        failed = err_append(err, ": torch.save(torch.load(FILE, weights_only=True), FILE) of "
                                 "PyTorch 2 writes one");
    else
        failed = -1;
    hash_table_release(&reading.zip.names);
    arena_release(&reading.arena);
    if (!failed)
        return 0;
    safetensors_release(tensors);
    return err_prefix(err, "'%s/%s'", folder->path, name);
}

int pytorch_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                 struct err *err)
{
    return open_archive(tensors, folder, name, false, err);
}

int pytorch_open_nested(struct safetensors *tensors, const struct folder *folder, const char *name,
                        struct err *err)
{
    return open_archive(tensors, folder, name, true, err);
}
