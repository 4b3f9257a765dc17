/* fuzz_main: a fuzz target as a plain program, so that seeds are replayed in the normal test run.
 *
 *   fuzz_json                 replays tests/fuzz/seeds/json, from the root of the project
 *   fuzz_json FILE|FOLDER...  replays these
 *
 * For fuzzing proper: clang -fsanitize=fuzzer,address,undefined -DFRESHET_LIBFUZZER.
 * A target aborts when a property does not hold; it includes this file last. */
#ifndef FRESHET_TESTS_FUZZ_MAIN_H
#define FRESHET_TESTS_FUZZ_MAIN_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HOLDS(property)                                                                            \
    do {                                                                                           \
        if (!(property)) {                                                                         \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#ifndef FRESHET_LIBFUZZER

#define SEED_MAX (1u << 20)

/* A copy of exactly n bytes on the heap, so that AddressSanitizer sees a read beyond the end. */
static void replay_bytes(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    HOLDS(copy != NULL);
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static int replay_file(const char *path)
{
    static uint8_t data[SEED_MAX];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    replay_bytes(data, n);
    return 1;
}

/* How many inputs were replayed, -1 when one cannot be read. */
static int replay(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    if (!dir)
        return replay_file(path);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char name[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        int n = replay(name);
        count = n < 0 || count < 0 ? -1 : count + n;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    char seeds[4096];
    const char *name = strstr(argv[0], "fuzz_"), *next;
    int count = 0;
    while (name && (next = strstr(name + 5, "fuzz_")))
        name = next;
    snprintf(seeds, sizeof seeds, "tests/fuzz/seeds/%s", name ? name + 5 : "");
    for (int i = 1; i < argc || i == 1; i++) {
        int n = replay(argc > 1 ? argv[i] : seeds);
        count = n < 0 || count < 0 ? -1 : count + n;
    }
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}

#endif
#endif
