/* csv.c: matrices as people load them into pandas, R and gnuplot: keys on top, queries at the left.
 *
 * One matrix stands alone. Several that have the same columns, those of all heads, are one table
 * that says in every row what it is of; others have no table in common. In pandas a head of it is
 * `t[(t.layer == 0) & (t["head"] == 3)].set_index("row").iloc[:, 3:]`; in gnuplot, where commas
 * separate, `plot "< grep -e ^tensor -e ^weights,0,3, heads.csv | cut -d, -f4-" matrix rowheaders
 * columnheaders with image`.
 */
#include <string.h>

#include "base/buf.h"
#include "write/csv_sheet.h"
#include "write/format.h"

/* A source is the same for all sentences; their own words are not. */
static bool is_of_sentence(const struct axis *columns, const struct report *report)
{
    const struct label *labels = columns->labels;
    const struct tokenized *source = &report->source;
    bool of_source = labels >= source->labels && labels < source->labels + source->count;
    return strcmp(columns->name, "key") == 0 && !of_source;
}

static int check_sentences(const struct report *report, const struct sheet *first,
                           const struct place *place, struct err *err)
{
    if (place->count < 2 || !is_of_sentence(&first->columns, report))
        return 0;
    return err_usage(err,
                     "--format csv: expected the same columns in all of one table, found keys of "
                     "'%s' in %zu sentences: give --format tidy, or a folder (-o DIR/)",
                     first->tensor, place->count);
}

static int check_columns(const struct report *report, const struct place *place, struct err *err)
{
    struct sheet first = report_sheet(report, 0);
    for (size_t i = 1; i < report_sheet_count(report); i++) {
        struct sheet other = report_sheet(report, i);
        if (!csv_same_columns(&first, &other))
            return err_usage(err,
                             "--format csv: expected the same columns in all of one table, found "
                             "%zu %ss of '%s', %zu %ss of '%s': give --format tidy, or a folder "
                             "(-o DIR/)",
                             first.columns.size, first.columns.name, first.tensor,
                             other.columns.size, other.columns.name, other.tensor);
    }
    return check_sentences(report, &first, place, err);
}

static int write_table(struct stream *out, const struct report *report, const struct place *place,
                       struct err *err)
{
    bool several = place->count > 1;
    struct sheet first = report_sheet(report, 0);
    struct buf line = {0};
    int failed =
        place->index == 0 &&
        csv_table_begin(out, several ? "sentence,tensor,layer,head,row" : "tensor,layer,head,row",
                        &first, err);
    for (size_t i = 0; i < report_sheet_count(report) && !failed; i++) {
        struct sheet sheet = report_sheet(report, i);
        buf_clear(&line);
        if (several)
            buf_format(&line, "%zu,", place->index);
        csv_sheet_place(&line, &sheet);
        failed = csv_table_add(out, &line, &sheet, err);
    }
    buf_release(&line);
    return failed ? -1 : 0;
}

int csv_write(struct stream *out, const struct report *report, const struct place *place,
              struct err *err)
{
    size_t count = report_sheet_count(report);
    if (count == 0)
        return 0;
    if (check_columns(report, place, err))
        return -1;
    if (count > 1 || place->count > 1)
        return write_table(out, report, place, err);
    struct sheet sheet = report_sheet(report, 0);
    return csv_sheet_write(out, &sheet, err);
}
