#include "base/clock.h"

#include "../unit.h"

TEST(time_goes_on_and_never_back)
{
    double first = clock_seconds();
    double last = first;
    while (last == first)
        last = clock_seconds();
    for (int i = 0; i < 1000; i++) {
        double now = clock_seconds();
        ck_assert_double_ge(now, last);
        last = now;
    }
    ck_assert_double_lt(last - first, 60);
}
