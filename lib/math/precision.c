#include "math/precision.h"

#include <string.h>

static const char *const names[PRECISIONS] = {"fp32", "bf16"};

const char *precision_name(enum precision precision)
{
    return names[precision];
}

bool precision_find(const char *name, enum precision *precision)
{
    for (int i = 0; i < PRECISIONS; i++) {
        if (strcmp(names[i], name) == 0) {
            *precision = (enum precision)i;
            return true;
        }
    }
    return false;
}

int precision_check(enum precision precision, struct kernels *kernels, struct err *err)
{
    if (precision == PRECISION_FP32 || kernels_have_bf16(kernels))
        return 0;
    return err_unsupported(
        err, "--precision bf16: expected a processor with AVX512_BF16, found %s kernels",
        kernels_target(kernels));
}
