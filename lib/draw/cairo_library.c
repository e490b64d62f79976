#include "draw/cairo_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Whoever loads pango for cairo has cairo and glib with it. */
static const char *const names[] = {"libpangocairo-1.0.so.0", "libpangocairo-1.0.0.dylib"};

static void *open_first(void)
{
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

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

const struct cairo_library *cairo_library_load(struct err *err)
{
    static struct cairo_library lib;
    static bool loaded;
    if (loaded)
        return &lib;
    void *handle = open_first(); /* for ever: glib cannot be unloaded */
    if (!handle) {
        err_output(err,
                   "png and pdf are drawn by pango and cairo, and '%s' is not there: install it "
                   "(Debian: libpangocairo-1.0-0) or write svg",
                   names[0]);
        return NULL;
    }
    const char *missing = find_all(&lib, handle);
    if (missing) {
        err_output(err, "'%s' has no '%s': expected cairo 1.16 and pango 1.44 or newer", names[0],
                   missing);
        return NULL;
    }
    loaded = true;
    return &lib;
}
