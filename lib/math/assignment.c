/* assignment.c: rows are added one after another; each finds the shortest way through the columns
 * that are taken to one that is free (Jonker and Volgenant, 1987). Rows and columns count from 1, 0
 * is the row that is being added. */
#include "math/assignment.h"

#include <math.h>

struct search {
    const double *costs;
    size_t count;
    double *of_row, *of_column; /* what is paid already: no cost is below their sum */
    double *least;              /* the shortest way to a column */
    size_t *row_of, *before;    /* of a column: the row it is taken by, the column on the way */
    bool *seen;
};

static int prepare(struct search *search, struct arena *arena, struct err *err)
{
    size_t room = search->count + 1;
    search->of_row = arena_alloc(arena, room, sizeof(double), err);
    search->of_column = arena_alloc(arena, room, sizeof(double), err);
    search->least = arena_alloc(arena, room, sizeof(double), err);
    search->row_of = arena_alloc(arena, room, sizeof(size_t), err);
    search->before = arena_alloc(arena, room, sizeof(size_t), err);
    search->seen = arena_alloc(arena, room, sizeof(bool), err);
    return search->of_row && search->of_column && search->least && search->row_of &&
                   search->before && search->seen
               ? 0
               : -1;
}

/* From the row of a column to all that were not seen; returns the nearest of these. */
static size_t step(struct search *search, size_t column)
{
    size_t row = search->row_of[column];
    size_t nearest = 0;
    double delta = INFINITY;
    search->seen[column] = true;
    for (size_t j = 1; j <= search->count; j++) {
        if (search->seen[j])
            continue;
        double cost = search->costs[(row - 1) * search->count + j - 1] - search->of_row[row] -
                      search->of_column[j];
        if (cost < search->least[j]) {
            search->least[j] = cost;
            search->before[j] = column;
        }
        if (search->least[j] < delta) {
            delta = search->least[j];
            nearest = j;
        }
    }
    for (size_t j = 0; j <= search->count; j++) {
        if (search->seen[j]) {
            search->of_row[search->row_of[j]] += delta;
            search->of_column[j] -= delta;
        } else {
            search->least[j] -= delta;
        }
    }
    return nearest;
}

static void add_row(struct search *search, size_t row)
{
    size_t column = 0;
    search->row_of[0] = row;
    for (size_t j = 0; j <= search->count; j++) {
        search->least[j] = INFINITY;
        search->seen[j] = false;
    }
    do
        column = step(search, column);
    while (search->row_of[column]);
    while (column) { /* back along the way, every row takes the next column */
        search->row_of[column] = search->row_of[search->before[column]];
        column = search->before[column];
    }
}

/* A circle of things that change places for nothing stays as it was. */
static void keep_own(size_t *match, const double *costs, size_t count, bool *seen)
{
    for (size_t first = 0; first < count; first++) {
        double moved = 0;
        double own = 0;
        if (seen[first + 1])
            continue;
        for (size_t i = first; !seen[i + 1]; i = match[i]) {
            seen[i + 1] = true;
            moved += costs[i * count + match[i]];
            own += costs[i * count + i];
        }
        for (size_t i = first; own <= moved && match[i] != i;) {
            size_t next = match[i];
            match[i] = i;
            i = next;
        }
    }
}

int assignment_find(size_t *match, const double *costs, size_t count, struct arena *arena,
                    struct err *err)
{
    struct search search = {.costs = costs, .count = count};
    if (prepare(&search, arena, err))
        return -1;
    for (size_t row = 1; row <= count; row++)
        add_row(&search, row);
    for (size_t j = 1; j <= count; j++)
        match[search.row_of[j] - 1] = j - 1;
    for (size_t j = 0; j <= count; j++)
        search.seen[j] = false;
    keep_own(match, costs, count, search.seen);
    return 0;
}
