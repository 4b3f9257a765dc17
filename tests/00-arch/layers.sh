#!/bin/sh
# Who may include, link and call what (docs/ARCHITECTURE.md, "Flow and rooms"). Reads the include graph, the
# link lines of the Makefile, and the built programs. B is the build folder (default build).
#
# Every rule is also broken on purpose, in a copy, to see that it would be noticed.
# shellcheck disable=SC2046,SC2086 # lists of file names without spaces are meant to be split
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/00-arch/lib.sh
B=${B:-build}
rooms='core ledger detectors handler api cli'

# ---- the rules -------------------------------------------------------------------------------

# What a room may include, itself among it.
may_include() {
    case $1 in
    core) echo core ;;
    ledger) echo core ledger ;;
    detectors) echo core ledger detectors ;;
    handler) echo core ledger handler ;;
    api) echo core ledger api ;;
    cli) echo $rooms ;;
    tests/upstream) echo core tests/upstream ;;
    esac
}
# Rooms a program may be linked from.
may_link() {
    case $1 in
    freshet) echo $rooms ;;
    freshet-api | freshet-intake | freshet-stream) echo core ledger api ;;
    freshet-scheduler) echo core ledger detectors ;;
    freshet-handler | freshet-outbox) echo core ledger handler ;;
    freshet-inspect | freshet-inspect-gdal) echo core handler ;;
    freshet-upstream) echo core upstream ;;
    esac
}
# Libraries a program must not be linked with.
forbidden_libraries() {
    case $1 in
    freshet-api) echo 'curl|ssl|crypto|mbedtls|mbedx509|mbedcrypto|gdal|geos_c|microhttpd' ;;
    freshet-stream) echo 'curl|ssl|crypto|mbedtls|mbedx509|mbedcrypto|gdal|geos_c|fcgi' ;;
    freshet-intake) echo 'curl|ssl|crypto|mbedtls|gdal|geos_c|microhttpd' ;;
    freshet-scheduler | freshet-handler | freshet-outbox) echo 'fcgi|microhttpd|mbedtls|mbedx509|mbedcrypto|gdal|geos_c' ;;
    freshet-inspect) echo 'gdal|curl|ssl|sqlite3|fcgi|mbedtls|mbedx509|mbedcrypto' ;;
    freshet-inspect-gdal) echo 'curl|ssl|sqlite3|fcgi|mbedtls|mbedx509|mbedcrypto' ;;
    freshet-upstream) echo 'curl|ssl|crypto|sqlite3|fcgi' ;;
    freshet) echo 'fcgi|microhttpd|mbedtls|mbedx509|mbedcrypto|gdal|geos_c' ;;
    esac
}
# Functions that must not be inside a program.
forbidden_symbols() {
    writer='promote|promote_hold|publish_[a-z_]+|inbox_(claim|finish|end_rejected|reclaim)|check_commit'
    case $1 in
    freshet-api | freshet-stream)
        echo "$writer|inbox_[a-z_]+|source_(add|put|retire|by_id|each)|token_[a-z]+|request_[a-z]+|check_state_get|replay_append|audit|head_get|change_(get|each)|fetch_[a-z_]+|digest_sha256|digest_mbed_sha256"
        ;;
    freshet-intake) echo "$writer|fetch_start|digest_sha256|detect_[a-z]+|worker_new" ;;
    freshet-scheduler) echo 'promote|promote_hold|publish_[a-z_]+|inbox_(claim|finish|end_rejected)|worker_new|FCGX_[A-Za-z_]+' ;;
    freshet-handler | freshet-outbox) echo 'detect_[a-z]+|request_add|FCGX_[A-Za-z_]+' ;;
    freshet-inspect | freshet-inspect-gdal) echo 'ledger_[a-z]+|fetch_[a-z_]+|worker_new|store_[a-z]+|FCGX_[A-Za-z_]+' ;;
    freshet-upstream) echo 'ledger_[a-z]+|fetch_start' ;;
    freshet) echo 'FCGX_[A-Za-z_]+' ;;
    esac
}
programs='freshet freshet-api freshet-intake freshet-stream freshet-scheduler freshet-handler freshet-outbox freshet-inspect freshet-inspect-gdal freshet-upstream'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
only= # self-test: the one file that was changed

