/* family_rotary.c: how a config says that queries and keys turn. */
#include <string.h>

#include "model/family/family.h"

static const struct scaling_row {
    const char *name;
    enum rotary_scaling scaling;
} scaling_rows[] = {
    {"default", ROTARY_PLAIN}, {"linear", ROTARY_LINEAR}, {"dynamic", ROTARY_DYNAMIC},
    {"llama3", ROTARY_LLAMA3}, {"yarn", ROTARY_YARN},     {"longrope", ROTARY_LONGROPE},
    {"su", ROTARY_LONGROPE},
};

static int find_scaling(struct rotary *rotary, const struct json *scaling, struct err *err)
{
    const char *kind = "default";
    if (json_text(scaling, "type", &kind, err) || json_text(scaling, "rope_type", &kind, err))
        return -1;
    for (size_t i = 0; i < sizeof scaling_rows / sizeof *scaling_rows; i++) {
        if (strcmp(scaling_rows[i].name, kind) != 0)
            continue;
        rotary->scaling = scaling_rows[i].scaling;
        return 0;
    }
    return err_unsupported(err,
                           "field 'rope_type': expected default, linear, dynamic, llama3, yarn or "
                           "longrope, found \"%s\"",
                           kind);
}

static int read_factors(float *factors, const struct json *scaling, const char *key, size_t count,
                        struct err *err)
{
    const struct json *list = json_member(scaling, key);
    double factor = 0;
    size_t i = 0;
    if (!list || !json_is_array(list) || json_count(list) != count)
        return err_set(err, "field '%s': expected %zu numbers, one per pair of channels, found %zu",
                       key, count, list ? json_count(list) : 0);
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        if (!json_get_number(item, &factor) || !((float)factor > 0) || !(factor < 1e9))
            return err_set(err, "field '%s': expected numbers above 0", key);
        factors[i++] = (float)factor;
    }
    return 0;
}

/* What each kind of scaling must have. */
static int check_scaling(const struct rotary *rotary, struct err *err)
{
    if (rotary->scaling == ROTARY_PLAIN || rotary->scaling == ROTARY_LONGROPE)
        return 0;
    if (!(rotary->factor >= 1))
        return err_set(err,
                       "field 'factor': expected a number of at least 1 in 'rope_scaling', "
                       "found %s",
                       rotary->factor > 0 ? "less" : "nothing");
    if (!(rotary->trained_positions > 0))
        return err_set(err, "field 'max_position_embeddings': expected a number with "
                            "'rope_scaling', found nothing");
    if (rotary->scaling == ROTARY_YARN && !(rotary->fast > 0 && rotary->slow > 0))
        return err_set(err, "field 'beta_%s': expected a number above 0 in 'rope_scaling', found 0",
                       rotary->fast > 0 ? "slow" : "fast");
    if (rotary->scaling == ROTARY_YARN && !(rotary->theta > 1))
        return err_set(err, "field 'rope_theta': expected a number above 1 with yarn, found 1");
    if (rotary->scaling == ROTARY_LLAMA3 && !(rotary->high_frequency > rotary->low_frequency))
        return err_set(err, "field 'high_freq_factor': expected more than low_freq_factor");
    return 0;
}

int family_rotary(struct reading *reading, const struct json *scaling, struct rotary *rotary)
{
    struct err *err = reading->err;
    size_t pairs = rotary->components / 2;
    long long trained = 0;
    /* yarn's ramp begins and ends at whole pairs */
    bool whole = !json_is_null(json_member(scaling, "truncate"));
    rotary->positions = rotary->trained_positions = (double)reading->config->n_positions;
    rotary->fast = 32;
    rotary->slow = rotary->low_frequency = 1;
    rotary->high_frequency = 4;
    if (!scaling || json_is_null(scaling))
        return 0;
    if (!json_is_object(scaling))
        return err_set(err, "field 'rope_scaling': expected an object or null");
    if (find_scaling(rotary, scaling, err) || family_check_undone(scaling, err) ||
        json_double(scaling, "rope_theta", 1, 1e12, &rotary->theta, err) ||
        json_double(scaling, "factor", 0, 1e6, &rotary->factor, err) ||
        json_double(scaling, "low_freq_factor", 0, 1e6, &rotary->low_frequency, err) ||
        json_double(scaling, "high_freq_factor", 0, 1e6, &rotary->high_frequency, err) ||
        json_double(scaling, "beta_fast", 0, 1e6, &rotary->fast, err) ||
        json_double(scaling, "beta_slow", 0, 1e6, &rotary->slow, err) ||
        json_double(scaling, "attention_factor", 0, 1e6, &rotary->amplitude, err) ||
        json_bool(scaling, "truncate", &whole, err) ||
        json_integer(scaling, "original_max_position_embeddings", 1, DIMENSION_MAX, &trained, err))
        return -1;
    if (!whole)
        return err_unsupported(err, "field 'truncate': expected true, found false");
    if (!trained && rotary->scaling == ROTARY_LONGROPE) {
        trained = 4096;
        if (json_integer(reading->root, "original_max_position_embeddings", 1, DIMENSION_MAX,
                         &trained, err))
            return -1;
    }
    if (trained)
        rotary->trained_positions = (double)trained;
    if (rotary->scaling != ROTARY_LONGROPE)
        return check_scaling(rotary, err);
    if (pairs > ROTARY_PAIRS_MAX)
        return err_unsupported(
            err, "field 'rope_type': expected at most %d rotary channels with longrope, found %zu",
            2 * ROTARY_PAIRS_MAX, rotary->components);
    if (read_factors(rotary->short_factors, scaling, "short_factor", pairs, err))
        return -1;
    return read_factors(rotary->long_factors, scaling, "long_factor", pairs, err);
}

/* null: all channels turn. */
static int read_width(struct reading *reading, const char *key)
{
    size_t *components = &reading->config->rotary.components;
    if (family_is_null(reading, key))
        *components = 0;
    return family_size(reading, key, components);
}

int family_read_rotary(struct reading *reading, double turning, double theta)
{
    struct config *c = reading->config;
    const struct family *family = c->family;
    const char *const thetas[FAMILY_NAMES_MAX] = {"rope_theta", family->theta_key};
    const char *const shares[FAMILY_NAMES_MAX] = {"partial_rotary_factor", family->share_key};
    const struct json *scaling = json_member(reading->root, "rope_scaling");
    const struct json *parameters = json_given(reading->root, "rope_parameters");
    if (parameters && !json_is_object(parameters))
        return err_set(reading->err, "field 'rope_parameters': expected an object or null");
    const struct json *full = json_member(parameters, "full_attention");
    c->rotary.theta = theta;
    if (family_named(reading, thetas, 1, 1e12, &c->rotary.theta) ||
        family_named(reading, shares, 0, 1, &turning))
        return -1;
    if (parameters) {
        scaling = full ? full : parameters;
        if (json_double(scaling, "partial_rotary_factor", 0, 1, &turning, reading->err))
            return -1;
    }
    if (family->width_key && read_width(reading, family->width_key))
        return -1;
    if (!c->rotary.components)
        c->rotary.components = (size_t)((double)c->d_k * turning);
    if (c->rotary.components % 2 || c->rotary.components > c->d_k)
        return err_set(reading->err,
                       "field 'head_dim': expected an even number of rotary channels, at most "
                       "%zu, found %zu",
                       c->d_k, c->rotary.components);
    return family_rotary(reading, scaling, &c->rotary);
}
