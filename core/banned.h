/* banned: calls that have no place here, each with what to use instead. Included before every
 * file by the Makefile, so a use does not compile.
 * System headers that declare these names are included first, so the poison meets only our code. */
#ifndef FRESHET_CORE_BANNED_H
#define FRESHET_CORE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Some are macros of the C library, depending on compiler and options. */
#undef alloca
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok /* buf, arena_printf, snprintf */
#pragma GCC poison atoi atol atoll atof                       /* str_to_i64, strtod with checks */
#pragma GCC poison localtime gmtime ctime asctime mktime      /* clock.h: time_format and kin */
#pragma GCC poison srand drand48                              /* clock.h: rand_bytes, rand_below */
#pragma GCC poison alloca tmpnam mktemp

/* Headers of libraries use these names for parameters, so the calls are what fails (-Werror). */
int rand(void) __attribute__((deprecated("use rand_bytes or rand_below of core/clock.h")));
long random(void) __attribute__((deprecated("use rand_bytes or rand_below of core/clock.h")));

#endif