files_of() { # files_of ROOM: its .c and .h
    if [ -n "$only" ]; then echo "$only"; else find "$1" -maxdepth 1 -name '*.[ch]' | sort; fi
}
all_files() {
    for r in $rooms tests/upstream; do files_of $r; done | sort -u
}
# Reading all files takes a second, so it is done once for all rules.
text() { # text calls|strings
    if [ -n "$only" ]; then
        code "$1" "$only"
    else
        [ -e "$work/$1" ] || code "$1" $(all_files) >"$work/$1"
        cat "$work/$1"
    fi
}

# ---- looking at sources: each prints what breaks the rule -------------------------------------

includes() { # includes ROOM
    grep -Hn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' $(files_of "$1") /dev/null |
        awk -v may="$(may_include "$1")" '
            BEGIN { n = split(may, m, " "); for (i = 1; i <= n; i++) ok[m[i]] = 1 }
            {
                path = $0; sub(/^[^"]*"/, "", path); sub(/".*/, "", path)
                dir = path; sub(/\/[^\/]*$/, "", dir)
                if (dir == path || !(dir in ok)) print
            }'
}

sqlite_outside() {
    text calls | grep -v -E '^(ledger|tests)/' | grep -E '\bsqlite3(_[a-z0-9_]+|\.h)'
}
sql_outside() {
    text strings | grep -v -E '^(ledger|tests)/' |
        grep -E '"[^"]*\b(SELECT .* FROM|INSERT (OR [A-Z]+ )?INTO|UPDATE [a-z_]+ SET|DELETE FROM|CREATE (TABLE|INDEX|TRIGGER)|PRAGMA [a-z_]+|BEGIN IMMEDIATE)'
}
clock_outside() {
    text calls | grep -v '^core/clock\.c:' |
        grep -E '(^|[^a-zA-Z0-9_.>])(time|clock_gettime|gettimeofday|timespec_get|getrandom|getentropy|getenv|secure_getenv|setenv|arc4random[a-z_]*|clock)[[:space:]]*\('
}
fcgx_outside() {
    text calls | grep -v '^api/fcgi\.c:' | grep -E '\bFCG[XI]_|fcgi(app|os|_stdio|misc|_config)\.h|fcgios'
}
mhd_outside() {
    text calls | grep -v '^api/stream_http\.c:' | grep -E '\bMHD_|microhttpd\.h'
}
curl_outside() {
    text calls | grep -v '^core/fetch[a-z_]*\.[ch]:' | grep -E '\bcurl_[a-z]|\bCURL[A-Z_]*\b|curl/curl\.h'
}
crypto_outside() {
    text calls | grep -v -E '^(core/(digest(_mbed)?|rsa|fetch[a-z_]*)\.[ch]|tests/upstream/tls\.[ch]):' |
        grep -E '<(openssl|mbedtls|psa)/|\b(EVP|SSL|X509)_[A-Za-z]|\bmbedtls_[a-z]'
}
gdal_outside() {
    text calls | grep -v -E '^handler/((inspect_(archive|gdal|ogr|crs|raster|valid|geos)|compare_geom)\.[ch]):' | grep -E '<(gdal/|geos_c)|\b(GDAL|OGR_|OSR|OCT|CPL|VSI|GEOS)[A-Z][A-Za-z_]+\('
}
fork_outside() {
    text calls | grep -v -E '^(api/prefork|cli/children|cli/cmd_doctor|handler/inspector|handler/inspect_child)\.c:' |
        grep -E '(^|[^a-zA-Z0-9_])(fork|_Fork|vfork|popen|system|posix_spawn)[[:space:]]*\('
}
# What is released when a function is left needs a value before the first way out.
without_value() {
    text calls | grep 'CLEANUP(' | grep -v '#define' | awk '
        {
            rest = $0; sub(/.*CLEANUP\([a-z_]+\)/, "", rest); sub(/;.*/, "", rest)
            while (sub(/\([^()]*\)|\{[^{}]*\}|\[[^][]*\]/, "", rest)) ;
            n = split(rest, one, ",")
            for (i = 1; i <= n; i++)
                if (one[i] !~ /=/) { print; next }
        }'
}
without_header() {
    for f in $(all_files); do
        head -n 1 "$f" | grep -q '^/\* [a-z]' || echo "$f: the first line must say what lives here"
    done
}
# A function begins with a brace in the first column and ends likewise.
long_functions() { # long_functions MORE_THAN
    awk -v max="$1" '
        FNR == 1 { start = 0 }
        /^\{/ { start = FNR }
        /^\}/ && start { if (FNR - start - 1 > max) print FILENAME ":" start ": " FNR - start - 1 " lines"; start = 0 }
    ' $(all_files)
}

# ---- looking at the Makefile and at programs ----------------------------------------------------

makefile_value() { # makefile_value PROGRAM_ROOMS
    sed -n "s/^$1[[:space:]]*:=[[:space:]]*//p" Makefile
}
link_rooms() { # link_rooms PROGRAM
    for r in $(makefile_value "$1_ROOMS"); do
        case " $(may_link "$1") " in
        *" $r "*) ;;
        *) echo "Makefile: $1 links the room $r" ;;
        esac
    done
    [ -n "$(makefile_value "$1_ROOMS")" ] || echo "Makefile: no line $1_ROOMS"
}
link_libraries() { # link_libraries PROGRAM
    makefile_value "$1_LIBS" | tr ' ' '\n' | grep -E "^-l($(forbidden_libraries "$1"))\$"
}
needed() { # needed PROGRAM FILE
    readelf -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -E "^lib($(forbidden_libraries "$1"))(-[a-z]+)?\.so"
}
symbols() { # symbols PROGRAM FILE
    nm "$2" | awk '$(NF - 1) ~ /^[TtWU]$/ { sub(/@.*/, "", $NF); print $NF }' | sort -u |
        grep -E -x "($(forbidden_symbols "$1"))(\.(isra|part|cold|constprop).*)?"
}

