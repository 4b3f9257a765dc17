# Shared by end-to-end tests that ask freshet-api as a CGI program: no server, and a clock that stands still.
# Sourced after lib.sh; FRESHET_DIR and FRESHET_NOW are set by the script.
# shellcheck shell=sh disable=SC2154 # work and B are set by lib.sh

# get PATH[?QUERY] [ACCEPT [IF-NONE-MATCH]]: head in $work/head, body in $work/body
get() {
    case $1 in *\?*) asked=${1#*\?} ;; *) asked= ;; esac
    env -i FRESHET_DIR="$FRESHET_DIR" FRESHET_NOW="$FRESHET_NOW" GATEWAY_INTERFACE=CGI/1.1 REQUEST_METHOD=GET \
        PATH_INFO="${1%%\?*}" QUERY_STRING="$asked" HTTP_HOST=test.example ${2:+HTTP_ACCEPT="$2"} \
        ${3:+HTTP_IF_NONE_MATCH="$3"} "$B/freshet-api" </dev/null >"$work/answer" 2>"$work/answer.err"
    tr -d '\r' <"$work/answer" | sed '/^$/q' >"$work/head"
    n=$(sed -n 's/^Content-Length: //p' "$work/head")
    tail -c "${n:-0}" "$work/answer" >"$work/body"
}
status() { sed -n 's/^Status: \([0-9]*\).*/\1/p' "$work/head"; }
header() { sed -n "s/^$1: //p" "$work/head"; }
