/* Registers what suites.h lists; goes with it, line by line. */
#include "unit.h"

#define SUITE(module)                                                                            \
    Suite *module##_suite(void);                                                                 \
    __attribute__((constructor)) static void module##_listed(void)                               \
    {                                                                                            \
        unit_register(&(struct unit_item){.file = #module "_test.c", .listed = module##_suite}); \
    }
#include "suites.h"