# ---- the test ------------------------------------------------------------------------------------

check_sources() {
    for r in $rooms tests/upstream; do
        finding "$r includes only: $(may_include $r)" "$(includes $r)"
    done
    finding "sqlite3 is called in ledger/ only" "$(sqlite_outside)"
    finding "SQL stands in ledger/ only" "$(sql_outside)"
    finding "time, randomness and environment come through core/clock.c" "$(clock_outside)"
    finding "FCGX is used in api/fcgi.c only" "$(fcgx_outside)"
    finding "libmicrohttpd is used in api/stream_http.c only" "$(mhd_outside)"
    finding "libcurl is used in core/fetch*.c only" "$(curl_outside)"
    finding "OpenSSL and mbedTLS are used in core/digest*, core/rsa, core/fetch* and the upstream's TLS only" "$(crypto_outside)"
    finding "GDAL and GEOS are called in handler/inspect_* and compare_geom only" "$(gdal_outside)"
    finding "processes are made in prefork, children, doctor, inspector and inspect_child only" "$(fork_outside)"
    finding "what CLEANUP releases has a value from the start" "$(without_value)"
    finding "every file begins by saying what lives in it" "$(without_header)"
    finding "no function has more than 100 lines" "$(long_functions 100)"
    long_functions 80 | sed 's/^/# long: /'
    for p in $programs; do
        finding "Makefile: $p links only: $(may_link $p)" "$(link_rooms $p)"
        finding "Makefile: $p links none of: $(forbidden_libraries $p)" "$(link_libraries $p)"
    done
}

check_programs() {
    for p in $programs; do
        if [ ! -x "$B/$p" ]; then
            fail "$B/$p is not built"
            continue
        fi
        finding "$p needs none of: $(forbidden_libraries $p)" "$(needed $p "$B/$p")"
        finding "$p holds nothing it may not call" "$(symbols $p "$B/$p")"
    done
}

# ---- would it be noticed? ----------------------------------------------------------------------

copy=$work/copy

# planted RULE FILE LINE COMMAND...: LINE is added to FILE of the copy, COMMAND must find it.
planted() {
    rule=$1 file=$2 line=$3
    shift 3
    cp "$file" "$copy/kept"
    printf '%s\n' "$line" >>"$file"
    only=$file
    if [ -n "$("$@")" ]; then pass "noticed: $rule"; else fail "not noticed: $rule"; fi
    cp "$copy/kept" "$file"
    only=
}
# linked PROGRAM FLAGS CODE COMMAND: a program made of CODE breaks the rule of COMMAND.
linked() {
    printf '%s\n' "$3" >"$copy/x.c"
    if ! ${CC:-cc} -w -o "$copy/x" "$copy/x.c" -Wl,--no-as-needed $2 2>"$copy/err"; then
        fail "could not plant: $(cat "$copy/err")"
    elif [ -n "$($4 "$1" "$copy/x")" ]; then
        pass "noticed: $1 with $2 $3"
    else
        fail "not noticed: $1 with $2 $3"
    fi
}

