/* base: the address in front of links. Called by changes, show and up. */
#include "cli/base.h"

struct str cli_base(struct cli *c)
{
    const char *base = c->inst.conf.public_base_url;
    if (!*base)
        base = arena_printf(&c->arena, "http://127.0.0.1:%lld", (long long)c->inst.conf.port);
    struct str s = str_of(base);
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}
