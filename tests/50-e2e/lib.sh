# Shared by the end-to-end tests: counting, an upstream of our own, waiting for what must come.
# A script sources this from the root of the project; B is the build folder (default build).
# shellcheck shell=sh
B=${B:-build}
work=$(mktemp -d) || exit 1
passed=0
failed=0
upstream=
children= # further processes to end, by id

# shellcheck disable=SC2317 # called by the trap
finish() {
    for pid in $children $upstream; do
        kill "$pid" 2>/dev/null
    done
    for pid in $children $upstream; do
        wait "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

freshet() { "$B/freshet" "$@"; }

pass() {
    passed=$((passed + 1))
    echo "ok - $1"
}
fail() {
    failed=$((failed + 1))
    echo "not ok - $1"
}
is() { # is WHAT GOT WANTED
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1"
        printf '%s\n' "$2" | head -n 8 | sed 's/^/#   got: /'
        printf '%s\n' "$3" | head -n 8 | sed 's/^/#  want: /'
    fi
}
has() { # has WHAT TEXT PATTERN: a line of TEXT matches
    if printf '%s\n' "$2" | tr -d '\r' | grep -q -e "$3"; then
        pass "$1"
    else
        fail "$1"
        printf '%s\n' "$2" | head -n 8 | sed 's/^/#   got: /'
        echo "#  want: $3"
    fi
}
lacks() { # lacks WHAT TEXT PATTERN
    if printf '%s\n' "$2" | grep -q -e "$3"; then fail "$1"; else pass "$1"; fi
}
# run EXIT COMMAND...: its output is in $out, its errors in $err; counts as a test of the exit code.
run() {
    want=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    out=$(cat "$work/out")
    err=$(cat "$work/err")
    is "exit $want: $(echo "$*" | cut -c 1-100)" "$got" "$want"
    [ "$got" = "$want" ] || printf '%s\n' "$out" "$err" | head -n 8 | sed 's/^/#   said: /'
}
summary() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# within SECONDS COMMAND...: polls until it succeeds.
within() {
    end=$(($(date +%s) + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || return 1
        sleep 0.1
    done
}
# soon WHAT SECONDS COMMAND...: the same as a test.
soon() {
    what=$1
    shift
    if within "$@"; then
        pass "$what"
    else
        shift
        fail "$what"
        "$@" 2>&1 | head -n 5 | sed 's/^/#   now: /'
    fi
}

# start_upstream ARGUMENTS...: sets $port and $u. The port file appears when requests are answered.
start_upstream() {
    rm -f "$work/ports"
    "$B/freshet-upstream" --quiet --port-file "$work/ports" "$@" 2>"$work/upstream.log" &
    upstream=$!
    within 30 test -s "$work/ports" || {
        cat "$work/upstream.log"
        echo "not ok - the upstream did not start"
        exit 1
    }
    port=$(jq .http "$work/ports")
    u=http://127.0.0.1:$port
}
# A port that nobody uses, as the kernel sees it; the upstream takes one and gives it back.
free_port() {
    rm -f "$work/free"
    "$B/freshet-upstream" --quiet --port-file "$work/free" &
    probe=$!
    within 30 test -s "$work/free"
    kill "$probe"
    wait "$probe" 2>/dev/null
    jq .http "$work/free"
}
advance() { curl -sS -X POST "$u/control/advance?path=$1" >/dev/null; }

# node_packages NAME...: NODE_MODULES is a folder that has these npm packages: the one that is set, or one of
# ours that npm fills once. Fails where that cannot be, which is no fault of the tree.
node_packages() {
    command -v node >/dev/null || return 1
    if [ -n "${NODE_MODULES:-}" ]; then return 0; fi
    command -v npm >/dev/null || return 1
    folder=$PWD/build/node
    mkdir -p "$folder"
    # Scripts run side by side: one installs, the other waits. A second try would cost the same again.
    # shellcheck disable=SC2016 # the inner shell expands them
    flock "$folder/lock" sh -c 'folder=$1; shift
        done=$folder/has-$(echo "$*" | tr -c "a-z0-9\n" -)
        [ -e "$done" ] || {
            timeout 100 npm install --silent --no-audit --no-fund --prefix "$folder" "$@" >"$folder/npm.log" 2>&1 && : >"$done"
        }' sh "$folder" "$@" || return 1
    NODE_MODULES=$folder/node_modules
    export NODE_MODULES
}
