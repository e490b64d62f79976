/* csv.c: matrices as people load them into pandas, R and gnuplot: keys on top, queries at the left.
 *
 * One matrix stands alone. Several, or several sentences, are blocks with a `#` line above and two
 * blank lines between them, which is what gnuplot counts as `index`. It takes column headers from
 * the first block only; for a later one say `index 3 matrix rowheaders every :::1`.
 */
#include "out/csv_sheet.h"
#include "out/format.h"

/* # sentence 0: Life is short */
static int write_sentence(struct stream *out, const struct report *report,
                          const struct place *place, struct err *err)
{
    struct buf line = {0};
    buf_format(&line, "%s# sentence %zu: ", place->index ? "\n\n" : "", place->index);
    reading_visible(&line, &report->sentence);
    buf_char(&line, '\n');
    int failed = buf_check(&line, err);
    if (!failed)
        stream_bytes(out, line.bytes, line.size);
    buf_release(&line);
    return failed;
}

int csv_write(struct stream *out, const struct report *report, const struct place *place,
              struct err *err)
{
    size_t count = report_sheet_count(report);
    bool several = place->count > 1;
    int failed = several ? write_sentence(out, report, place, err) : 0;
    for (size_t i = 0; i < count && !failed; i++) {
        struct sheet sheet = report_sheet(report, i);
        char title[SHEET_NAME_BYTES];
        if (i > 0)
            stream_text(out, "\n\n");
        if (several || count > 1)
            stream_format(out, "# %s\n", sheet_title(title, &sheet));
        failed = csv_sheet_write(out, &sheet, err);
    }
    return failed;
}
