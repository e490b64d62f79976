/* language.h: Chinese texts of explanations, figures, matrices and the errors of `lesson`.
 *
 *     buf_format(out, say(language, " · layer %d"), layer);
 */
#pragma once

/* The translation of `english`, a text or a format, whose values keep their order; returns
 * `english` itself if `language` is not "zh" or there is no translation. */
const char *say(const char *language, const char *english) __attribute__((format_arg(2)));