self_test() {
    mkdir "$copy"
    cp -R $rooms Makefile "$copy/"
    mkdir "$copy/tests"
    cp -R tests/upstream "$copy/tests/"
    cd "$copy" || exit 1
    planted "core includes ledger" core/str.c '#include "ledger/ledger.h"' includes core
    planted "ledger includes handler" ledger/source.c '#include "handler/work.h"' includes ledger
    planted "detectors include handler" detectors/etag.c '#include "handler/work.h"' includes detectors
    planted "handler includes detectors" handler/store.c '#  include "detectors/detect.h"' includes handler
    planted "api includes handler" api/feed.c '#include "handler/project.h"' includes api
    planted "a header includes upwards" core/arena.h '#include "cli/cli.h"' includes core
    planted "an include without a room" api/feed.c '#include "feed.h"' includes api
    planted "sqlite3 in handler" handler/store.c 'int x(void) { return sqlite3_step(0); }' sqlite_outside
    planted "SQL in cli" cli/cli.c 'const char *q = "SELECT id FROM sources";' sql_outside
    planted "SQL in api" api/feed.c 'const char *q = "DELETE FROM inbox";' sql_outside
    planted "time() in ledger" ledger/source.c 'long t(void) { return time(NULL); }' clock_outside
    planted "getrandom in handler" handler/store.c 'long t(void) { return getrandom(0, 0, 0); }' clock_outside
    planted "getenv in cli" cli/cli.c 'char *t(void) { return getenv("HOME"); }' clock_outside
    planted "clock_gettime in core beside clock.c" core/log.c 'int t(void) { return clock_gettime(0, 0); }' clock_outside
    planted "FCGX in a route" api/feed.c 'int t(void) { return FCGX_Init(); }' fcgx_outside
    planted "libmicrohttpd in a route" api/feed.c 'void t(void) { MHD_run(0); }' mhd_outside
    planted "curl in a detector" detectors/etag.c 'void *t(void) { return curl_easy_init(); }' curl_outside
    planted "OpenSSL in the ledger" ledger/source.c '#include <openssl/evp.h>' crypto_outside
    planted "GDAL in the handler" handler/store.c '#include <gdal/gdal.h>' gdal_outside
    planted "fork in a route" api/feed.c 'int t(void) { return fork(); }' fork_outside
    planted "CLEANUP without a value" api/feed.c 'void t(void) { CLEANUP(buf_release) struct buf b; }' without_value
    planted "CLEANUP of two, the second without" api/feed.c 'void t(void) { CLEANUP(buf_release) struct buf b = {0, 1}, c; }' without_value
    planted "a long function" core/str.c "$(echo 'int f(void)'; echo '{'; yes ';' | head -n 101; echo '}')" long_functions 100
    only=core/str.c
    sed -i 1d $only
    if [ -n "$(without_header)" ]; then pass "noticed: no header"; else fail "not noticed: no header"; fi
    echo '/* time() and getenv() and curl_easy_init() */ static const char *s = "time(0)";' >>$only
    if [ -z "$(clock_outside)$(curl_outside)" ]; then pass "comments and strings are no calls"; else fail "comments and strings are no calls"; fi
    only=
    sed -i 's/^freshet-api_ROOMS .*/freshet-api_ROOMS := api handler ledger core/; s/^freshet-api_LIBS .*/freshet-api_LIBS := -lcurl -lfcgi/' Makefile
    if [ -n "$(link_rooms freshet-api)" ]; then pass "noticed: a room too many"; else fail "not noticed: a room too many"; fi
    if [ -n "$(link_libraries freshet-api)" ]; then pass "noticed: a library too many"; else fail "not noticed: a library too many"; fi
    linked freshet-api -lcurl 'int main(void) { return 0; }' needed
    linked freshet-api -lcrypto 'int main(void) { return 0; }' needed
    linked freshet-intake -lssl 'int main(void) { return 0; }' needed
    linked freshet-api -lm 'int promote(void) { return 0; } int main(void) { return promote(); }' symbols
    linked freshet-api -lm 'static __attribute__((used)) int token_find(void) { return 0; } int main(void) { return 0; }' symbols
    linked freshet-handler -lm 'int detect_new(void) { return 0; } int main(void) { return 0; }' symbols
    cd - >/dev/null || exit 1
}

check_sources
check_programs
self_test
summary
