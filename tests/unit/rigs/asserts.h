/* asserts.h: Check's assertions for tests that make millions of them. Check writes the line of each
 * to a file, in case the test crashes; these do not, so the report of a crash has the line of the
 * test. */
#pragma once

#include <check.h>

#define _mark_point(file, line) ((void)(line))
