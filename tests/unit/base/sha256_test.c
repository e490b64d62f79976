#include "base/hash.h"

#include "../unit.h"

/* Examples of FIPS 180-4 and NIST's test vectors; sizes around a block: `head -c N /dev/zero |
 * sha256sum`. */
static const struct {
    const char *text; /* NULL: zeros */
    size_t size;
    const char *digits;
} examples[] = {
    {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qrs"
     "mnopqrstnopqrstu",
     112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"\xbd", 1, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
    {"\xc9\x8c\x8e\x55", 4, "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
    {NULL, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
    {NULL, 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
    {NULL, 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
    {NULL, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
    {NULL, 1000, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
};

static const char zeros[1000];

/* The hash of bytes that are added in pieces of `piece` bytes. */
static const char *hash_of(char digits[SHA256_DIGITS + 1], const char *bytes, size_t size,
                           size_t piece)
{
    struct sha256 hash;
    sha256_begin(&hash);
    for (size_t at = 0; at < size; at += piece)
        sha256_add(&hash, bytes + at, size - at < piece ? size - at : piece);
    sha256_end(&hash, digits);
    return digits;
}

static void expect_examples(void)
{
    static const size_t pieces[] = {1, 7, 63, 64, 65, 200, 1000};
    char digits[SHA256_DIGITS + 1];
    for (size_t i = 0; i < COUNT(examples); i++) {
        const char *bytes = examples[i].text ? examples[i].text : zeros;
        for (size_t p = 0; p < COUNT(pieces); p++)
            ck_assert_str_eq(hash_of(digits, bytes, examples[i].size, pieces[p]),
                             examples[i].digits);
    }
}

TEST(published_examples_have_their_digits_in_pieces_of_any_size)
{
    expect_examples();
}

TEST(plain_c_gives_the_same_hashes)
{
    sha256_plain(true);
    expect_examples();
}
