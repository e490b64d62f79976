#include "draw/cairo_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

volatile sig_atomic_t cairo_library_at_work;

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

/* Their remarks are not for who runs us; what matters to a picture is asked for by name. */
static void say_nothing(const char *domain, int level, const char *message, void *data)
{
    (void)domain, (void)level, (void)message, (void)data;
}

const struct cairo_library *cairo_library_load(struct err *err)
{
    static struct cairo_library lib;
    static bool loaded;
    if (loaded)
        return &lib;
    cairo_library_at_work = 1;   /* glib gets itself ready */
    void *handle = open_first(); /* for ever: glib cannot be unloaded */
    cairo_library_at_work = 0;
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
    lib.g_log_set_default_handler(say_nothing, NULL);
    loaded = true;
    return &lib;
}
