/* npy_report.c: the one tensor of a report as numpy's file. The file has no room for tokens or
 * names: a folder gives it a name and puts manifest.json beside it. */
#include "format/npy.h"
#include "write/format.h"

int npy_report_write(struct stream *out, const struct report *report, const struct place *place,
                     struct err *err)
{
    (void)place;
    if (report->tensor_count != 1)
        return err_usage(err,
                         "--format npy: one file holds one tensor, found %zu: name one by --show "
                         "and --layer, or give a folder (-o DIR/)",
                         report->tensor_count);
    const struct kept *kept = &report->tensors[0];
    npy_write(out, kept->rank, kept->shape, kept->data);
    return 0;
}
