#include "draw/cairo_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whoever loads pango for cairo has cairo and glib with it. */
#ifdef __APPLE__
static const char name[] = "libpangocairo-1.0.0.dylib";
#else
static const char name[] = "libpangocairo-1.0.so.0";
#endif

/* Copied, because C has no way from an object's address to a function's. */
static const char *find_all(struct cairo_library *lib, void *handle)
{
    const char *missing = NULL;
#define FIND(result, name, takes)                     \
    {                                                 \
        void *address = dlsym(handle, #name);         \
        if (!address)                                 \
            missing = #name;                          \
        memcpy(&lib->name, &address, sizeof address); \
    }
    CAIRO_LIBRARY_FUNCTIONS(FIND)
#undef FIND
    return missing;
}

enum { WARNINGS = 1 << 2 | 1 << 3 | 1 << 4 }; /* glib's levels: error, critical, warning */

/* As glib's manual has it. */
struct _GLogField {
    const char *key;
    const void *value;
    ptrdiff_t length; /* negative: it ends with a 0 */
};

static struct err remark; /* the first one that was not asked for yet */

static void hear_message(const char *domain, int level, const char *message, void *data)
{
    (void)domain, (void)data;
    if (level & WARNINGS)
        err_output(&remark, "pango and cairo cannot draw the picture: %s", message);
}

static unsigned hear_fields(int level, const struct _GLogField *fields, size_t count, void *data)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].key, "MESSAGE") == 0 && fields[i].length < 0)
            hear_message(NULL, level, fields[i].value, data);
    return 1; /* it was dealt with */
}

int cairo_library_check(struct err *err)
{
    int failed = remark.kind ? err_adopt(err, &remark) : 0;
    err_clear(&remark);
    return failed;
}

enum { FILES_OF_FONTS = 8 }; /* that pango has open at a time */

/* Where it cannot open a font, pango takes another one without a word. */
static int check_files(struct err *err)
{
    int files[FILES_OF_FONTS];
    size_t count = 0;
    while (count < FILES_OF_FONTS && (files[count] = open("/", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    int reason = count < FILES_OF_FONTS ? errno : 0;
    for (size_t i = 0; i < count; i++)
        close(files[i]);
    if (reason)
        return err_output(err, "pango and cairo cannot open their fonts: %s", strerror(reason));
    return 0;
}

enum { MEBIBYTES = 32 }; /* less than half of what fonts and a small picture take */

/* Where there is little, fontconfig goes round in a circle for ever; with some more, it and pango
 * die in several ways. */
static int check_memory(struct err *err)
{
    size_t size = (size_t)MEBIBYTES << 20;
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return err_output(err,
                          "pango and cairo cannot draw a picture: expected memory of at least %d "
                          "MiB for them; svg needs none",
                          MEBIBYTES);
    munmap(room, size);
    return 0;
}

const struct cairo_library *cairo_library_load(struct err *err)
{
    static struct cairo_library lib;
    static bool loaded;
    if (check_files(err) || check_memory(err))
        return NULL;
    if (loaded)
        return &lib;
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* for ever: glib cannot be unloaded */
    if (!handle) {
        err_output(err,
                   "png and pdf are drawn by pango and cairo: install them (Debian: "
                   "libpangocairo-1.0-0) or write svg: cannot load %s",
                   dlerror());
        return NULL;
    }
    const char *missing = find_all(&lib, handle);
    if (missing) {
        err_output(err, "'%s' has no '%s': expected cairo 1.16 and pango 1.44 or newer", name,
                   missing);
        return NULL;
    }
    lib.g_log_set_default_handler(hear_message, NULL);
    lib.g_log_set_writer_func(hear_fields, NULL, NULL);
    loaded = true;
    return &lib;
}
